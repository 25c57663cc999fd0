"""What must not happen in a run of tools: nothing unseen is allowed, nothing begun too late, done twice, or lost."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import subprocess
import sys
import threading
import time

import pytest

from decidable import (
    ApprovalRequest,
    ApprovalRequired,
    Budget,
    BudgetExceeded,
    DecisionError,
    FunctionOption,
    LLMError,
    MaxIterationsError,
    MissingKeyError,
    ModelRetry,
    OptionError,
    OptionTypeError,
    RepeatedCallError,
    Reply,
    RunStopped,
    Runtime,
    SettingError,
    ToolCall,
    Unsure,
    UsageError,
    runtime,
    tool,
    use_budget,
)
from decidable.content import MediaPart, TextPart
from decidable.testing import call_tool, call_tools, fake_endpoint, pick, scripted


def resume(both, rt, *args, **kwargs):
    if both.is_async:
        return asyncio.run(rt.async_resume(*args, **kwargs))
    return rt.resume(*args, **kwargs)


def told(rt, request: int = -1) -> str:
    (result,) = rt.requests[request].request.messages[-1].tool_results
    return result.content


def foreign(ran: list, **schema: object) -> dict[str, object]:
    def execute(**arguments):
        ran.append(arguments)
        return "ran"

    return {
        "spec": {"name": "shell", "description": "", "parameters": {"type": "object", **schema}},
        "execute": execute,
    }


# --- a person sees what will run --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema", [{}, {"properties": {"cwd": {"type": "string"}}, "additionalProperties": True}], ids=["bare", "open"]
)
def test_of_an_open_schema_a_person_sees_every_argument(both, schema):
    ran, seen, asked = [], [], []
    given = {"cwd": "/", "cmd": "rm -rf /"}

    def needed(arguments: dict[str, object]) -> bool:
        seen.append(arguments)
        return "rm" in str(arguments.get("cmd"))

    def approver(request: ApprovalRequest) -> bool:
        asked.append(dict(request.arguments))
        return False

    rt = scripted(call_tool("shell", **given), "no")
    both.exec(rt, "?", tools=[tool(foreign(ran, **schema), requires_approval=needed)], approver=approver)
    assert (seen, asked, ran) == ([given], [given], [])


def test_execute_passes_on_what_an_open_schema_does_not_name():
    ran: list = []
    assert tool(foreign(ran)).execute(cmd="ls") == "ran"
    tool(foreign(ran, properties={"cwd": {"type": "string"}})).execute(cwd="/", more=1)
    assert ran == [{"cmd": "ls"}, {"cwd": "/"}]


def test_a_predicate_that_takes_one_argument_for_all_is_refused():
    def find(title: str) -> str:
        return title

    with pytest.raises(OptionTypeError, match=r"of 'find' is given all arguments as one dict.*arguments\['title'\]"):
        tool(find, requires_approval=lambda title: title == "x")
    assert tool(find, requires_approval=lambda arguments: arguments["title"] == "x").name == "find"


def test_a_function_that_is_guarded_in_one_place_is_not_unguarded_in_another(both):
    def pay(n: int) -> str:
        return "paid"

    rt = scripted(call_tool("pay", n=1), toolsets={"shop": [tool(pay, requires_approval=True)], "same": [pay]})
    with pytest.raises(OptionError, match="'pay' is given with other rules too; give it once"):
        both.exec(rt, "?", tools=[pay], toolset="shop")
    with pytest.raises(ApprovalRequired):
        both.exec(rt, "?", toolset="shop")
    assert both.exec(scripted("ok", toolsets={"same": [pay]}), "?", tools=[pay], toolset="same") == "ok"


def test_tools_of_any_form_can_be_guarded_and_none_only_seems_to_be(both):
    class Thing:
        spec = {"name": "thing", "parameters": {"type": "object"}}

        def execute(self, **arguments: object) -> str:
            return "ran"

    ran: list = []
    for form in (foreign(ran), Thing(), tool(lambda: "ran", name="f")):
        guarded = tool(form, requires_approval=True, name="guarded", description="Careful.")
        assert (guarded.name, guarded.description) == ("guarded", "Careful.")
        with pytest.raises(ApprovalRequired):
            both.exec(scripted(call_tool("guarded")), "?", tools=[guarded])
        again = tool(guarded, max_chars=2)
        with pytest.raises(ApprovalRequired):
            both.exec(scripted(call_tool("guarded")), "?", tools=[again])
    assert ran == []
    with pytest.raises(OptionTypeError, match=r"has no 'requires_approval'; write tool\("):
        both.exec(scripted(), "?", tools=[{**foreign(ran), "requires_approval": True}])
    thing = Thing()
    thing.requires_approval = True
    with pytest.raises(OptionTypeError, match="nothing reads its requires_approval"):
        both.exec(scripted(), "?", tools=[thing])
    with pytest.raises(OptionTypeError, match="hidden= is for plain functions"):
        tool(foreign(ran), hidden=("a",))
    with pytest.raises(OptionTypeError, match="is a sync function"):
        tool(lambda: 1, name="f", available=(both.is_async and _yes) or _yes)


async def _yes() -> bool:
    return True


def test_an_approver_is_asked_for_the_calls_within_a_tool_too(both):
    paid: list[int] = []
    asked: list[str] = []

    def pay(n: int) -> str:
        paid.append(n)
        return "paid"

    def helper() -> str:
        return runtime.exec("inner", tools=[tool(pay, requires_approval=True)])

    def approver(request: ApprovalRequest) -> bool:
        asked.append(request.name)
        return True

    with scripted(call_tool("helper"), call_tool("pay", n=1), "inner done", "done") as rt:
        assert both.exec(rt, "?", tools=[helper], approver=approver) == "done"
    assert (asked, paid) == (["pay"], [1])


def test_without_an_approver_a_call_within_a_tool_stops_the_whole_run_which_goes_on(both):
    paid: list[int] = []
    looked: list[int] = []

    def pay(n: int) -> str:
        paid.append(n)
        return "paid"

    def look(n: int) -> str:
        looked.append(n)
        return "seen"

    def helper() -> str:
        return runtime.exec("inner", tools=[tool(pay, requires_approval=True)])

    def provider(request):
        if [made.name for made in request.tools] == ["pay"]:
            return "inner done" if request.messages[-1].tool_results else call_tool("pay", n=5)(request)
        return call_tools(("look", {"n": 1}), ("helper", {}))(request)

    rt = scripted(provider, provider)
    with pytest.raises(
        ApprovalRequired, match=r"a call within 'helper' \(id 'call_2'\).*runs that function again"
    ) as caught:
        both.exec(rt, "?", tools=[look, helper])
    stopped = caught.value
    assert [(p.id, p.name, p.within) for p in stopped.pending] == [("call_2", "helper", True)]
    assert (looked, paid) == ([1], [])

    with pytest.raises(ApprovalRequired):  # nobody has said anything, so nothing is made again
        resume(both, scripted(), stopped)
    denied = scripted("no then")
    assert resume(both, denied, json.dumps(stopped.snapshot), {"call_2": False}, tools=[look, helper]) == "no then"
    assert "not allowed" in denied.requests[0].request.messages[-1].tool_results[1].content

    second = scripted(provider, provider, "outer done")
    assert resume(both, second, stopped, {"call_2": True}, approver=lambda _: True) == "outer done"
    assert (looked, paid) == ([1], [5])
    assert [r.content for r in second.requests[-1].request.messages[-1].tool_results] == ["seen", "inner done"]


def test_an_interrupted_call_is_in_doubt_whatever_but_yes_is_said(both):
    kept: list[str] = []

    def pay(n: int) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        both.exec(scripted(call_tool("pay", n=1)), "?", tools=[pay], checkpoint=lambda s: kept.append(json.dumps(s)))
    rt = scripted("ok")
    resume(both, rt, kept[-1], {"call_1": False}, tools=[pay])
    assert "was interrupted" in told(rt)


def test_what_goes_wrong_in_a_function_of_the_callers_says_where(both):
    def pay(n: int) -> str:
        return "paid"

    guarded = tool(pay, requires_approval=lambda arguments: arguments["amount"] > 1)
    with pytest.raises(KeyError) as caught:
        both.exec(scripted(call_tool("pay", n=1)), "?", tools=[guarded])
    assert caught.value.__notes__ == ["in requires_approval= of 'pay'"]
    with pytest.raises(ZeroDivisionError) as caught:
        both.exec(scripted("x"), "?", budget=Budget(cost=1, price=lambda reply: 1 / 0))
    assert caught.value.__notes__ == ["in Budget(price=...)"]


# --- nothing begins when the time is over -----------------------------------------------------------------------------


def test_no_tool_begins_when_the_time_is_over_and_the_run_can_go_on(both):
    paid: list[int] = []

    def pay(n: int) -> str:
        paid.append(n)
        return "paid"

    def approver(request: ApprovalRequest) -> bool:
        time.sleep(0.15)
        return True

    guarded = tool(pay, requires_approval=True)
    with pytest.raises(BudgetExceeded) as caught:
        both.exec(scripted(call_tool("pay", n=1)), "?", tools=[guarded], approver=approver, budget=Budget(seconds=0.1))
    assert caught.value.which == "seconds"
    assert caught.value.spent > caught.value.limit
    assert (paid, caught.value.tool_runs) == ([], ())
    assert resume(both, scripted("done"), caught.value, {"call_1": True}) == "done"
    assert paid == [1]


def test_calls_in_turn_stop_at_the_deadline(both):
    ran: list[int] = []

    def slow(n: int) -> str:
        ran.append(n)
        time.sleep(0.15)
        return "ok"

    calls = call_tools(*[("slow", {"n": n}) for n in range(3)])
    with pytest.raises(LLMError, match="before each tool that was called had begun") as caught:
        both.exec(scripted(calls), "?", tools=[slow], parallel_tool_calls=False, timeout_s=0.1)
    assert caught.value.reason.value == "timeout"
    assert ran == [0]


def test_a_sync_tool_with_a_limit_holds_up_no_program(both):
    release = threading.Event()

    def stuck() -> str:
        release.wait(20)
        return "late"

    begun = time.monotonic()
    try:
        with scripted(call_tool("stuck"), "ok") as rt:
            assert both.exec(rt, "?", tools=[tool(stuck, timeout_s=0.1)]) == "ok"
        assert time.monotonic() - begun < 3, "the end of the event loop waited for the thread"
    finally:
        release.set()


def test_many_stuck_tools_take_no_thread_from_others():
    release = threading.Event()

    def stuck(n: int) -> str:
        release.wait(20)
        return "late"

    def quick() -> str:
        return "quick"

    calls = call_tools(*[("stuck", {"n": n}) for n in range(40)], ("quick", {}))
    rt = scripted(calls, "ok")
    try:
        asyncio.run(rt.async_exec("?", tools=[tool(stuck, timeout_s=1), tool(quick, timeout_s=1)]))
    finally:
        release.set()
    results = rt.requests[-1].request.messages[-1].tool_results
    assert results[-1].content == "quick"
    assert all("did not finish within" in result.content for result in results[:-1])


def test_what_a_tool_that_is_given_up_asks_of_a_model_ends_too(both):
    acted: list[float] = []
    ended = threading.Event()

    def act() -> str:
        acted.append(time.monotonic())
        time.sleep(0.1)
        return "acted"

    def helper() -> str:
        try:
            return runtime.exec("inner", tools=[act], max_repeats=None)
        finally:
            ended.set()

    def provider(request):
        if request.messages[-1].tool_results and [made.name for made in request.tools] == ["helper"]:
            return "gave up"
        return call_tool(request.tools[0].name)(request)

    rt = scripted(*[provider] * 40)
    assert both.exec(rt, "?", tools=[tool(helper, timeout_s=0.25)]) == "gave up"
    until = time.monotonic() + 0.2
    assert ended.wait(2)
    assert all(when < until for when in acted)


def test_a_tools_own_limit_does_not_outlast_the_calls(both):
    release = threading.Event()

    def stuck() -> str:
        release.wait(20)
        return "late"

    begun = time.monotonic()
    try:
        with pytest.raises(LLMError, match="time given was over"):
            both.exec(scripted(call_tool("stuck")), "?", tools=[tool(stuck, timeout_s=60)], timeout_s=0.2)
        assert time.monotonic() - begun < 3
    finally:
        release.set()


# --- the option that is picked ----------------------------------------------------------------------------------------


class Crash(BaseException):
    """The power goes out."""


def test_an_option_that_had_begun_is_carried_out_again_only_when_a_person_says_so(both):
    paid: list[int] = []
    crashes = [True]
    kept: list[str] = []

    def look() -> str:
        return "seen"

    def pay(n: int) -> str:
        paid.append(n)
        if crashes.pop():
            raise Crash
        return f"paid {n}"

    choices = {"pay": pay, "no": "no"}
    with pytest.raises(Crash):
        both.exec(
            scripted(call_tool("look"), pick("pay", n=9)),
            "?",
            tools=[look],
            choices=choices,
            checkpoint=lambda s: kept.append(json.dumps(s)),
        )
    with pytest.raises(ApprovalRequired) as caught:
        resume(both, scripted(), kept[-1], tools=[look], choices=choices)
    assert caught.value.pending == (ApprovalRequest("pick", "pay", {"n": 9}),)
    assert paid == [9]
    other = scripted(pick("no"))
    assert resume(both, other, kept[-1], {"pick": False}, tools=[look], choices=choices) == "no"
    crashes.append(False)
    assert resume(both, scripted(), kept[-1], {"pick": True}, tools=[look], choices=choices) == "paid 9"
    assert paid == [9, 9]


def test_the_last_checkpoint_holds_a_pick_that_waits(both):
    kept: list[str] = []
    given = {
        "tools": [tool(lambda: "seen", name="look")],
        "choices": [tool(lambda: "paid", name="pay", requires_approval=True)],
    }
    with pytest.raises(ApprovalRequired):
        both.exec(
            scripted(call_tool("look"), pick("pay")), "?", **given, checkpoint=lambda s: kept.append(json.dumps(s))
        )
    assert resume(both, scripted(), kept[-1], {"pick": True}, **given) == "paid"


def test_an_option_that_stopped_in_the_middle_is_not_carried_out_again_unasked(both):
    paid: list[int] = []

    def pay(n: int) -> str:
        paid.append(n)
        return runtime.exec("and now?")

    rt = scripted(call_tool("look"), pick("pay", n=9), "ok")
    with pytest.raises(BudgetExceeded) as caught:
        both.exec(rt, "?", tools=[tool(lambda: "seen", name="look")], choices=[pay, "no"], budget=Budget(requests=2))
    with pytest.raises(ApprovalRequired):
        resume(both, rt, caught.value)
    assert paid == [9]
    assert resume(both, rt, caught.value, {"pick": True}) == "ok"


def test_an_option_that_has_the_model_pick_again_has_not_begun(both):
    kept: list[dict] = []

    def pay(n: int) -> str:
        if n > 5:
            raise ModelRetry("too much")
        return f"paid {n}"

    rt = scripted(call_tool("look"), pick("pay", n=9), pick("pay", n=3))
    given = {"tools": [tool(lambda: "seen", name="look")], "choices": [pay, "no"]}
    assert both.exec(rt, "?", **given, checkpoint=lambda s: kept.append(copy.deepcopy(s))) == "paid 3"
    assert [snapshot["job"]["has_picked"] for snapshot in kept][-2:] == [True, True]


# --- errors between processes -----------------------------------------------------------------------------------------


def test_every_error_can_be_pickled_and_copied(both):
    def pay(n: int) -> str:
        return "paid"

    with pytest.raises(ApprovalRequired) as caught:
        both.exec(scripted(call_tool("pay", n=1)), "?", tools=[tool(pay, requires_approval=True)])
    with pytest.raises(DecisionError) as failed:
        both.make("?", ["a"], runtime=scripted("?", "?"))
    errors = [
        caught.value,
        failed.value,
        BudgetExceeded("requests", 1, 1),
        Unsure("x", probabilities={"a": 1.0}, margin=0.1),
        LLMError("x", reason="rate_limit"),
        MissingKeyError("x"),
    ]
    for error in errors:
        for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(other) is type(error)
            assert str(other) == str(error)
            held = {name: value for name, value in vars(error).items() if name not in {"live", "attempts", "pending"}}
            assert {name: getattr(other, name) for name in held} == held
    sent = pickle.loads(pickle.dumps(caught.value))
    assert sent.live is None
    assert sent.pending == caught.value.pending
    assert resume(both, scripted("ok"), sent, {"call_1": True}, tools=[tool(pay, requires_approval=True)]) == "ok"


# --- loops that lead somewhere, and loops that do not -----------------------------------------------------------------


def test_a_call_may_be_made_again_after_something_new(both):
    """Edit, test, edit, test: each edit is another one, and each test fails."""

    def edit(n: int) -> str:
        return "edited"

    def run_tests() -> str:
        return "FAILED"

    steps = [call for n in range(8) for call in (call_tool("edit", n=n), call_tool("run_tests"))]
    rt = scripted(*steps, "done")
    assert both.exec(rt, "?", tools=[edit, run_tests], max_iterations=20, max_repeats=2) == "done"
    assert not any(r.is_error for seen in rt.requests for m in seen.request.messages for r in m.tool_results)


def test_turning_in_a_circle_of_several_calls_is_noticed(both):
    def one() -> str:
        return "1"

    def two() -> str:
        return "2"

    rt = scripted(*[call_tool("one"), call_tool("two")] * 10)
    with pytest.raises(RepeatedCallError):
        both.exec(rt, "?", tools=[one, two], max_repeats=2)
    assert len(rt.requests) < 12


def test_a_required_tool_has_to_run_not_only_to_be_called(both):
    def look(n: int) -> str:
        return "seen"

    with scripted(call_tool("look", n="x"), call_tool("look", n=1), "ok") as rt:
        both.exec(rt, "?", tools=[look], tool_choice="required")
    assert [seen.request.tool_choice for seen in rt.requests] == ["required", "required", "auto"]


def test_a_run_at_the_most_iterations_can_go_on(both):
    def look(n: int) -> str:
        return f"seen {n}"

    rt = scripted(*[call_tool("look", n=n) for n in range(50)])
    with pytest.raises(MaxIterationsError) as caught:
        both.exec(rt, "?", tools=[look], max_iterations=50)
    assert resume(both, scripted("done"), caught.value, max_iterations=60) == "done"
    with pytest.raises(SettingError, match="counts replies from the beginning, from 1 to 100, not 101"):
        resume(both, scripted("done"), caught.value, max_iterations=101)


# --- what the model is shown ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ending",
    [{"choices": ["a", "b"], "via": "tools"}, {"choices": ["a", "b"]}, {"response_format": int}],
    ids=["tools", "menu", "typed"],
)
def test_what_was_found_is_shown_whole_before_the_decision(both, ending):
    found = "x" * 3000 + " the answer is 42 " + "y" * 3000
    last = pick("a") if "choices" in ending else "42"
    rt = scripted(call_tool("look"), found, last)
    both.exec(rt, "?", tools=[tool(lambda: "seen", name="look")], **ending)
    assert any(message.content == found for message in rt.requests[-1].request.messages)


def test_ids_that_were_made_up_are_told_apart_over_the_whole_run(both):
    same = Reply(
        stop="tool_calls", tool_calls=(ToolCall("call_0", "look", {"n": 1}), ToolCall("call_1", "look", {"n": 2}))
    )
    again = Reply(stop="tool_calls", tool_calls=(ToolCall("call_0", "look", {"n": 3}),))
    fake = fake_endpoint("anthropic:tiny", "done")
    rt = Runtime([scripted(same, again, LLMError("down", reason="auth")).provider, fake.provider], max_retries=0)
    assert both.exec(rt, "?", tools=[tool(lambda n: "seen", name="look")]) == "done"
    blocks = [block for turn in fake.bodies[0]["messages"] for block in turn["content"]]
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert len(uses) == len(set(uses)) == 3
    assert [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] == uses


def test_long_text_among_parts_is_cut_too(both):
    image = MediaPart("image", b"x", "image/png")
    made = tool(lambda: [TextPart("a" * 1000), image], name="look", max_chars=100)
    rt = scripted(call_tool("look"), "ok")
    both.exec(rt, "?", tools=[made])
    text, shown = told(rt)
    assert "900 of 1,000 characters cut" in text.text
    assert shown == image


# --- mistakes ---------------------------------------------------------------------------------------------------------


def test_mistakes_that_are_told_before_anything_is_sent(both):
    away = [True]

    def pay(n: int) -> str:
        return "paid"

    sometimes = tool(pay, requires_approval=True, available=lambda: away[0])
    with pytest.raises(ApprovalRequired) as caught:
        both.exec(scripted(call_tool("pay", n=1)), "?", tools=[sometimes])
    away[0] = False
    with pytest.raises(UsageError, match="'pay', which is not available now"):
        resume(both, scripted(), caught.value, {"call_1": True})
    with pytest.raises(SettingError, match="parallel_tool_calls is True, False or None"):
        both.exec(scripted(), "?", tools=[pay], parallel_tool_calls="no")
    cut = {**caught.value.snapshot, "settings": {}}
    with pytest.raises(SettingError, match="holds no whole run"):
        resume(both, scripted(), cut, tools=[pay])

    async def keep(snapshot: object) -> None:
        pass

    if not both.is_async:
        with pytest.raises(UsageError, match="an async checkpoint= needs the async twin"):
            both.exec(scripted(), "?", tools=[pay], checkpoint=keep)


def test_a_budget_over_a_block_counts_what_stopped(both):
    with use_budget(Budget(requests=1)) as spent, pytest.raises(RunStopped):
        both.exec(scripted(call_tool("f")), "?", tools=[tool(lambda: "x", name="f")])
    assert spent.requests == 1


def test_an_error_from_another_process_is_read_there():
    code = (
        "import pickle, sys; from decidable import ApprovalRequired; "
        "error = pickle.loads(sys.stdin.buffer.read()); print(type(error).__name__, error.pending[0].name)"
    )
    with pytest.raises(ApprovalRequired) as caught:
        scripted(call_tool("pay", n="1")).exec("?", tools=[tool(lambda n: "x", name="pay", requires_approval=True)])
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(caught.value), capture_output=True, check=True
    )
    assert done.stdout.split() == [b"ApprovalRequired", b"pay"]


def test_a_guarded_function_in_a_menu_keeps_its_type():
    made = tool(FunctionOption(len, name="count"), timeout_s=3)
    assert made.name == "count"
    assert made.rules.timeout_s == 3
