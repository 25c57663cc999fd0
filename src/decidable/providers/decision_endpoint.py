"""`DecisionEndpoint`: where typed questions are answered, and in which dialect; data, not code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from decidable.providers.protocol import Patience
from decidable.questions.limits import Limits

__all__ = ["DecisionEndpoint", "DecisionWire", "Images"]

DecisionWire: TypeAlias = Literal["systemone", "openai-decisions"]

Images: TypeAlias = Literal["none", "assets", "listed", "parts"]
"""How images go along: not at all; as ``assets`` by token; the same, but only to models that a catalogue lists; or as
parts of the message."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecisionEndpoint:
    """A place that answers typed questions.

    Attributes:
        name: What it is called in ``Runtime("name:model")``, in records and in errors.
        base_url: What the path is appended to; ``{NAME}`` in it is taken from the environment. ``""`` if it must be
            given.
        path: What follows; ``{model}`` in it is the model, which then is not in the body.
        wire: What is spoken there.
        key: Environment variable that holds the key, read when a request is made; None if none is needed.
        key_optional: Whether it answers without a key too.
        key_header: Header that carries the key; in ``authorization`` it follows the word Bearer.
        url_variable: Environment variable that replaces the base URL.
        headers: Sent with each request.
        default_model: The model asked when none is named.
        model_variable: Environment variable that replaces the default model.
        needs_model: Whether a request must name one.
        models: The only models that may be named; None for any.
        model_field: Where the body names the model.
        model_prefix: What a model's name begins with for us and not there.
        state_field: Where the body holds the state.
        extra: Fields of each body.
        both_sides: Whether a noul's criteria need both sides; the missing one is the other's plain complement.
        named_options: Whether an option without a description is described by its own name.
        envelope: The field of the answer that holds the reply; ``""`` if the answer is the reply.
        request_id: Field, or header, in which it names a request.
        cost: Path to the cost in US dollars, e.g. ``("usage", "cost")``; empty if it reports none.
        list_price: US dollars a request, where it reports none and has one price for all.
        prices: US dollars per million input and output tokens, where those are what one pays; None if unknown.
        replay: Whether a request that may have been answered is sent again.
        limits: What one request may hold.
        patience: How often a request is sent again.
        question_types: What it answers.
        strict: Whether an answer whose usage or model is none is refused, as its own clients do.
        images: How images go along.
        catalogue: Path of the list of models that take images, where they are ``"listed"``.
        image_header: Header without which it takes none.
        max_image_side: Pixels; a larger image is refused.
    """

    name: str
    base_url: str = ""
    path: str = "/v1/systemone"
    wire: DecisionWire = "systemone"
    key: str | None = None
    key_optional: bool = False
    key_header: str = "authorization"
    url_variable: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    default_model: str | None = None
    model_variable: str | None = None
    needs_model: bool = True
    models: tuple[str, ...] | None = None
    model_field: str = "model"
    model_prefix: str = ""
    state_field: str = "state"
    extra: Mapping[str, object] = field(default_factory=dict)
    both_sides: bool = False
    named_options: bool = False
    envelope: str = ""
    request_id: str = "id"
    cost: tuple[str, ...] = ()
    list_price: float | None = None
    prices: tuple[float, float] | None = None
    replay: Literal["never", "safe"] = "safe"
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    question_types: frozenset[str] = frozenset({"noul", "choice", "score"})
    strict: bool = False
    images: Images = "none"
    catalogue: str = ""
    image_header: str = "typesafe-danger-zone-images"
    max_image_side: int | None = None
