"""Tools: functions that a model may call while it works, in every form in which they are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, overload

from decidable.errors import ArgumentTypeError, OptionError, OptionTypeError, SettingError, UsageError, did_you_mean
from decidable.menu import Menu
from decidable.native import menu_tools
from decidable.options import FunctionOption, Option
from decidable.rules import MAX_CHARS, Rules
from decidable.schema.jsonschema import fields_from_schema
from decidable.schema.signature import FunctionSpec, callable_name

__all__ = ["Toolsets", "checked_toolsets", "selected_tools", "to_openai_tools", "tool", "tools_of"]

T = TypeVar("T")
Toolsets = Mapping[str, Iterable[Any]]


@overload
def tool(
    function: Callable[..., T] | FunctionOption[T],
    *,
    name: str = "",
    description: str | None = None,
    hidden: tuple[str, ...] = (),
    requires_approval: bool | Callable[[dict[str, Any]], bool] = False,
    timeout_s: float | None = None,
    available: Callable[[], bool] | None = None,
    max_chars: int = MAX_CHARS,
) -> FunctionOption[T]: ...
@overload
def tool(
    function: Any,
    *,
    name: str = "",
    description: str | None = None,
    hidden: tuple[str, ...] = (),
    requires_approval: bool | Callable[[dict[str, Any]], bool] = False,
    timeout_s: float | None = None,
    available: Callable[[], bool] | None = None,
    max_chars: int = MAX_CHARS,
) -> FunctionOption[Any]: ...
def tool(
    function: Any,
    *,
    name: str = "",
    description: str | None = None,
    hidden: tuple[str, ...] = (),
    requires_approval: bool | Callable[[dict[str, Any]], bool] = False,
    timeout_s: float | None = None,
    available: Callable[[], bool] | None = None,
    max_chars: int = MAX_CHARS,
) -> FunctionOption[Any]:
    """A function with rules for running it, to be given in ``tools=`` or as an option.

    A plain function needs none of this: ``tools=[lookup]`` takes its name, parameters and docstring.

    Args:
        function: Any callable with a readable signature, sync or async; or a tool in another form that ``tools=``
            takes. To one that has rules, these are added.
        name: What the model calls it; default its ``__name__``.
        description: What the model reads; default the first paragraph of the docstring.
        hidden: Parameters that the model does not see; they are filled from ``context=``.
        requires_approval: Whether a person must allow each call, or a function that tells it from the arguments,
            checked and parsed: ``lambda a: a["amount"] > 100``. It may raise `ModelRetry`.
        timeout_s: Seconds for one run. An async function is cancelled then. A sync one cannot be: it is given a
            thread of its own, which is no longer waited for.
        available: Asked before each call of ``exec``; a tool that is not available is not offered. For tools only.
        max_chars: Characters of its result that go back to the model; of a longer one the head and the tail.

    Raises:
        OptionTypeError: It is no function, or its signature or an annotation cannot be read.
        SettingError: A number out of range.

    Example:
        >>> from decidable import Runtime, tool
        >>> def refund(order: str, amount: float) -> str:
        ...     '''Give money back.'''
        ...     return "done"
        >>> careful = tool(refund, requires_approval=lambda arguments: arguments["amount"] > 100)
        >>> careful.name, careful.description
        ('refund', 'Give money back.')
    """
    is_predicate = callable(requires_approval) and not inspect.iscoroutinefunction(requires_approval)
    if not isinstance(requires_approval, bool) and not is_predicate:
        raise OptionTypeError(
            f"requires_approval= is a bool, or a sync function of the arguments, not {requires_approval!r}"
        )
    if available is not None and (not callable(available) or inspect.iscoroutinefunction(available)):
        raise OptionTypeError(f"available= is a sync function that says whether the tool is there, not {available!r}")
    if timeout_s is not None and (isinstance(timeout_s, bool) or not timeout_s > 0):
        raise SettingError(f"timeout_s is a number of seconds above 0, or None, not {timeout_s!r}")
    if type(max_chars) is not int or max_chars < 1:
        raise SettingError(f"max_chars counts characters, 1 or more, not {max_chars!r}")
    given: dict[str, Any] = {
        "requires_approval": requires_approval,
        "timeout_s": timeout_s,
        "available": available,
        "max_chars": max_chars,
    }
    if isinstance(function, (Option, Mapping)) or _is_foreign(function):
        made = _with_rules(function, name, description, hidden, given)
    else:
        made = FunctionOption(function, description, name, hidden, rules=Rules(**given))
    if made.name == "<lambda>":
        raise OptionError("a lambda has no name to offer as a tool: pass name=")
    if callable(requires_approval):
        _refuse_misread(requires_approval, made)
    return made


def _refuse_misread(predicate: Callable[..., bool], made: FunctionOption[Any]) -> None:
    """Refuse a predicate that takes one argument for itself: it would be given all, and mostly say no."""
    code = getattr(predicate, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    for field in made.fields:
        if field.name in names:
            raise OptionTypeError(
                f"requires_approval= of {made.name!r} is given all arguments as one dict, but its parameter is named "
                f"{field.name!r}; write lambda arguments: arguments[{field.name!r}] ..."
            )


def _with_rules(
    function: Any, name: str, description: str | None, hidden: tuple[str, ...], given: Mapping[str, Any]
) -> FunctionOption[Any]:
    """A tool in another form, with rules added to those it has."""
    made = _tool(function, "tool()")
    if hidden:
        raise OptionTypeError(f"hidden= is for plain functions; {made.name!r} has its parameters already")
    before = made.rules or _NONE
    rules = replace(before, **{rule: value for rule, value in given.items() if value != getattr(_NONE, rule)})
    described = made.description if description is None else description
    return replace(made, name=name or made.name, description=described, rules=rules)


_NONE = Rules()


def tools_of(tools: Iterable[Any], *, where: str = "tools=") -> tuple[FunctionOption[Any], ...]:
    """Tools in the form in which the loop runs them, in order.

    Args:
        tools: Functions, ``(function, "description")``, agentic functions, `tool(...)`, mappings
            ``{"spec": {...}, "execute": function}``, or objects with both as attributes. A spec has ``name``,
            ``description``, ``parameters`` (a JSON Schema), and may stand in the envelope
            ``{"type": "function", "function": {...}}``.
        where: What they were given as, for messages.

    Raises:
        OptionError: Two tools of one name, or a name that cannot be one.
        OptionTypeError: Something that is no tool.
    """
    if isinstance(tools, (str, Mapping)) or not isinstance(tools, Iterable):
        hint = "; a tool has its own name, or tool(function, name=...)" if isinstance(tools, Mapping) else ""
        raise ArgumentTypeError(f"{where} lists tools, such as [lookup, refund]; it is {tools!r}{hint}")
    found = tuple([_tool(item, f"{where.rstrip('=')}[{index}]") for index, item in enumerate(tools)])
    names: set[str] = set()
    for made in found:
        if inspect.isgeneratorfunction(made.function) or inspect.isasyncgenfunction(made.function):
            raise OptionTypeError(
                f"{where}: {made.name!r} is a generator function, so its body would not run; return a list"
            )
        if made.name in names:
            raise OptionError(f"{where}: two tools are named {made.name!r}; give one another name: tool(..., name=...)")
        names.add(made.name)
    return found


def to_openai_tools(tools: Iterable[Any]) -> list[dict[str, Any]]:
    """Tools as OpenAI's Chat Completions take them, for a program with a loop of its own.

    Args:
        tools: As ``exec(tools=...)`` takes them. ``tool(f).execute(**arguments)`` runs a call; agentic functions and
            the tools of `mcp_tools` have it too.

    Example:
        >>> from decidable import to_openai_tools
        >>> def lookup(order: str) -> str:
        ...     '''Find an order.'''
        ...     return "..."
        >>> to_openai_tools([lookup])[0]["function"]["name"]
        'lookup'
    """
    specs, _ = menu_tools(Menu(tools_of(tools)))
    return [
        {
            "type": "function",
            "function": {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)},
        }
        for spec in specs
    ]


def checked_toolsets(toolsets: Any) -> dict[str, tuple[FunctionOption[Any], ...]]:
    """Named groups of tools, each checked; ``"default"`` is there, and empty unless it is given."""
    if toolsets is None:
        return {"default": ()}
    if not isinstance(toolsets, Mapping):
        raise ArgumentTypeError(
            f"toolsets= maps names to lists of tools, such as {{'orders': [lookup]}}, not {toolsets!r}"
        )
    return {"default": (), **{name: tools_of(tools, where=f"toolset {name!r}") for name, tools in toolsets.items()}}


def selected_tools(
    toolsets: Mapping[str, tuple[FunctionOption[Any], ...]],
    tools: Iterable[Any] | None,
    toolset: str | Sequence[str] | None,
    allow: Iterable[str] | None,
    deny: Iterable[str] | None,
) -> tuple[FunctionOption[Any], ...]:
    """The tools of one call: those given and those of the named groups, less what is not allowed or not available.

    A tool that is given and stands in a group too, the same function by the same name, is offered once.

    Raises:
        UsageError: A group, or a name in `allow` or `deny`, that does not exist.
        OptionError: Two different tools of one name.
    """
    found = {made.name: made for made in tools_of(tools)} if tools is not None else {}
    for group in (toolset,) if isinstance(toolset, str) else toolset or ():
        if group not in toolsets:
            raise UsageError(f"no toolset is named {group!r}; {did_you_mean(group, tuple(toolsets))}")
        for made in toolsets[group]:
            before = found.setdefault(made.name, made)
            if before.function != made.function:
                raise OptionError(f"toolset {group!r}: another tool is named {made.name!r} too; rename one of the two")
            if (before.rules or _NONE) != (made.rules or _NONE):
                raise OptionError(f"toolset {group!r}: {made.name!r} is given with other rules too; give it once")
    for made in found.values():
        if made.rules is not None and made.rules.check is not None:
            made.rules.check()
    allowed, denied = _names(allow, "tools_allow", found), _names(deny, "tools_deny", found)
    return tuple(
        [
            made
            for name, made in found.items()
            if (allow is None or name in allowed)
            and name not in denied
            and (made.rules is None or made.rules.available is None or made.rules.available())
        ]
    )


def _names(names: Iterable[str] | None, setting: str, known: Mapping[str, Any]) -> frozenset[str]:
    if names is None:
        return frozenset()
    if isinstance(names, str):
        raise ArgumentTypeError(f"{setting}= lists names: [{names!r}], not {names!r}")
    listed = frozenset(names)
    for name in sorted(listed):
        if name not in known:
            raise UsageError(f"{setting}= names {name!r}, which is no tool; {did_you_mean(name, tuple(known))}")
    return listed


def _tool(item: Any, where: str) -> FunctionOption[Any]:
    if isinstance(item, FunctionOption):
        return item
    if isinstance(item, Mapping):
        if "spec" not in item or "execute" not in item:
            raise OptionTypeError(f"{where}: a mapping is a tool if it has 'spec' and 'execute'; it has {_keys(item)}")
        if more := [key for key in item if key not in ("spec", "execute")]:
            raise OptionTypeError(f"{where}: a mapping has no {more[0]!r}; write tool({{...}}, requires_approval=...)")
        return _foreign(item["spec"], item["execute"], where)
    if isinstance(item, tuple) and len(item) == 2 and callable(item[0]) and isinstance(item[1], str):
        return replace(_tool(item[0], where), description=item[1])
    if _is_foreign(item):
        if hasattr(item, "requires_approval"):
            raise OptionTypeError(
                f"{where}: nothing reads its requires_approval; write tool(it, requires_approval=...)"
            )
        return _foreign(item.spec, item.execute, where)
    if isinstance(item, Option) or not callable(item) or inspect.isclass(item):
        raise OptionTypeError(
            f"{where} is {item!r}; a tool is a function, tool(function, ...), {{'spec': ..., 'execute': ...}}, or an "
            "object with both"
        )
    if callable_name(item) == "<lambda>":
        raise OptionError(f"{where}: a lambda has no name to offer: tool(lambda ..., name='...')")
    return FunctionOption(item)


def _is_foreign(item: Any) -> bool:
    return not hasattr(item, "__decidable_input__") and hasattr(item, "spec") and hasattr(item, "execute")


def _foreign(spec: Any, execute: Any, where: str) -> FunctionOption[Any]:
    """A tool that comes with a JSON Schema, which the model sees as it is written."""
    if isinstance(spec, Mapping) and isinstance(spec.get("function"), Mapping):
        spec = spec["function"]
    if not isinstance(spec, Mapping) or not callable(execute):
        raise OptionTypeError(
            f"{where}: 'spec' must be a mapping and 'execute' a function, not {spec!r} and {execute!r}"
        )
    name, schema = spec.get("name"), spec.get("parameters") or {"type": "object", "properties": {}}
    if not isinstance(name, str) or not name.strip():
        raise OptionError(f"{where}: its spec needs a 'name', a non-empty str; it has {_keys(spec)}")
    if not isinstance(schema, Mapping):
        raise OptionTypeError(f"{where}: 'parameters' of {name!r} must be a JSON Schema, not {schema!r}")
    description = str(spec.get("description") or "")
    # What the fields cannot check of the schema, its tool has to.
    fields = fields_from_schema(schema, parser=_UNCHECKED)
    is_async = inspect.iscoroutinefunction(execute) or inspect.iscoroutinefunction(
        getattr(execute, "__call__", None)  # noqa: B004 - the method itself is wanted
    )
    read = FunctionSpec(name, description, fields, (), (), (), (), is_async)
    return FunctionOption(execute, description, name, (), read, fields, Rules(parameters=schema))


class _Unchecked:
    """Stands for a parser: the tool itself checks what `Field` cannot say."""

    checks = True

    def parse(self, value: Any, path: str) -> Any:
        return value


_UNCHECKED = _Unchecked()


def _keys(mapping: Mapping[Any, Any]) -> str:
    return ", ".join(map(repr, mapping)) or "nothing"
