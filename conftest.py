"""Every Python block of README and docs is run; a `text` block after one is what it must have printed."""

from __future__ import annotations

from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from textwrap import dedent
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sybil import Example


def run_python(example: Example) -> None:
    code = compile(
        "\n" * (example.line + example.parsed.line_offset) + dedent(example.parsed),
        example.path,
        "exec",
        dont_inherit=True,
    )
    with redirect_stdout(StringIO()) as printed:
        exec(code, example.namespace)  # noqa: S102 - running the documentation is the point
    example.namespace["printed"] = printed.getvalue()


def compare_text(example: Example) -> str | None:
    printed: Any = example.namespace.pop("printed", None)
    if printed is None or printed.strip() == dedent(example.parsed).strip():
        return None
    return f"the documentation promises\n{example.parsed}\nbut the code before it printed\n{printed}"


if find_spec("sybil") is not None:  # an example that is a test file must run without the development tools
    from sybil import Sybil
    from sybil.parsers.markdown import CodeBlockParser

    pytest_collect_file = Sybil(
        parsers=[CodeBlockParser("python", run_python), CodeBlockParser("text", compare_text)], patterns=["*.md"]
    ).pytest()
