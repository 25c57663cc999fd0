"""The verbs: what is asked, what comes back, and what is refused before anything is sent."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest
from verbs_kit import Model, runtime

from decidable import (
    ArgumentTypeError,
    CancelToken,
    DecisionProviderError,
    LLMError,
    OptionError,
    QuestionError,
    RefusedError,
    RouteError,
    Runtime,
    RuntimeMissingError,
    SettingError,
    VerificationError,
    ask,
    async_ask,
    dry_run,
    judge,
    pick,
    route,
    route_by_value,
    sift,
    step,
    trace,
    use_runtime,
    verify,
)
from decidable.judgments import is_filled
from decidable.questions import Choice, Limits, Noul, Score
from decidable.receipts import MemoryReceipts, use_receipts

LATE = {"late": Noul("Is it late?")}
ANSWERS = {"late": 0.9, "team": "billing", "anger": 2}
ASKED = {
    **LATE,
    "team": Choice("Who?", ["billing", "tech"]),
    "anger": Score("How angry?", ["calm", "upset", "furious"]),
}


# --- judge --------------------------------------------------------------------------------------------------------


def test_judge_sends_the_state_by_value_and_gives_values_and_a_sidecar(call):
    rt = runtime(ANSWERS)
    state = {"n": 1, "list": [True, None]}
    found = call("judge", state, ASKED, runtime=rt)
    assert rt.asked.requests[0].state == state
    assert found.values == {"late": True, "team": "billing", "anger": 2}
    assert (found.sidecar.weakest, found.sidecar.min_confidence) == ("late", 0.8)
    assert (found.provider, found.model, found.cost_usd, found.origin) == ("model", "m-1", 0.001, "model")


def test_judge_in_a_loop_is_one_request_an_item_and_the_receipt_says_which():
    rt, store = runtime({"late": 0.9}), MemoryReceipts()
    with use_receipts(store):
        for place, parcel in enumerate(["a", "b", "c"]):
            with step("parcels", item=place):
                judge(parcel, LATE, runtime=rt)
    assert [(one.item, one.execution_path) for one in store.all()] == [(n, f"/root/parcels/{n}/body") for n in range(3)]


@pytest.mark.parametrize("state", [None, "", {}, [], ()])
def test_judge_refuses_an_empty_state(call, state):
    rt = runtime(ANSWERS)
    with pytest.raises(QuestionError, match="the state is empty"):
        call("judge", state, ASKED, runtime=rt)
    assert not rt.asked.requests


@pytest.mark.parametrize("questions", [{}, None, [], "Late?", {"late": "Is it late?"}, {"late": Noul("L?"), "x": 1}])
def test_judge_refuses_what_is_no_questions(call, questions):
    rt = runtime(ANSWERS)
    with pytest.raises(QuestionError):
        call("judge", "A parcel.", questions, runtime=rt)
    assert not rt.asked.requests


def test_judge_takes_a_type(call):
    schema = {"properties": {"late": {"type": "boolean", "description": "Is it late?"}}}
    assert call("judge", "A parcel.", schema, runtime=runtime({"late": 0.2})).values == {"late": False}


def test_a_keyword_that_there_is_none_of_is_refused_with_a_close_one(call):
    with pytest.raises(ArgumentTypeError, match=r"judge\(\) got an unexpected keyword argument 'lable'.*'label'"):
        call("judge", "A parcel.", LATE, lable="x", runtime=runtime(ANSWERS))


def test_without_a_runtime_the_verb_says_how_to_give_one(call):
    with pytest.raises(RuntimeMissingError):
        call("judge", "A parcel.", LATE)


def test_the_ambient_runtime_answers(call):
    with use_runtime(runtime({"holds": 0.9})):
        assert call("ask", "Late?", "A parcel.")


def test_a_refused_question_is_an_error_that_names_it(call):
    with pytest.raises(RefusedError, match="'team'") as caught:
        call("judge", "A parcel.", ASKED, runtime=runtime({**ANSWERS, "team": "refused"}))
    assert caught.value.refused == ("team",)


# --- ask ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "holds"), [(0.59, False), (0.6, True), (0.61, True)])
def test_ask_holds_from_its_gate_on(call, p, holds):
    answer = call("ask", "Late?", "A parcel.", runtime=runtime({"holds": p}))
    assert (bool(answer), answer.holds, answer.p_yes, answer.gte) == (holds, holds, p, 0.6)


@pytest.mark.parametrize("gte", [0.5, 0.0, 1.1, "0.7", True])
def test_ask_refuses_a_gate_that_a_dry_run_would_pass(call, gte):
    with pytest.raises(SettingError, match="above 0.5, at most 1"):
        call("ask", "Late?", "A parcel.", gte=gte, runtime=runtime({"holds": 1}))


def test_ask_sees_only_the_state_that_it_is_given(call):
    rt = runtime({"holds": 0.9})
    call("ask", "Late?", {"only": 1}, true="After noon.", false="Before noon.", runtime=rt)
    (request,) = rt.asked.requests
    assert request.state == {"only": 1}
    assert request.questions == {"holds": Noul("Late?", "After noon.", "Before noon.")}


def test_ask_ends_a_loop():
    rt = runtime(lambda key, question, request: 0.9 if request.state["tries"] >= 3 else 0.1)
    tries = 0
    while not ask("Enough?", {"tries": tries}, runtime=rt):
        tries += 1
    assert tries == 3
    assert len(rt.asked.requests) == 4


# --- pick ---------------------------------------------------------------------------------------------------------


def test_pick_shows_the_items_as_options_and_candidates(call):
    rt = runtime({"pick": "item_1"})
    found = call("pick", ["a  mug", "a\ncup", ""], "Which broke?", state={"note": "n"}, runtime=rt)
    (request,) = rt.asked.requests
    shown = {"item_0": "a mug", "item_1": "a cup", "item_2": "item 2"}
    assert request.questions["pick"].criteria == shown
    assert request.state == {"note": "n", "candidates": shown}
    assert (found.index, found.item, found.option, found.none) == (1, "a\ncup", "a cup", False)


def test_pick_none(call):
    found = call("pick", ["a", "b"], "Which?", none=True, state="s", runtime=runtime({"pick": "none_of_these"}))
    assert (found.index, found.item, found.option, found.none) == (None, None, None, True)


def test_pick_of_nothing(call):
    rt = runtime({"pick": "item_0"})
    assert call("pick", [], "Which?", none=True, runtime=rt).none
    with pytest.raises(OptionError, match="empty_selection"):
        call("pick", [], "Which?", runtime=rt)
    assert not rt.asked.requests


@pytest.mark.parametrize(
    ("count", "none", "fits"), [(240, False, True), (241, False, False), (239, True, True), (240, True, False)]
)
def test_pick_takes_240_items_or_239_with_none(call, count, none, fits):
    rt = runtime({"pick": "item_0"})
    if fits:
        assert call("pick", range(count), "Which?", none=none, runtime=rt).index == 0
        return
    with pytest.raises(OptionError, match="sift them first"):
        call("pick", range(count), "Which?", none=none, runtime=rt)
    assert not rt.asked.requests


def test_pick_describes_objects_by_a_function(call):
    rt = runtime({"pick": "item_0"})
    found = call("pick", [{"name": "mug"}], "Which?", describe=lambda item: item["name"], runtime=rt)
    assert (found.item, found.option) == ({"name": "mug"}, "mug")


# --- sift ---------------------------------------------------------------------------------------------------------


def test_sift_asks_about_several_items_in_one_request(call):
    rt = runtime(lambda key, question, request: 0.9 if key.startswith("1.") else 0.1)
    found = call("sift", ["a", "b", "c"], LATE, keep="late", state={"note": "n"}, describe=str.upper, runtime=rt)
    (request,) = rt.asked.requests
    assert list(request.questions) == ["0.late", "1.late", "2.late"]
    assert "items[1]" in request.questions["1.late"].instructions
    assert "item_1" in request.questions["1.late"].instructions
    assert request.state["note"] == "n"
    assert request.state["items"][1] == {"id": "item_1", "summary": "B", "item": "b"}
    assert (found.items, found.kept, found.requests) == (["b"], [1], 1)
    assert [value["late"] for value in found.values] == [False, True, False]
    assert found.answers[1].min_confidence == 0.8


@pytest.mark.parametrize(
    ("keep", "gte", "kept"),
    [
        ("late", None, [1, 2]),
        ("late", 0.8, [2]),
        ("anger", 2, [2]),
        ("anger", None, [0, 1, 2]),
        ("team.confidence", 0.8, [2]),
        ("late.confidence", 0.8, [0, 2]),
        (None, None, [0, 1, 2]),
    ],
)
def test_sift_keeps_by_yes_by_score_by_confidence(call, keep, gte, kept):
    values = {"late": (0.1, 0.5, 0.95), "anger": (0, 1, 2), "team": (("a", 0.5), ("a", 0.89), ("a", 0.9))}
    rt = runtime(lambda key, question, request: values[key.split(".")[1]][int(key.split(".")[0])])
    asked = {**LATE, "anger": ASKED["anger"], "team": Choice("Who?", ["a", "b"])}
    assert call("sift", "xyz", asked, keep=keep, gte=gte, runtime=rt).kept == kept


@pytest.mark.parametrize(
    ("keep", "gte", "error", "match"),
    [
        ("team", None, QuestionError, "team.confidence"),
        ("tem", None, QuestionError, "did you mean 'team'"),
        ("late.p", None, QuestionError, "'.confidence' only"),
        (None, 0.5, SettingError, "give keep= too"),
        ("late", 1.5, SettingError, "from 0 to 1"),
        ("anger", 3, SettingError, "from 0 to 2"),
        (1, None, ArgumentTypeError, "is the id of a question"),
    ],
)
def test_sift_refuses_what_it_cannot_keep_by(call, keep, gte, error, match):
    rt = runtime(ANSWERS)
    with pytest.raises(error, match=match):
        call("sift", "xyz", ASKED, keep=keep, gte=gte, runtime=rt)
    assert not rt.asked.requests


@pytest.mark.parametrize(("count", "sizes"), [(600, [256, 256, 88]), (256, [256]), (257, [256, 1]), (0, [])])
def test_sift_fills_its_requests_in_order(call, count, sizes):
    rt = runtime(lambda key, question, request: 0.1)
    found = call("sift", range(count), LATE, runtime=rt)
    assert sorted((len(one.questions) for one in rt.asked.requests), reverse=True) == sizes
    assert found.requests == len(sizes)
    assert len(found.values) == count


def test_sift_of_2560_is_ten_requests_at_most_four_in_flight(call):
    flying, most, lock = [0], [0], threading.Lock()

    def say(key, question, request):
        if key == "0.late":
            with lock:
                flying[0] += 1
                most[0] = max(most[0], flying[0])
            time.sleep(0.02)
            with lock:
                flying[0] -= 1
        place = int(question.instructions.split("item_")[1].split(")")[0])
        return 0.9 if place % 7 == 0 else 0.1

    rt = runtime(say)
    found = call("sift", range(2560), LATE, keep="late", runtime=rt)
    assert (found.requests, most[0]) == (10, 4)
    assert found.kept == list(range(0, 2560, 7))
    assert found.cost_usd == pytest.approx(0.01)
    assert found.model == "m-1"


@pytest.mark.parametrize("most", [80, 120, 1000])
def test_every_request_of_a_sift_is_as_full_as_can_be_and_joins_to_the_right_items(call, most):
    items = [{"text": "é" * (n % 9), "n": n} for n in range(60)]
    rt = runtime(
        lambda key, q, request: 0.9 if request.state["items"][int(key.split(".")[0])]["item"]["n"] % 3 else 0.1
    )
    found = call("sift", items, LATE, keep="late", max_state_bytes=most, state={"x": 1}, runtime=rt)
    assert found.kept == [n for n in range(60) if n % 3]

    def size(state):
        return len(json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode())

    states = sorted((one.state for one in rt.asked.requests), key=lambda state: state["items"][0]["item"]["n"])
    assert [one["item"]["n"] for state in states for one in state["items"]] == list(range(60))
    for state, after in zip(states, [*states[1:], None], strict=True):
        assert size(state) <= most
        if after is not None:
            assert size({**state, "items": [*state["items"], after["items"][0]]}) > most


def test_sift_refuses_before_any_request_what_cannot_fit(call):
    rt = runtime(ANSWERS)
    with pytest.raises(QuestionError, match="the state alone has"):
        call("sift", ["a"], LATE, state={"big": "x" * 100}, max_state_bytes=50, runtime=rt)
    with pytest.raises(QuestionError, match="item 1 has"):
        call("sift", ["a", "x" * 100, "b"], LATE, max_state_bytes=90, runtime=rt)
    with pytest.raises(QuestionError, match="one item has 3 questions"):
        call("sift", ["a"], ASKED, max_questions=2, runtime=rt)
    assert not rt.asked.requests


@pytest.mark.parametrize("value", [0, -1, 1.5, float("nan"), True, "9"])
@pytest.mark.parametrize("name", ["max_state_bytes", "max_questions", "at_once"])
def test_sift_refuses_a_limit_that_is_no_positive_whole_number(call, name, value):
    with pytest.raises(SettingError, match=f"{name} is a whole number"):
        call("sift", ["a"], LATE, **{name: value}, runtime=runtime(ANSWERS))


def test_a_providers_own_limits_hold_too(call):
    rt = runtime(lambda key, question, request: 0.1, limits=Limits(max_questions=100, max_state_bytes=2000))
    call("sift", range(500), LATE, runtime=rt)
    assert max(len(one.questions) for one in rt.asked.requests) <= 100


def test_the_first_request_that_fails_stops_the_others(call):
    def fail(number, request):
        if request.state["items"][0]["id"] == "item_256":
            raise LLMError("no", reason="invalid")
        time.sleep(0.05)

    rt = runtime(lambda key, question, request: 0.1, fail=fail)
    with pytest.raises(LLMError, match="no"):
        call("sift", range(256 * 12), LATE, runtime=rt)
    assert len(rt.asked.requests) <= 5


def test_sift_tells_how_far_it_is(call):
    told = []
    rt = runtime(lambda key, question, request: 0.1)
    call("sift", range(600), LATE, on_progress=lambda done, count: told.append((done, count)), runtime=rt)
    assert told[-1] == (600, 600)
    assert len(told) == 3


def test_a_caller_can_call_a_sift_off(call):
    token = CancelToken()
    token.cancel()
    rt = runtime(lambda key, question, request: 0.1)
    with pytest.raises(DecisionProviderError) as caught:
        call("sift", range(600), LATE, cancel=token, runtime=rt)
    assert caught.value.code == "aborted"
    assert not rt.asked.requests


def test_a_question_with_a_dot_in_its_id_cannot_be_sifted(call):
    with pytest.raises(QuestionError, match="a dot"):
        call("sift", ["a"], {"a.b": Noul("?")}, runtime=runtime(ANSWERS))


# --- route --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "taken", "unsure"), [(0.8, "a", False), (0.79, "review", True)])
def test_route_is_sure_from_exactly_its_gate_on(call, p, taken, unsure):
    ran = []
    branches = {"a": lambda: ran.append("a") or "A", "b": lambda: "B", "review": lambda: ran.append("review") or "R"}
    rt = runtime(lambda key, question, request: ("a", p))
    # with three options the confidence of a choice is (3p - 1) / 2
    found = call("route", "s", "Which?", branches, unsure="review", gte=(3 * 0.8 - 1) / 2, runtime=rt)
    assert (found.branch, found.taken, found.unsure, ran) == ("a", taken, unsure, [taken])
    assert found.result == {"a": "A", "review": "R"}[taken]


def test_a_route_is_recorded_before_its_branch_runs(call):
    store, seen = MemoryReceipts(), []
    with use_receipts(store):
        call(
            "route",
            "s",
            "Which?",
            {"a": lambda: seen.append(store.all()[0].status), "b": 1},
            runtime=runtime({"branch": "a"}),
        )
    assert seen == ["answered"]
    assert store.all()[0].action == {"branch": "a", "taken": "a", "unsure": False}


@pytest.mark.parametrize(
    ("branches", "more", "match"),
    [
        ({"a": 1}, {}, "2 to 240 branches, not 1"),
        ({f"b{n}": n for n in range(241)}, {}, "not 241"),
        ({"a": 1, "b": 2}, {"unsure": "c", "gte": 0.5}, "unsure= names a branch"),
        ({"a": 1, "b": 2}, {"unsure": "a"}, "give both, or neither"),
        ({"a": 1, "b": 2}, {"gte": 0.5}, "give both, or neither"),
        ({"a": 1, "b": 2}, {"unsure": "a", "gte": 0}, "above 0, at most 1"),
        ({"a": lambda x: x, "b": 2}, {}, "takes arguments"),
    ],
)
def test_route_refuses_what_is_no_route(call, branches, more, match):
    rt = runtime({"branch": "a"})
    with pytest.raises((OptionError, SettingError), match=match):
        call("route", "s", "Which?", branches, **more, runtime=rt)
    assert not rt.asked.requests


def test_a_branch_has_a_path_of_its_own_in_which_names_are_escaped(call):
    store = MemoryReceipts()
    rt = runtime(lambda key, question, request: "a/b~c" if key == "branch" else 0.9)
    with use_receipts(store):
        call("route", "s", "Which?", {"a/b~c": lambda: ask("Late?", "s", runtime=rt), "d": 1}, runtime=rt)
    assert [one.execution_path for one in store.all()] == ["/root", "/root/branches/a~1b~0c/body"]


def test_an_async_branch_is_awaited():
    from decidable import async_route

    async def branch():
        return await async_ask("Late?", "s", runtime=rt)

    rt = runtime(lambda key, question, request: "a" if key == "branch" else 0.9)
    found = asyncio.run(async_route("s", "Which?", {"a": branch, "b": 1}, runtime=rt))
    assert found.result.holds
    with pytest.raises(OptionError, match="async twin"):
        route("s", "Which?", {"a": branch, "b": 1}, runtime=rt)


def test_a_refused_route_takes_its_unsure_branch_and_is_an_error_without_one(call):
    rt = runtime({"branch": "refused"})
    found = call("route", "s", "Which?", {"a": 1, "b": 2}, unsure="b", gte=0.5, runtime=rt)
    assert (found.branch, found.taken, found.unsure, found.result) == (None, "b", True, 2)
    with pytest.raises(RefusedError, match="'branch'"):
        call("route", "s", "Which?", {"a": 1, "b": 2}, runtime=rt)


def test_route_by_value_asks_no_model(call):
    branches = {"close": lambda: "closed", "wait": "waiting"}
    found = call("route_by_value", "close", branches)
    assert (found.branch, found.taken, found.result, found.fallback, found.judgement) == (
        "close",
        "close",
        "closed",
        False,
        None,
    )
    found = call("route_by_value", "hm", branches, otherwise="wait")
    assert (found.branch, found.taken, found.result, found.fallback) == (None, "wait", "waiting", True)
    assert call("route_by_value", None, branches, otherwise="wait").fallback


@pytest.mark.parametrize(
    ("value", "otherwise", "kind"),
    [
        (None, None, "route_missing"),
        ("toString", None, "route_unknown"),
        (7, "wait", "route_type"),
        (True, None, "route_type"),
    ],
)
def test_route_by_value_fails_before_any_branch(call, value, otherwise, kind):
    ran = []
    with pytest.raises(RouteError) as caught:
        call("route_by_value", value, {"close": lambda: ran.append(1), "wait": 2}, otherwise=otherwise)
    assert (caught.value.kind, ran) == (kind, [])


def test_an_unexpected_value_is_neither_in_the_error_nor_in_the_trace():
    with trace() as t, pytest.raises(RouteError) as caught:
        route_by_value("s3cret", {"a": 1, "b": 2})
    (node,) = t.nodes
    assert "s3cret" not in str(caught.value) + repr(node.input) + repr(node.output) + repr(node.error)


def test_judge_then_code_then_a_route_by_value_is_one_request():
    for p, taken in ((0.79, "withhold"), (0.80, "proceed")):
        rt = runtime({"late": p})
        found = judge("s", LATE, runtime=rt)
        name = "proceed" if found.answers["late"].noul >= 0.8 else "withhold"
        assert route_by_value(name, {"proceed": 1, "withhold": 2}).taken == taken
        assert len(rt.asked.requests) == 1


# --- verify -------------------------------------------------------------------------------------------------------

REVIEW = {"name": Noul("Is the name right?"), "city": Noul("Is the city right?"), "cited": Noul("Is a source given?")}


def test_verify_doubts_at_the_floor_requires_at_one_half_and_leaves_out_what_is_empty(call):
    rt = runtime({"name": 0.3, "city": 0.0, "cited": 0.5})
    found = call("verify", {"name": "Ada", "city": "n/a"}, REVIEW, runtime=rt)
    assert found.drives[0].accepted
    assert rt.asked.requests[0].state == {"submission": {"name": "Ada", "city": "n/a"}}


def test_verify_has_the_work_done_again_and_says_what_was_wrong(call):
    rt = runtime(lambda key, q, request: 0.9 if request.state["submission"]["name"] == "Ada" else 0.2)
    told = []

    def revise(message):
        told.append(message)
        return {"name": "Ada"}

    found = call("verify", {"name": "Bob"}, REVIEW, revise=revise, state={"source": "s"}, runtime=rt)
    assert [(one.drive, one.doubted, one.unmet, one.accepted) for one in found.drives] == [
        (1, ("name",), ("city", "cited"), False),
        (2, (), (), True),
    ]
    assert found.submission == {"name": "Ada"}
    assert "Is the name right?" in told[0]
    assert "Is a source given?" in told[0]


def test_verify_gives_up_with_the_last_work_and_every_review(call):
    with pytest.raises(VerificationError, match="not accepted in 2 reviews") as caught:
        call("verify", {"name": "a"}, REVIEW, revise=lambda _: {"name": "b"}, runtime=runtime(lambda *_: 0.1))
    assert caught.value.candidate == {"name": "b"}
    assert len(caught.value.drives) == 2


def test_final_work_is_reviewed_once_more_unless_it_is_equal(call):
    rt = runtime(lambda key, q, request: 0.9 if request.state["submission"]["name"] != "bad" else 0.1)
    same = call("verify", {"name": "Ada"}, REVIEW, finish=dict, runtime=rt)
    assert len(same.drives) == 1
    other = call("verify", {"name": "Ada"}, REVIEW, finish=lambda _: {"name": "Eva"}, runtime=rt)
    assert (len(other.drives), other.submission) == (2, {"name": "Eva"})
    with pytest.raises(VerificationError):
        call("verify", {"name": "Ada"}, REVIEW, finish=lambda _: {"name": "bad"}, runtime=rt)
    with pytest.raises(VerificationError, match="no review was left"):
        call("verify", {"name": "Ada"}, REVIEW, finish=lambda _: {"name": "Eva"}, max_drives=1, runtime=rt)


@pytest.mark.parametrize("value", [None, False, "", " ", "N/A", "none", "Unknown", "not stated", "-", [], ()])
def test_what_is_not_filled(value):
    assert not is_filled(value)


@pytest.mark.parametrize("value", [0, True, "x", [1], {}, {"a": 1}])
def test_what_is_filled(value):
    assert is_filled(value)


def test_verify_refuses_what_it_cannot_review_by(call):
    rt = runtime({})
    with pytest.raises(QuestionError, match="at least one yes/no"):
        call("verify", {"a": 1}, {"team": Choice("Who?", ["a", "b"])}, runtime=rt)
    with pytest.raises(SettingError, match="max_drives"):
        call("verify", {"a": 1}, REVIEW, max_drives=0, runtime=rt)
    for below in (0, 1, 2):
        with pytest.raises(SettingError, match="below"):
            call("verify", {"a": 1}, REVIEW, below=below, runtime=rt)


# --- together -----------------------------------------------------------------------------------------------------


def test_an_outage_is_followed_by_the_next_provider_and_a_refusal_is_not(call):
    def down(number, request):
        raise LLMError("down", reason="provider", retryable=False)

    broken, good, shy = (
        Model({}, fail=down),
        Model({"holds": 0.9}, name="good"),
        Model({"holds": "refused"}, name="shy"),
    )
    answer = call("ask", "Late?", "s", runtime=Runtime([broken, good]))
    assert answer.judgement.provider == "good"
    with pytest.raises(RefusedError, match="shy"):
        call("ask", "Late?", "s", runtime=Runtime([shy, good], fallback_on=("refusal", "failure")))
    assert len(good.requests) == 1


def test_the_provider_that_declares_the_model_is_asked(call):
    from dataclasses import replace

    one, two = Model({"holds": 0.9}, name="one"), Model({"holds": 0.8}, name="two")
    one.capabilities = replace(one.capabilities, models=("m-1",))
    two.capabilities = replace(two.capabilities, models=("m-2",))
    assert call("ask", "Late?", "s", model="m-2", runtime=Runtime([one, two])).judgement.provider == "two"


def test_a_dry_run_sends_nothing_passes_no_gate_and_takes_the_unsure_branch(call):
    rt, after = runtime(ANSWERS), []
    with dry_run() as would:
        assert not call("ask", "Late?", "s", runtime=rt)
        found = call("route", "s", "Which?", {"a": 1, "b": lambda: after.append(1)}, unsure="b", gte=0.1, runtime=rt)
        assert call("sift", range(300), LATE, keep="late", gte=0.6, runtime=rt).kept == []
        assert call("judge", "s", ASKED, runtime=rt).sidecar.min_confidence == 0
    assert (found.taken, after) == ("b", [1])
    assert [one.kind for one in would.requests] == ["ask", "route", "sift", "sift", "judge"]
    assert not rt.asked.requests


def test_a_dry_run_keeps_no_receipts(call):
    store = MemoryReceipts()
    with use_receipts(store), dry_run():
        call("ask", "Late?", "s", runtime=runtime(ANSWERS))
    assert len(store) == 0


def test_each_verb_has_a_node_in_the_trace_that_ends_with_its_result(call):
    with trace() as t:
        answer = call("ask", "Late?", "s", label="is it late", runtime=runtime({"holds": 0.9}))
    (node, request) = t.nodes
    assert (node.kind, node.name, node.output is answer, request.kind) == ("ask", "is it late", True, "model_call")


def test_verbs_nest_in_steps_whose_names_stand_before_their_labels():
    store = MemoryReceipts()
    with use_receipts(store), step("refunds"), step("late/ones"):
        ask("Late?", "s", label="check", runtime=runtime({"holds": 0.9}))
        pick(["a"], "Which?", runtime=runtime({"pick": "item_0"}))
    assert [(one.node, one.execution_path) for one in store.all()] == [
        ("refunds/late/ones/check", "/root/refunds/late~1ones"),
        ("refunds/late/ones/pick", "/root/refunds/late~1ones"),
    ]


def test_the_verbs_are_functions_of_the_package():
    import decidable

    for name in ("ask", "judge", "pick", "route", "route_by_value", "sift", "verify"):
        assert callable(getattr(decidable, name))
        assert callable(getattr(decidable, f"async_{name}"))
    assert (sift, verify) == (decidable.sift, decidable.verify)
