"""The local model: a real one, with its limits stated and kept."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from enum import Enum

import pytest

from decidable import Runtime, SettingError, UnaskableError, Unsure, agentic_function, decision
from decidable.providers.local import LocalProvider

pytest.importorskip("onnxruntime", reason="needs decidable[local]")

QUEUES = {
    "billing": ("B", "Charges, invoices, refunds, payment methods, prices and subscription plans."),
    "technical": ("T", "A bug, an error, a crash or a feature which does not work as it should."),
    "account": ("A", "Login, password, two-factor codes, profile data, permissions or deleting the account."),
    "shipping": ("S", "Delivery, tracking, a lost or damaged parcel, a wrong address, returns of goods."),
}
TICKETS = [
    ("I was charged twice for my October invoice, please send one payment back.", "billing"),
    ("My card expired, where can I put in the new one so the subscription goes on?", "billing"),
    ("Every time I press Export the app closes at once on Android 14.", "technical"),
    ("The dashboard shows a white page and the console says 500.", "technical"),
    ("I forgot my password and the reset mail goes to an address I lost.", "account"),
    ("Please erase everything you hold about me and close my profile.", "account"),
    ("The tracking page has said 'in transit' for nine days now.", "shipping"),
    ("The box arrived crushed and the lamp inside is broken.", "shipping"),
]


@pytest.fixture(scope="module")
def local():
    return Runtime("local")


def test_it_routes_tickets_whatever_the_order_of_the_menu(local):
    reversed_menu = dict(reversed(QUEUES.items()))
    picks = [decision.decide(text, QUEUES, runtime=local).option for text, _ in TICKETS]
    again = [decision.decide(text, reversed_menu, runtime=local).option for text, _ in TICKETS]
    assert picks == again
    assert sum(p == want for p, (_, want) in zip(picks, TICKETS, strict=True)) >= 7


def test_scores_are_a_distribution_and_marked_uncalibrated(local):
    made = decision.decide(TICKETS[0][0], QUEUES, runtime=local)
    assert set(made.probabilities) == set(QUEUES)
    assert sum(made.probabilities.values()) == pytest.approx(1)
    assert made.probability == max(made.probabilities.values())
    assert (made.origin, made.calibrated, made.provider, made.model, made.cost) == (
        "model",
        False,
        "local",
        "minilm",
        0.0,
    )


class Team(Enum):
    ENGINEERING = "bugs, errors, crashes"
    FINANCE = "invoices, charges, refunds"


@agentic_function(input={"mobile": {"options": {True: "On a phone or tablet.", False: "In a browser on a computer."}}})
def hand_over(team: Team, mobile: bool) -> tuple[Team, bool]:
    """Hand the message to a team."""
    return team, mobile


def test_it_fills_enums_and_described_yes_nos(local, both):
    assert both.make("My phone shows that the invoice was charged twice.", [hand_over], runtime=local) == (
        Team.FINANCE,
        True,
    )
    assert both.make("The page crashes in Firefox on my computer.", [hand_over], runtime=local) == (
        Team.ENGINEERING,
        False,
    )


def test_it_refuses_what_it_cannot_answer(local):
    def note(text: str) -> None: ...
    def flag(urgent: bool) -> None: ...

    with pytest.raises(UnaskableError, match=r"local: .*'note', field 'text': a str is free text"):
        decision.make("?", [note], runtime=local)
    with pytest.raises(UnaskableError, match=r"'flag', field 'urgent': a bare yes/no.*describe both sides"):
        decision.make("?", [flag], runtime=local)
    with pytest.raises(UnaskableError, match="cannot write text"):
        local.exec("Write a poem.")


def test_a_menu_past_its_limit_is_asked_in_rounds(local):
    words = ["An invoice was charged twice.", *(f"The weather in city number {i}." for i in range(255))]
    made = decision.decide(
        "Why was I billed two times?", {f"o{i}": (i, text) for i, text in enumerate(words)}, runtime=local
    )
    assert (made.result, made.requests, len(made.probabilities)) == (0, 2, 256)
    assert sum(made.probabilities.values()) == pytest.approx(1)


def test_a_thin_margin_is_unsure_when_the_caller_says_so():
    rt = Runtime(LocalProvider(min_margin=0.5))
    with pytest.raises(Unsure) as caught:
        decision.make("The weather is nice.", QUEUES, runtime=rt)
    assert set(caught.value.probabilities) == set(QUEUES)
    assert caught.value.margin < 0.5


def test_its_repr_states_its_limits():
    assert "no reasoning, counting, negation or free text" in repr(LocalProvider())
    assert "uncalibrated" in repr(LocalProvider())


@pytest.mark.parametrize("settings", [{"temperature": 0}, {"temperature": -1}, {"min_margin": 2}, {"min_margin": -0.1}])
def test_bad_settings(settings):
    with pytest.raises(SettingError):
        LocalProvider(**settings)


def test_it_is_safe_between_threads_and_tasks(local):
    text, _ = TICKETS[0]
    wanted = decision.decide(text, QUEUES, runtime=local).probabilities
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: decision.decide(text, QUEUES, runtime=local).probabilities, range(16)))
    assert found == [wanted] * 16

    async def main():
        return await asyncio.gather(*(decision.async_decide(text, QUEUES, runtime=local) for _ in range(8)))

    assert [d.probabilities for d in asyncio.run(main())] == [wanted] * 8


def test_another_file_is_refused(monkeypatch):
    from decidable import LLMError
    from decidable.providers.local import minilm

    monkeypatch.setattr(minilm, "SHA256", "0" * 64)
    with pytest.raises(LLMError, match="not the pinned one"):
        minilm.MiniLM()


def test_another_model_behind_the_seam():
    class First:
        def scores(self, text, menus):
            return [[1.0] + [0.0] * (len(menu) - 1) for menu in menus]

    rt = Runtime(LocalProvider("any-name", scorer=First()))
    assert decision.make("x", {"a": 1, "b": 2}, runtime=rt) == 1
