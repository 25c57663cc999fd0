"""A person's word before a call runs; stopped runs and checkpoints, gone on with in another process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pydantic import BaseModel

from decidable import (
    ApprovalRequest,
    ApprovalRequired,
    ArgumentTypeError,
    DecisionError,
    Denied,
    HostFunctionError,
    LLMError,
    MaxIterationsError,
    ModelRetry,
    OptionError,
    OptionTypeError,
    Reply,
    Runtime,
    SettingError,
    ToolCall,
    UsageError,
    tool,
    trace,
)
from decidable.content import MediaPart
from decidable.errors import RunStopped
from decidable.testing import call_tool, call_tools, pick, refusal, scripted
from decidable.tools import Echo


class Till:
    """Pays, and remembers what it paid."""

    def __init__(self) -> None:
        self.paid: list[tuple[str, float]] = []

    def pay(self, order: str, amount: float) -> str:
        """Give money back."""
        self.paid.append((order, amount))
        return f"paid {amount} for {order}"

    def look(self, order: str) -> str:
        """Find an order."""
        return f"{order} is here"


@pytest.fixture
def till() -> Till:
    return Till()


def large(arguments: dict[str, object]) -> bool:
    return arguments["amount"] > 100


PAY = call_tool("pay", order="A-1", amount=500.0)


def resume(both, rt, *args, **kwargs):
    if both.is_async:
        return asyncio.run(rt.async_resume(*args, **kwargs))
    return rt.resume(*args, **kwargs)


def last_result(rt) -> str:
    (result,) = rt.requests[-1].request.messages[-1].tool_results
    return result.content


# --- an approver ------------------------------------------------------------------------------------------------------


def test_an_approver_is_asked_with_the_checked_arguments(both, till):
    asked: list[ApprovalRequest] = []

    def approver(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    with scripted(PAY, "ok") as rt:
        both.exec(rt, "?", tools=[tool(till.pay, requires_approval=True)], approver=approver)
    assert asked == [ApprovalRequest("call_1", "pay", {"order": "A-1", "amount": 500.0}, "Give money back.")]
    assert till.paid == [("A-1", 500.0)]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (False, "this call was not allowed by the person who was asked"),
        (Denied("too much"), "this call was not allowed by the person who was asked: too much"),
    ],
)
def test_a_denied_call_is_told_to_the_model(both, till, word, said):
    with scripted(PAY, "I will not, then.") as rt:
        out = both.exec(rt, "?", tools=[tool(till.pay, requires_approval=True)], approver=lambda _: word)
    assert out == "I will not, then."
    assert till.paid == []
    assert last_result(rt) == said
    assert rt.requests[-1].request.messages[-1].tool_results[0].is_error


def test_a_predicate_says_which_calls_need_a_word(both, till):
    small = call_tool("pay", order="A-2", amount=5.0)
    asked = []
    with scripted(small, PAY, "ok") as rt:
        both.exec(
            rt,
            "?",
            tools=[tool(till.pay, requires_approval=large)],
            approver=lambda request: asked.append(request.arguments["amount"]) or True,
        )
    assert asked == [500.0]
    assert till.paid == [("A-2", 5.0), ("A-1", 500.0)]


def test_a_predicate_may_have_the_model_try_again(both, till):
    def known(arguments) -> bool:
        if arguments["order"] == "A-9":
            raise ModelRetry("there is no order A-9")
        return False

    careful = tool(till.pay, requires_approval=known)
    wrong, right = {"order": "A-9", "amount": 5.0}, {"order": "A-1", "amount": 5.0}
    with scripted(call_tool("pay", **wrong), call_tool("pay", **right), "paid") as rt:
        assert both.exec(rt, "?", tools=[careful]) == "paid"
    assert rt.requests[1].request.messages[-1].tool_results[0].content == "there is no order A-9"
    with scripted(pick("pay", **wrong), pick("pay", **right)) as rt:
        made = both.decide("?", [careful], runtime=rt)
    assert [(a.kind.value, a.message) for a in made.attempts] == [("retry", "there is no order A-9")]
    assert till.paid == [("A-1", 5.0)] * 2


def test_invalid_arguments_are_told_and_nobody_is_asked(both, till):
    with scripted(call_tool("pay", order="A-1", amount="much"), "ok") as rt:
        both.exec(rt, "?", tools=[tool(till.pay, requires_approval=True)])
    assert "type_mismatch" in last_result(rt)


@pytest.mark.parametrize("word", ["yes", 1, None])
def test_nothing_but_true_lets_a_call_run(both, till, word):
    with pytest.raises(ArgumentTypeError, match=r"must be True, False or Denied\('why'\)"):
        both.exec(scripted(PAY), "?", tools=[tool(till.pay, requires_approval=True)], approver=lambda _: word)
    assert till.paid == []


def test_a_predicate_that_says_neither_yes_nor_no_is_refused(both, till):
    async def later(arguments: object) -> bool:
        return True

    with pytest.raises(UsageError, match="must return a bool, not None"):
        both.exec(scripted(PAY), "?", tools=[tool(till.pay, requires_approval=lambda _: None)])
    with pytest.raises(OptionTypeError, match="requires_approval= is a bool, or a sync function"):
        tool(till.pay, requires_approval=later)


def test_an_async_approver_is_awaited_and_refused_in_sync_calls(till):
    async def approver(request: ApprovalRequest) -> bool:
        await asyncio.sleep(0)
        return True

    given = [tool(till.pay, requires_approval=True)]
    assert asyncio.run(scripted(PAY, "ok").async_exec("?", tools=given, approver=approver)) == "ok"
    with pytest.raises(HostFunctionError, match="'approver' is async"):
        scripted(PAY).exec("?", tools=given, approver=approver)
    with pytest.raises(ArgumentTypeError, match="approver= is a function"):
        scripted().exec("?", tools=given, approver=True)


# --- stopped, and gone on with ----------------------------------------------------------------------------------------


def test_without_an_approver_the_run_stops_and_goes_on(both, till):
    rt = scripted(call_tools(("look", {"order": "A-1"}), ("pay", {"order": "A-1", "amount": 500.0})), "done")
    given = [till.look, tool(till.pay, requires_approval=large)]
    with pytest.raises(ApprovalRequired, match=r"'pay' \(id 'call_2'\)") as caught:
        both.exec(rt, "?", tools=given)
    stopped = caught.value
    assert [(p.id, p.name, p.arguments["amount"]) for p in stopped.pending] == [("call_2", "pay", 500.0)]
    assert till.paid == []
    assert resume(both, rt, stopped, {"call_2": True}) == "done"
    assert till.paid == [("A-1", 500.0)]
    results = rt.requests[-1].request.messages[-1].tool_results
    assert [(r.call_id, r.content) for r in results] == [("call_1", "A-1 is here"), ("call_2", "paid 500.0 for A-1")]


def test_what_ran_beside_the_waiting_call_does_not_run_again(both, till):
    given = [tool(till.pay, requires_approval=large)]
    two = call_tools(("pay", {"order": "S", "amount": 1.0}), ("pay", {"order": "L", "amount": 500.0}))
    rt = scripted(two, "done")
    with pytest.raises(ApprovalRequired) as caught:
        both.exec(rt, "?", tools=given)
    assert till.paid == [("S", 1.0)]
    with pytest.raises(ApprovalRequired) as again:
        resume(both, rt, caught.value)
    assert till.paid == [("S", 1.0)]
    assert resume(both, rt, again.value, {"call_2": Denied("no")}) == "done"
    assert till.paid == [("S", 1.0)]


def test_a_snapshot_is_json_and_goes_on_elsewhere(both, till):
    first = scripted(PAY)
    with pytest.raises(ApprovalRequired) as caught:
        both.exec(first, "Pay A-1.", tools=[tool(till.pay, requires_approval=True)])
    stored = json.dumps(caught.value.snapshot)
    second = scripted("done")
    out = resume(both, second, stored, {"call_1": True}, tools=[tool(till.pay, requires_approval=True)])
    assert out == "done"
    assert till.paid == [("A-1", 500.0)]
    assert second.requests[0].request.messages[0].content == "Pay A-1."
    assert resume(both, scripted("done"), json.loads(stored), {"call_1": False}, tools=[till.pay]) == "done"
    assert len(till.paid) == 1


def test_everything_in_a_conversation_survives_the_snapshot(till):
    image = MediaPart("image", b"\x00\xff", "image/png")
    echo = Echo("scripted", [{"type": "thinking", "$": "odd", "list": [1, [2]]}])
    call = ToolCall("c1", "pay", {"order": "A-1", "amount": 500.0, "x": [1, {"$": "no"}]})
    reply = Reply("Hm.", stop="tool_calls", reasoning="deep", tool_calls=(call,), echo=echo)
    rt = scripted(reply)
    with pytest.raises(ApprovalRequired) as caught:
        rt.exec(["See:", image], tools=[tool(till.pay, requires_approval=True)], sampling={"stop": ["END"]})
    second = scripted("done", model="m")
    stored = json.dumps(caught.value.snapshot)
    second.resume(stored, {"c1": True}, tools=[tool(till.pay, requires_approval=True)])
    asked = second.requests[0].request
    assert asked.messages[0].content[1] == image
    assert asked.messages[1].echo == echo
    assert asked.messages[1].tool_calls == (call,)
    assert asked.sampling.stop == ("END",)


def test_mistakes_in_resuming_are_refused_before_anything_runs(both, till):
    rt = scripted(PAY)
    guarded = tool(till.pay, requires_approval=True)
    with pytest.raises(ApprovalRequired) as caught:
        both.exec(rt, "?", tools=[guarded])
    snapshot = caught.value.snapshot
    for args, kwargs, error, match in [
        ((snapshot, {"call_1": True}), {}, UsageError, "Missing: 'pay'"),
        ((snapshot, {"call_7": True}), {"tools": [guarded]}, UsageError, "no call with the id 'call_7' waits"),
        ((snapshot, {"call_1": "yes"}), {"tools": [guarded]}, ArgumentTypeError, "must be True"),
        ((snapshot, ["call_1"]), {"tools": [guarded]}, ArgumentTypeError, "approvals map"),
        (({"kind": "other"},), {}, SettingError, "not this dict"),
        ((7,), {}, SettingError, "not 7"),
        ((snapshot, {"call_1": True}), {"tools": [guarded], "choices": ["a"]}, UsageError, "ends in no pick"),
        ((snapshot, {"call_1": True}), {"tools": [guarded], "response_format": int}, UsageError, "no typed reply"),
        (("{",), {}, SettingError, "not JSON"),
        (({**snapshot, "version": 9},), {}, SettingError, "version 9"),
        (({**snapshot, "job": {"$": "Other"}},), {}, SettingError, "changed or cut"),
        (({**snapshot, "job": {"$": "Usage"}},), {}, SettingError, "holds no whole run"),
        ((snapshot, {"call_1": True}), {"tool": [guarded]}, ArgumentTypeError, "did you mean 'tools'"),
        ((RunStopped("x"),), {}, UsageError, "nothing to go on with"),
    ]:
        with pytest.raises(error, match=match):
            resume(both, rt, *args, **kwargs)
    assert till.paid == []


def test_an_approval_is_for_the_call_that_waits_and_for_no_later_one(both, till):
    def same_id(order: str) -> Reply:
        return Reply(stop="tool_calls", tool_calls=(ToolCall("call_0", "pay", {"order": order, "amount": 500.0}),))

    rt = scripted(same_id("first"), same_id("second"))
    with pytest.raises(ApprovalRequired) as caught:
        both.exec(rt, "?", tools=[tool(till.pay, requires_approval=True)])
    with pytest.raises(ApprovalRequired):
        resume(both, rt, caught.value, {"call_0": True})
    assert till.paid == [("first", 500.0)]


# --- options ----------------------------------------------------------------------------------------------------------


def options(till: Till) -> dict[str, object]:
    return {"pay": tool(till.pay, requires_approval=large), "close": "closed"}


PICK = pick("pay", order="A-1", amount=500.0)


def test_an_option_waits_for_a_word_too(both, till):
    rt = scripted(PICK)
    with pytest.raises(ApprovalRequired) as caught:
        both.make("What now?", options(till), runtime=rt)
    assert caught.value.pending == (
        ApprovalRequest("pick", "pay", {"order": "A-1", "amount": 500.0}, "Give money back."),
    )
    assert resume(both, rt, caught.value, {"pick": True}) == "paid 500.0 for A-1"
    assert len(rt.requests) == 1
    assert resume(both, scripted(), json.dumps(caught.value.snapshot), {"pick": True}, choices=options(till))
    assert len(till.paid) == 2


def test_a_small_one_needs_none(both, till):
    assert both.make("?", options(till), runtime=scripted(pick("pay", order="B", amount=1.0))) == "paid 1.0 for B"


@pytest.mark.parametrize("via", ["menu", "tools", "schema"])
def test_a_denied_pick_is_told_and_another_is_made(both, till, via):
    with scripted(PICK, pick("close")) as rt:
        made = both.decide("?", options(till), runtime=rt, approver=lambda _: Denied("over the limit"), via=via)
    assert made.result == "closed"
    assert [(a.kind.value, a.message) for a in made.attempts] == [
        ("denied", "this call was not allowed by the person who was asked: over the limit")
    ]
    assert "over the limit" in rt.requests[1].prompt


def test_a_denied_pick_that_waited_is_told_in_the_same_conversation(both, till):
    first = scripted("Hmm.", PICK)
    with pytest.raises(ApprovalRequired) as caught:
        both.make("What now?", options(till), runtime=first, max_retries=2)
    second = scripted(pick("close"))
    out = resume(both, second, json.dumps(caught.value.snapshot), {"pick": False}, choices=options(till))
    assert out == "closed"
    prompt = second.requests[0].prompt
    assert prompt.startswith("What now?")
    assert "not allowed by the person" in prompt
    with pytest.raises(DecisionError) as error:
        resume(both, scripted(PICK), caught.value, {"pick": False}, approver=lambda _: False)
    assert error.value.kind == "denied"


def test_a_stopped_decide_ends_in_its_record(both, till):
    rt = scripted(PICK)
    with trace() as t, pytest.raises(ApprovalRequired) as caught:
        both.decide("?", options(till), runtime=rt)
    assert [n.status for n in t.nodes] == ["error", "done"]
    made = resume(both, rt, caught.value, {"pick": True})
    assert (made.option, made.result, made.args["amount"]) == ("pay", "paid 500.0 for A-1", 500.0)


def test_a_decision_model_waits_too(both, till):
    guarded = {"pay": (tool(lambda: till.pay("A", 1.0), name="pay", requires_approval=True)), "close": "closed"}
    rt = scripted(pick("pay"), questions=True)
    with pytest.raises(ApprovalRequired) as caught:
        both.make("?", guarded, runtime=rt, state={"a": 1})
    assert resume(both, scripted(questions=True), json.dumps(caught.value.snapshot), {"pick": True}, choices=guarded)
    with pytest.raises(DecisionError, match="denied"):
        resume(both, scripted(questions=True), caught.value, {"pick": False})


def test_work_then_a_decision_that_waits(both, till):
    for via, said in [("menu", []), ("tools", ["Looked."]), ("schema", ["Looked."])]:
        till.paid.clear()
        rt = scripted(call_tool("look", order="A-1"), *said, PICK)
        with pytest.raises(ApprovalRequired) as caught:
            both.exec(rt, "?", tools=[till.look], choices=options(till), via=via)
        assert caught.value.tool_runs[0].result == "A-1 is here"
        stored = json.dumps(caught.value.snapshot)
        given = {"tools": [till.look], "choices": options(till)}
        assert resume(both, scripted(), stored, {"pick": True}, **given) == "paid 500.0 for A-1"
        with scripted(pick("close")) as second:
            assert resume(both, second, stored, {"pick": Denied("no")}, **given) == "closed"
        messages = second.requests[0].request.messages
        assert next(r.content for m in messages for r in m.tool_results) == "A-1 is here"
        assert till.paid == [("A-1", 500.0)]


def test_choices_must_be_the_same_again(till):
    with pytest.raises(ApprovalRequired) as caught:
        scripted(PICK).exec("?", choices=options(till))
    with pytest.raises(UsageError, match="give choices= again"):
        scripted().resume(caught.value.snapshot, {"pick": True})
    with pytest.raises(SettingError, match="was asked to pick from 'pay', 'close'"):
        scripted().resume(caught.value.snapshot, {"pick": True}, choices=["pay", "wait"])


def test_a_typed_reply_must_be_given_its_type_again(till):
    class Paid(BaseModel):
        order: str

    with pytest.raises(ApprovalRequired) as caught:
        scripted(PAY).exec("?", tools=[tool(till.pay, requires_approval=True)], response_format=Paid)
    with pytest.raises(UsageError, match="give response_format= again"):
        scripted().resume(caught.value.snapshot, {"call_1": True}, tools=[till.pay])
    rt = scripted('{"order": "A-1"}')
    assert rt.resume(caught.value, {"call_1": True}) == Paid(order="A-1")


def test_samples_need_an_approver(both, till):
    with pytest.raises(UsageError, match="needs approver= where samples="):
        both.make("?", options(till), runtime=scripted(), samples=3)
    rt = scripted(*[PICK] * 3)
    assert both.make("?", options(till), runtime=rt, samples=3, approver=lambda _: True) == "paid 500.0 for A-1"
    with pytest.raises(DecisionError, match="denied"):
        both.make("?", options(till), runtime=scripted(*[PICK] * 3), samples=3, approver=lambda _: False)


def test_available_is_for_tools_alone(till):
    with pytest.raises(OptionError, match="available="):
        scripted().exec("?", choices={"pay": tool(till.pay, available=lambda: True)})


# --- checkpoints, and crashes -----------------------------------------------------------------------------------------


class Crash(BaseException):
    """The power goes out."""


def test_checkpoints_come_before_a_call_and_after_its_result(both, till):
    kept: list[str] = []
    with scripted(PAY, "done") as rt:
        both.exec(rt, "?", tools=[till.pay], checkpoint=lambda snapshot: kept.append(json.dumps(snapshot)))
    jobs = [json.loads(text)["job"] for text in kept]
    rounds = [job["round"] for job in jobs]
    assert [(r["started"], [bool(x) for x in r["results"]]) if r else None for r in rounds] == [
        ([False], [False]),
        ([True], [False]),
        ([True], [True]),
        None,
    ]


@pytest.mark.parametrize("at", range(9))
def test_wherever_it_crashes_no_tool_runs_twice_and_no_answer_is_lost(both, till, at):
    """The program ends at the n-th checkpoint, and goes on from the one before, or from this one."""
    steps = [call_tools(("pay", {"order": "1", "amount": 1.0}), ("pay", {"order": "2", "amount": 2.0})), PAY, "done"]
    for survives in (True, False):
        till.paid.clear()
        kept: list[str] = []
        lock = threading.Lock()

        def checkpoint(snapshot: object, *, survives=survives, kept=kept, lock=lock) -> None:
            with lock:
                if len(kept) < at or (survives and len(kept) == at):
                    kept.append(json.dumps(snapshot))
                if len(kept) >= at:
                    raise Crash

        first = scripted(*steps)
        with pytest.raises(Crash):
            both.exec(first, "?", tools=[till.pay], checkpoint=checkpoint, parallel_tool_calls=at % 2 == 0)
        if not kept:
            continue
        asked = len(json.loads(kept[-1])["job"]["messages"]) // 2 + bool(json.loads(kept[-1])["job"]["round"])
        second = scripted(*steps[asked:])
        assert resume(both, second, kept[-1], tools=[till.pay]) == "done"
        assert len(till.paid) == len(set(till.paid))
        answers = [r for m in second.requests[-1].request.messages for r in m.tool_results]
        calls = [c for m in second.requests[-1].request.messages for c in m.tool_calls]
        assert [r.call_id for r in answers] == [c.id for c in calls] == ["call_1", "call_2", "call_3"]
        for answer, call in zip(answers, calls, strict=True):
            if not answer.is_error:
                assert (call.arguments["order"], call.arguments["amount"]) in till.paid


def test_an_interrupted_call_is_told_and_made_again_only_when_asked(both, till):
    kept: list[str] = []

    def checkpoint(snapshot: object) -> None:
        kept.append(json.dumps(snapshot))
        if len(kept) == 2:
            raise Crash

    with pytest.raises(Crash):
        both.exec(scripted(PAY), "?", tools=[till.pay], checkpoint=checkpoint)
    second = scripted("done")
    assert resume(both, second, kept[-1], tools=[till.pay]) == "done"
    assert "whether it took effect is not known" in last_result(second)
    assert till.paid == []
    assert resume(both, scripted("done"), kept[-1], {"call_1": True}, tools=[till.pay]) == "done"
    assert till.paid == [("A-1", 500.0)]


def test_a_checkpoint_that_fails_lets_nothing_run(both, till):
    def checkpoint(snapshot: object) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        both.exec(scripted(PAY), "?", tools=[till.pay], checkpoint=checkpoint)
    assert till.paid == []
    with pytest.raises(UsageError, match="checkpoint= is a function"):
        both.exec(scripted(), "?", tools=[till.pay], checkpoint="file")


def test_checkpoints_of_calls_at_the_same_time_come_in_order(both, till):
    """The last one written holds every result, however the calls overtake one another."""
    kept: list[dict] = []
    busy = threading.Lock()

    def checkpoint(snapshot: dict) -> None:
        assert busy.acquire(blocking=False)
        kept.append(json.loads(json.dumps(snapshot)))
        busy.release()

    calls = [("pay", {"order": str(n), "amount": 1.0}) for n in range(20)]
    with scripted(call_tools(*calls), "done") as rt:
        both.exec(rt, "?", tools=[till.pay], checkpoint=checkpoint)
    counts = [sum(r is not None for r in k["job"]["round"]["results"]) for k in kept if k["job"]["round"]]
    assert counts == sorted(counts)
    assert counts[-1] == 20


PROGRAM = """
import json, os, sys
from pathlib import Path
from decidable import tool
from decidable.testing import call_tool, scripted

