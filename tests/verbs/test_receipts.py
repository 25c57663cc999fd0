"""Receipts: what is kept, when, and what is never asked twice."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verbs_kit import Model, runtime

from decidable import (
    ArgumentTypeError,
    Budget,
    BudgetExceeded,
    CancelToken,
    DecisionProviderError,
    LLMError,
    QuestionError,
    ReceiptError,
    RefusedError,
    Reply,
    Runtime,
    ask,
    async_sift,
    decision,
    judge,
    outcome_of,
    pick,
    route,
    sift,
    step,
    trace,
    use_budget,
    verify,
)
from decidable.questions import Choice, Noul, NoulAnswer, Score, canonical_json
from decidable.questions.receipts import receipt_id
from decidable.questions.types import Evidence, Provenance
from decidable.receipts import JSONLReceipts, MemoryReceipts, Receipt, SQLiteReceipts, rederive, use_receipts
from decidable.testing import scripted
from decidable.testing.systemone import FauxSystemOne, status

LATE = {"late": Noul("Is it late?")}


def unknown(cost=0.001):
    return DecisionProviderError("lost", code="outcome_unknown", cost_usd=cost, cost_basis="estimate", provider="model")


def failing(error):
    def fail(number, request):
        raise error

    return fail


@pytest.fixture(params=["memory", "jsonl", "sqlite"])
def reopened(request, tmp_path):
    """Opens the same store again and again."""
    kept = MemoryReceipts()
    opened = []

    def open_store():
        if request.param == "memory":
            return kept
        store = JSONLReceipts(tmp_path / "r.jsonl") if request.param == "jsonl" else SQLiteReceipts(tmp_path / "r.db")
        opened.append(store)
        return store

    yield open_store
    for store in opened:
        store.close()


def every_verb(rt):
    """Asks something by every verb."""
    judge("s", {**LATE, "n": Score("How?", ["a", "b"])}, runtime=rt)
    pick(["a", "b"], "Which?", none=True, runtime=rt)
    sift("abc", LATE, keep="late", max_questions=2, runtime=rt)
    route("s", "Which?", {"a": 1, "b": 2}, unsure="b", gte=0.5, runtime=rt)
    ask("Late?", "s", runtime=rt)
    verify({"late": True}, LATE, runtime=rt)
    decision.make("Which?", ["a", "b"], threshold=0.2, runtime=rt)


SAYS = {"late": 0.9, "n": 1, "pick": "item_1", "branch": "a", "holds": 0.9}


def say(key, question, request):
    if key == "pick":
        return next(iter(question.criteria))
    return SAYS.get(key, 0.9)


# --- what is kept -------------------------------------------------------------------------------------------------


def test_one_receipt_for_each_request_and_its_action_follows_from_it(reopened):
    rt, store = runtime(say), reopened()
    with use_receipts(store):
        every_verb(rt)
    receipts = store.all()
    assert len(receipts) == len(rt.asked.requests) == 8
    assert [one.kind for one in receipts] == ["judge", "pick", "sift", "sift", "route", "ask", "verify", "decide"]
    for one in receipts:
        assert one.status == "answered"
        assert one.action is not None
        assert rederive(one) == one.action
        assert Receipt.from_json(json.loads(json.dumps(one.to_json()))) == one
        assert (one.v, one.provider, one.model, one.cost_usd, one.cost_basis) == (1, "model", "m-1", 0.001, "reported")
        assert one.at.endswith("+00:00")


def test_asking_again_costs_nothing_and_gives_the_same(reopened):
    rt = runtime(say)
    with use_receipts(reopened()):
        every_verb(rt)
    sent = len(rt.asked.requests)
    with use_receipts(reopened()):
        every_verb(rt)
        again = ask("Late?", "s", runtime=rt)
        made = decision.decide("Which?", ["a", "b"], threshold=0.2, runtime=rt)
    assert len(rt.asked.requests) == sent
    assert (again.judgement.replayed, again.judgement.cost_usd, again.p_yes) == (True, 0, 0.9)
    assert (made.replayed, made.cost, made.requests, made.option) == (True, 0, 0, "a")
    assert again.judgement.receipt_id in {one.id for one in reopened().all()}


def test_the_id_is_the_same_in_every_run_and_another_for_another_state():
    first, second = MemoryReceipts(), MemoryReceipts()
    for store in (first, second):
        with use_receipts(store):
            ask("Late?", {"b": 1, "a": 2.0}, runtime=runtime(say))
            ask("Late?", {"a": 3, "b": 1}, runtime=runtime(say))
    ids = [one.id for one in first.all()]
    assert ids == [one.id for one in second.all()]
    assert len(set(ids)) == 2
    (one, _) = first.all()
    assert one.id == receipt_id("ask", one.questions, one.state_sha256)


def test_what_makes_an_id():
    same = receipt_id("ask", {"q": {}}, "s")
    others = [
        receipt_id("judge", {"q": {}}, "s"),
        receipt_id("ask", {"q": {"type": "noul"}}, "s"),
        receipt_id("ask", {"q": {}}, "t"),
        receipt_id("ask", {"q": {}}, "s", execution_path="/root/a"),
        receipt_id("ask", {"q": {}}, "s", index=1),
        receipt_id("ask", {"q": {}}, "s", model="m"),
        receipt_id("ask", {"q": {}}, "s", provider="p"),
    ]
    assert len({same, *others}) == 8


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
    )
)
def test_canonical_json_does_not_depend_on_the_order_of_keys(value):
    def turned(item):
        if isinstance(item, dict):
            return {key: turned(item[key]) for key in reversed(list(item))}
        return [turned(one) for one in item] if isinstance(item, list) else item

    assert canonical_json(value) == canonical_json(turned(value))
    assert json.loads(canonical_json(value)) == value


def test_canonical_json_writes_whole_floats_as_integers_and_refuses_what_is_no_json():
    assert canonical_json({"b": 2.0, "a": [1.5, "é"]}) == '{"a":[1.5,"é"],"b":2}'
    for value in (float("nan"), {1: 2}, object()):
        with pytest.raises(QuestionError):
            canonical_json(value)


def test_a_split_sift_has_a_receipt_for_each_request_in_order():
    store, rt = MemoryReceipts(), runtime(say)
    with use_receipts(store):
        found = sift(range(600), LATE, runtime=rt)
    by_id = {one.id: one for one in store.all()}
    requests = [by_id[one].request for one in found.receipt_ids]
    assert [(one["index"], one["count"], len(one["items"])) for one in requests] == [
        (0, 3, 256),
        (1, 3, 256),
        (2, 3, 88),
    ]
    assert [place for one in requests for place in one["items"]] == list(range(600))


def test_each_review_has_a_receipt_with_its_thresholds():
    store, rt = MemoryReceipts(), runtime(lambda key, q, request: 0.9 if request.state["submission"]["n"] else 0.1)
    with use_receipts(store):
        verify({"n": 0}, {"n": Noul("n?"), "cited": Noul("c?")}, revise=lambda _: {"n": 5}, max_drives=3, runtime=rt)
    assert [(one.kind, one.node, dict(one.request)) for one in store.all()] == [
        ("verify", "verify (verify)", {"index": 0, "count": 3}),
        ("verify", "verify (verify)", {"index": 1, "count": 3}),
    ]
    rule = store.all()[0].rule
    assert (rule["thresholds"], rule["present"]) == ({"n": 0.3, "cited": 0.5}, ["n"])


def test_a_recorded_review_answers_only_the_same_work():
    store, rt = MemoryReceipts(), runtime(lambda *_: 0.9)
    with use_receipts(store):
        for work in ("a", "a", "b"):
            verify({"n": work}, {"n": Noul("n?")}, runtime=rt)
    assert len(rt.asked.requests) == 2


def test_every_threshold_is_in_the_rule_and_another_rule_says_what_would_have_been():
    store, rt = MemoryReceipts(), runtime(say)
    with use_receipts(store):
        every_verb(rt)
    asked = {one.kind: one for one in store.all()}
    assert rederive(asked["ask"], gte=0.95) == {"holds": False}
    assert rederive(asked["route"], unsure={"gte": 0.95, "branch": "b"})["taken"] == "b"
    assert rederive(asked["decide"], thresholds=[{"measure": "top", "at_least": 0.99}]) == {
        "option": "a",
        "unsure": True,
    }
    assert rederive(asked["verify"], thresholds={"late": 0.95}) == {"accepted": False, "doubted": ["late"], "unmet": []}
    keep = {**asked["sift"].rule["keep"], "gte": 0.95}
    assert rederive(asked["sift"], keep=keep) == {"kept": []}
    assert len(rt.asked.requests) == 8


def test_source_evidence_and_cost_stand_on_the_receipt(reopened):
    class Sourced(Model):
        def send(self, request, deadline=None):
            found = Evidence("call", "https://a.example", "A", ("said",))
            reply = super().send(request, deadline)
            return replace(reply, provenance=Provenance({"holds": "noul"}, (found,), "estimate", "ab" * 32))

    with use_receipts(reopened()):
        ask("Late?", "s", runtime=Runtime(Sourced({"holds": 0.9})))
    (one,) = reopened().all()
    assert (dict(one.confidence_source), one.cost_basis, one.request_sha256) == (
        {"holds": "noul"},
        "estimate",
        "ab" * 32,
    )
    assert one.evidence[0]["url"] == "https://a.example"
    with use_receipts(reopened()):
        again = ask("Late?", "s", runtime=runtime(say)).judgement
    assert again.evidence == (Evidence("call", "https://a.example", "A", ("said",)),)


def test_a_refusal_is_on_the_receipt_without_an_action_and_is_not_asked_again():
    store, rt = MemoryReceipts(), runtime({"holds": "refused"})
    with use_receipts(store):
        for _ in range(2):
            found = outcome_of(ask, "Late?", "s", runtime=rt)
            assert (found.kind, found.details["refused"]) == ("decision_refused", ("holds",))
    (one,) = store.all()
    assert (one.status, one.action, one.refused, rederive(one)) == ("answered", None, ("holds",), None)
    assert found.details["receipt_id"] == one.id
    assert len(rt.asked.requests) == 1


def test_the_route_of_a_record_is_taken_even_if_the_model_now_says_another(reopened):
    with use_receipts(reopened()):
        assert route("s", "Which?", {"a": 1, "b": 2}, runtime=runtime({"branch": "a"})).result == 1
    with use_receipts(reopened()):
        assert route("s", "Which?", {"a": 1, "b": 2}, runtime=runtime({"branch": "b"})).result == 1


def test_images_are_part_of_what_was_asked():
    store, rt = MemoryReceipts(), runtime(say)
    rt.asked.capabilities = replace(rt.asked.capabilities, images=True)
    image = {"type": "image", "data": b"\x89PNG\r\n\x1a\n" + b"\0" * 16, "mime_type": "image/png"}
    with use_receipts(store):
        ask("Late?", {"photo": "<a>"}, runtime=rt)
        ask("Late?", {"photo": "<a>"}, images={"<a>": image}, runtime=rt)
        ask("Late?", {"photo": "<a>"}, images={"<a>": {**image, "data": image["data"] + b"1"}}, runtime=rt)
        ask("Late?", {"photo": "<a>"}, images={"<a>": image}, runtime=rt)
    assert len(rt.asked.requests) == 3


def test_a_model_that_writes_has_receipts_too():
    store, rt = MemoryReceipts(), scripted('{"q1": true}')
    with use_receipts(store):
        assert ask("Late?", "s", runtime=rt)
        assert ask("Late?", "s", runtime=rt).judgement.replayed
    (one,) = store.all()
    assert (one.origin, one.answers, one.action) == (
        "none",
        {"holds": {"type": "stated", "value": True}},
        {"holds": True},
    )
    assert rederive(one) == one.action


# --- when it is kept ----------------------------------------------------------------------------------------------


class Broken(MemoryReceipts):
    def record(self, receipt):
        raise OSError("disk full")


def test_nothing_acts_before_the_receipt_is_kept():
    ran = []
    with trace() as t, use_receipts(Broken()), pytest.raises(ReceiptError, match="disk full") as caught:
        route("s", "Which?", {"a": lambda: ran.append(1), "b": 2}, label="next", runtime=runtime({"branch": "a"}))
    assert ran == []
    assert (caught.value.node, caught.value.receipt.answers["branch"]["choice"]) == ("next", "a")
    assert isinstance(caught.value.__cause__, OSError)
    assert [node.output for node in t.nodes if node.kind == "route"] == [None]


def test_if_both_fail_both_are_raised_the_request_first():
    rt = runtime(say, fail=failing(LLMError("down", reason="invalid")))
    with use_receipts(Broken()), pytest.raises(ExceptionGroup) as caught:
        ask("Late?", "s", runtime=rt)
    assert [type(one) for one in caught.value.exceptions] == [DecisionProviderError, ReceiptError]


def test_a_store_that_cannot_be_read_stops_it_before_anything_is_sent():
    class Unreadable(MemoryReceipts):
        def find(self, receipt_id):
            raise OSError("gone")

    rt = runtime(say)
    with use_receipts(Unreadable()), pytest.raises(ReceiptError, match="could not be looked up"):
        ask("Late?", "s", runtime=rt)
    assert not rt.asked.requests


def test_answers_that_do_not_fit_are_a_failure_whose_cost_is_kept():
    class Wrong(Model):
        def send(self, request, deadline=None):
            super().send(request, deadline)
            return Reply(answers={"holds": NoulAnswer(7.0)}, cost=0.25)

    store = MemoryReceipts()
    with use_receipts(store), pytest.raises(DecisionProviderError, match="holds"):
        ask("Late?", "s", runtime=Runtime(Wrong({"holds": 0.9})))
    (one,) = store.all()
    assert (one.status, one.action, one.rule, one.cost_usd) == ("failed", None, None, 0.25)
    assert "probability" in one.error


def test_the_statuses_of_a_sift_that_failed_half_way():
    """Two are answered, then one fails; what was in flight is called off, and what had not begun has no receipt."""
    store, answered = MemoryReceipts(), asyncio.Event()

    class Slow(Model):
        async def asend(self, request, deadline=None):
            place = int(request.state["items"][0]["id"].removeprefix("item_"))
            if place < 2:
                return self.send(request)
            if place == 2:
                await answered.wait()
                raise LLMError("down", reason="invalid")
            return await asyncio.sleep(60)

    class Noting(MemoryReceipts):
        async def record(self, receipt):
            store.record(receipt)
            if sum(one.status == "answered" for one in store.all()) == 2:
                answered.set()

    async def run():
        with use_receipts(Noting()):
            await async_sift(range(20), LATE, max_questions=1, runtime=Runtime(Slow(say)))

    with pytest.raises(LLMError, match="down"):
        asyncio.run(run())
    assert sorted(one.status for one in store.all()) == ["answered"] * 2 + ["cancelled"] * 3 + ["failed"]


def test_a_request_that_was_called_off_is_cancelled():
    store, token = MemoryReceipts(), CancelToken()
    rt = runtime(say, fail=lambda number, request: token.cancel() or threading.Event().wait(0.5))
    with use_receipts(store), pytest.raises(DecisionProviderError) as caught:
        ask("Late?", "s", cancel=token, runtime=rt)
    assert caught.value.code == "aborted"
    (one,) = store.all()
    assert (one.status, one.in_doubt, one.may_be_asked_again) == ("cancelled", True, True)


def test_a_task_that_is_cancelled_leaves_a_receipt():
    store = MemoryReceipts()

    class Slow(Model):
        async def asend(self, request, deadline=None):
            return await asyncio.sleep(60)

    async def run():
        from decidable import async_ask

        with use_receipts(store):
            task = asyncio.create_task(async_ask("Late?", "s", runtime=Runtime(Slow(say, replay="never"))))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    (one,) = store.all()
    assert (one.status, one.in_doubt, one.may_be_asked_again) == ("cancelled", True, False)


# --- what is never asked twice ------------------------------------------------------------------------------------


def test_an_unknown_outcome_is_interrupted_and_never_asked_again(reopened):
    rt = runtime(say, replay="never", fail=failing(unknown()))
    for _ in range(3):
        with use_receipts(reopened()):
            found = outcome_of(ask, "Late?", "s", runtime=rt)
        assert (found.kind, found.details["cost_usd"], found.details["cost_basis"]) == (
            "decision_interrupted",
            0.001,
            "estimate",
        )
    assert len(rt.asked.requests) == 1
    (one,) = reopened().all()
    assert (one.status, one.in_doubt, found.details["receipt_id"]) == ("failed", True, one.id)
    assert "nobody knows" in found.summary


def test_a_pending_receipt_is_interrupted_too_until_it_is_forgotten(reopened):
    store, rt = reopened(), runtime(say, replay="never")
    with use_receipts(store):
        ask("Late?", "s", runtime=rt)
    (one,) = store.all()
    store.record(replace(one, status="pending", answers={}, action=None))
    with use_receipts(reopened()):
        assert outcome_of(ask, "Late?", "s", runtime=rt).kind == "decision_interrupted"
    assert len(rt.asked.requests) == 1
    last = reopened()
    last.forget(one.id)
    with use_receipts(last):
        assert ask("Late?", "s", runtime=rt)
    assert len(rt.asked.requests) == 2
    assert len(reopened()) == 1


@pytest.mark.parametrize("replay", ["never", "safe"])
def test_what_is_known_to_have_failed_may_be_asked_again(reopened, replay):
    rt = runtime(
        say,
        replay=replay,
        fail=lambda number, _: number == 1 and failing(DecisionProviderError("no", code="auth"))(0, 0),
    )
    with use_receipts(reopened()), pytest.raises(LLMError):
        ask("Late?", "s", runtime=rt)
    with use_receipts(reopened()):
        assert ask("Late?", "s", runtime=rt)
    (one,) = reopened().all()
    assert one.status == "answered"


def test_a_provider_that_broke_may_have_sent_it_so_it_is_not_asked_again():
    store, rt = MemoryReceipts(), runtime(say, replay="never", fail=failing(ValueError("a bug")))
    with use_receipts(store):
        with pytest.raises(ValueError, match="a bug"):
            ask("Late?", "s", runtime=rt)
        assert outcome_of(ask, "Late?", "s", runtime=rt).kind == "decision_interrupted"
    assert (len(rt.asked.requests), store.all()[0].in_doubt) == (1, True)


def test_a_spent_budget_sent_nothing_so_it_may_be_asked_again():
    rt = runtime(say, replay="never")
    with use_receipts(MemoryReceipts()) as store, use_budget(Budget(requests=1)):
        ask("Late?", "s", runtime=rt)
        with pytest.raises(BudgetExceeded):
            ask("Late?", "t", runtime=rt)
    assert (store.all()[1].status, store.all()[1].may_be_asked_again) == ("failed", True)


def test_a_safe_provider_is_asked_again_after_an_unknown_outcome():
    rt = runtime(say, fail=lambda number, _: number == 1 and failing(unknown())(0, 0))
    with use_receipts(MemoryReceipts()):
        assert outcome_of(ask, "Late?", "s", runtime=rt).kind == "decision_interrupted"
        assert outcome_of(ask, "Late?", "s", runtime=rt).value.holds


def test_of_two_that_ask_at_once_one_is_sent(reopened):
    store, start = reopened(), threading.Barrier(8)
    rt = runtime(say, replay="never", fail=lambda *_: threading.Event().wait(0.05))
    kinds = []

    def run():
        with use_receipts(store):
            start.wait()
            kinds.append(type(outcome_of(ask, "Late?", "s", runtime=rt)).__name__)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rt.asked.requests) == 1
    assert sorted(set(kinds)) == ["Complete", "Escalated"]


def test_a_pick_is_never_asked_twice_either(reopened):
    faux = FauxSystemOne()
    rt = Runtime(faux.provider("parallel"))
    faux.next(status(503))
    for _ in range(2):
        with use_receipts(reopened()):
            assert outcome_of(decision.make, "Which?", ["a", "b"], runtime=rt).kind == "decision_interrupted"
    assert len(faux.requests) + faux.tries <= 2
    (one,) = reopened().all()
    assert (one.kind, one.status, one.cost_usd) == ("decide", "failed", 0.001)


def test_the_same_question_in_another_step_is_asked():
    rt = runtime(say)
    with use_receipts(MemoryReceipts()):
        for n in range(3):
            with step("again", item=n):
                assert not ask("Late?", "s", runtime=rt).judgement.replayed
    assert len(rt.asked.requests) == 3


def test_a_runtime_may_have_its_own_store_and_the_one_around_it_goes_first():
    own, around, model = MemoryReceipts(), MemoryReceipts(), Model(say)
    rt = Runtime(model, receipts=own)
    ask("Late?", "s", runtime=rt)
    with use_receipts(around):
        ask("Late?", "s", runtime=rt)
    assert (len(own), len(around)) == (1, 1)


def test_what_is_no_store_is_refused():
    with pytest.raises(ArgumentTypeError, match="which has no claim, record"):
        Runtime(Model(say), receipts="receipts.db")
    with pytest.raises(ArgumentTypeError), use_receipts(None):
        pass


def test_a_store_may_be_async():
    from decidable import async_ask

    class Async:
        def __init__(self):
            self.kept = MemoryReceipts()

        async def find(self, receipt_id):
            return self.kept.find(receipt_id)

        async def claim(self, receipt):
            return self.kept.claim(receipt)

        async def record(self, receipt):
            await asyncio.sleep(0)
            self.kept.record(receipt)

    store, rt = Async(), runtime(say, replay="never")

    async def run():
        with use_receipts(store):
            return [(await async_ask("Late?", "s", runtime=rt)).judgement.replayed for _ in range(2)]

    assert asyncio.run(run()) == [False, True]


def test_the_next_provider_has_a_receipt_of_its_own():
    down = Model(say, name="down", replay="never", fail=failing(unknown()))
    good, store = Model(say, name="good"), MemoryReceipts()
    rt = Runtime([down, good])
    for _ in range(2):
        with use_receipts(store):
            assert ask("Late?", "s", runtime=rt).judgement.provider == "good"
    assert [(one.provider, one.status) for one in store.all()] == [("down", "failed"), ("good", "answered")]
    assert (len(down.requests), len(good.requests)) == (1, 1)


# --- the files ----------------------------------------------------------------------------------------------------


def test_a_torn_last_line_was_never_kept_and_the_next_begins_on_its_own(tmp_path):
    path, rt = tmp_path / "r.jsonl", runtime(say)
    store = JSONLReceipts(path)
    with use_receipts(store):
        ask("Late?", "s", runtime=rt)
        ask("Late?", "t", runtime=rt)
    store.close()
    whole = path.read_bytes()
    for cut in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:cut])
        again = JSONLReceipts(path)
        assert len(again) == 1
        again.record(again.all()[0])
        again.close()
        third = JSONLReceipts(path)
        assert len(third) == 1
        third.close()


def test_a_line_that_is_no_receipt_is_an_error_that_says_where(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"v": 1, "id": "a"}\n')
    with pytest.raises(ValueError, match="line 1, is no receipt"):
        JSONLReceipts(tmp_path / "r.jsonl")
    with pytest.raises(ValueError, match="version 1"):
        Receipt.from_json({"v": 2})


def test_sqlite_keeps_receipts_where_other_programs_can_read_them(tmp_path):
    import sqlite3

    store = SQLiteReceipts(tmp_path / "r.db")
    with use_receipts(store):
        ask("Late?", "s", label="check", runtime=runtime(say))
    with sqlite3.connect(tmp_path / "r.db") as other:
        rows = other.execute("SELECT node, status, json_extract(receipt, '$.action.holds') FROM receipts").fetchall()
        assert rows == [("check", "answered", 1)]
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    store.close()


def test_a_damaged_receipt_is_an_error_and_no_reason_to_ask_again():
    store, rt = MemoryReceipts(), runtime(say)
    with use_receipts(store):
        ask("Late?", "s", runtime=rt)
        (one,) = store.all()
        store.record(replace(one, answers={"holds": {"type": "noul", "noul": 7}}))
        with pytest.raises(ReceiptError, match="cannot be read"):
            ask("Late?", "s", runtime=rt)
    assert len(rt.asked.requests) == 1


def test_a_refused_verb_without_receipts_has_no_receipt_id():
    with pytest.raises(RefusedError) as caught:
        judge("s", {"c": Choice("?", ["a", "b"])}, runtime=runtime({"c": "refused"}))
    assert caught.value.receipt_id is None
