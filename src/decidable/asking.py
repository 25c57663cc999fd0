"""How a menu, or a plain question, is put to a provider: which asker, how many samples, in which order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from decidable.attempt import Attempt, Pick, Repair
from decidable.binding import Choice, bind
from decidable.content import Content, with_text
from decidable.errors import UnaskableError
from decidable.flow.ask import Call, ask
from decidable.flow.askers import Asker, ChatAsker
from decidable.flow.decide import Picked, picked, until_valid
from decidable.flow.effects import Flow
from decidable.flow.prompts import DECISION_INSTRUCTION, state_text
from decidable.menu import Menu
from decidable.messages import ChatRequest, Message, Sampling
from decidable.options import Option
from decidable.providers.protocol import Provider
from decidable.settings import Via

if TYPE_CHECKING:
    from decidable.ambient import Ledger
    from decidable.flow.gates import Gate
    from decidable.flow.questions import QuestionAsker
    from decidable.flow.structured import SchemaAsker

__all__ = ["Manner", "answering", "asker_of", "chain", "chain_of_answers", "manner_for", "picking", "schema_asker"]


@dataclass(slots=True, eq=False)  # made for each call, so not frozen: cheaper
class Manner:
    """How one call is put to a model.

    Attributes:
        max_retries: Re-asks after a reply that does not hold.
        repair: How much a reply may be mended.
        system: The standing instruction.
        model: The model to ask.
        effort: How much reasoning is wanted.
        sampling: How tokens are chosen.
        instruction: What follows the text menu.
        via: How a menu is put to a chat model.
        samples: How often a chat model is asked for the same decision.
        seed: Shuffles the options of each sample; None leaves them in order.
        logprobs: Whether a chat model's token log-probabilities are wanted for the options.
        orders: In how many orders of the options a decision model is asked.
        gate: How sure the pick must be.
        ledger: Where receipts are kept.
        unsure: Name of the option that is taken when the pick is not sure enough.
        first: Whether the first provider of a chain is asked.
    """

    max_retries: int
    repair: Repair
    system: str | None = None
    model: str | None = None
    effort: str | None = None
    sampling: Sampling | None = None
    instruction: str = DECISION_INSTRUCTION
    via: Via = "menu"
    samples: int = 1
    seed: int | None = None
    logprobs: bool = False
    orders: int = 1
    gate: Gate | None = None
    ledger: Ledger | None = None
    unsure: str | None = None
    first: bool = True

    def sample(self, number: int) -> Manner:
        """The manner of one of several samples: with a seed, each has its own, else all would be the same."""
        if self.sampling is None or self.sampling.seed is None or not number:
            return self
        return replace(self, sampling=replace(self.sampling, seed=self.sampling.seed + number))

    def request(self) -> ChatRequest:
        """The request without its messages."""
        return ChatRequest((), self.system, self.model, None, self.effort, sampling=self.sampling)


def picking(  # noqa: PLR0917 - on the hot path, where keywords cost
    menu: Menu, prompt: Content, state: Any, manner: Manner, call: Call, filler: tuple[Call, Manner] | None = None
) -> Flow[Picked]:
    """The flow that comes to a choice by asking one provider.

    Args:
        menu: The options.
        prompt: What is to be decided.
        state: What it is about, or None.
        manner: How.
        call: Whom.
        filler: Who writes the arguments that a decision model cannot fill, and how; or None.

    Raises:
        UnaskableError: The provider cannot be asked this menu in this manner; nothing was sent.
    """
    provider = call.provider
    if provider.capabilities.person:
        from decidable.flow.people import decided  # most chains are of models alone

        return decided(menu, prompt, state, call)
    if not provider.capabilities.chat:
        return _typed(menu, prompt, state, manner, call, filler)
    if manner.gate is None and manner.orders == 1:
        return _written(menu, prompt, state, manner, call)
    from decidable.flow.gates import if_sure, refuse_unmeasured  # most decisions are taken as they come

    if manner.orders > 1 and manner.samples == 1:
        manner = replace(manner, samples=manner.orders, seed=manner.seed or 0)
    refuse_unmeasured(manner.gate, call, manner)
    found = _written(menu, prompt, state, manner, call)
    return found if manner.gate is None else if_sure(found, manner.gate)


def _typed(  # noqa: PLR0917 - as `picking`
    menu: Menu, prompt: Content, state: Any, manner: Manner, call: Call, filler: tuple[Call, Manner] | None
) -> Flow[Picked]:
    """The flow that comes to a choice by typed questions."""
    from decidable.flow.typed_picking import picked_by_questions  # a program with chat models never needs it

    _refuse_what_writers_have(manner, call.provider)
    if filler is None:
        return picked_by_questions(menu, prompt, state, manner, call, None)
    writer, own = filler

    def fill(option: Option[Any]) -> Flow[Picked]:
        return picked(writer, chat_asker(Menu((option,)), about(prompt, state), own, writer.provider))

    return picked_by_questions(menu, prompt, state, manner, call, fill)


def _written(menu: Menu, prompt: Content, state: Any, manner: Manner, call: Call) -> Flow[Picked]:
    """The flow that comes to a choice by asking a model that writes."""
    provider = call.provider
    if manner.samples > 1 or manner.seed is not None or manner.logprobs:
        return _sampled(menu, about(prompt, state), manner, call)
    if state is None and manner.via == "menu":
        return picked(call, chat_asker(menu, prompt, manner, provider))  # most decisions, and they are in a hurry
    return picked(call, chat_asker(menu, about(prompt, state), manner, provider))


def asker_of(
    menu: Menu, prompt: Content, state: Any, manner: Manner, provider: Provider, *, can_fill: bool = False
) -> Asker[Choice]:
    """The way of asking one provider once.

    Args:
        menu: The options.
        prompt: What is to be decided.
        state: What it is about, or None.
        manner: How.
        provider: Whom.
        can_fill: Whether somebody else fills what a decision model cannot.

    Raises:
        UnaskableError: The provider cannot be asked this menu in this manner; nothing was sent.
    """
    if not provider.capabilities.chat:
        return question_asker(menu, prompt, state, manner, provider, can_fill=can_fill)
    return chat_asker(menu, about(prompt, state), manner, provider)


def about(prompt: Content, state: Any) -> Content:
    return prompt if state is None else with_text(prompt, state_text(state))


def chat_asker(menu: Menu, content: Content, manner: Manner, provider: Provider) -> Asker[Choice]:
    """The way of asking a chat model that the manner names."""
    if manner.via == "tools":
        return _tools(menu, content, manner, provider)
    schema = None if manner.via == "menu" else _schema(menu, provider)
    return ChatAsker(
        menu,
        content,
        manner.max_retries,
        manner.repair,
        manner.instruction,
        manner.system,
        manner.model,
        manner.effort,
        schema,
        manner.sampling,
    )


def _tools(menu: Menu, content: Content, manner: Manner, provider: Provider) -> Asker[Choice]:
    from decidable.flow.tool_asker import ToolAsker  # most programs stay with the text menu

    if not provider.capabilities.tools:
        raise UnaskableError(f"{provider.name} takes no tools; leave via='tools' out, or use via='menu'")
    return ToolAsker(
        menu,
        content,
        max_retries=manner.max_retries,
        repair=manner.repair,
        forced=provider.capabilities.forced_tools,
        base=manner.request(),
    )


def _schema(menu: Menu, provider: Provider) -> Mapping[str, Any]:
    from decidable.native import menu_schema  # as above

    if not provider.capabilities.output_schema:
        raise UnaskableError(f"{provider.name} holds no reply to a schema; leave via='schema' out, or use via='menu'")
    return menu_schema(menu)


def question_asker(
    menu: Menu, prompt: Content, state: Any, manner: Manner, provider: Provider, *, can_fill: bool = False
) -> QuestionAsker:
    from decidable.flow.questions import QuestionAsker  # as above

    _refuse_what_writers_have(manner, provider)
    return QuestionAsker(menu, prompt, state, provider, manner.model, can_fill=can_fill)


def _refuse_what_writers_have(manner: Manner, provider: Provider) -> None:
    for name, given in (
        ("via", manner.via != "menu"),
        ("samples", manner.samples > 1),
        ("shuffle", manner.seed is not None),
        ("logprobs", manner.logprobs),
        ("sampling", manner.sampling is not None),
    ):
        if given:
            raise UnaskableError(
                f"{provider.name} answers typed questions, with probabilities; {name}= is for models that write"
            )


def _sampled(menu: Menu, content: Content, manner: Manner, call: Call) -> Flow[Picked]:
    """The flow of several samples, or of one that is read by its log-probabilities."""
    from decidable.flow.labels import LabelAsker, label_ballot
    from decidable.flow.votes import Ballot, orders, vote

    provider = call.provider
    top = provider.capabilities.top_logprobs
    if manner.logprobs and not top:
        raise UnaskableError(
            f"{provider.name} reports no token log-probabilities; use samples= to have probabilities from votes"
        )
    menus = orders(menu, manner.samples, manner.seed)

    def labelled(shown: Menu, number: int) -> Flow[Ballot]:
        base = manner.sample(number).request()
        return label_ballot(call, LabelAsker(shown, content, max_retries=manner.max_retries, base=base, top=top))

    def plain(shown: Menu, number: int) -> Flow[Ballot]:
        return _plain_ballot(call, chat_asker(shown, content, manner.sample(number), provider))

    def complete(ballot: Ballot) -> Flow[tuple[Choice, tuple[Attempt, ...]]]:
        return _completed(call, Menu((menu.index[ballot.option],)), content, manner)

    # What cannot be asked is refused now: the flows find out only when they run.
    if manner.logprobs:
        LabelAsker(menu, content, max_retries=0, base=manner.request(), top=top)
    if not manner.logprobs or any(option.fields for option in menu.options):
        chat_asker(menu, content, manner, provider)
    return vote(call, menus, labelled if manner.logprobs else plain, complete, shuffled=manner.seed is not None)


def _plain_ballot(call: Call, asker: Asker[Choice]) -> Flow[Any]:
    from decidable.flow.votes import Ballot

    choice, reply, attempts = yield from until_valid(call, asker)
    return Ballot(choice.option.name, reply, attempts, choice)


def _completed(call: Call, own: Menu, content: Content, manner: Manner) -> Flow[tuple[Choice, tuple[Attempt, ...]]]:
    """The arguments of the only option on a menu; without any to fill, nothing is asked."""
    option = own.options[0]
    if not option.fields:
        held = bind(Pick(option.name, {}), own)
        if isinstance(held, Choice):
            return held, ()
    choice, _, attempts = yield from until_valid(call, chat_asker(own, content, manner, call.provider))
    return choice, attempts


def answering(prompt: Content, response_format: Any, manner: Manner, call: Call, *, must: bool) -> Flow[Any]:
    """The flow that answers without a menu: with text, or with a value of `response_format`.

    Args:
        prompt: What is asked.
        response_format: A type or JSON Schema, or None for text.
        manner: How.
        call: Whom.
        must: Whether a refusal is an error even where text is wanted: another provider may be asked.
    """
    provider = call.provider
    if not provider.capabilities.chat:
        raise UnaskableError(f"{provider!r} cannot write text; give it choices=")
    base = manner.request()
    if response_format is None:
        return _text(ask(call, replace(base, messages=(Message("user", prompt),))), must)
    return _value(until_valid(call, schema_asker(response_format, prompt, manner, provider)))


def schema_asker(response_format: Any, prompt: Content, manner: Manner, provider: Provider) -> SchemaAsker:
    """The way of asking for a reply held to a type or a JSON Schema."""
    from decidable.flow.structured import SchemaAsker  # most replies are text, or picks

    return SchemaAsker(
        response_format,
        prompt,
        max_retries=manner.max_retries,
        repair=manner.repair,
        base=manner.request(),
        native=lambda request: _takes(provider, request),
    )


def _takes(provider: Provider, request: ChatRequest) -> bool | None:
    """Whether the provider holds the reply to this request's schema; None if it cannot express it."""
    if not provider.capabilities.output_schema:
        return False
    preflight = getattr(provider, "preflight", None)
    if preflight is None:
        return True
    try:
        preflight(request)
    except UnaskableError:
        return None
    return True


