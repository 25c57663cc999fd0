"""A model that follows a script, one step per request; a request too many fails, and so do left-over steps."""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

from decidable.content import text_of
from decidable.deltas import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from decidable.flow.prompts import DECISION_FINISH_INSTRUCTION, LABEL_INSTRUCTION
from decidable.messages import ChatRequest, Reply, Request, Usage
from decidable.providers.protocol import Capabilities
from decidable.questions.types import Answer, Choice, ChoiceAnswer, Noul, NoulAnswer, QuestionRequest
from decidable.runtimes import Runtime
from decidable.tools import Token, ToolCall

__all__ = [
    "ScriptError",
    "ScriptedRuntime",
    "Seen",
    "Step",
    "call_tool",
    "call_tools",
    "distribution",
    "pick",
    "refusal",
    "scripted",
    "text",
    "truncated",
]


class ScriptError(AssertionError):
    """The program did not do what the script says: a request too many, or steps left over."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that the script answered.

    Attributes:
        request: The request itself.
        prompt: The text that the model read, all turns joined; for questions, the state.
        menu: The menu part of the prompt; empty without one.
        system: The standing instruction, or None.
    """

    request: Request
    prompt: str
    menu: str
    system: str | None


Answerer: TypeAlias = "Callable[[Request], Reply | str]"
Step: TypeAlias = "str | Reply | BaseException | Answerer"
"""Text, a whole reply, an exception to raise, or a function of the request that returns text or a reply."""


def text(content: str, *, usage: Usage | None = None) -> Reply:
    """A reply of plain text, ended by the model itself."""
    return Reply(content, stop="stop", usage=usage)


def pick(option: str, /, **arguments: Any) -> Answerer:
    """A good pick of `option`, in the form in which it is asked for: JSON text, a tool call, or sure answers."""

    def answer(request: Request) -> Reply:
        if isinstance(request, QuestionRequest):
            return _sure_answers(request, option, arguments)
        if request.tools and request.tool_choice != "none" and not _asks_for_text(request):
            name = _tool_for(request, option)
            return Reply(stop="tool_calls", tool_calls=(ToolCall("call_0", name, arguments),))
        if letter := _letter_of(request, option):
            return Reply(letter, stop="stop", tokens=(Token(letter, 0.0, ((letter, 0.0),)),))
        call = {"call": option, "args": arguments} if arguments else {"call": option}
        return Reply(json.dumps(call, ensure_ascii=False), stop="stop")

    answer.__qualname__ = f"pick({option!r})"  # what a left-over step is called
    return answer


def _asks_for_text(request: ChatRequest) -> bool:
    """Whether the tools are for the work, and the pick is wanted in the reply's text."""
    first = text_of(request.messages[0].content) if request.messages else ""
    return first.endswith(DECISION_FINISH_INSTRUCTION)


def call_tool(name: str, /, *, text: str = "", **arguments: Any) -> Answerer:
    """A reply that calls one tool of ``tools=``; `text` is what it says beside the call."""
    return call_tools((name, arguments), text=text)


def call_tools(*calls: tuple[str, Mapping[str, Any]], text: str = "") -> Answerer:
    """A reply that calls several tools, each a name and its arguments; their ids are unique in the conversation."""

    def answer(request: Request) -> Reply:
        if isinstance(request, QuestionRequest) or not request.tools:
            raise ScriptError(f"{answer.__qualname__}: this request offers no tools")
        before = sum(len(message.tool_calls) for message in request.messages)
        made = tuple(
            ToolCall(f"call_{before + number}", name, dict(arguments))
            for number, (name, arguments) in enumerate(calls, 1)
        )
        return Reply(text, stop="tool_calls", tool_calls=made)

    answer.__qualname__ = f"call_tools({', '.join(repr(name) for name, _ in calls)})"
    return answer


def _letter_of(request: ChatRequest, option: str) -> str:
    """The letter of an option in a menu of lettered options; empty where there is none."""
    prompt = text_of(request.messages[-1].content) if request.messages else ""
    if not prompt.endswith(LABEL_INSTRUCTION):
        return ""
    found = re.search(rf"^([A-Z])\) {re.escape(option)}(?:$|: )", prompt, re.MULTILINE)
    return found[1] if found is not None else ""


