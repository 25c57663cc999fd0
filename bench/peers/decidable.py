"""This library, through the same harness as the peers."""

from collections.abc import Callable
from typing import Any

from decidable import Reply, Runtime, decision
from decidable.menu import Menu, menu_of
from decidable.providers.protocol import Capabilities
from task import TICKET, Queues, Script, lookup
from tool_loop import Working

TITLE = "decidable: decision.make"
CONTAINS = "menu as text, reading of the reply, typed binding, re-ask with feedback, the record of the decision"
PACKAGES: list[str] = []
RE_ASKS = True
KEY = "call"


def loop() -> Callable[[], str]:
    runtime = Runtime(Working())
    return lambda: runtime.exec("?", tools=[lookup])


class _Provider:
    name = "scripted"
    model = None
    capabilities = Capabilities(chat=True, remote=False)

    def __init__(self, script: Script) -> None:
        self.script = script

    def send(self, _request: Any, _deadline: float | None = None) -> Reply:
        return Reply(self.script.next(), stop="stop")

    async def asend(self, _request: Any, _deadline: float | None = None) -> Reply:
        return self.send(None)

    def close(self) -> None:
        """Nothing is held open."""

    async def aclose(self) -> None:
        """Nothing is held open."""


class Adapter:
    def __init__(self, script: Script) -> None:
        self.runtime = Runtime(_Provider(script))

    def prepare(self, options: Queues) -> Menu:
        return menu_of(options)

    def decide(self, menu: Menu, _options: Queues) -> str:
        return decision.make(TICKET, menu, runtime=self.runtime)

    async def async_decide(self, menu: Menu, _options: Queues) -> str:
        return await decision.async_make(TICKET, menu, runtime=self.runtime)