def _value(flow: Flow[tuple[Any, Any, Any]]) -> Flow[Any]:
    return (yield from flow)[0]


def _text(flow: Flow[Any], must: bool) -> Flow[str]:
    reply = yield from flow
    if must and reply.stop in ("refusal", "content_filter"):
        from decidable.errors import RefusedError

        raise RefusedError("refusal: the model declined to answer", kind="refusal")
    return str(reply.text)


def chain(
    menu: Menu,
    prompt: Content,
    state: Any,
    manner: Manner,
    calls: Sequence[Call],
    *,
    on: Collection[str],
    gates: Sequence[Gate | None] | None = None,
) -> Flow[Picked]:
    """The flow that comes to a choice by asking one provider after the other, each as sure as it must be.

    Raises:
        UnaskableError: None of them can be asked this menu.
    """
    from decidable.flow.fallback import Leg, first_to_decide
    from decidable.flow.record_parts import Fallback

    legs, skipped = [], []
    for place, call in enumerate(calls):
        own = manner_for(call, manner, calls)
        if gates is not None:
            own = replace(own, gate=gates[place])
        try:
            first = picking(menu, prompt, state, own, call, _filler(call, manner, calls))
        except UnaskableError as error:
            skipped.append(Fallback(call.provider.name, "unaskable", error))
            continue
        legs.append(Leg(call, first))
    if not legs:
        raise UnaskableError("; ".join(f"{skip.provider}: {skip.error}" for skip in skipped))
    return first_to_decide(legs, on, skipped)


