"""The transport: keys, addresses, retries, limits, clients, connections; over mocks and over real sockets."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import warnings

import httpx
import pytest
import respx

from decidable import (
    ArgumentTypeError,
    DecisionError,
    LLMError,
    MissingKeyError,
    Runtime,
    Sampling,
    SettingError,
    UsageError,
    connect,
    decision,
)
from decidable.errors import RequestForbiddenError, UnaskableError, UnknownProviderError
from decidable.providers.endpoints import ENDPOINTS
from decidable.providers.http import LONGEST_ERROR
from decidable.providers.registry import register_endpoint
from decidable.testing import allow_requests
from loopback import Connection, serving

KEY = "sk-marker-4f9d8c7b6a5e4d3c2b1a"
GOOD = {
    "id": "chatcmpl-1",
    "model": "tiny",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": '{"call": "b"}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9},
}
GOOD_BYTES = json.dumps(GOOD).encode()
URL = "https://api.openai.com/v1/chat/completions"


@pytest.fixture(autouse=True)
def real_requests():
    with allow_requests():
        yield


def runtime(url: str | None = None, **settings) -> Runtime:
    retries = settings.pop("max_retries", 0)
    return Runtime(connect("openai:tiny", api_key=KEY, base_url=url, **settings), max_retries=retries)


def ok(connection: Connection) -> None:
    connection.reply("200 OK", GOOD_BYTES)


# --- what is sent -----------------------------------------------------------------------------------------------------


@respx.mock
def test_the_key_goes_into_its_header_and_the_body_is_json(both):
    route = respx.post(URL).mock(httpx.Response(200, json=GOOD))
    with runtime() as rt:
        assert both.make("Next?", ["a", "b"], runtime=rt) == "b"
    sent = route.calls[0].request
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["content-type"] == "application/json"
    body = json.loads(sent.content)
    assert body["model"] == "tiny"
    assert [m["role"] for m in body["messages"]] == ["user"]
    assert set(body) == {"model", "messages"}


@respx.mock
@pytest.mark.parametrize("name", sorted(n for n, e in ENDPOINTS.items() if e.wire == "openai-chat"))
def test_every_chat_endpoint_is_reached_at_its_address_with_its_key(name, monkeypatch):
    endpoint = ENDPOINTS[name]
    monkeypatch.setenv(endpoint.key, KEY)
    if endpoint.url_variable:
        monkeypatch.setenv(endpoint.url_variable, "https://given.example")
    base = "https://given.example" + endpoint.url_suffix if endpoint.url_variable else endpoint.base_url
    route = respx.post(f"{base}/chat/completions").mock(httpx.Response(200, json=GOOD))
    seed = {} if "seed" in endpoint.omit else {"seed": 4}
    with Runtime(f"{name}:tiny", sampling={"max_tokens": 9, **seed}) as rt:
        made = decision.decide("Next?", ["a", "b"], runtime=rt)
    assert (made.result, made.provider, made.usage.input_tokens) == ("b", name, 5)
    sent = route.calls[0].request
    key = f"Bearer {KEY}" if endpoint.key_header == "authorization" else KEY
    assert sent.headers[endpoint.key_header] == key
    body = json.loads(sent.content)
    limit = {"openai", "azure", "groq", "xai", "cerebras", "vllm"}
    assert body["max_completion_tokens" if name in limit else "max_tokens"] == 9
    assert body.get("random_seed" if name == "mistral" else "seed") == seed.get("seed")


@respx.mock
@pytest.mark.parametrize("name", sorted(n for n, e in ENDPOINTS.items() if e.wire == "openai-chat"))
def test_tools_are_offered_in_each_endpoints_accent(name):
    respx.post(url__regex=".*").mock(httpx.Response(200, json=GOOD))
    given = {"base_url": "https://given.example"}
    with Runtime(connect(f"{name}:tiny", api_key=KEY, **given), via="tools", max_retries=0) as rt:
        if ENDPOINTS[name].forced_tools:
            with pytest.raises(DecisionError, match="called no tool"):
                decision.make("Next?", ["a", "b"], runtime=rt, max_retries=0)
        else:  # no call can be forced, so the text counts
            assert decision.make("Next?", ["a", "b"], runtime=rt, max_retries=0) == "b"
    body = json.loads(respx.calls[0].request.content)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["a", "b"]
    assert body.get("tool_choice") == {
        "mistral": "any",
        "ollama": None,
        "openrouter": "auto",
    }.get(name, "required")
    assert ("strict" in body["tools"][0]["function"]) == ENDPOINTS[name].strict_tools
    assert ("parallel_tool_calls" in body) == ("parallel_tool_calls" not in ENDPOINTS[name].omit)


def test_a_key_is_needed_and_the_error_names_its_variable(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingKeyError, match=r"no key for 'openai': set OPENAI_API_KEY, or pass api_key="):
        Runtime("openai:tiny")


@pytest.mark.parametrize("key", [KEY + "\n", "ключ", " " + KEY])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(key):
    with pytest.raises(MissingKeyError) as caught:
        connect("openai:tiny", api_key=key)
    assert key.strip() not in str(caught.value)


def test_servers_on_ones_own_machine_need_no_key(monkeypatch):
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    assert repr(connect("ollama:tiny")) == "<ollama:tiny at http://localhost:11434/v1>"


def test_an_endpoint_without_an_address_asks_for_one(monkeypatch):
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(SettingError, match="AZURE_OPENAI_ENDPOINT"):
        connect("azure:tiny", api_key=KEY)


def test_a_model_is_needed():
    with pytest.raises(SettingError, match="openai needs a model: write 'openai:model'"):
        decision.make("Next?", ["a", "b"], runtime=Runtime(connect("openai", api_key=KEY)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "ftp://x"}, "must begin with http"),
        ({"apikey": "x"}, "did you mean 'api_key'"),
        ({"timeout_s": "3"}, "a number of seconds above 0"),
        ({"timeout_s": 0}, "a number of seconds above 0"),
        ({"api_key": 5}, "api_key of openai is a str, not int"),
        ({"headers": ["a"]}, "headers of openai is a Mapping, not list"),
        ({"headers": {"x": 5}}, "header 'x' of 'openai': its name and its value must be printable ASCII"),
        ({"headers": {"x": "sécret"}}, "header 'x' of 'openai'"),
        ({"extra": {"x": object()}}, "extra of 'openai' must be JSON"),
        ({"base_url": "http://[::1/v1"}, "the base URL of 'openai' is no URL"),
        ({"base_url": "https://x.example/v1?a=1"}, "holds a query"),
        ({"proxy": "http://p", "client": object()}, "is for clients made here"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(SettingError, match=message):
        connect("openai:tiny", **{"api_key": KEY, **settings})


def test_no_name_and_password_of_an_address_are_shown():
    provider = connect("openai:tiny", api_key=KEY, base_url="http://user:hidden@127.0.0.1:9/v1")
    with pytest.raises(LLMError) as caught:
        Runtime(provider, max_retries=0).exec("Hello")
    for shown in (repr(provider), repr(provider._transport), str(caught.value)):
        assert "hidden" not in shown
        assert "http://127.0.0.1:9/v1" in shown


@respx.mock
def test_a_header_of_the_callers_replaces_ours_whatever_its_case():
    route = respx.post(URL).mock(httpx.Response(200, json=GOOD))
    with runtime(headers={"Authorization": "Basic mine", "User-Agent": "mine"}) as rt:
        rt.exec("Hello")
    sent = route.calls[0].request.headers
    assert (sent["authorization"], sent["user-agent"]) == ("Basic mine", "mine")


def test_clients_of_the_callers_come_in_pairs():
    mock = httpx.MockTransport(lambda request: httpx.Response(200, json=GOOD))
    with httpx.Client(transport=mock) as client, pytest.raises(SettingError, match="give async_client= too"):
        asyncio.run(runtime(client=client).async_exec("Hello"))
    with pytest.raises(SettingError, match="give client= too"):
        runtime(async_client=httpx.AsyncClient(transport=mock)).exec("Hello")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("OpenAI:gpt-5.2", "'openai:gpt-5.2'"),
        ("openai/gpt-5.2", "'openai:gpt-5.2'"),
        ("gpt-5.2", "'openai:gpt-5.2'"),
        ("claude:x", "'anthropic:x'"),
        ("google:gemini-3-pro", "'gemini:gemini-3-pro'"),
        ("olama:x", "'ollama'"),
    ],
)
def test_names_that_are_none(name, meant):
    with pytest.raises(UnknownProviderError, match=f"did you mean ({meant})"):
        Runtime(name)


def test_a_provider_is_named_by_text():
    with pytest.raises(SettingError, match="a provider is named by a str"):
        connect(None)


@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        ("api_key", r"Runtime\(connect\('provider:model', api_key=...\)\)"),
        ("temperature", r"write sampling=\{'temperature': ...\}"),
        ("max_retrys", "did you mean 'max_retries'"),
    ],
)
def test_keywords_that_a_runtime_does_not_have(keyword, message):
    with pytest.raises(ArgumentTypeError, match=message):
        Runtime("openai:tiny", **{keyword: "x"})


def test_a_fallback_without_a_model_is_found_before_the_outage():
    with pytest.raises(SettingError, match="openai, asked as fallback, needs a model"):
        Runtime(lambda content: "", fallback=connect("openai", api_key=KEY))


def test_a_registered_endpoint_speaks_a_known_wire_at_a_real_address():
    with pytest.raises(SettingError, match="a wire is one of 'openai-chat'"):
        register_endpoint("x", "https://x.example", wire="openai")
    with pytest.raises(SettingError, match="must begin with http"):
        register_endpoint("x", "x.example")


@pytest.mark.parametrize("stream", [False, True])
def test_a_web_page_is_no_answer(stream):
    with respx.mock:
        respx.post(URL).mock(httpx.Response(200, html="<p>Log in</p>"))
        with runtime() as rt, pytest.raises(LLMError, match="answered with a web page; set base_url") as caught:
            list(rt.stream("Hello")) if stream else rt.exec("Hello")
    assert (caught.value.reason, caught.value.retryable, caught.value.model) == ("invalid", False, "tiny")


@respx.mock
def test_what_is_not_found_says_where_it_was_looked_for():
    respx.post(URL).mock(httpx.Response(404, json={"detail": "Not Found"}))
    with runtime() as rt, pytest.raises(LLMError) as caught:
        rt.exec("Hello")
    assert caught.value.__notes__ == ["asked at https://api.openai.com/v1, for the model 'tiny'; is the address right?"]


@respx.mock
def test_a_wait_that_nobody_is_told_of_is_in_the_log(caplog):
    respx.post(URL).mock(httpx.Response(503))
    rt = Runtime(connect("openai:tiny", api_key=KEY), max_retries=2, host=_quick())
    with pytest.raises(LLMError) as caught:
        rt.exec("Hello")
    lines = [r.getMessage() for r in caplog.records if r.name == "decidable"]
    assert [line.partition("; ")[2].split(" in ")[0] for line in lines] == ["retry 1 of 2", "retry 2 of 2"]
    assert caught.value.__notes__[0].startswith("after 3 attempts in ")


def test_settings_about_choices_need_some():
    for setting in ({"via": "tools"}, {"samples": 3}, {"shuffle": True}, {"logprobs": True}):
        with pytest.raises(UsageError, match=f"{next(iter(setting))}= says how choices are put"):
            runtime().exec("Hello", **setting)


@pytest.mark.parametrize(
    "sampling", [{"temperature": float("nan")}, {"stop": 5}, {"top_p": 2}, {"temprature": 1}, {"max_tokens": 1.5}, 5]
)
def test_sampling_that_is_none(sampling):
    with pytest.raises(SettingError, match="sampling"):
        runtime(max_retries=0).exec("Hello", sampling=sampling)
    with pytest.raises(SettingError, match="stop lists texts"):
        runtime().exec("Hello", sampling=Sampling(stop="END"))
    with pytest.raises(SettingError, match="effort is one of 'none', 'minimal'"):
        runtime().exec("Hello", effort="extreme")


def test_an_event_that_drips_ends_at_the_deadline():
    def drip(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: wait\n\n")
        time.sleep(0.25)
        connection.send(b": wait\n\n")
        connection.closed_by_peer(5)

    with serving(drip) as server, runtime(server.url) as rt:
        for ask in (lambda: rt.exec("Hello", timeout_s=0.3), lambda: list(rt.stream("Hello", timeout_s=0.3))):
            began = time.monotonic()
            with pytest.raises(LLMError) as caught:
                ask()
            assert caught.value.reason == "timeout"
            assert time.monotonic() - began < 0.45


def test_streams_do_not_keep_one_another_from_other_calls():
    data = b"data: " + json.dumps({"choices": [{"delta": {"content": "a"}}]}).encode() + b"\n\n"

    def begin(connection: Connection) -> None:
        if b'"stream":true' in connection.request:
            connection.chunked([data], end=False)
            connection.closed_by_peer(10)
        else:
            ok(connection)

    async def nested(rt: Runtime) -> str:
        async with rt.async_stream("Hello") as events:
            await anext(events)
            return await rt.async_exec("Hello")

    async def main(url: str) -> list[str]:
        async with runtime(url) as rt:
            return await asyncio.wait_for(asyncio.gather(*(nested(rt) for _ in range(120))), 30)

    with serving(begin) as server:
        assert asyncio.run(main(server.url)) == ['{"call": "b"}'] * 120


def test_loops_that_are_gone_are_forgotten():
    with serving(ok) as server, runtime(server.url) as rt:
        for _ in range(5):
            asyncio.run(rt.async_exec("Hello"))
        assert rt.provider._transport._clients == {}


def test_a_server_of_ones_own_in_one_call(monkeypatch):
    monkeypatch.setenv("ACME_KEY", KEY)
    register_endpoint("acme", "https://llm.acme.example/v1", key="ACME_KEY", like="mistral", omit=frozenset({"seed"}))
    with respx.mock:
        route = respx.post("https://llm.acme.example/v1/chat/completions").mock(httpx.Response(200, json=GOOD))
        with Runtime("acme:tiny", sampling={"max_tokens": 3}) as rt:
            assert decision.make("Next?", ["a", "b"], runtime=rt) == "b"
            with pytest.raises(UnaskableError, match="acme has no setting 'seed'; leave it out"):
                rt.exec("Hello", sampling={"seed": 1})
    assert json.loads(route.calls[0].request.content)["max_tokens"] == 3
    with pytest.raises(UnknownProviderError, match="did you mean 'mistral'"):
        register_endpoint("x", "https://x.example", like="mistrl")
    with pytest.raises(SettingError, match="no 'omitt'; did you mean 'omit'"):
        register_endpoint("x", "https://x.example", omitt=frozenset())


def test_an_endpoint_that_reads_no_images_is_sent_none():
    rt = Runtime(connect("deepseek:tiny", api_key=KEY))
    with pytest.raises(UnaskableError, match="deepseek reads text only; the content holds media"):
        rt.exec(["What is this?", {"type": "image", "data": b"x", "mime_type": "image/png"}])


def test_extra_fields_have_the_last_word():
    with respx.mock:
        route = respx.post(URL).mock(httpx.Response(200, json=GOOD))
        with runtime(extra={"model": "other", "service_tier": "flex"}, headers={"x-team": "blue"}) as rt:
            rt.exec("Hello")
    sent = route.calls[0].request
    assert json.loads(sent.content)["model"] == "other"
    assert json.loads(sent.content)["service_tier"] == "flex"
    assert sent.headers["x-team"] == "blue"


def test_a_remote_provider_answers_no_typed_questions_and_is_forbidden_under_pytest():
    from decidable.questions.types import QuestionRequest

    provider = connect("openai:tiny", api_key=KEY)
    with pytest.raises(UnaskableError, match="takes no typed questions"):
        provider.send(QuestionRequest("state", {}))
    with allow_requests(False), pytest.raises(RequestForbiddenError, match="'openai' was stopped"):
        decision.make("Next?", ["a", "b"], runtime=Runtime(provider))


# --- what comes back --------------------------------------------------------------------------------------------------


@respx.mock
@pytest.mark.parametrize(
    ("status", "reason", "retryable"),
    [
        (400, "invalid", False),
        (401, "auth", False),
        (402, "authz", False),
        (403, "authz", False),
        (404, "invalid", False),
        (405, "invalid", False),
        (408, "transport", True),
        (409, "provider", True),
        (413, "context", False),
        (422, "invalid", False),
        (429, "rate_limit", True),
        (500, "provider", True),
        (502, "provider", True),
        (503, "provider", True),
        (504, "provider", True),
        (529, "provider", True),
    ],
)
def test_each_status_has_its_reason(both, status, reason, retryable):
    respx.post(URL).mock(httpx.Response(status, text="<html>nothing to read here</html>"))
    with runtime() as rt, pytest.raises(LLMError) as caught:
        both.exec(rt, "Hello")
    error = caught.value
    assert (error.reason, error.retryable, error.http_status) == (reason, retryable, status)
    assert (error.provider, error.model, error.attempts) == ("openai", "tiny", 1)
    assert f"status {status}" in str(error)
    assert "html" not in str(error)


@respx.mock
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers, seconds):
    respx.post(URL).mock(httpx.Response(429, headers=headers, json={"error": {"type": "rate_limit_exceeded"}}))
    with runtime() as rt, pytest.raises(LLMError) as caught:
        rt.exec("Hello")
    assert caught.value.retry_after_s == seconds


def test_retry_after_a_date():
    from decidable.providers.wires.retry_after import retry_after

    assert retry_after({"retry-after": "Tue, 01 Dec 2026 00:00:30 GMT"}, now=1796083200.0) == 30.0
    assert retry_after({"retry-after": "Tue, 01 Dec 2026 00:00:00 GMT"}, now=1796083230.0) == 0.0


@respx.mock
def test_a_used_up_quota_is_not_tried_again():
    respx.post(URL).mock(httpx.Response(429, json={"error": {"code": "insufficient_quota", "message": "pay"}}))
    with runtime(max_retries=3) as rt, pytest.raises(LLMError, match="insufficient_quota") as caught:
        rt.exec("Hello")
    assert (caught.value.reason, caught.value.retryable, caught.value.attempts) == ("rate_limit", False, 1)


@respx.mock
def test_a_body_that_is_not_json_is_the_providers_failure(both):
    respx.post(URL).mock(httpx.Response(200, text="<html>proxy login</html>"))
    with runtime() as rt, pytest.raises(LLMError, match="bytes that are not JSON") as caught:
        both.exec(rt, "Hello")
    assert caught.value.reason == "provider"
    assert "proxy" not in str(caught.value)


@respx.mock
def test_request_ids_are_kept():
    respx.post(URL).mock(httpx.Response(200, json=GOOD, headers={"x-request-id": "req_77"}))
    with runtime() as rt:
        assert decision.decide("Next?", ["a", "b"], runtime=rt).reply.request_id == "req_77"


# --- clients ----------------------------------------------------------------------------------------------------------


def test_a_client_of_the_callers_is_used_and_not_closed():
    mock = httpx.MockTransport(lambda request: httpx.Response(200, json=GOOD))
    client = httpx.Client(transport=mock)
    with runtime(client=client) as rt:
        rt.exec("Hello")
    assert not client.is_closed
    client.close()


def test_a_client_like_httpx_need_not_be_httpx():
    httpx2 = pytest.importorskip("httpx2", reason="httpx2 is not installed")

    def answer(request):
        if "fail" in request.content.decode():
            raise httpx2.ConnectError("no route", request=request)
        return httpx2.Response(200, json=GOOD)

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as client, runtime(client=client) as rt:
        assert rt.exec("Hello") == '{"call": "b"}'
        with pytest.raises(LLMError, match=r"could not be made \(ConnectError\)") as caught:
            rt.exec("fail")
    assert caught.value.reason == "transport"


def test_closing_twice_is_fine_and_asking_afterwards_is_not():
    rt = runtime()
    rt.close()
    rt.close()
    with pytest.raises(RuntimeError, match="closed"):
        rt.exec("Hello")


def test_a_proxy_is_used():
    def through(connection: Connection) -> None:
        assert connection.request.startswith(b"POST http://far.example/v1/chat/completions HTTP/1.1")
        ok(connection)

    with serving(through) as proxy, runtime("http://far.example/v1", proxy=proxy.url) as rt:
        assert rt.exec("Hello") == '{"call": "b"}'


# --- real sockets -----------------------------------------------------------------------------------------------------


def test_a_connection_is_kept_for_the_next_request():
    with serving(ok) as server, runtime(server.url) as rt:
        for _ in range(5):
            rt.exec("Hello")
        assert (len(server.requests), server.connections) == (5, 1)


def test_an_async_runtime_serves_two_event_loops_and_leaves_nothing_open():
    with serving(ok) as server, runtime(server.url) as rt, warnings.catch_warnings():
        warnings.simplefilter("error")

        async def twice() -> list[str]:
            return [await rt.async_exec("Hello"), await rt.async_exec("Hello")]

        assert asyncio.run(twice()) == asyncio.run(twice()) == ['{"call": "b"}'] * 2
        gc.collect()  # an open socket would warn, and a warning is an error here
        assert (len(server.requests), server.connections) == (4, 2)


def test_an_async_runtime_closes_its_connection_at_once():
    gone = []

    def answer(connection: Connection) -> None:
        ok(connection)
        gone.append(connection.closed_by_peer(5))

    async def main(url: str) -> None:
        async with runtime(url) as rt:
            await rt.async_exec("Hello")

    with serving(answer) as server:
        asyncio.run(main(server.url))
        for _ in range(100):
            if gone:
                break
            time.sleep(0.01)
        assert gone == [True]


def test_five_hundred_at_once_share_a_hundred_connections():
    with serving(ok) as server, runtime(server.url) as rt:

        async def many() -> int:
            return len(await asyncio.gather(*(rt.async_exec("Hello") for _ in range(500))))

        assert asyncio.run(many()) == 500
        assert server.connections < 150  # some are opened for a request that another one then serves


def test_a_cut_in_the_body_is_a_transport_error_and_is_tried_again(both):
    def cut(connection: Connection) -> None:
        connection.send(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"id"')
        connection.cut()

    waits = []
    with serving(cut, ok) as server:
        provider = connect("openai:tiny", api_key=KEY, base_url=server.url)
        rt = Runtime(provider, max_retries=1, on_retry=waits.append, host=_quick())
        assert both.exec(rt, "Hello") == '{"call": "b"}'
        rt.close()
    assert [(info.kind, info.error.reason) for info in waits] == [("transport", "transport")]


def _quick():
    from decidable.flow.run import Host

    async def no_sleep(seconds: float) -> None:
        pass

    return Host(sleep=lambda seconds: None, sleep_async=no_sleep)


def test_nobody_listens(both):
    with serving(ok) as server:
        pass
    with (
        runtime(server.url) as rt,
        pytest.raises(LLMError, match=r"could not be made(: refused)? \(ConnectError\)") as caught,
    ):
        both.exec(rt, "Hello")
    assert caught.value.reason == "transport"
    assert caught.value.__cause__ is not None


def test_what_is_not_http(both):
    with (
        serving(lambda connection: connection.send(b"SSH-2.0-OpenSSH\r\n\r\n")) as server,
        runtime(server.url) as rt,
        pytest.raises(LLMError, match="not HTTP") as caught,
    ):
        both.exec(rt, "Hello")
    assert caught.value.reason == "transport"


def test_silence_ends_at_the_deadline(both):
    with serving(lambda connection: connection.closed_by_peer(5)) as server, runtime(server.url) as rt:
        began = time.monotonic()
        with pytest.raises(LLMError, match="in the time given") as caught:
            both.exec(rt, "Hello", timeout_s=0.2)
        assert caught.value.reason == "timeout"
        assert time.monotonic() - began < 2


def test_silence_ends_at_the_connections_own_limit_and_counts_as_transport(both):
    with serving(lambda connection: connection.closed_by_peer(5)) as server, runtime(server.url, timeout_s=0.2) as rt:
        with pytest.raises(LLMError, match="did not answer in time") as caught:
            both.exec(rt, "Hello")
        assert (caught.value.reason, caught.value.retryable) == ("transport", True)


def test_a_body_that_drips_ends_at_the_deadline(both):
    def drip(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n")
        for _ in range(200):
            connection.send(b" ")
            time.sleep(0.02)

    with serving(drip) as server, runtime(server.url) as rt:
        began = time.monotonic()
        with pytest.raises(LLMError) as caught:
            both.exec(rt, "Hello", timeout_s=0.3)
        assert caught.value.reason == "timeout"
        assert time.monotonic() - began < 2


def test_a_redirect_is_not_followed(both):
    def away(connection: Connection) -> None:
        connection.reply("307 Temporary Redirect", b"", more="location: http://elsewhere.example/v1\r\n")

    with serving(away) as server, runtime(server.url) as rt:
        with pytest.raises(LLMError, match=r"redirects elsewhere \(status 307\).*set base_url") as caught:
            both.exec(rt, "Hello")
        assert (caught.value.reason, caught.value.http_status) == ("invalid", 307)
        assert len(server.requests) == 1


def test_an_endless_error_body_is_not_read_to_its_end(both):
    sent = []

    def endless(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 500 Oops\r\ncontent-type: text/plain\r\ncontent-length: 900000000\r\n\r\n")
        for _ in range(2000):
            connection.send(b"x" * 65536)
            sent.append(65536)

    with serving(endless) as server, runtime(server.url) as rt, pytest.raises(LLMError, match="status 500"):
        both.exec(rt, "Hello")
    assert sum(sent) < 100 * LONGEST_ERROR


def test_cancelling_a_request_closes_its_connection():
    gone = []

    def wait(connection: Connection) -> None:
        gone.append(connection.closed_by_peer(5))

    async def main(url: str) -> None:
        async with runtime(url) as rt:
            task = asyncio.create_task(rt.async_exec("Hello"))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            for _ in range(200):
                if gone:
                    break
                await asyncio.sleep(0.01)

    with serving(wait) as server:
        asyncio.run(main(server.url))
    assert gone == [True]
