"""Annotations and the dict notation become fields; fields become JSON Schema and placeholders."""

from __future__ import annotations

import datetime
import enum
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest

from decidable import OptionError, OptionTypeError
from decidable.schema.annotations import field_of
from decidable.schema.field import placeholder, type_label
from decidable.schema.jsonschema import fields_from_schema, object_schema, schema_of
from decidable.schema.notation import fields_of_notation


def one(notation: Any):
    (field,) = fields_of_notation({"f": notation}, where="test")
    return field


@pytest.mark.parametrize(
    ("notation", "label", "example"),
    [
        (str, "str", "<str>"),
        (int, "int", 0),
        (float, "float", 0.0),
        (bool, "bool", False),
        (list, "list", []),
        (dict, "dict", {}),
        ("What it is.", "str", "<str>"),
        ([str], "list[str]", ["<str>"]),
        ([{"a": int}], "list[dict]", [{"a": 0}]),
        ({"a": str, "b": [bool]}, "dict", {"a": "<str>", "b": [False]}),
        ({}, "dict", {}),
        ({"type": int}, "int", 0),
        ({"type": "integer"}, "int", 0),
        ({"type": str, "options": ["a", "b"]}, "str", "<str>"),
        ({"items": str}, "list[str]", ["<str>"]),
        ({"type": list, "items": {"x": int}}, "list[dict]", [{"x": 0}]),
        ({"fields": {"x": int}}, "dict", {"x": 0}),
        (int | None, "int | None", 0),
        (Optional[str], "str | None", "<str>"),
        (list[int], "list[int]", [0]),
        (Literal["a", "b"], "str", "<str>"),
        (datetime.date, "str", "<str>"),
        (dict[str, Any], "dict", {}),
        (Any, "any", "<any>"),
    ],
)
def test_the_notation(notation, label, example):
    field = one(notation)
    assert type_label(field) == label
    assert placeholder(field) == example


def test_a_field_called_type_beside_others_is_no_meta_form():
    field = one({"type": str, "price": float})
    assert [f.name for f in field.fields] == ["type", "price"]


def test_meta_form_keeps_description_and_options():
    field = one({"type": str, "description": "Which team.", "options": {"a": "The first.", "b": "The second."}})
    assert (field.description, field.choices, field.criteria["b"]) == ("Which team.", ("a", "b"), "The second.")


@pytest.mark.parametrize("template", [[], [str, int], ()])
def test_a_list_holds_one_template(template):
    with pytest.raises(OptionTypeError, match="exactly one template"):
        one(template)


@pytest.mark.parametrize(
    ("notation", "message"),
    [
        (3, "not a field type"),
        ({"type": "strnig"}, "unknown type 'strnig'"),
        ({"type": str, "options": []}, "non-empty list"),
        ({"type": str, "options": "ab"}, "non-empty list"),
        ({"type": str, "description": 3}, "'description' must be a str"),
        ({"fields": [1]}, "'fields' must be a mapping"),
    ],
)
def test_mistakes_in_the_notation_name_the_field(notation, message):
    with pytest.raises(OptionTypeError, match=f"field 'f'.*{message}"):
        one(notation)


def test_field_names_are_strings():
    with pytest.raises(OptionError, match="non-empty str"):
        fields_of_notation({3: str}, where="test")


class Team(enum.Enum):
    BILLING = "billing"
    SALES = "sales"


class Line(pydantic.BaseModel):
    sku: str
    count: int = pydantic.Field(1, ge=1, description="How many.")
    parts: list[Line] = []


def test_enums_by_value_and_by_name():
    assert field_of("t", Team, where="x").choices == ("billing", "sales")
    odd = enum.Enum("odd", {"A": (1, 2), "B": (3, 4)})
    assert field_of("t", odd, where="x").choices == ("A", "B")


def test_annotated_descriptions():
    assert field_of("n", Annotated[int, "How many."], where="x").description == "How many."
    assert (
        field_of("n", Annotated[int, pydantic.Field(description="How many.", ge=0)], where="x").description
        == "How many."
    )


def test_a_recursive_model_has_a_bounded_shape():
    field = field_of("line", Line, where="x")
    assert [f.name for f in field.fields] == ["sku", "count", "parts"]
    assert placeholder(field)["sku"] == "<str>"


def test_json_schema_of_fields():
    fields = fields_of_notation(
        {"a": str, "b": {"type": int, "options": [1, 2], "description": "B."}, "c": [{"d": bool}], "e": float | None},
        where="x",
    )
    assert object_schema(fields) == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer", "enum": [1, 2], "description": "B."},
            "c": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"d": {"type": "boolean"}},
                    "required": ["d"],
                    "additionalProperties": False,
                },
            },
            "e": {"type": ["number", "null"]},
        },
        "required": ["a", "b", "c", "e"],
        "additionalProperties": False,
    }


def test_definitions_move_to_the_top():
    schema = object_schema([field_of("line", Line, where="x")])
    assert "Line" in schema["$defs"]
    assert "$defs" not in schema["properties"]["line"]


def test_json_schema_round_trip():
    fields = fields_of_notation({"a": str, "b": [int], "c": {"d": bool}}, where="x")
    again = fields_from_schema(object_schema(fields))
    assert object_schema(again) == object_schema(fields)


def test_a_schema_that_could_not_be_checked_is_refused_with_its_path():
    with pytest.raises(OptionError, match=r"'a\.b'.*'pattern'"):
        fields_from_schema(
            {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"pattern": "x"}}}}}
        )


def test_null_variants():
    (field,) = fields_from_schema(
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}
    )
    assert (field.type, field.nullable, field.required) == ("int", True, False)
    assert schema_of(field)["type"] == ["integer", "null"]


def test_options_that_no_value_could_satisfy():
    with pytest.raises(OptionTypeError, match="'x' is no int"):
        one({"type": int, "options": ["x"]})
