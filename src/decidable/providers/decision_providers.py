"""Decision providers by name, with what is special about each; all of it is data of their endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from decidable.errors import SettingError
from decidable.providers.decision_endpoints import DECISION_ENDPOINTS, PARALLEL_MODES
from decidable.providers.typed_remote import TypedRemoteProvider

__all__ = [
    "jev_provider",
    "openai_decisions_provider",
    "openrouter_provider",
    "parallel_provider",
    "systemone_provider",
]


def parallel_provider(*, modes: Sequence[str] = PARALLEL_MODES, **settings: Any) -> TypedRemoteProvider:
    """Parallel Decisions: answers that rest on the live web as well as on the state.

    A claim that the web cannot know, such as a private fact, may score lower than the state alone supports. A request
    that may have been answered is never sent again, and is booked at the list price, 0.001 US dollars.

    Args:
        modes: The modes that a request may name, as ``parallel-<mode>``; the first is asked when none is named.
        settings: As for `decidable.connect`: ``api_key`` (else ``PARALLEL_API_KEY``, read when a request is made),
            ``timeout_s`` (30), ``max_attempts`` (3), ``base_url``, ``headers``, ``client``, ``async_client``.
    """
    if isinstance(modes, str) or not modes or not all(isinstance(mode, str) and mode for mode in modes):
        raise SettingError(f"modes lists the names of Parallel's modes, such as ['fast'], not {modes!r}")
    names = tuple(f"parallel-{mode}" for mode in modes)
    endpoint = replace(DECISION_ENDPOINTS["parallel"], models=names, default_model=names[0])
    return TypedRemoteProvider(endpoint, **settings)


def openrouter_provider(model: str | None = None, **settings: Any) -> TypedRemoteProvider:
    """The decision models of OpenRouter, e.g. ``"typesafe/jev-1.14"``, ``"liquid/d1"`` or ``"cloudflare/clef"``.

    A request that may have been answered is never sent again. The cost is the one that it reports.

    Args:
        model: The model that is asked when a request names none; without one such a request is refused.
        settings: As for `decidable.connect`: ``api_key`` (else ``OPENROUTER_API_KEY``, read when a request is made),
            ``takes_images`` (True or False instead of what the public catalogue says), and those of
            `parallel_provider`.
    """
    return TypedRemoteProvider(DECISION_ENDPOINTS["openrouter-decisions"], model, **settings)


def jev_provider(model: str | None = None, **settings: Any) -> TypedRemoteProvider:
    """TypeSafe's Jev: judges the state that it is given, and nothing else.

    Asking it again costs no more than the tokens, so a request that was not answered is sent again: after 408, 429,
    5xx and a connection that failed.

    Args:
        model: Default ``jev-latest``, or ``TYPESAFE_DEFAULT_MODEL``. Name a fixed one where a threshold is tuned.
        settings: As for `decidable.connect`: ``api_key`` (else ``TYPESAFE_API_KEY``, read when a request is made),
            ``prices`` (US dollars per million input and output tokens; without them the cost is unknown), and those
            of `parallel_provider`.
    """
    return TypedRemoteProvider(DECISION_ENDPOINTS["typesafe"], model, **settings)


def systemone_provider(base_url: str, model: str | None = None, **settings: Any) -> TypedRemoteProvider:
    """Any server that speaks System One.

    Args:
        base_url: Where ``/v1/systemone`` begins, e.g. ``"http://localhost:8080"``.
        model: Default ``jev-latest``, which servers of one model take for theirs.
        settings: As for `decidable.connect`: ``api_key`` (else ``SYSTEMONE_API_KEY``; none is needed),
            ``replay="never"`` if asking twice is paid twice, and those of `parallel_provider`.
    """
    return TypedRemoteProvider(DECISION_ENDPOINTS["systemone"], model, base_url=base_url, **settings)


def openai_decisions_provider(model: str | None = None, **settings: Any) -> TypedRemoteProvider:
    """OpenAI's Decisions.

    Args:
        model: Default ``gpt-6-luna``.
        settings: As for `decidable.connect`: ``api_key`` (else ``OPENAI_API_KEY``, read when a request is made),
            ``prices``, and those of `parallel_provider`.
    """
    return TypedRemoteProvider(DECISION_ENDPOINTS["openai-decisions"], model, **settings)
