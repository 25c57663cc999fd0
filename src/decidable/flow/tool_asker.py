"""A menu put to a chat model as one tool per option."""

from __future__ import annotations

from dataclasses import replace

from decidable.attempt import Attempt, Failure, FailureKind, Repair
from decidable.binding import Choice, bind
from decidable.content import Content, with_text
from decidable.flow.prompts import CALL_INSTRUCTION, EITHER_INSTRUCTION, menu_text, shown_reply, try_again, unknown_tool
from decidable.menu import Menu
from decidable.messages import ChatRequest, Message, Reply
from decidable.native import menu_tools
from decidable.reading import read
from decidable.reading.calls import read_calls
from decidable.tools import ToolResult

__all__ = ["ToolAsker"]


class ToolAsker:
    """A menu put as one tool per option, of which the model calls one.

    Args:
        menu: The options.
        prompt: What is to be decided.
        max_retries: Re-asks after a reply that does not hold.
        repair: How much a reply may be mended.
        forced: Whether the provider can be made to call a tool. If not, the menu is in the prompt too, and a pick in
            the reply's text counts as well.
        base: The request to fill.
    """

    wanted = "valid pick"

    def __init__(
        self, menu: Menu, prompt: Content, *, max_retries: int, repair: Repair, forced: bool, base: ChatRequest
    ) -> None:
        self.menu = menu
        self.max_retries = max_retries
        self.repair = repair
        self.forced = forced
        tools, self._names = menu_tools(menu)
        self.wish = CALL_INSTRUCTION if forced else menu_text(menu.render(), EITHER_INSTRUCTION)
        self._prompt = with_text(prompt, self.wish)
        self._base = replace(base, tools=tools, tool_choice="required" if forced else "auto", parallel_tool_calls=False)

    def request(self, attempts: list[Attempt]) -> ChatRequest:
        """The prompt with the tools; then each earlier reply, its every call answered, and what was wrong."""
        messages = [Message("user", self._prompt)]
        for number, attempt in enumerate(attempts, 1):
            reply = attempt.reply
            shown = reply.text if reply.tool_calls else shown_reply(reply.text)
            messages.append(Message("assistant", shown, reply.tool_calls, (), reply.echo))
            results = tuple(ToolResult(c.id, c.name, attempt.message, is_error=True) for c in reply.tool_calls)
            last = number == len(attempts)
            text = try_again(attempts, self.wish) if last else "" if results else attempt.message
            messages.append(Message("user", text, (), results))
        return replace(self._base, messages=tuple(messages))

    def read(self, reply: Reply) -> Choice | Failure:
        """The choice that the calls make; without any, and unforced, that of the text."""
        pick = read_calls(reply, self._names, repair=self.repair, text_counts=not self.forced)
        if pick is None:
            pick = read(reply.text, self.menu, stop=reply.stop, repair=self.repair)
        if isinstance(pick, Failure):
            return pick
        choice = bind(pick, self.menu, self.repair)
        if reply.tool_calls and isinstance(choice, Failure) and choice.kind is FailureKind.UNKNOWN_CALL:
            return Failure(choice.kind, unknown_tool(pick.name, tuple(self._names)))  # as they are spelled there
        return choice
