"""The schema that peers want for a menu: a pydantic class with the names as a Literal."""

from typing import Any, Literal

from pydantic import create_model

from task import Queues


def choice_model(options: Queues) -> Any:
    """The class; building it is part of what a menu per call costs."""
    names = Literal[tuple(name for name, _ in options)]  # type: ignore[valid-type]
    return create_model("Choice", choice=(names, ...))
