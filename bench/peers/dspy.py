"""dspy: a signature with the names as a Literal."""

import json
from collections.abc import Iterator
from typing import Any, Literal

import dspy
from dspy.utils.dummies import DummyLM

from task import Queues, Script, prompt_text

TITLE = "dspy: Predict, DummyLM"
CONTAINS = "signature, prompt formatting and field parsing by ChatAdapter; no cache, no re-ask"
PACKAGES = ["dspy"]
RE_ASKS = False


class _Replies:
    """An endless iterator of answers for DummyLM."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def __iter__(self) -> Iterator[dict[str, str]]:
        return self

    def __next__(self) -> dict[str, str]:
        return json.loads(self.script.next())


class Adapter:
    def __init__(self, script: Script) -> None:
        self.model = DummyLM([{}])
        self.model.answers = _Replies(script)
        dspy.configure(lm=self.model, disable_history=True)

    def prepare(self, options: Queues) -> Any:
        names = Literal[tuple(name for name, _ in options)]  # type: ignore[valid-type]
        fields = {"request": (str, dspy.InputField()), "choice": (names, dspy.OutputField())}
        return dspy.Predict(dspy.Signature(fields, "Choose exactly one option."))

    def decide(self, predict: Any, options: Queues) -> str:
        return predict(request=prompt_text(options)).choice

    async def async_decide(self, predict: Any, options: Queues) -> str:
        return (await predict.acall(request=prompt_text(options))).choice
