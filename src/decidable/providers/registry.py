"""Providers by name: ``"local"``, ``"local:minilm"``; each is imported only when it is named."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias, cast

from decidable.errors import SettingError, UnknownProviderError, did_you_mean
from decidable.providers.protocol import Provider

__all__ = ["provider_names", "register_provider", "resolve_provider"]

Factory: TypeAlias = Callable[..., Provider]

_BUILT_IN = {"local": ("decidable.providers.local", "LocalProvider")}
_registered: dict[str, Factory] = {}


def register_provider(name: str, factory: Factory) -> None:
    """Make ``Runtime("name:model")`` work for a provider of your own.

    Args:
        name: Letters, digits, ``-`` and ``_``; a built-in name is replaced.
        factory: Called with the model's name, or None when none was given.
    """
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise SettingError(f"a provider name holds letters, digits, '-' and '_', not {name!r}")
    _registered[name] = factory


def provider_names() -> tuple[str, ...]:
    """Every name that can be resolved, sorted."""
    return tuple(sorted({*_BUILT_IN, *_registered}))


def resolve_provider(spec: str) -> Provider:
    """The provider for ``"name"`` or ``"name:model"``.

    Raises:
        UnknownProviderError: No provider has that name; the message offers close ones.
        MissingExtraError: It needs an optional dependency that is not installed.
    """
    name, _, model = spec.partition(":")
    factory = _registered.get(name)
    if factory is None:
        if name not in _BUILT_IN:
            hint = did_you_mean(name, provider_names())
            raise UnknownProviderError(f"no provider is named {name!r} (from {spec!r}); {hint}")
        module, attribute = _BUILT_IN[name]
        factory = cast("Factory", getattr(_imported(module), attribute))
    return factory(model or None)


def _imported(module: str) -> Any:
    return import_module(module)
