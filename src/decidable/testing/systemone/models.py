"""The models that the endpoint pretends to serve, and the two forms in which services list them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from decidable.testing.systemone.failing import Failure

__all__ = ["FauxModel", "Models"]


@dataclass(frozen=True, slots=True)
class FauxModel:
    """A model to pretend to serve.

    Attributes:
        name: What a request calls it.
        images: Whether it takes images.
        alias_of: The model that really answers, and is named in the answer; ``""`` if it is this one.
    """

    name: str
    images: bool = False
    alias_of: str = ""

    @property
    def reads_anywhere(self) -> bool:
        """Whether an image's token may stand anywhere, not only as an item of the state."""
        return self.name.removeprefix("~").startswith(("typesafe/", "jev-"))


_DEFAULT = (
    FauxModel("jev-latest", images=True, alias_of="jev-1.14.0"),
    FauxModel("jev-1.14", images=True, alias_of="jev-1.14.0"),
    FauxModel("jev-1.14.0", images=True),
    FauxModel("jev-1.13.0"),
    FauxModel("~typesafe/jev-latest", images=True, alias_of="typesafe/jev-1.14"),
    FauxModel("typesafe/jev-1.14", images=True),
    FauxModel("typesafe/jev-1.13"),
    FauxModel("cloudflare/clef", images=True),
    FauxModel("cloudflare/clef-flash"),
    FauxModel("liquid/d1"),
    FauxModel("perplexity/pplx-decider-v1.2"),
    FauxModel("gpt-6-luna", images=True),
    FauxModel("pplx-decider-v1.2"),
    FauxModel("solar-decide"),
    FauxModel("d1"),
    FauxModel("default"),
)


class Models:
    """What is served, by name.

    Args:
        models: Models, or just their names; None for a small catalogue of each kind.
    """

    def __init__(self, models: Iterable[FauxModel | str] | None = None) -> None:
        given = _DEFAULT if models is None else [FauxModel(m) if isinstance(m, str) else m for m in models]
        self._models: Mapping[str, FauxModel] = {model.name: model for model in given}

    def find(self, name: str, *, on_openrouter: bool = False) -> FauxModel:
        """The model of that name; OpenRouter takes Jev's bare names too.

        Raises:
            Failure: There is none.
        """
        if on_openrouter and name.startswith("jev-"):
            name = f"{'~' if name == 'jev-latest' else ''}typesafe/{name}"
        if name not in self._models:
            raise Failure(404, "no model of that name is served here", code="not_found_error")
        return self._models[name]

    def listed(self) -> dict[str, Any]:
        """The list as TypeSafe gives it."""
        about = {"description": "Made-up answers for tests.", "release_date": "2026-01-01"}
        return {"models": [{"name": name, **about} for name in self._models if "/" not in name]}

    def catalogue(self) -> dict[str, Any]:
        """The decision models as OpenRouter lists them, under the names of their makers."""
        return {
            "data": [
                {
                    "id": name,
                    "name": name,
                    "architecture": {
                        "input_modalities": ["text", "image"] if model.images else ["text"],
                        "output_modalities": ["decisions"],
                    },
                }
                for name, model in self._models.items()
                if "/" in name
            ]
        }