def _tool_for(request: ChatRequest, option: str) -> str:
    """The tool that stands for an option, whose name may be spelled another way as a tool's."""
    names = [tool.name for tool in request.tools]
    if option in names:
        return option
    respelled = [t.name for t in request.tools if t.description == option or t.description.startswith(f"{option}: ")]
    if len(respelled) != 1:
        raise ScriptError(f"pick({option!r}): the tools offered are {', '.join(names)}")
    return respelled[0]


def refusal(content: str = "I cannot help with that.") -> Reply:
    """A reply that the provider marks as a refusal."""
    return Reply(content, stop="refusal")


def truncated(content: str) -> Reply:
    """A reply cut off at the token limit."""
    return Reply(content, stop="length")


def distribution(**probabilities: float) -> Answerer:
    """A decision model's answer: the probability of each option; the likeliest is picked."""

    def answer(request: Request) -> Reply:
        likeliest = max(probabilities, key=probabilities.__getitem__)
        if isinstance(request, ChatRequest):
            letters = {_letter_of(request, option): p for option, p in probabilities.items() if p > 0}
            if "" in letters:
                raise ScriptError(
                    "distribution(...) answers a decision model's questions, or a chat request with logprobs=True; "
                    "this is a chat request of another kind, or lacks one of the options"
                )
            top = tuple((letter, math.log(p)) for letter, p in letters.items())
            letter = _letter_of(request, likeliest)
            return Reply(letter, stop="stop", tokens=(Token(letter, dict(top)[letter], top),))
        reply = _sure_answers(request, likeliest, {})
        return Reply(
            answers={**(reply.answers or {}), "pick": ChoiceAnswer(likeliest, probabilities)},
            stop="stop",
            model=reply.model,
        )

    return answer


def _sure_answers(request: QuestionRequest, option: str, arguments: Mapping[str, Any]) -> Reply:
    for field in arguments:
        if f"pick:{option}:{field}" not in request.questions:
            raise ScriptError(f"pick({option!r}): no question asks for {field!r}")
    answers: dict[str, Answer] = {}
    for name, question in request.questions.items():
        _, _, rest = name.partition(":")
        owner, _, field = rest.rpartition(":")
        wanted = option if name == "pick" else arguments.get(field) if owner == option else None
        if isinstance(question, Choice):
            labels = list(question.criteria)
            label = wanted if isinstance(wanted, str) else json.dumps(wanted)
            label = {"true": "yes", "false": "no"}.get(label, label) if set(labels) == {"yes", "no"} else label
            if owner == option and field in arguments and label not in labels:
                raise ScriptError(f"pick({option!r}): {field}={wanted!r} is none of {', '.join(labels)}")
            chosen = label if label in labels or name == "pick" else labels[0]
            answers[name] = ChoiceAnswer(chosen, {other: float(other == chosen) for other in labels})
        elif isinstance(question, Noul):
            answers[name] = NoulAnswer(float(bool(wanted)))
    return Reply(answers=answers, stop="stop")


class ScriptedProvider:
    """Answers each request with the next step."""

    name = "scripted"

    def __init__(self, steps: Sequence[Step], *, questions: bool, model: str | None, chunks: int | None) -> None:
        self.model = model
        self.capabilities = Capabilities(
            chat=not questions,
            question_types=frozenset({"noul", "choice", "score"}) if questions else frozenset(),
            output_schema=not questions,
            images=not questions,
            remote=False,
            tools=not questions,
            forced_tools=not questions,
            streaming=chunks is not None,
            top_logprobs=0 if questions else 20,
        )
        self.chunks = chunks or 1
        self.steps = list(steps)
        self.seen: list[Seen] = []
        self._lock = Lock()

    def send(self, request: Request, deadline: float | None = None) -> Reply:
        """The next step's reply."""
        with self._lock:
            number = len(self.seen)
            self.seen.append(_seen(request))
        if number >= len(self.steps):
            raise ScriptError(
                f"request {number + 1} is one too many: the script has {len(self.steps)} steps. It asked:\n"
                f"{self.seen[-1].prompt[-500:]}"
            )
        step = self.steps[number]
        if isinstance(step, BaseException):
            raise step
        answer = step(request) if callable(step) else step
        if not isinstance(answer, (str, Reply)):
            raise TypeError(f"step {number + 1} gave {answer!r}; a step's function returns a str or a Reply")
        return text(answer) if isinstance(answer, str) else answer

    async def asend(self, request: Request, deadline: float | None = None) -> Reply:
        """The next step's reply."""
        return self.send(request, deadline)

    def stream(self, request: Request, deadline: float | None = None) -> Iterator[Delta | Reply]:
        """The next step's reply, in pieces."""
        reply = self.send(request, deadline)
        size = self.chunks
        yield from (ReasoningDelta(reply.reasoning[i : i + size]) for i in range(0, len(reply.reasoning), size))
        yield from (TextDelta(reply.text[i : i + size]) for i in range(0, len(reply.text), size))
        for index, call in enumerate(reply.tool_calls):
            written = call.arguments if isinstance(call.arguments, str) else json.dumps(dict(call.arguments))
            for i in range(0, len(written), size):
                yield ToolCallDelta(index, written[i : i + size], call.id, call.name)
        yield reply

    async def astream(self, request: Request, deadline: float | None = None) -> AsyncIterator[Delta | Reply]:
        """The next step's reply, in pieces."""
        for piece in self.stream(request, deadline):
            yield piece

    def close(self) -> None:
        """Nothing is held open."""

    async def aclose(self) -> None:
        """Nothing is held open."""


