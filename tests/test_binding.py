"""Arguments against the menu: strict by default, lossless repairs on request, never a lossy one."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest

from decidable.attempt import Failure, Pick
from decidable.binding import bind
from decidable.menu import menu_of


class Team(enum.Enum):
    BILLING = "billing"
    SALES = "sales"


class Line(pydantic.BaseModel):
    sku: str
    count: int = pydantic.Field(default=1, ge=1)


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


class Row(TypedDict):
    name: str


class Event(pydantic.BaseModel):
    at: dt.datetime


class Never(pydantic.BaseModel):
    @pydantic.model_validator(mode="after")
    def refuse(self):
        raise ValueError("never")


def bound(options, arguments, repair="syntax", name=None):
    menu = menu_of(options)
    return bind(Pick(name or menu.options[0].name, arguments), menu, repair)


def value_of(annotation, value, repair="syntax"):
    """`value` for a parameter of that annotation: what the function would receive, or the failure."""

    def f(a): ...

    f.__annotations__["a"] = annotation
    got = bound([f], {"a": value}, repair)
    return got if isinstance(got, Failure) else got.arguments["a"]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, ""),
        (int, 3),
        (int, -(10**20)),
        (float, 3.5),
        (float, 3),
        (bool, False),
        (list, [1, "a", None]),
        (dict, {"a": {"b": [1]}}),
        (list[int], [1, 2]),
        (list[list[str]], [["a"], []]),
        (dict[str, Any], {"a": 1}),
        (int | None, None),
        (int | None, 3),
        (Literal["a", "b"], "a"),
        (Literal[1, 2], 2),
        (Any, {"x": [1.5, None, True]}),
        (dict[str, int], {"a": 1}),
        (tuple[int, str], (1, "a")),
    ],
)
def test_values_that_fit_arrive_unchanged(annotation, value):
    sent = list(value) if isinstance(value, tuple) else value
    got = value_of(annotation, sent)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("annotation", "value", "parsed"),
    [
        (Team, "sales", Team.SALES),
        (Team | None, "sales", Team.SALES),
        (list[Team], ["billing"], [Team.BILLING]),
        (dt.date, "2026-01-31", dt.date(2026, 1, 31)),
        (Line, {"sku": "a"}, Line(sku="a", count=1)),
        (list[Line], [{"sku": "a", "count": 2}], [Line(sku="a", count=2)]),
        (Point, {"x": 1}, Point(1, 0.5)),
        (Row, {"name": "n"}, {"name": "n"}),
        (Annotated[int, pydantic.Field(ge=1)], 1, 1),
        (int | str, "x", "x"),
        (set[int], [1, 2], {1, 2}),
    ],
)
def test_the_function_receives_parsed_objects(annotation, value, parsed):
    got = value_of(annotation, value)
    assert got == parsed
    assert type(got) is type(parsed)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, 3),
        (str, None),
        (int, "3"),
        (int, 3.0),
        (int, True),
        (int, None),
        (float, "3"),
        (float, True),
        (float, float("nan")),
        (float, float("inf")),
        (bool, 1),
        (bool, "true"),
        (list, "[]"),
        (list, {}),
        (dict, []),
        (list[int], [1, "2"]),
        (list[int], [1, True]),
        (dict, {"a": [float("nan")]}),
        (Any, float("inf")),
        (int | None, "3"),
        (dt.date, "tomorrow"),
        (dt.date, 3),
        (Line, {"sku": "a", "count": 0}),
        (Line, {"sku": 3}),
        (Line, "x"),
        (Line, {"sku": "a", "count": float("nan")}),
        (Annotated[int, pydantic.Field(ge=1)], 0),
        (Point, {"x": "1"}),
        (tuple[int, str], [1, 2]),
    ],
)
def test_values_that_do_not_fit(annotation, value):
    got = value_of(annotation, value)
    assert isinstance(got, Failure)
    assert got.kind == "type_mismatch"


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(Team, "legal"), (Team, "BILLING"), (Literal["a"], "A"), (Literal[1], True), (Literal[0, 1], False)],
)
def test_values_outside_the_list(annotation, value):
    kind = value_of(annotation, value).kind
    assert kind == ("type_mismatch" if isinstance(value, bool) else "enum_violation")


def test_an_enum_failure_lists_what_is_allowed():
    assert 'a: "legal" is not one of "billing", "sales"' in value_of(Team, "legal").message


PLAN = {"plan": ("Plan.", {"steps": [{"action": str, "n": {"type": int, "options": [1, 2]}}], "why": str})}


@pytest.mark.parametrize(
    ("arguments", "kind", "path"),
    [
        ({"steps": []}, "missing_required", "why: "),
        ({"steps": [{"n": 1}], "why": ""}, "missing_required", "steps[0].action: "),
        ({"steps": [{"action": "a", "n": 1}, {"action": 2, "n": 1}], "why": ""}, "type_mismatch", "steps[1].action: "),
        ({"steps": [{"action": "a", "n": 3}], "why": ""}, "enum_violation", "steps[0].n: "),
        ({"steps": {}, "why": ""}, "type_mismatch", "steps: "),
        ({"steps": [{"action": "<str>", "n": 1}], "why": ""}, "bad_args", "steps[0].action: "),
    ],
)
def test_nested_failures_carry_their_path(arguments, kind, path):
    got = bound(PLAN, arguments)
    assert (got.kind, path in got.message) == (kind, True), got.message


def test_a_model_option_gives_an_instance_and_paths():
    choice = bound(Line, {"sku": "a", "count": 3})
    assert choice.option.resolve(choice.arguments) == Line(sku="a", count=3)
    got = bound(Line, {"count": 3})
    assert (got.kind, "sku" in got.message) == ("missing_required", True)
    assert bound(Line, {"sku": "<str>"}).kind == "bad_args"
    lossless = bound(Line, {"sku": 7, "count": "3"}, "lossless")
    assert lossless.option.resolve(lossless.arguments) == Line(sku="7", count=3)


def test_unknown_fields_are_dropped():
    choice = bound(PLAN, {"steps": [{"action": "a", "n": 1, "x": 1}], "why": "w", "extra": 2})
    assert choice.arguments == {"steps": [{"action": "a", "n": 1}], "why": "w"}


def test_value_options_take_no_fields():
    assert bound({"done": 1}, {"anything": 1}).arguments == {}
    assert bound({"done": 1}, None).arguments == {}
    assert bound({"done": 1}, "junk").arguments == {}


def test_required_means_no_default():
    def f(a: int, b: int = 2): ...

    assert bound([f], {"a": 1}).arguments == {"a": 1}
    assert bound([f], {"b": 1}).kind == "missing_required"
    assert bound([f], {"a": 1, "b": None}).kind == "type_mismatch"
    assert bound([f], {"a": 1, "b": None}, "lossless").arguments == {"a": 1}


@pytest.mark.parametrize("arguments", ["{}x", 3, [1], True])
def test_arguments_that_are_no_object(arguments):
    def f(a: int = 1): ...

    assert bound([f], arguments).kind == "bad_args"


@pytest.mark.parametrize("arguments", [None, "", {}])
def test_no_arguments_at_all(arguments):
    def f(a: int = 1): ...

    assert bound([f], arguments).arguments == {}


def test_an_unknown_option_lists_the_real_ones():
    got = bound({"refund": 1, "close": 2}, {}, name="refnd")
    assert got.kind == "unknown_call"
    assert "did you mean 'refund'?" in got.message
    assert "'refund', 'close'" in bound({"refund": 1, "close": 2}, {}, name="zzz").message


@pytest.mark.parametrize(
    ("annotation", "value", "mended"),
    [
        (int, "3", 3),
        (int, " -12 ", -12),
        (int, 2.0, 2),
        (int, "2.0", 2),
        (float, "3.5", 3.5),
        (float, "1e3", 1000.0),
        (bool, "true", True),
        (bool, "False", False),
        (str, 1, "1"),
        (list, "[1, 2]", [1, 2]),
        (dict, '{"a": 1}', {"a": 1}),
        (list[int], '["1", 2.0]', [1, 2]),
        (Team, "SALES", Team.SALES),
        (Literal["Red", "Blue"], "red", "Red"),
        (Literal[60, 1440], "1440", 1440),
        (Literal["1", "2"], 1, "1"),
        (int | None, "3", 3),
        (Line, '{"sku": 5, "count": "2"}', Line(sku="5", count=2)),
        (list[Line], [{"sku": 5, "count": None}], [Line(sku="5")]),
    ],
)
def test_lossless_repairs(annotation, value, mended):
    assert value_of(annotation, value, "lossless") == mended
    assert isinstance(value_of(annotation, value), Failure)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, 7.25),
        (int, "7.25"),
        (int, "12,5"),
        (int, "1,234"),
        (int, "three"),
        (int, ""),
        (int, True),
        (int, 1e300),
        (int, None),
        (float, "12,5"),
        (float, "1e999"),
        (float, "nan"),
        (float, True),
        (bool, 1),
        (bool, "yes"),
        (str, True),
        (str, 1.5),
        (str, None),
        (list, "1, 2"),
        (list, '{"a": 1}'),
        (dict, "[1]"),
        (Literal["a", "A"], "á"),
        (Literal["Ab", "aB"], "ab"),
        (Team, "sale"),
        (int, "9" * 200),
        (int, "1.0000000000000000000001"),
        (int, "4503599627370496.25"),
        (int, "1e-999"),
        (int, "1e999"),
        (float, "1e-999"),
        (float, "1.00000000000000000001"),
        (float, 10**400),
        (dict, '{"a": 1, "a": 2}'),
        (dict, '{"a": NaN}'),
        (list, "[" * 300 + "]" * 300),
        (list, "[" * 100_000),
        (Literal["None"] | None, "x"),
        (dt.datetime, 1),
        (dt.date, 20260131),
        (Event, {"at": 1}),
    ],
)
def test_nothing_lossy_is_ever_mended(annotation, value):
    assert isinstance(value_of(annotation, value, "lossless"), Failure)


def test_every_repair_is_reported():
    def f(a: int, b: str): ...

    choice = bound([f], {"a": "3", "b": 4}, "lossless", name="F")
    assert choice.repairs == ("option 'F' taken as 'f'", 'a: "3" taken as 3', 'b: 4 taken as "4"')
    assert bound([f], {"a": 3, "b": "4"}, "lossless").repairs == ()


def test_wrappers_are_taken_off_only_where_the_schema_proves_them():
    def f(a: int): ...

    def g(arguments: dict): ...

    assert bound([f], {"arguments": {"a": 1}}, "lossless").arguments == {"a": 1}
    assert bound([f], {"arguments": {"a": 1}}).kind == "missing_required"
    assert bound([f], {"type": "object", "properties": {"a": 1}}, "lossless").arguments == {"a": 1}
    assert bound([f], {"arguments": {"a": 1}, "other": 2}, "lossless").kind == "missing_required"
    assert bound([g], {"arguments": {"a": 1}}, "lossless").arguments == {"arguments": {"a": 1}}


def test_a_model_without_fields_may_refuse():
    assert bound(Never, {}).kind == "type_mismatch"


def test_whole_numbers_may_have_many_digits_but_not_for_a_float():
    assert value_of(int, 10**400) == 10**400
    assert value_of(float, 10**400).kind == "type_mismatch"
    assert value_of(int, "123456789012345678901234567890", "lossless") == 123456789012345678901234567890


def test_a_message_can_always_be_sent_back():
    for arguments in ({"text": ["\ud800"]}, ["\ud800"]):

        def f(text: str): ...

        bound([f], arguments).message.encode()
    bound({"a": 1}, {}, name="\ud800").message.encode()


def test_what_is_dropped_is_reported():
    def f(a: int, b: int = 2): ...

    assert bound([f], {"a": 1, "bb": 3}).repairs == ("'bb': dropped",)
    assert bound({"done": 1}, {"why": "x"}).repairs == ("'why': dropped",)
    assert bound(PLAN, {"steps": [{"action": "a", "n": 1, "x": 1}], "why": "w"}).repairs == ("steps[0].'x': dropped",)
    assert bound(Line, {"sku": "a", "cuont": 3}).repairs == ("'cuont': dropped",)


def test_nothing_runs_on_defaults_while_its_arguments_stand_elsewhere():
    def f(times: int = 3): ...

    menu = menu_of([f])
    beside = Pick("f", {}, beside={"times": 5})
    assert bind(beside, menu).kind == "bad_args"
    assert bind(beside, menu, "lossless").arguments == {"times": 5}
    wrapped = Pick("f", {"arguments": {"times": 5}})
    assert bind(wrapped, menu).kind == "bad_args"
    assert bind(wrapped, menu, "lossless").arguments == {"times": 5}
