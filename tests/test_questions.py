"""Questions: what they are made of, and what schemas and types make of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field

from decidable import QuestionError
from decidable.questions import Choice, Noul, Score, question_json, question_of, questions_of


def test_a_schema_makes_questions():
    schema = {
        "type": "object",
        "properties": {
            "team": {"enum": ["billing", "tech"], "description": " Which team? ", "criteria": {"billing": "Payments"}},
            "late": {"type": "boolean", "description": "Is it late?", "criteria": {"true": "Past its date.", "x": 1}},
            "anger": {
                "type": ["integer", "null"],
                "description": "How angry?",
                "criteria": ["calm", " upset "],
                "minimum": 0,
                "maximum": 1,
            },
        },
    }
    assert questions_of(schema) == {
        "team": Choice("Which team?", {"billing": "Payments", "tech": None}),
        "late": Noul("Is it late?", "Past its date."),
        "anger": Score("How angry?", ("calm", "upset")),
    }


BAD = {
    "words": ({"type": "string", "description": "Why?"}, "no questions"),
    "many": ({"type": "array", "items": {"type": "string"}, "description": "Which?"}, "no questions"),
    "number": ({"type": "number", "description": "How much?"}, "no questions"),
    "mute": ({"type": "boolean"}, "needs a description"),
    "blank": ({"type": "boolean", "description": "  "}, "needs a description"),
    "crowded": ({"enum": [str(n) for n in range(241)], "description": "?"}, "241 options"),
    "mixed": ({"enum": ["a", 1], "description": "?"}, "must be strings"),
    "twice": ({"enum": ["a", "a"], "description": "?"}, "twice"),
    "unknown": ({"enum": ["a"], "description": "?", "criteria": {"b": "B"}}, "'b'"),
    "tall": ({"type": "integer", "description": "?", "criteria": ["x"] * 11}, "11 levels"),
    "flat": ({"type": "integer", "description": "?", "criteria": ["x"]}, "1 levels"),
    "hollow": ({"type": "integer", "description": "?", "criteria": ["x", " "]}, "each described"),
    "bare": ({"type": "integer", "description": "?"}, "each described"),
    "shifted": ({"type": "integer", "description": "?", "criteria": ["x", "y"], "minimum": 1}, "from 0 to 1"),
    "short": ({"type": "integer", "description": "?", "criteria": ["x", "y"], "maximum": 2}, "from 0 to 1"),
    "circle": ({"$ref": "#/definitions/a", "description": "?"}, "circle"),
    "nowhere": ({"$ref": "#/definitions/none", "description": "?"}, "nowhere"),
    "number itself": (5, "no schema"),
}


def test_everything_that_is_no_question_is_told_at_once():
    definitions = {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}
    with pytest.raises(QuestionError) as caught:
        questions_of({"properties": {n: s for n, (s, _) in BAD.items()}, "definitions": definitions})
    assert len(caught.value.problems) == len(BAD)
    for problem, (name, (_, said)) in zip(caught.value.problems, BAD.items(), strict=True):
        assert problem.startswith(f"property {name!r}: ")
        assert said in problem


def test_240_options_are_asked():
    made = questions_of({"properties": {"q": {"enum": [str(n) for n in range(240)], "description": "?"}}})
    assert len(made["q"].criteria) == 240


@pytest.mark.parametrize(
    "source", [{}, {"properties": {}}, {"type": "array"}, {"$ref": "#/definitions/x"}, {"properties": 3}]
)
def test_one_object_with_properties_is_needed(source):
    with pytest.raises(QuestionError, match="at least one property"):
        questions_of(source)


def test_references_lead_to_the_schemas_own_definitions_first():
    team = {"enum": ["own"], "description": "Team?"}
    schema = {
        "$ref": "#/definitions/whole",
        "definitions": {
            "team": team,
            "whole": {
                "type": "object",
                "properties": {"a": {"$ref": "#/definitions/team"}, "b": {"$ref": "#/definitions/urgent"}},
            },
        },
    }
    catalogue = {"team": {"enum": ["other"], "description": "?"}, "urgent": {"type": "boolean", "description": "Now?"}}
    assert questions_of(schema, definitions=catalogue) == {"a": Choice("Team?", {"own": None}), "b": Noul("Now?")}


@pytest.mark.parametrize("name", ["__proto__", "constructor", "0", "a.b", "mit Leerzeichen"])
def test_hostile_names(name):
    schema = {"properties": {name: {"enum": [name, "x"], "description": "?", "criteria": {name: "N"}}}}
    assert questions_of(schema) == {name: Choice("?", {name: "N", "x": None})}


class Team(Enum):
    BILLING = "billing"
    TECH = "tech"


Team.BILLING.__doc__ = "Payments and invoices."


class Ticket(BaseModel):
    team: Team = Field(description="Which team?")
    tone: Literal["kind", "rude"] | None = Field(None, description="Which tone?")
    late: bool = Field(description="Is it late?", json_schema_extra={"criteria": {"true": "Yes.", "false": "No."}})
    anger: Annotated[int, Score("How angry?", ["calm", "furious"])]


def test_a_pydantic_model_makes_questions():
    assert questions_of(Ticket) == {
        "team": Choice("Which team?", {"billing": "Payments and invoices.", "tech": None}),
        "tone": Choice("Which tone?", {"kind": None, "rude": None}),
        "late": Noul("Is it late?", "Yes.", "No."),
        "anger": Score("How angry?", ("calm", "furious")),
    }


@dataclass
class Parcel:
    lost: Annotated[bool, "Is the parcel lost?"]
    size: Annotated[Literal["small", "large"], "How large is it?"]
    name: Annotated[str, Choice("Whose?", ["mine", "yours"])]


class Answered(TypedDict):
    lost: Annotated[bool, "Is the parcel lost?"]


def test_dataclasses_and_typed_dicts_make_questions():
    assert questions_of(Parcel) == {
        "lost": Noul("Is the parcel lost?"),
        "size": Choice("How large is it?", {"small": None, "large": None}),
        "name": Choice("Whose?", {"mine": None, "yours": None}),
    }
    assert questions_of(Answered) == {"lost": Noul("Is the parcel lost?")}


def test_a_type_makes_one_question():
    assert question_of(Team, "Which?") == Choice("Which?", {"billing": "Payments and invoices.", "tech": None})
    assert question_of(Literal["a", "b"], "Which?") == Choice("Which?", {"a": None, "b": None})
    assert question_of(bool, "So?") == Noul("So?")
    for source in (int, str, "x", Literal[1, 2]):
        with pytest.raises(QuestionError):
            question_of(source, "?")
    with pytest.raises(QuestionError, match=r"int.*question_of"):
        questions_of(int)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Noul(), "needs instructions"),
        (lambda: Noul(5), "5 is none"),
        (lambda: Choice("?", {}), "at least one option"),
        (lambda: Choice("?", ["a", "a"]), "twice"),
        (lambda: Choice("?", "ab"), "does not"),
        (lambda: Choice("?", {"a", "b"}), "in order"),
        (lambda: Choice("?", {1: "x"}), "1: 'x'"),
        (lambda: Choice("?", {"a": 5}), "'a': 5"),
        (lambda: Choice(None, ["a"]), "are text"),
        (lambda: Score("?", []), "needs levels"),
        (lambda: Score("?", {"0": "a"}), "list of levels"),
        (lambda: Score("?", ["a", 1]), "needs levels"),
        (lambda: Score(1, ["a"]), "are text"),
    ],
)
def test_what_is_no_question(made, said):
    with pytest.raises(QuestionError, match=said):
        made()


def test_spelling():
    assert question_json(Noul("?")) == {"type": "noul", "instructions": "?"}
    assert question_json(Noul("", true="Yes.")) == {"type": "noul", "criteria": {"true": "Yes."}}
    both = question_json(Noul("?", true="It rains."), both_sides=True)
    assert both["criteria"] == {"true": "It rains.", "false": "Not the case: It rains."}
    assert question_json(Noul("?", None, "It is dry."), both_sides=True)["criteria"].keys() == {"true", "false"}
    assert question_json(Choice("?", ["a"]), named_options=True)["criteria"] == {"a": "a"}
    assert question_json(Choice("?", ["a"]))["criteria"] == {"a": None}
    assert question_json(Score("?", ["x", "y"])) == {"type": "score", "instructions": "?", "criteria": ["x", "y"]}