_MENU_MARK = "Menu:\n\n"


def _seen(request: Request) -> Seen:
    if isinstance(request, ChatRequest):
        prompt = "\n\n".join(text_of(message.content) for message in request.messages)
        _, mark, menu = prompt.partition(_MENU_MARK)
        return Seen(request, prompt, menu if mark else "", request.system)
    return Seen(request, text_of(request.state), "", None)


class ScriptedRuntime(Runtime):
    """A runtime whose model follows a script.

    Attributes:
        requests: Every request so far, with its exact prompt and menu.
    """

    def __init__(
        self,
        *steps: Step,
        questions: bool = False,
        model: str | None = None,
        chunks: int | None = None,
        **settings: Any,
    ) -> None:
        for step in steps:
            if not (isinstance(step, (str, Reply, BaseException)) or callable(step)):
                raise TypeError(
                    f"a step is a str, a Reply, an exception or a function of the request, not {step!r}; failures "
                    "over HTTP are for fake_endpoint"
                )
        if chunks is not None and chunks < 1:
            raise ValueError(f"chunks counts characters per piece, 1 or more, not {chunks!r}")
        self._script = ScriptedProvider(steps, questions=questions, model=model, chunks=chunks)
        super().__init__(self._script, **settings)

    @property
    def requests(self) -> tuple[Seen, ...]:
        """Every request so far."""
        return tuple(self._script.seen)

    def assert_complete(self) -> None:
        """Fail if steps are left over.

        Raises:
            ScriptError: Saying how many, and the first of them.
        """
        used, steps = len(self._script.seen), self._script.steps
        if used < len(steps):
            raise ScriptError(
                f"{len(steps) - used} of {len(steps)} steps were never asked for; the next is {steps[used]!r}"
            )

    def __exit__(self, *exc_info: object) -> None:
        super().__exit__(*exc_info)
        if not exc_info or exc_info[0] is None:
            self.assert_complete()

    async def __aexit__(self, *exc_info: object) -> None:
        await super().__aexit__(*exc_info)
        if not exc_info or exc_info[0] is None:
            self.assert_complete()


def scripted(
    *steps: Step, questions: bool = False, model: str | None = None, chunks: int | None = None, **settings: Any
) -> ScriptedRuntime:
    """A runtime whose model follows a script; use it in a ``with`` block to be told about left-over steps.

    Args:
        steps: One per request: text, `pick(...)`, `distribution(...)`, `refusal()`, `truncated(...)`, a `Reply`, an
            exception, or a function of the request.
        questions: Act as a decision model, which answers questions, instead of a chat model.
        model: What the model calls itself.
        chunks: Stream replies in pieces of this many characters; None has them arrive whole.
        settings: Passed to `Runtime`. Transport retries are off unless ``max_retries`` is given.

    Raises:
        ScriptError: When asked once more than there are steps, or left with steps over.

    Example:
        >>> from decidable import decision
        >>> with scripted("no idea", pick("close")) as rt:
        ...     decision.make("Next?", ["close", "wait"], runtime=rt)
        'close'
        >>> len(rt.requests)
        2
    """
    return ScriptedRuntime(*steps, questions=questions, model=model, chunks=chunks, **{"max_retries": 0, **settings})
