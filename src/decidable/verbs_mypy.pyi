# pyright: reportOverlappingOverload=false
"""What mypy reads of the verbs; never imported at run time.

mypy joins the members of a dict or list display, which makes `object` or `function` of different functions, unless the
parameter's type holds a recursive alias, written out in the signature: then it makes a union of them. The protocols
below are invariant, so they refuse a result type that is not that of every member, and the call falls through to Any.
"""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, TypeAlias, TypeVar, Unpack, overload

from decidable.content import ContentInput
from decidable.flow.record import Decision
from decidable.function import AgenticFunction
from decidable.menu import Menu
from decidable.options import FunctionOption, Option, SchemaOption, ValueOption
from decidable.settings import DecisionSettings

Plain: TypeAlias = (
    str | int | float | complex | bytes | Enum | list[Any] | dict[str, Any] | set[Any] | frozenset[Any] | None
)

T = TypeVar("T")
P = TypeVar("P", bound=Plain)
R_co = TypeVar("R_co", covariant=True)
W_contra = TypeVar("W_contra", contravariant=True)

# Holds none of our containers; its being recursive is what counts. Not Sequence: a list of str would be one.
_Rec: TypeAlias = Mapping[str, _Rec] | list[_Rec]

class _Dict(Protocol[R_co, W_contra]):
    """A dict by what may be read from it and what may be written to it."""

    def values(self) -> Iterable[R_co]: ...
    def __setitem__(self, key: str, value: W_contra, /) -> None: ...

class _List(Protocol[R_co, W_contra]):
    """A list, likewise."""

    def __iter__(self) -> Iterator[R_co]: ...
    def append(self, value: W_contra, /) -> None: ...

_Of: TypeAlias = _Dict[R_co, W_contra] | _List[R_co, W_contra]
_Function: TypeAlias = Callable[..., T]
_Described: TypeAlias = tuple[Callable[..., T], str]
_Coroutine: TypeAlias = Callable[..., Coroutine[Any, Any, T]]
_DescribedCoroutine: TypeAlias = tuple[Callable[..., Coroutine[Any, Any, T]], str]
_Same: TypeAlias = (
    _Of[_Function[T], _Function[T]]
    | _Of[_Function[T], AgenticFunction[..., T]]
    | _Of[_Described[T], _Described[T]]
    | _Of[type[T], type[T]]
    | _Of[tuple[type[T], str], tuple[type[T], str]]
    | _Of[Option[T], ValueOption[T]]
    | _Of[Option[T], FunctionOption[T]]
    | _Of[Option[T], SchemaOption[T]]
)
_Async: TypeAlias = (
    _Of[_Coroutine[T], _Coroutine[T]]
    | _Of[_Coroutine[T], AgenticFunction[..., Coroutine[Any, Any, T]]]
    | _Of[_DescribedCoroutine[T], _DescribedCoroutine[T]]
)
_Values: TypeAlias = Mapping[str, P] | Sequence[P]
_Other: TypeAlias = Mapping[str, Any] | Sequence[Any] | Menu

@overload
def make(prompt: ContentInput, options: type[T], **settings: Unpack[DecisionSettings]) -> T: ...
@overload
def make(prompt: ContentInput, options: _Same[object] | _Rec, **settings: Unpack[DecisionSettings]) -> Any: ...
@overload
def make(  # type: ignore[overload-overlap]  # the wider ones come first on purpose
    prompt: ContentInput, options: _Same[T] | _Rec, **settings: Unpack[DecisionSettings]
) -> T: ...
@overload
def make(prompt: ContentInput, options: _Values[P] | _Rec, **settings: Unpack[DecisionSettings]) -> P: ...
@overload
def make(prompt: ContentInput, options: _Other, **settings: Unpack[DecisionSettings]) -> Any: ...
@overload
def decide(prompt: ContentInput, options: type[T], **settings: Unpack[DecisionSettings]) -> Decision[T]: ...
@overload
def decide(
    prompt: ContentInput, options: _Same[object] | _Rec, **settings: Unpack[DecisionSettings]
) -> Decision[Any]: ...
@overload
def decide(  # type: ignore[overload-overlap]  # the wider ones come first on purpose
    prompt: ContentInput, options: _Same[T] | _Rec, **settings: Unpack[DecisionSettings]
) -> Decision[T]: ...
@overload
def decide(prompt: ContentInput, options: _Values[P] | _Rec, **settings: Unpack[DecisionSettings]) -> Decision[P]: ...
@overload
def decide(prompt: ContentInput, options: _Other, **settings: Unpack[DecisionSettings]) -> Decision[Any]: ...
@overload
async def async_make(prompt: ContentInput, options: type[T], **settings: Unpack[DecisionSettings]) -> T: ...
@overload
async def async_make(
    prompt: ContentInput, options: _Async[object] | _Same[object] | _Rec, **settings: Unpack[DecisionSettings]
) -> Any: ...
@overload
async def async_make(  # type: ignore[overload-overlap]  # the wider ones come first on purpose
    prompt: ContentInput, options: _Async[T] | _Rec, **settings: Unpack[DecisionSettings]
) -> T: ...
@overload
async def async_make(  # type: ignore[overload-overlap]  # the wider ones come first on purpose
    prompt: ContentInput, options: _Same[T] | _Rec, **settings: Unpack[DecisionSettings]
) -> T: ...
@overload
async def async_make(prompt: ContentInput, options: _Values[P] | _Rec, **settings: Unpack[DecisionSettings]) -> P: ...
@overload
async def async_make(prompt: ContentInput, options: _Other, **settings: Unpack[DecisionSettings]) -> Any: ...
@overload
async def async_decide(prompt: ContentInput, options: type[T], **settings: Unpack[DecisionSettings]) -> Decision[T]: ...
@overload
async def async_decide(
    prompt: ContentInput, options: _Async[object] | _Same[object] | _Rec, **settings: Unpack[DecisionSettings]
) -> Decision[Any]: ...
@overload
async def async_decide(  # type: ignore[overload-overlap]  # the wider ones come first on purpose
    prompt: ContentInput, options: _Async[T] | _Rec, **settings: Unpack[DecisionSettings]
) -> Decision[T]: ...
@overload
async def async_decide(  # type: ignore[overload-overlap]  # the wider ones come first on purpose
    prompt: ContentInput, options: _Same[T] | _Rec, **settings: Unpack[DecisionSettings]
) -> Decision[T]: ...
@overload
async def async_decide(
    prompt: ContentInput, options: _Values[P] | _Rec, **settings: Unpack[DecisionSettings]
) -> Decision[P]: ...
@overload
async def async_decide(
    prompt: ContentInput, options: _Other, **settings: Unpack[DecisionSettings]
) -> Decision[Any]: ...
