"""What the documentation lists is what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from decidable.attempt import FailureKind
from decidable.errors import LLMErrorReason, ProviderErrorCode, RunStopped, UsageError
from decidable.flow.record import FallbackOn
from decidable.providers.decision_endpoints import DECISION_ENDPOINTS
from decidable.providers.endpoints import ENDPOINTS
from decidable.settings import Via

DOCS = Path(__file__).parent.parent / "docs"


def rows(page: str, first: str) -> list[list[str]]:
    """The rows of the table whose head begins with `first`."""
    text = (DOCS / page).read_text(encoding="utf-8")
    table = text[text.index(f"| {first} |") :].split("\n\n")[0].strip()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")[2:]]


def test_the_table_of_endpoints():
    yes = {True: "yes", False: "no"}
    assert rows("providers.md", "name") == [
        [
            f"`{e.name}`",
            e.wire,
            "none needed" if e.key_optional else f"`{e.key}`",
            yes[e.output_schema],
            yes[e.forced_tools],
            str(e.top_logprobs or "no"),
            yes[e.images],
        ]
        for e in ENDPOINTS.values()
    ]


def test_every_wire_has_a_page():
    wires = {e.wire for e in ENDPOINTS.values()} | {e.wire for e in DECISION_ENDPOINTS.values()}
    assert {page.stem for page in (DOCS / "wires").glob("*.md")} == wires


def test_the_table_of_decision_servers():
    assert rows("decision-models.md", "name | key") == [
        [
            f"`{e.name}`",
            "none needed" if e.key_optional else f"`{e.key}`",
            e.replay,
            f"`{e.default_model}`" if e.default_model else "",
            "{}-{}".format(*e.limits.choice_options) if e.limits.choice_options else "",
            str(e.limits.max_questions or ""),
            "reported" if e.cost else "list price" if e.list_price else "`prices=`",
        ]
        for name, e in DECISION_ENDPOINTS.items()
        if name == e.name
    ]


def test_the_table_of_decision_errors():
    assert [row[0] for row in rows("errors.md", "code")] == [f"`{code.value}`" for code in ProviderErrorCode]


def test_the_number_of_endpoints_in_the_readme():
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert len(ENDPOINTS) == 17
    assert "seventeen [endpoints]" in readme


def test_the_tables_of_errors():
    assert [row[0] for row in rows("errors.md", "reason")] == [f"`{r.value}`" for r in _in_order()]
    listed = {row[0].strip("`") for row in rows("errors.md", "under `UsageError`")}
    assert listed == {cls.__name__ for cls in UsageError.__subclasses__() if cls.__module__ == "decidable.errors"}
    stops = {row[0].strip("`") for row in rows("errors.md", "under `RunStopped`")}
    assert stops == {cls.__name__ for cls in RunStopped.__subclasses__()}
    kinds = [row[0].strip("`") for row in rows("replies.md", "kind")]
    assert kinds == [kind.value for kind in FailureKind]


def _in_order() -> list[LLMErrorReason]:
    retried = ["transport", "rate_limit", "provider", "unknown"]
    return sorted(LLMErrorReason, key=lambda r: retried.index(r.value) if r.value in retried else 9)


def test_the_tables_of_ways_and_reasons():
    ways = [re.sub(r"[`\"]| \(default\)", "", row[0]) for row in rows("asking.md", "`via=`")]
    assert ways == list(get_args(Via))
    reasons = [row[0].strip('`"') for row in rows("asking.md", "reason")]
    assert reasons == [name for name in get_args(FallbackOn) if name != "unaskable"]


def test_links_lead_somewhere():
    for page in [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+\.(?:md|py))", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"
        for target, anchor in re.findall(r"\]\(([^)#:]*\.md)#([^)]+)\)", page.read_text(encoding="utf-8")):
            headings = re.findall(r"^#+ (.*)$", (page.parent / target).read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in headings}, (page, anchor)
