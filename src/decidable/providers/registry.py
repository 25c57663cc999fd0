"""Providers by name: ``"local"``, ``"openai:gpt-5.2"``; each is imported only when it is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias, cast, get_args

from decidable.errors import SettingError, UnknownProviderError, did_you_mean
from decidable.providers.protocol import Provider

__all__ = ["connect", "provider_names", "register_endpoint", "register_provider", "resolve_provider"]

Factory: TypeAlias = Callable[..., Provider]

_BUILT_IN = {"local": ("decidable.providers.local", "LocalProvider")}
_registered: dict[str, Factory] = {}


def register_provider(name: str, factory: Factory) -> None:
    """Make ``Runtime("name:model")`` work for a provider of your own.

    Args:
        name: Letters, digits, ``-`` and ``_``; a built-in name is replaced.
        factory: Called with the model's name, or None when none was given.
    """
    _registered[_checked(name)] = factory


def register_endpoint(name: str, base_url: str, *, like: str = "openai", **changes: Any) -> None:
    """Make ``Runtime("name:model")`` work for a server that speaks a known wire.

    Args:
        name: Letters, digits, ``-`` and ``_``; a built-in name is replaced.
        base_url: What the wire's paths are appended to, e.g. ``"https://llm.example.com/v1"``.
        like: The endpoint that it behaves like; its wire and accent are taken over, its key is not.
        changes: Fields of `decidable.providers.endpoint.Endpoint`, or for a decision model of
            `decidable.providers.decision_endpoint.DecisionEndpoint`, in which it differs, such as
            ``key="EXAMPLE_API_KEY"`` or ``omit=frozenset({"seed"})``.

    Raises:
        UnknownProviderError: `like` is no known endpoint.
        SettingError: A change names no such field.

    Example:
        >>> from decidable import Runtime, register_endpoint
        >>> register_endpoint("acme", "https://llm.acme.example/v1", key="ACME_API_KEY", key_optional=True)
        >>> Runtime("acme:tiny")
        Runtime('acme', model='tiny')
    """
    from dataclasses import fields, replace

    model = _endpoints().get(like)
    if model is None:
        raise UnknownProviderError(f"no endpoint is named {like!r}; {did_you_mean(like, tuple(_endpoints()))}")
    known = tuple(field.name for field in fields(model))
    for change in changes:
        if change not in known:
            raise SettingError(f"an endpoint has no {change!r}; {did_you_mean(change, known)}")
    wires = _wires(model)
    if changes.get("wire", model.wire) not in wires:
        raise SettingError(f"a wire is one of {', '.join(map(repr, wires))}, not {changes['wire']!r}")
    if not base_url.startswith(("http://", "https://")):
        raise SettingError(f"the base URL of {name!r} must begin with http:// or https://, not {base_url!r}")
    own: dict[str, Any] = {"key": None, "key_optional": False, "url_variable": None}
    if "url_suffix" in known:
        own["url_suffix"] = ""
    endpoint = replace(model, name=_checked(name), base_url=base_url, **{**own, **changes})

    def factory(model: str | None, **settings: Any) -> Provider:
        return _remote(endpoint, model, settings)

    register_provider(name, factory)


def provider_names() -> tuple[str, ...]:
    """Every name that can be resolved, sorted."""
    return tuple(sorted({*_BUILT_IN, *_endpoints(), *_registered}))


def connect(spec: str, **settings: Any) -> Provider:
    """A provider by name, with settings of its own.

    Args:
        spec: ``"name"`` or ``"name:model"``, e.g. ``"anthropic:claude-sonnet-5-5"``.
        settings: For an endpoint: ``api_key``, ``base_url``, ``timeout_s`` (most seconds of silence, default 600),
            ``headers``, ``extra`` (fields for each body), ``proxy``, ``client`` and ``async_client`` (clients with
            httpx's interface, which are used and not closed). For another provider: what its factory takes.

    Returns:
        A provider for ``Runtime(...)``. Give it to one Runtime, which closes it.

    Raises:
        UnknownProviderError: No provider has that name; the message offers close ones.
        MissingKeyError: It needs a key.
        MissingExtraError: It needs an optional dependency that is not installed.
        SettingError: A setting that it does not have, or one out of range.
    """
    return resolve_provider(spec, **settings)


def resolve_provider(spec: str, **settings: Any) -> Provider:
    """The provider for ``"name"`` or ``"name:model"``, as `connect` does."""
    if not isinstance(spec, str):
        raise SettingError(f"a provider is named by a str such as 'openai:gpt-5.2', not {spec!r}")
    name, _, model = spec.partition(":")
    factory = _registered.get(name)
    if factory is not None:
        return factory(model or None, **settings)
    if name in _BUILT_IN:
        module, attribute = _BUILT_IN[name]
        return cast("Factory", getattr(import_module(module), attribute))(model or None, **settings)
    endpoint = _endpoints().get(name)
    if endpoint is None:
        raise UnknownProviderError(f"no provider is named {name!r} (from {spec!r}); {_meant(spec)}")
    return _remote(endpoint, model or None, settings)


_KNOWN_AS = {"claude": "anthropic", "google": "gemini", "gpt": "openai", "chatgpt": "openai", "grok": "xai"}


def _meant(spec: str) -> str:
    """What was probably meant by a name that is none: another case, a slash, a maker's or a model's name."""
    head, mark, rest = spec.partition(":") if ":" in spec else spec.partition("/")
    plain, names = head.lower(), provider_names()
    family = _KNOWN_AS.get(plain.split("-")[0])
    if plain in names or family is not None:
        name = plain if plain in names else str(family)
        model = rest if mark else (spec if plain != plain.split("-")[0] else "")
        return f"did you mean {f'{name}:{model}' if model else name!r}?"
    return did_you_mean(head, names)


def _wires(endpoint: Any) -> tuple[Any, ...]:
    from decidable.providers.decision_endpoint import DecisionEndpoint, DecisionWire
    from decidable.providers.endpoint import Wire

    return get_args(DecisionWire if isinstance(endpoint, DecisionEndpoint) else Wire)


_TYPED_SETTINGS = ("max_attempts", "prices", "replay", "takes_images")
_SETTINGS = ("api_key", "base_url", "timeout_s", "headers", "extra", "proxy", "client", "async_client")


_KINDS: Mapping[str, type] = {"api_key": str, "base_url": str, "proxy": str, "headers": Mapping, "extra": Mapping}


def _remote(endpoint: Any, model: str | None, settings: Mapping[str, Any]) -> Provider:
    from decidable.providers.decision_endpoint import DecisionEndpoint

    typed = isinstance(endpoint, DecisionEndpoint)
    known = (*_SETTINGS, *_TYPED_SETTINGS) if typed else _SETTINGS
    for name in settings:
        if name not in known:
            raise SettingError(f"{endpoint.name} has no setting {name!r}; {did_you_mean(name, known)}")
    for name, kind in _KINDS.items():
        value = settings.get(name)
        if value is not None and not isinstance(value, kind):
            raise SettingError(f"{name} of {endpoint.name} is a {kind.__name__}, not {type(value).__name__}")
    if typed:
        from decidable.providers.typed_remote import TypedRemoteProvider  # brings in httpx

        return TypedRemoteProvider(endpoint, model, **settings)
    from decidable.providers.remote import RemoteProvider  # as above

    return RemoteProvider(endpoint, model, **settings)


def _endpoints() -> Mapping[str, Any]:
    from decidable.providers.decision_endpoints import DECISION_ENDPOINTS
    from decidable.providers.endpoints import ENDPOINTS

    return {**ENDPOINTS, **DECISION_ENDPOINTS}


def _checked(name: str) -> str:
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise SettingError(f"a provider name holds letters, digits, '-' and '_', not {name!r}")
    return name