def _filler(call: Call, manner: Manner, calls: Sequence[Call]) -> tuple[Call, Manner] | None:
    """The first provider of a chain that writes, to fill what a decision model cannot, and how it is asked."""
    if call.provider.capabilities.chat:
        return None
    for other in calls:
        if other.provider.capabilities.chat:
            return other, replace(manner, model=None, samples=1, seed=None, logprobs=False, orders=1, gate=None)
    return None


def chain_of_answers(
    prompt: Content, response_format: Any, manner: Manner, calls: Sequence[Call], on: Collection[str]
) -> Flow[Any]:
    """The flow that answers without a menu by asking one provider after the other."""
    from decidable.flow.fallback import Leg, first_to_answer

    legs = []
    for call in calls:
        if call.provider.capabilities.chat:
            must = "refusal" in on and call is not calls[-1]
            legs.append(Leg(call, answering(prompt, response_format, manner_for(call, manner, calls), call, must=must)))
    if not legs:
        raise UnaskableError(f"none of {', '.join(c.provider.name for c in calls)} can write text; give choices=")
    return first_to_answer(legs, on)


def manner_for(call: Call, manner: Manner, calls: Sequence[Call]) -> Manner:
    """The manner for one provider of a chain: a model's name is only good for the first."""
    if not call.provider.capabilities.chat:  # what is for models that write has no meaning there
        model = manner.model if call is calls[0] else None
        manner = replace(manner, model=model, via="menu", samples=1, seed=None, logprobs=False, sampling=None)
    return manner if call is calls[0] else replace(manner, model=None, first=False)
