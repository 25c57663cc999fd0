"""C17 to C27: failures, what is sent again, deadlines, and a change of mind."""

from __future__ import annotations

import threading
import time

import pytest

from decidable.cancelling import CancelToken
from decidable.errors import DecisionProviderError
from decidable.judging import Judge
from decidable.providers.wires.codec import HttpReply
from decidable.testing.provider_conformance.kit import SECRET, FakeTransport, FastClock, Kit, both

__all__ = ["Failing"]


class Failing(Kit):
    """What fails, and how often it is asked."""

    @both
    @pytest.mark.parametrize(
        ("status", "code"), [(401, "auth"), (403, "auth"), (400, "invalid_request"), (422, "invalid_request")]
    )
    def test_c17_c18_refusals_are_not_repeated(
        self, transport: FakeTransport, how: str, status: int, code: str
    ) -> None:
        """One send."""
        self._needs_http()
        error = self._failed(transport, how, HttpReply(status, {}, f'{{"error": {{"message": "{SECRET}"}}}}'.encode()))
        assert (error.code, error.http_status, len(transport.sends)) == (code, status, 1)

    @both
    def test_c19_a_named_wait_is_kept(self, transport: FakeTransport, clock: FastClock, how: str) -> None:
        """Two sends, and at least that long between them."""
        self._needs_http()
        judge = self._judge(transport, clock)
        transport.steps = [HttpReply(429, {"retry-after": "2"}, b""), self._ok(self._some(judge))]
        found = self._ask(judge, how, SECRET, self._some(judge))
        assert len(transport.sends) == 2
        assert sum(clock.slept) >= 2
        assert [(one.number, one.status) for one in found.attempts] == [(1, "failed"), (2, "answered")]

    @both
    def test_c20_without_a_named_wait_a_paid_request_is_not_repeated(self, transport: FakeTransport, how: str) -> None:
        """`rate_limited`."""
        self._needs_http()
        error = self._failed(transport, how, HttpReply(429, {}, b""))
        assert error.code == "rate_limited"
        assert len(transport.sends) == (1 if self._replay(transport) == "never" else self._most(transport))

    @both
    def test_c21_attempts_are_counted(self, transport: FakeTransport, how: str) -> None:
        """`rate_limited` once they are spent."""
        self._needs_http()
        error = self._failed(transport, how, HttpReply(429, {"retry-after": "0"}, b""))
        assert (error.code, len(transport.sends)) == ("rate_limited", self._most(transport))
        assert error.attempts == len(error.provider_attempts) == self._most(transport)

    @both
    @pytest.mark.parametrize("status", [408, 500, 502, 503, 529])
    def test_c22_an_unknown_outcome_of_a_paid_request_is_not_repeated(
        self, transport: FakeTransport, how: str, status: int
    ) -> None:
        """One send, and what it may have cost."""
        self._needs_http()
        error = self._failed(transport, how, HttpReply(status, {}, b"{}"))
        assert error.code == "outcome_unknown"
        self._assert_sent_as_replay_allows(transport, error)

    @both
    def test_c23_a_connection_that_broke_after_sending(self, transport: FakeTransport, how: str) -> None:
        """As an unknown outcome."""
        self._needs_http()
        error = self._failed(transport, how, ConnectionResetError("gone"))
        assert error.code == "outcome_unknown"
        self._assert_sent_as_replay_allows(transport, error)

    def _assert_sent_as_replay_allows(self, transport: FakeTransport, error: DecisionProviderError) -> None:
        never = self._replay(transport) == "never"
        assert len(transport.sends) == (1 if never else self._most(transport))
        assert error.cost_basis in ("estimate", "unknown")
        assert (error.cost_usd is None) == (error.cost_basis == "unknown")

    @both
    def test_c24_what_never_arrived_is_sent_again(self, transport: FakeTransport, how: str) -> None:
        """Refused once: answered. Refused always: `connection`."""
        self._needs_http()
        judge = self._judge(transport)
        transport.steps = [ConnectionRefusedError("no"), self._ok(self._some(judge))]
        assert self._ask(judge, how, SECRET, self._some(judge)).answers
        assert len(transport.sends) == 2
        transport.sends.clear()
        error = self._failed(transport, how, ConnectionRefusedError("no"), judge=judge)
        assert (error.code, len(transport.sends)) == ("connection", self._most(transport))
        assert (error.cost_usd, error.cost_basis) == (None, None)

    @both
    def test_c25_a_deadline_in_flight(self, transport: FakeTransport, how: str) -> None:
        """The caller's, nearer than its own: nobody knows what came of it."""
        self._needs_http()
        judge = self._judge(transport)
        slow = (self._ok(self._some(judge)), 5.0)
        begun = time.monotonic()
        error = self._failed(transport, how, slow, judge=judge, timeout_s=0.1)
        assert (error.code, len(transport.sends)) == ("outcome_unknown", 1)
        assert error.cost_basis is not None
        assert time.monotonic() - begun < 3

    @both
    def test_c26_a_deadline_between_attempts(self, transport: FakeTransport, clock: FastClock, how: str) -> None:
        """`timeout`, and no further send."""
        self._needs_http()
        judge = self._judge(transport, clock)
        error = self._failed(transport, how, HttpReply(429, {"retry-after": "20"}, b""), judge=judge, timeout_s=10)
        assert (error.code, len(transport.sends), clock.slept) == ("timeout", 1, [])
        assert error.retry_after_s == 20

    @both
    def test_c27_a_change_of_mind(self, transport: FakeTransport, how: str) -> None:
        """Before it is sent, in flight, and in a wait: `aborted`, promptly, and nothing sent after it."""
        self._needs_http()
        judge = Judge({"p": self._provider(transport)}, "p")
        cancelled = CancelToken()
        cancelled.cancel()
        error = self._failed(transport, how, self._ok(self._some(judge)), judge=judge, cancel=cancelled)
        assert (error.code, len(transport.sends)) == ("aborted", 0)
        waits = HttpReply(429, {"retry-after": "5"}, b"")
        for step, cost_known in (((self._ok(self._some(judge)), 0.6), True), (waits, False)):
            transport.sends.clear()
            token = CancelToken()
            threading.Timer(0.05, token.cancel).start()
            begun = time.monotonic()
            error = self._failed(transport, how, step, judge=judge, cancel=token)
            assert (error.code, len(transport.sends)) == ("aborted", 1)
            assert time.monotonic() - begun < 0.5
            assert (error.cost_basis is not None) == cost_known
        for thread in threading.enumerate():  # what was called off ends by itself, unheard
            if thread.name == "decidable-request":
                thread.join(5)
