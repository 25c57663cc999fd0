"""What no library can go below: build the prompt, decode the reply, look the name up."""

from collections.abc import Callable
from typing import Any

from task import Queues, Script, floor, floor_of_tools

TITLE = "floor: prompt string, json.loads, dict lookup"
CONTAINS = "no validation beyond the name, no records, no errors with reasons"
PACKAGES: list[str] = []
RE_ASKS = True


def loop() -> Callable[[], int]:
    return floor_of_tools


class Adapter:
    def __init__(self, script: Script) -> None:
        self.script = script

    def prepare(self, options: Queues) -> None:
        """Nothing can be prepared."""

    def decide(self, _prepared: Any, options: Queues) -> str:
        return floor(options, self.script)

    async def async_decide(self, _prepared: Any, options: Queues) -> str:
        return floor(options, self.script)
