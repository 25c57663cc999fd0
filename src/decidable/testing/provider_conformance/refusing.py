"""C9 to C14 and C34: keys, and what is refused before anything is sent."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from decidable.content import MediaPart
from decidable.judging import Judge
from decidable.providers.wires.codec import HttpReply
from decidable.questions.types import Choice, Question, Score
from decidable.testing.provider_conformance.kit import CHOICE, KEY, NOUL, SCORE, SECRET, FakeTransport, Kit, both

__all__ = ["Refusing"]


class Refusing(Kit):
    """What is refused unsent."""

    @both
    def test_c09_without_a_key_nothing_is_sent(
        self, transport: FakeTransport, how: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The error names the variable."""
        variable = self._key_variable()
        monkeypatch.delenv(variable, raising=False)
        error = self._failed(transport, how, judge=self._keyless(transport))
        assert error.code == "configuration"
        assert variable in str(error)
        assert transport.sends == []

    @both
    def test_c10_the_key_is_read_when_a_request_is_made(
        self, transport: FakeTransport, how: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One that is set after the provider was made counts."""
        variable = self._key_variable()
        monkeypatch.delenv(variable, raising=False)
        judge = self._keyless(transport)
        monkeypatch.setenv(variable, KEY)
        transport.steps = [self._ok(self._some(judge))]
        self._ask(judge, how, SECRET, self._some(judge))
        assert any(KEY in value for value in transport.sends[0].headers.values())

    @both
    def test_c11_a_given_key_wins_and_is_never_shown(
        self, transport: FakeTransport, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Not in an error, a repr or a log."""
        monkeypatch.setenv(self._key_variable(), "key-of-the-environment")
        judge = self._judge(transport)
        with caplog.at_level(logging.DEBUG, logger="decidable"):
            error = self._failed(transport, how, HttpReply(401, {}, f'{{"key": "{KEY}"}}'.encode()), judge=judge)
        assert error.code == "auth"
        values = transport.sends[0].headers.values()
        assert any(KEY in value for value in values)
        assert not any("key-of-the-environment" in value for value in values)
        assert KEY not in repr(judge) + repr(judge.providers[judge.default]) + caplog.text

    @both
    def test_c12_a_model_that_it_does_not_serve(self, transport: FakeTransport, how: str) -> None:
        """Refused, where the models are declared."""
        if self._provider(transport).capabilities.models is None:
            pytest.skip("it takes any model's name")
        error = self._failed(transport, how, model="no-such-model")
        assert (error.code, transport.sends) == ("invalid_request", [])
        assert "no-such-model" in str(error)

    @both
    def test_c13_each_limit_is_kept_at_its_edge(self, transport: FakeTransport, how: str) -> None:
        """At the edge asked, one past it refused unsent."""
        judge = self._judge(transport)
        edges = list(self._edges(judge))
        if not edges:
            pytest.skip("it declares no limits")
        for what, fits, too_much, state, long_state in edges:
            transport.sends.clear()
            transport.steps = [self._ok(fits)] if self.speaks_http else []
            self._ask(judge, how, state, fits)
            transport.sends.clear()
            error = self._failed(transport, how, judge=judge, questions=too_much, state=long_state)
            assert (error.code, transport.sends) == ("invalid_request", []), what

    def _edges(self, judge: Judge) -> list[tuple[str, dict[str, Question], dict[str, Question], Any, Any]]:
        """For each limit: what it is, what just fits, what does not."""
        capabilities = judge.providers[judge.default].capabilities
        limits, some = capabilities.limits, self._some(judge)
        edges: list[tuple[str, dict[str, Question], dict[str, Question], Any, Any]] = []
        if limits is None:
            return edges
        one = next(iter(some.values()))
        if limits.max_questions is not None:
            most = {f"q{n}": one for n in range(limits.max_questions)}
            edges.append(("questions", most, {**most, "more": one}, SECRET, SECRET))
        for make, bounds, kind in (
            (_options, limits.choice_options, "choice"),
            (_levels, limits.score_levels, "score"),
        ):
            if bounds is not None and kind in capabilities.question_types:
                edges.append((f"most of a {kind}", make(bounds[1]), make(bounds[1] + 1), SECRET, SECRET))
                if bounds[0] > 1:
                    edges.append((f"least of a {kind}", make(bounds[0]), make(bounds[0] - 1), SECRET, SECRET))
        if limits.max_state_bytes is not None:
            text = "é" * ((limits.max_state_bytes - 2) // 2)
            text += "x" * (limits.max_state_bytes - 2 - 2 * len(text))
            edges.append(("state", some, some, text, text + "x"))
        return edges

    @both
    def test_c14_a_type_that_it_does_not_answer(self, transport: FakeTransport, how: str) -> None:
        """Refused unsent."""
        types = self._provider(transport).capabilities.question_types
        others = {n: q for n, q in (("noul", NOUL), ("choice", CHOICE), ("score", SCORE)) if n not in types}
        if not others:
            pytest.skip("it answers every type")
        for question in others.values():
            error = self._failed(transport, how, questions={"q": question})
            assert (error.code, transport.sends) == ("invalid_request", [])

    @both
    def test_c34_images_where_it_takes_none(self, transport: FakeTransport, how: str) -> None:
        """Refused unsent."""
        if "image" in self._provider(transport).capabilities.experimental_inputs:
            pytest.skip("it takes images")
        images = {"<image:1>": MediaPart("image", b"x", "image/png")}
        error = self._failed(transport, how, state="<image:1>", images=images)
        assert (error.code, transport.sends) == ("invalid_request", [])


def _options(count: int) -> dict[str, Question]:
    return {"q": Choice("Which?", {f"o{n}": None for n in range(count)})}


def _levels(count: int) -> dict[str, Question]:
    return {"q": Score("How much?", tuple(f"level {n}" for n in range(count)))}
