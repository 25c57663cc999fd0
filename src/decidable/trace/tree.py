"""A trace as a tree of lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decidable.messages import Reply

if TYPE_CHECKING:
    from decidable.trace import Node

__all__ = ["render_tree"]

_SHOWN = 60


def render_tree(nodes: Sequence[Node]) -> str:
    """One line per node, indented under its caller, in the order of starting."""
    if not nodes:
        return "(nothing was recorded)"
    children: dict[int | None, list[Node]] = {}
    known = {node.id for node in nodes}
    for node in nodes:
        children.setdefault(node.caller if node.caller in known else None, []).append(node)
    lines: list[str] = []
    todo = [(node, "", "", False) for node in reversed(children[None])]
    while todo:
        node, lead, stem, _ = todo.pop()
        lines.append(f"{lead}{_line(node)}")
        below = children.get(node.id, [])
        for position, child in reversed(list(enumerate(below))):
            last = position == len(below) - 1
            todo.append((child, f"{stem}{'└─ ' if last else '├─ '}", f"{stem}{'   ' if last else '│  '}", last))
    return "\n".join(lines)


def _line(node: Node) -> str:
    parts = [node.kind.replace("_", " "), node.name]
    if node.status == "done":
        parts.append(f"-> {_short(node.output)}")
    elif node.error is not None:
        parts.append(f"!! {node.status}: {_short(f'{type(node.error).__name__}: {node.error}')}")
    else:
        parts.append("...")
    if node.duration_s is not None:
        parts.append(f"({node.duration_s * 1e3:.1f} ms)")
    return " ".join(parts)


def _inside(arguments: Mapping[str, Any] | str) -> str:
    return (
        arguments if isinstance(arguments, str) else ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    )


def _short(value: Any) -> str:
    if isinstance(value, Reply):
        calls = [f"{call.name}({_inside(call.arguments)})" for call in value.tool_calls]
        value = " ".join([value.text, *calls]).strip() or value.answers
    elif hasattr(value, "option") and hasattr(value, "result"):
        value = f"{value.option} = {value.result!r}"
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