log, kept = Path(sys.argv[1]), Path(sys.argv[2])

def pay(order: str) -> str:
    with log.open("a") as file:
        file.write(order + "\\n")
    if sys.argv[3] == "die":
        os._exit(9)
    return "paid"

def keep(snapshot):
    fresh = kept.with_suffix(".new")
    fresh.write_text(json.dumps(snapshot))
    fresh.replace(kept)

if kept.exists():
    print(scripted("done").resume(kept.read_text(), tools=[pay], checkpoint=keep))
else:
    scripted(call_tool("pay", order="A-1"), "done").exec("Pay.", tools=[pay], checkpoint=keep)
"""


def test_a_killed_process_does_not_pay_twice(tmp_path: Path):
    """Between the call and its result the process is gone; another one goes on from the file."""
    program, log, kept = tmp_path / "program.py", tmp_path / "log", tmp_path / "kept.json"
    program.write_text(PROGRAM)

    def run(how: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(program), str(log), str(kept), how]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert run("die").returncode == 9
    assert run("live").stdout == "done\n"
    assert log.read_text() == "A-1\n"


# --- other stops ------------------------------------------------------------------------------------------------------


def test_a_run_that_reached_its_limit_goes_on_with_another_model(both, till):
    rt = scripted(call_tool("look", order="1"), call_tool("look", order="2"))
    with pytest.raises(MaxIterationsError) as caught:
        both.exec(rt, "?", tools=[till.look], max_iterations=1)
    with pytest.raises(MaxIterationsError):
        resume(both, rt, caught.value)
    second = scripted("done")
    assert resume(both, second, caught.value.snapshot, tools=[till.look], max_iterations=5) == "done"


def test_the_next_provider_goes_on_with_the_work(both, till):
    """What the first one had done is not done again."""
    first = scripted(PAY, LLMError("down", reason="auth")).provider
    second = scripted(pick("close")).provider
    rt = Runtime([first, second], max_retries=0)
    out = both.exec(rt, "?", tools=[till.pay], choices={"close": "closed", "wait": 1})
    assert out == "closed"
    assert till.paid == [("A-1", 500.0)]
    assert [r.call_id for m in second.seen[0].request.messages for r in m.tool_results] == ["call_1"]


def test_the_next_provider_is_asked_for_the_pick_when_one_makes_none(both, till):
    first = scripted(PAY, "Hmm.", "Hmm.").provider
    second = scripted(pick("close")).provider
    rt = Runtime([first, second])
    made = both.exec(rt, "?", tools=[till.pay], choices={"close": "closed", "wait": 1}, max_retries=1)
    assert made == "closed"
    asked = second.seen[0].request
    assert asked.tool_choice == "none"
    assert "Hmm." in [m.content for m in asked.messages]
    assert len(till.paid) == 1


def test_a_provider_without_tools_is_passed_over(both, till):
    def plain(content: list[object]) -> str:
        raise AssertionError("asked")

    rt = Runtime([plain, scripted(PAY, "done").provider])
    assert both.exec(rt, "?", tools=[till.pay]) == "done"


def test_a_refusal_while_working_ends_it(both, till):
    assert both.exec(scripted(PAY, refusal("No.")), "?", tools=[till.pay]) == "No."
    with pytest.raises(DecisionError) as caught:
        both.exec(scripted(PAY, refusal("No.")), "?", tools=[till.pay], choices=["a", "b"])
    assert caught.value.kind == "refusal"
