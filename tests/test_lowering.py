"""Schemas in the dialects of the wires, and the way back."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from decidable import UnaskableError
from decidable.providers.wires.dialects import ANTHROPIC, GEMINI, OPENAI_STRICT
from decidable.schema.lowering import lower
from decidable.testing.fake_endpoint import conformed

ALL = [OPENAI_STRICT, ANTHROPIC, GEMINI]


class Colour(Enum):
    red = "red"
    blue = "blue"


class Address(BaseModel):
    street: str = Field(description="With the number")
    city: str | None = None


class Person(BaseModel):
    name: str
    age: int = 3
    home: Address | None = None
    colours: list[Colour] = []


class Node(BaseModel):
    value: int
    next: Node | None = None


def schema(annotation: Any) -> dict[str, Any]:
    return TypeAdapter(annotation).json_schema()


def test_openai_strict_requires_every_key_and_closes_every_object():
    lowered = lower(schema(Person), OPENAI_STRICT).schema
    assert lowered == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": ["integer", "null"]},
            "home": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {
                            "street": {"type": "string", "description": "With the number"},
                            "city": {"type": ["string", "null"]},
                        },
                        "required": ["street", "city"],
                        "additionalProperties": False,
                    },
                    {"type": "null"},
                ]
            },
            "colours": {"type": ["array", "null"], "items": {"type": "string", "enum": ["red", "blue"]}},
        },
        "required": ["name", "age", "home", "colours"],
        "additionalProperties": False,
    }


def test_a_null_that_only_stands_for_left_out_is_left_out_again():
    restore = lower(schema(Person), OPENAI_STRICT).restore
    assert restore is not None
    value = {"name": "A", "age": None, "home": {"street": "S", "city": None}, "colours": None}
    assert restore(value) == {"name": "A", "home": {"street": "S", "city": None}}
    assert Person.model_validate(restore(value)) == Person(name="A", home=Address(street="S"))


def test_gemini_has_no_references_and_no_constants():
    lowered = lower(schema(Person), GEMINI)
    assert lowered.restore is None
    assert "$defs" not in lowered.schema
    assert lowered.schema["required"] == ["name"]
    assert lowered.schema["properties"]["home"]["anyOf"] == [
        {
            "type": "object",
            "properties": {
                "street": {"type": "string", "description": "With the number"},
                "city": {"type": ["string", "null"]},
            },
            "required": ["street"],
            "additionalProperties": False,
        },
        {"type": "null"},
    ]
    assert lower(schema(Literal["yes"]), GEMINI).schema == {"type": "string", "enum": ["yes"]}


def test_gemini_takes_keys_of_the_models_choice():
    assert lower(schema(dict[str, int]), GEMINI).schema == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }
    assert lower({"type": "object"}, GEMINI).schema == {"type": "object"}


def test_anthropic_keeps_optional_keys_optional():
    lowered = lower(schema(Person), ANTHROPIC)
    assert lowered.schema["required"] == ["name"]
    assert lowered.schema["additionalProperties"] is False
    assert lowered.restore is None


@pytest.mark.parametrize("dialect", [OPENAI_STRICT, ANTHROPIC], ids=lambda d: d.name)
def test_what_is_no_object_travels_in_one(dialect):
    lowered = lower(schema(list[int]), dialect)
    assert lowered.schema == {
        "type": "object",
        "properties": {"value": {"type": "array", "items": {"type": "integer"}}},
        "required": ["value"],
        "additionalProperties": False,
    }
    assert lowered.restore is not None
    assert lowered.restore({"value": [1]}) == [1]
    assert lowered.restore([1]) == [1]


def test_recursion_stays_where_a_wire_knows_it_and_is_refused_elsewhere():
    lowered = lower(schema(Node), OPENAI_STRICT)
    assert lowered.schema["properties"] == {"value": {"$ref": "#/$defs/Node"}}
    assert lowered.schema["$defs"]["Node"]["properties"]["next"] == {
        "anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]
    }
    assert lowered.restore is not None
    assert lowered.restore({"value": {"value": 1, "next": {"value": 2, "next": None}}}) == {
        "value": 1,
        "next": {"value": 2, "next": None},
    }
    assert "Node" in lower(schema(Node), GEMINI).schema["$defs"]
    with pytest.raises(UnaskableError, match=r"a schema that contains itself"):
        lower(schema(Node), ANTHROPIC)


@pytest.mark.parametrize(
    ("annotation", "dialect", "path"),
    [
        (dict[str, int], OPENAI_STRICT, r"at \$, .* keys of the model's choice"),
        (dict[str, int], ANTHROPIC, r"at \$, .* keys of the model's choice"),
        (list[dict[str, int]], OPENAI_STRICT, r"at \$\[\], "),
        (Any, GEMINI, r"at \$, .* without a type"),
        (list[Any], OPENAI_STRICT, r"at \$\[\], "),
        (tuple[int, str], OPENAI_STRICT, r"'prefixItems'"),
    ],
)
def test_what_a_wire_cannot_express_is_refused_with_its_path(annotation, dialect, path):
    with pytest.raises(UnaskableError, match=path) as caught:
        lower(schema(annotation), dialect, "tool 'x'")
    assert str(caught.value).startswith("tool 'x': ")


def test_the_path_leads_into_nested_fields():
    class Inner(BaseModel):
        free: dict[str, str]

    class Outer(BaseModel):
        inners: list[Inner]

    with pytest.raises(UnaskableError, match=r"at \$\.inners\[\]\.free, "):
        lower(schema(Outer), OPENAI_STRICT)


def test_constraints_stay_where_they_are_understood_and_are_dropped_elsewhere():
    class Limited(BaseModel):
        n: int = Field(ge=1, le=5)
        s: str = Field(min_length=2, pattern="a+")

    openai, gemini, anthropic = (
        lower(schema(Limited), d).schema["properties"] for d in (OPENAI_STRICT, GEMINI, ANTHROPIC)
    )
    assert openai == {"n": {"type": "integer", "minimum": 1, "maximum": 5}, "s": {"type": "string", "pattern": "a+"}}
    assert gemini == {"n": {"type": "integer", "minimum": 1, "maximum": 5}, "s": {"type": "string"}}
    assert anthropic == {"n": {"type": "integer"}, "s": {"type": "string"}}


def test_the_way_back_of_a_union_goes_by_its_constants():
    class Cat(BaseModel):
        kind: Literal["cat"]
        lives: int = 9

    class Dog(BaseModel):
        kind: Literal["dog"]
        owner: str | None = None

    lowered = lower(schema(Cat | Dog), OPENAI_STRICT)
    assert lowered.restore is not None
    assert lowered.restore({"value": {"kind": "cat", "lives": None}}) == {"kind": "cat"}
    assert lowered.restore({"value": {"kind": "dog", "owner": None}}) == {"kind": "dog", "owner": None}


def test_two_definitions_of_one_name_stay_two():
    from decidable.schema.jsonschema import hoisted

    definitions: dict[str, Any] = {}
    first = hoisted({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}, definitions)
    second = hoisted(
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}}, definitions
    )
    assert first == {"$ref": "#/$defs/A"}
    assert second == {"$ref": "#/$defs/A_2"}
    assert definitions == {"A": {"type": "string"}, "A_2": {"type": "array", "items": {"$ref": "#/$defs/A_2"}}}


def test_garbage_in_place_of_a_value_goes_through_untouched():
    restore = lower(schema(Person), OPENAI_STRICT).restore
    assert restore is not None
    for odd in (None, 3, "x", [1], {"name": 4, "home": "nowhere", "colours": 5}):
        assert restore(odd) == odd


# --- any schema, any value that fits it --------------------------------------------------------------------------------

SCALARS = st.sampled_from(
    [
        ({"type": "string"}, st.text(max_size=5)),
        ({"type": "integer"}, st.integers(-5, 5)),
        ({"type": "boolean"}, st.booleans()),
    ]
)


@st.composite
def schema_and_value(draw, depth=2):
    kind = draw(st.sampled_from(["scalar", "enum", "nullable", *(["object", "array"] if depth else [])]))
    if kind == "scalar":
        made, values = draw(SCALARS)
        return made, draw(values)
    if kind == "enum":
        values = draw(
            st.lists(st.one_of(st.integers(0, 9), st.sampled_from("abc")), min_size=1, max_size=4, unique=True)
        )
        return {"enum": values}, draw(st.sampled_from(values))
    if kind == "nullable":
        inner, value = draw(schema_and_value(depth=0).filter(lambda pair: "anyOf" not in pair[0]))
        return {"anyOf": [inner, {"type": "null"}]}, draw(st.sampled_from([value, None]))
    if kind == "array":
        inner, value = draw(schema_and_value(depth=depth - 1))
        return {"type": "array", "items": inner}, [value] * draw(st.integers(0, 2))
    properties, value, required = {}, {}, []
    for name in draw(st.lists(st.sampled_from("klmn"), unique=True, max_size=3)):
        properties[name], inner = draw(schema_and_value(depth=depth - 1))
        if draw(st.booleans()):
            required.append(name)
            value[name] = inner
        elif draw(st.booleans()) and inner is not None:
            value[name] = inner
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}, value


@given(schema_and_value(), st.sampled_from(ALL))
def test_what_a_model_says_in_the_dialect_comes_back_as_it_was_meant(pair, dialect):
    made, value = pair
    lowered = lower(made, dialect)
    sent = conformed(value, lowered.schema)
    back = sent if lowered.restore is None else lowered.restore(sent)
    assert _without_null_optionals(back, made) == value


def _without_null_optionals(value, made):
    """An optional key that may be null and was left out comes back as null: the wire cannot tell the two apart."""
    if isinstance(value, dict) and "properties" in made:
        return {
            k: _without_null_optionals(v, made["properties"][k])
            for k, v in value.items()
            if v is not None or k in made["required"]
        }
    return [_without_null_optionals(v, made["items"]) for v in value] if isinstance(value, list) else value


# --- unions: the way back knows which variant a value is of -----------------------------------------------------------


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str = "Rex"
    lives: int | None = 1


class Neg(BaseModel):
    op: Literal["neg"]
    of: Neg | Num
    note: str = ""


class Num(BaseModel):
    op: Literal["num"]
    value: int
    note: str | None = None


class Short(BaseModel):
    x: int
    y: int = 3


class Long(BaseModel):
    x: int
    y: int | None = None
    z: int = 1


@pytest.mark.parametrize(
    ("annotation", "said", "meant"),
    [
        (Cat | Dog, {"kind": "dog", "name": "Bo", "lives": None}, Dog(name="Bo", lives=None)),
        (Cat | Dog, {"kind": "dog", "name": None, "lives": 3}, Dog(lives=3)),
        (Cat | Dog, {"kind": "cat", "lives": None}, Cat()),
        (Neg | Num, {"op": "neg", "of": {"op": "num", "value": 1, "note": None}, "note": None},
         Neg(op="neg", of=Num(op="num", value=1))),
        (Short | Long, {"x": 1, "y": None, "z": None}, Long(x=1)),
        (Short | Long, {"x": 1, "y": None}, Short(x=1)),
        (list[Short] | list[Long], [{"x": 1, "y": None, "z": 2}], [Long(x=1, z=2)]),
        (Literal["a"] | Short | None, {"x": 1, "y": None}, Short(x=1)),
        (Literal["a"] | Short | None, "a", "a"),
        (Literal["a"] | Short | None, None, None),
        (Short | str, "text", "text"),
    ],
)  # fmt: skip
def test_unions_come_back_through_the_variant_that_was_meant(annotation, said, meant):
    lowered = lower(schema(annotation), OPENAI_STRICT)
    wrapped = {"value": said} if "value" in lowered.schema["properties"] else said
    back = lowered.restore(wrapped) if lowered.restore is not None else wrapped
    assert TypeAdapter(annotation).validate_python(back) == meant


def test_a_tag_with_a_default_stays_required_since_it_tells_the_variants_apart():
    lowered = lower(schema(Cat), OPENAI_STRICT).schema
    assert lowered["properties"]["kind"] == {"type": "string", "const": "cat"}
    assert lowered["required"] == ["kind", "lives"]


@pytest.mark.parametrize(
    "made",
    [
        {"properties": {"a": {"type": "string"}}, "anyOf": [{"type": "object", "properties": {}}]},
        {"properties": {"a": {"type": "string"}}, "allOf": [{"type": "object", "properties": {}}]},
        {"$ref": "#/$defs/A", "properties": {}, "$defs": {"A": {"type": "object", "properties": {}}}},
        {"$ref": 5},
        {"anyOf": 5},
        {"allOf": [5]},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": 5}},
        {"$ref": "#/nowhere"},
    ],
)
@pytest.mark.parametrize("dialect", ALL, ids=lambda d: d.name)
def test_what_would_be_lost_or_is_no_schema_is_refused(made, dialect):
    with pytest.raises(UnaskableError, match=r"schema: at \$"):
        lower(made, dialect)


def test_two_places_may_hold_definitions_of_one_name():
    def node(kind: str, place: str) -> dict[str, Any]:
        inner = {"anyOf": [{"$ref": f"#/{place}/N"}, {"type": "null"}]}
        return {"type": "object", "properties": {"v": {"type": kind}, "n": inner}, "required": ["v", "n"]}

    made = {
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/N"}, "q": {"$ref": "#/definitions/N"}},
        "required": ["p", "q"],
        "$defs": {"N": node("string", "$defs")},
        "definitions": {"N": node("integer", "definitions")},
    }
    sent = lower(made, OPENAI_STRICT).schema
    kinds = [sent["$defs"][sent["properties"][k]["$ref"].rsplit("/", 1)[-1]]["properties"]["v"] for k in "pq"]
    assert kinds == [{"type": "string"}, {"type": "integer"}]
