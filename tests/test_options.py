"""Every container form becomes the right options; every wrong one an error that says what would be right."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict
from functools import partial
from types import MappingProxyType
from typing import TypedDict

import pydantic
import pytest

from decidable import FunctionOption, OptionError, OptionTypeError, SchemaOption, ValueOption
from decidable.options import options_of


def refund(order: str) -> str:
    """Give money
    back.

    More text that no model needs.
    """
    return order


class Desk:
    """A help desk."""

    def close(self, ticket: int) -> int:
        """Close a ticket."""
        return ticket

    @classmethod
    def reopen(cls, ticket: int) -> int:
        return ticket

    @staticmethod
    def ping() -> str:
        return "pong"

    def __call__(self, note: str) -> str:
        """Write a note."""
        return note


class Colour(enum.Enum):
    RED = "like blood"
    BLUE = "like the sea"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Money(pydantic.BaseModel):
    """An amount of money."""

    amount: float


@dataclasses.dataclass
class Point:
    x: int


class Row(TypedDict):
    name: str


def only(container):
    (option,) = options_of(container)
    return option


def test_functions_in_a_dict():
    option = only({"pay_back": refund})
    assert (type(option), option.name, option.description) == (FunctionOption, "pay_back", "Give money back.")
    assert [f.name for f in option.fields] == ["order"]


def test_a_function_with_a_description_of_its_own():
    assert only({"r": (refund, "Do it.")}).description == "Do it."
    assert only([(refund, "Do it.")]).description == "Do it."


@pytest.mark.parametrize("value", [None, 0, {}, [], (), "text", {"a": 1}, 3.5, ("a", 1), (1, 2, 3), b"x"])
def test_any_other_value_in_a_dict_comes_back_itself(value):
    option = only({"v": value})
    assert type(option) is ValueOption
    assert option.resolve({}) is value


def test_a_value_with_a_description():
    sentinel = object()
    option = only({"abort": (sentinel, "When it cannot go on.")})
    assert option.resolve({}) is sentinel
    assert option.description == "When it cannot go on."


def test_a_schema_option_in_a_dict_and_a_list():
    for container in ({"plan": ("Plan it.", {"why": str})}, [("plan", "Plan it.", {"why": str})]):
        option = only(container)
        assert (type(option), option.name, option.description) == (SchemaOption, "plan", "Plan it.")
        assert option.resolve({"why": "x"}) == {"decision": "plan", "why": "x"}


def test_names_in_a_list_resolve_to_themselves():
    a, b = options_of(["a", ("b", "The second.")])
    assert (a.resolve({}), b.resolve({}), b.description) == ("a", "b", "The second.")


@pytest.mark.parametrize(
    ("item", "name", "fields"),
    [
        (refund, "refund", ["order"]),
        (Desk().close, "close", ["ticket"]),
        (Desk.reopen, "reopen", ["ticket"]),
        (Desk.ping, "ping", []),
        (partial(refund, order="A"), "refund", ["order"]),
        (partial(Desk().close), "close", ["ticket"]),
        (Desk(), "Desk", ["note"]),
        (len, "len", ["obj"]),
    ],
)
def test_every_kind_of_callable_in_a_list(item, name, fields):
    option = only([item])
    assert (option.name, [f.name for f in option.fields]) == (name, fields)


def test_a_partial_makes_its_bound_keyword_optional():
    (field,) = only([partial(refund, order="A")]).fields
    assert not field.required


def test_callable_object_is_described_by_its_docstring():
    assert only({"d": Desk()}).description == "A help desk."


def test_an_enum_class_is_a_menu_of_its_members():
    red, blue = options_of(Colour)
    assert (red.name, red.description, red.resolve({})) == ("RED", "like blood", Colour.RED)
    assert blue.resolve({}) is Colour.BLUE
    assert [o.description for o in options_of(Level)] == ["1", "2"]


@pytest.mark.parametrize("model", [Money, Point, Row])
def test_model_classes_are_payloads(model):
    for container in ([model], {"m": model}, {"m": (model, "Fill it.")}, model):
        option = only(container)
        assert type(option) is SchemaOption
        assert option.parser is not None
    assert only([model]).name == model.__name__


def test_a_model_docstring_describes_it_and_a_generated_one_does_not():
    assert only([Money]).description == "An amount of money."
    assert only([Point]).description == ""
    assert only([Row]).description == ""


def test_option_objects_offer_what_would_be_misread():
    pair, function, cls = (1, "two"), refund, Money
    options = options_of(
        {"pair": ValueOption(pair), "function": ValueOption(function, "The function itself."), "cls": ValueOption(cls)}
    )
    assert [o.resolve({}) for o in options] == [pair, function, cls]
    assert [o.name for o in options] == ["pair", "function", "cls"]
    assert only([FunctionOption(refund, name="pay")]).name == "pay"
    assert only([SchemaOption({"a": int}, "An a.", "a_option")]).name == "a_option"


def test_a_dict_key_names_an_unnamed_function_option():
    assert only({"other": FunctionOption(refund)}).name == "other"


def test_two_names_for_one_option_is_a_conflict():
    with pytest.raises(OptionError, match="'a'.*'b'"):
        options_of({"a": ValueOption(1, name="b")})


def test_any_mapping_and_tuples_are_containers():
    assert only(MappingProxyType({"a": 1})).name == "a"
    assert only(OrderedDict(a=1)).name == "a"
    assert only(("a",)).name == "a"


def test_members_of_a_str_enum_name_options():
    class Route(enum.StrEnum):
        A = "to_a"

    option = only({Route.A: 1})
    assert option.name == "to_a"
    assert type(option.name) is str


@pytest.mark.parametrize("empty", [{}, [], (), enum.Enum("Nothing", [])])
def test_empty_options(empty):
    with pytest.raises(OptionError, match="empty"):
        options_of(empty)


@pytest.mark.parametrize("container", ["abc", 3, None, {"a"}, (x for x in "ab"), str, object()])
def test_other_containers(container):
    with pytest.raises(OptionTypeError, match="dict, a list, a tuple, an Enum class or a model class"):
        options_of(container)


@pytest.mark.parametrize("name", ["", "  ", 3, None, ("a",), b"x"])
def test_names_that_cannot_be_one(name):
    with pytest.raises(OptionError, match="non-empty str"):
        options_of({name: 1})


def test_blank_names_in_a_list():
    with pytest.raises(OptionError, match="option 1"):
        options_of(["a", " "])


def test_a_lambda_in_a_list():
    with pytest.raises(OptionError, match="lambda.*dict"):
        options_of([lambda: 1])
    assert only({"go": lambda: 1}).resolve({}) == 1


@pytest.mark.parametrize("item", [3, None, {"a": 1}, ("a", 3), (1, 2), ("a", "b", "c"), ["a"], ()])
def test_items_that_a_list_cannot_hold(item):
    with pytest.raises(OptionTypeError, match="option 0 of the list.*use a dict"):
        options_of([item])


def test_an_unnamed_option_in_a_list():
    with pytest.raises(OptionError, match="name="):
        options_of([ValueOption(1)])


def test_an_annotation_that_cannot_be_resolved():
    def lost(a: NoSuchType) -> None: ...  # noqa: F821

    with pytest.raises(OptionTypeError, match=r"'lost'.*'NoSuchType' of parameter 'a'"):
        options_of([lost])


def test_an_unresolvable_result_or_runtime_annotation_does_no_harm():
    def fine(a: int, runtime: NoSuchType = None) -> AlsoMissing: ...  # noqa: F821

    (field,) = only([fine]).fields
    assert (field.name, field.type) == ("a", "int")


def test_an_annotation_that_no_json_can_stand_for():
    class Connection:
        pass

    def query(db: Connection, text: str) -> None: ...

    query.__annotations__["db"] = Connection
    with pytest.raises(OptionTypeError, match=r"parameter 'db' of 'query'.*hide it"):
        options_of([query])
    option = FunctionOption(query, hidden=("db",))
    assert [f.name for f in option.fields] == ["text"]


def test_hiding_a_parameter_that_is_not_there():
    with pytest.raises(OptionTypeError, match=r"no parameter 'dbb'.*order"):
        FunctionOption(refund, hidden=("dbb",))


def test_function_option_of_no_function():
    with pytest.raises(OptionTypeError, match="callable"):
        FunctionOption(3)


def test_variadic_parameters_are_not_asked_for():
    def free(a: int, *args: str, b: int = 2, **kwargs: str) -> tuple: ...

    assert [(f.name, f.required) for f in only([free]).fields] == [("a", True), ("b", False)]


def test_positional_only_parameters_are_filled_in_place():
    def div(a: float, b: float = 2.0, /, *, scale: float = 1.0) -> float:
        return a / b * scale

    option = only([div])
    assert option.resolve({"a": 6.0}) == 3.0
    assert option.resolve({"scale": 10.0, "b": 3.0, "a": 6.0}) == 20.0


def test_string_annotations_are_resolved():
    option = only([refund])
    assert option.fields[0].type == "str"  # this module has `from __future__ import annotations`


def test_a_description_before_its_function_is_a_slip():
    with pytest.raises(OptionTypeError, match=r"\(refund, 'description'\)"):
        options_of({"r": ("Give it back.", refund)})


def test_hidden_is_a_list_of_names():
    with pytest.raises(OptionTypeError, match=r"\('order',\)"):
        FunctionOption(refund, hidden="order")
