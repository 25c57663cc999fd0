"""Who a runtime can ask: host functions, names, providers, subclasses; and what it refuses."""

from __future__ import annotations

import asyncio
import base64
import sys

import pytest

from decidable import (
    ArgumentTypeError,
    ContentError,
    LLMError,
    MissingExtraError,
    Reply,
    Runtime,
    SettingError,
    UnknownProviderError,
    UsageError,
    agentic_function,
    decision,
    register_provider,
)
from decidable.content import MediaPart, TextPart, content_of
from decidable.testing import scripted


def test_a_sync_host_function_gets_blocks(both):
    seen = []

    def model(content, model="none", response_format="none"):
        seen.append((content, model, response_format))
        return "ok"

    assert both.exec(Runtime(model, model="m"), "hi") == "ok"
    assert seen == [([{"type": "text", "text": "hi"}], "m", None)]


def test_an_async_host_function():
    async def model(content):
        await asyncio.sleep(0)
        return content[0]["text"].upper()

    rt = Runtime(model)
    assert asyncio.run(rt.async_exec("hi")) == "HI"
    with pytest.raises(UsageError, match="'model' is async; use the async twins"):
        rt.exec("hi")


def test_a_host_function_gets_system_only_if_it_asks(both):
    @agentic_function(system="Be brief.")
    def f(rt):
        return both.exec(rt, "hi")

    assert f(Runtime(lambda content, *, system=None: f"{system}/{len(content)}")) == "Be brief./1"
    assert f(Runtime(lambda content: content[0]["text"])) == "Be brief."
    assert (
        f(Runtime(lambda content, **kw: str(sorted(kw))))
        == "['effort', 'model', 'response_format', 'sampling', 'system']"
    )


def test_a_re_ask_reaches_a_host_function_as_blocks(both):
    seen = []

    def model(content):
        seen.append(content)
        return "hm" if len(seen) == 1 else '{"call": "x"}'

    assert both.make("?", {"x": 1}, runtime=Runtime(model)) == 1
    assert len(seen[0]) == 1
    assert [b["text"][:20] for b in seen[1]][1:] == ["Your earlier reply:\n", "Your reply cannot be"]


def test_a_subclass_with_a_hook(both):
    class Mine(Runtime):
        def _call(self, content, model, response_format):
            return f"{model}: {content[0]['text']}"

    assert both.exec(Mine(model="m"), "hi") == "m: hi"


def test_a_subclass_with_an_async_hook():
    class Mine(Runtime):
        async def _call(self, content, model, response_format):
            return "async"

    assert asyncio.run(Mine().async_exec("hi")) == "async"


@pytest.mark.parametrize(
    ("raised", "reason", "retryable"),
    [
        (ConnectionError("secret-key"), "transport", True),
        (TimeoutError("secret-key"), "transport", True),
        (RuntimeError("secret-key"), "unknown", True),
        (type("RateLimit", (Exception,), {"status_code": 429})("secret-key"), "rate_limit", True),
        (type("Bad", (ValueError,), {"status_code": 400})("secret-key"), "invalid", False),
        (type("Auth", (Exception,), {"status_code": 401})("secret-key"), "auth", False),
        (type("Down", (Exception,), {"status_code": 503})("secret-key"), "provider", True),
    ],
)
def test_what_a_host_function_raises_becomes_an_llm_error(both, raised, reason, retryable):
    def model(content):
        raise raised

    with pytest.raises(LLMError) as caught:
        both.exec(Runtime(model, max_retries=0), "hi")
    error = caught.value
    assert (error.reason, error.retryable, error.provider) == (reason, retryable, "model")
    assert type(error.__cause__) is type(raised)  # a thread's TimeoutError arrives as a copy
    assert "secret-key" not in str(error)


@pytest.mark.parametrize("raised", [TypeError("t"), NotImplementedError("n"), KeyError("k"), AssertionError("a")])
def test_mistakes_in_a_host_function_pass_through(both, raised):
    def model(content):
        raise raised

    with pytest.raises(type(raised)) as caught:
        both.exec(Runtime(model), "hi")
    assert caught.value is raised


def test_a_host_function_that_runs_out_of_replies_does_not_hang(both):
    replies = iter(["one"])
    rt = Runtime(lambda content: next(replies))
    assert both.exec(rt, "?") == "one"
    with pytest.raises(UsageError, match="no reply left"):
        both.exec(rt, "?")


def test_a_host_function_must_return_text(both):
    with pytest.raises(TypeError, match="str or a Reply, not dict"):
        both.exec(Runtime(lambda content: {"call": "x"}), "?")
    assert both.exec(Runtime(lambda content: Reply("r")), "?") == "r"


def test_unknown_names_offer_close_ones():
    with pytest.raises(UnknownProviderError, match="'locl'.*did you mean 'local'"):
        Runtime("locl:minilm")
    with pytest.raises(ValueError, match="known: .*'local'"):
        Runtime("zzz")
    with pytest.raises(UnknownProviderError, match="did you mean 'minilm'"):
        Runtime("local:minilmm")


def test_providers_of_your_own():
    register_provider("my-own", lambda model: scripted("hi", model=model).provider)
    rt = Runtime("my-own:m-1")
    assert rt.exec("?") == "hi"
    assert repr(rt) == "Runtime('scripted', model='m-1')"
    with pytest.raises(SettingError, match="letters"):
        register_provider("a:b", lambda model: None)


def test_a_missing_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "decidable.providers.local.minilm", raising=False)
    monkeypatch.setattr("decidable.providers.local._model", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'decidable\[local\]'") as caught:
        Runtime("local")
    assert isinstance(caught.value, ImportError)
    assert caught.value.name == "onnxruntime"


@pytest.mark.parametrize("call", [3, object(), scripted, [3]])
def test_nobody_to_ask(call):
    if call is scripted:
        call = Runtime
    with pytest.raises(UsageError, match="Runtime takes"):
        Runtime(call)
    with pytest.raises(UsageError, match="needs someone to ask"):
        Runtime()


def test_bad_settings():
    with pytest.raises(SettingError, match="max_retries"):
        Runtime(len, max_retries=-1)
    with pytest.raises(SettingError, match="repair"):
        Runtime(len, repair="some")
    with pytest.raises(SettingError, match="timeout_s"):
        Runtime(len, timeout_s=0)


def test_it_closes_its_provider_once():
    closed = []
    provider = scripted().provider
    provider.close = lambda: closed.append(1)
    with Runtime(provider) as rt:
        pass
    rt.close()
    assert closed == [1]

    async def main():
        async with scripted("x") as rt:
            assert await rt.async_exec("?") == "x"
        with pytest.raises(RuntimeError):
            await rt.async_exec("?")

    asyncio.run(main())


# --- content -------------------------------------------------------------------------------------------------------


def test_content_blocks(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"png")
    content = content_of(
        [
            "one",
            {"type": "text", "text": "two"},
            {"type": "image", "path": str(path)},
            {"type": "image", "data": b"raw", "mime_type": "image/jpeg"},
            {"type": "file", "data": base64.b64encode(b"raw").decode(), "mime_type": "application/pdf"},
        ]
    )
    assert content == (
        TextPart("one"),
        TextPart("two"),
        MediaPart("image", b"png", "image/png"),
        MediaPart("image", b"raw", "image/jpeg"),
        MediaPart("file", b"raw", "application/pdf"),
    )
    assert "raw" not in repr(content)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([{"type": "txt", "text": "a"}], r"block 0 has the unknown type 'txt'; known types: 'text', 'image'"),
        ([{"text": "a"}], "unknown type None"),
        ([{"type": "text"}], "needs a str 'text'"),
        ([{"type": "image"}], "needs a 'path', or 'data' and 'mime_type'"),
        ([{"type": "image", "data": "???", "mime_type": "image/png"}], "not base64"),
        (["a", 3], "block 1 must be a str or a mapping"),
        (3, "must be a str or a list of blocks, not int"),
        (b"x", "not bytes"),
        ({"type": "text", "text": "a"}, "not dict"),
    ],
)
def test_content_that_cannot_be_sent(both, blocks, message):
    with pytest.raises(ContentError, match=message):
        both.exec(scripted(), blocks)
    with pytest.raises(TypeError, match=message):
        both.make(blocks, {"x": 1}, runtime=scripted())


def test_media_goes_to_a_host_function_as_it_is(both):
    seen = []
    rt = Runtime(lambda content: seen.append(content) or '{"call": "x"}')
    image = {"type": "image", "data": b"raw", "mime_type": "image/jpeg"}
    assert both.make(["What is this?", image], {"x": 1}, runtime=rt) == 1
    assert seen[0][0] == {"type": "text", "text": "What is this?"}
    assert seen[0][1] == image
    assert "Menu:" in seen[0][2]["text"]


def test_a_decision_model_reads_text_only():
    image = {"type": "image", "data": b"raw", "mime_type": "image/jpeg"}
    with pytest.raises(ValueError, match="text only"):
        decision.make(["What?", image], {"x": 1}, runtime=scripted(questions=True))


@pytest.mark.parametrize("wrong", ["local", lambda content: "x", 3])
def test_what_is_no_runtime_is_refused_everywhere(wrong):
    from decidable import llm, set_default_runtime, use_runtime

    @agentic_function
    def f():
        return 1

    @agentic_function
    def g(runtime=None):
        return runtime

    for use in (
        lambda: decision.make("?", ["a"], runtime=wrong),
        lambda: llm("?", runtime=wrong),
        lambda: set_default_runtime(wrong),
        lambda: use_runtime(wrong),
        lambda: f(runtime=wrong),
        lambda: g(wrong),
    ):
        with pytest.raises(TypeError, match="takes a Runtime, not"):
            use()


def test_the_ambient_proxy_can_be_passed_on():
    from decidable import runtime, use_runtime
    from decidable.testing import pick

    with use_runtime(scripted(pick("a"), pick("a"))) as rt:
        assert decision.make("?", ["a"], runtime=runtime) == "a"
        with use_runtime(runtime) as again:
            assert again is rt
            assert decision.make("?", ["a"]) == "a"


def test_context_is_a_mapping():
    with pytest.raises(TypeError, match="context= maps"):
        decision.make("?", ["a"], context=["x"], runtime=scripted())


def test_errors_of_http_clients_are_told_apart(both):
    import httpx

    def failing(error):
        def model(content):
            raise error

        with pytest.raises(LLMError) as caught:
            both.exec(Runtime(model, max_retries=0), "?")
        return caught.value

    def status(code, **headers):
        request = httpx.Request("POST", "https://example.com")
        response = httpx.Response(code, headers=headers, request=request)
        return httpx.HTTPStatusError("x", request=request, response=response)

    assert (failing(status(401)).reason, failing(status(401)).retryable) == ("auth", False)
    limited = failing(status(429, **{"retry-after": "30"}))
    assert (limited.reason, limited.http_status, limited.retry_after_s) == ("rate_limit", 429, 30.0)
    assert failing(httpx.ConnectError("x")).reason == "transport"
    assert failing(httpx.ReadTimeout("x")).reason == "transport"


@pytest.mark.parametrize("raised", [ZeroDivisionError("z"), FileNotFoundError("f"), RecursionError("r")])
def test_more_mistakes_pass_through(both, raised):
    def model(content):
        raise raised

    with pytest.raises(type(raised)):
        both.exec(Runtime(model), "?")


def test_a_mistake_keeps_its_own_cause(both):
    def model(content):
        try:
            {}["a"]
        except KeyError as cause:
            raise ValueError("mine") from cause

    with pytest.raises(ValueError, match="mine") as caught:
        both.exec(Runtime(model), "?")
    assert isinstance(caught.value.__cause__, KeyError)


def test_retry_after_of_a_response_that_counts_as_false():
    class Response:  # as in requests, where a failed response is false
        status_code, headers = 429, {"retry-after": "7"}

        def __bool__(self):
            return False

    class HTTPError(Exception):
        response = Response()

    def model(content):
        raise HTTPError

    with pytest.raises(LLMError) as caught:
        Runtime(model, max_retries=0).exec("?")
    assert (caught.value.reason, caught.value.retry_after_s) == ("rate_limit", 7.0)


def test_a_host_function_is_told_how_to_sample_if_it_asks():
    seen = []

    def model(content, *, sampling=None):
        seen.append(sampling)
        return "x"

    Runtime(model, sampling={"seed": 3}).exec("Hello")
    assert seen[0].seed == 3


def test_a_provider_where_a_runtime_is_wanted():
    with pytest.raises(ArgumentTypeError, match=r"make one of it: Runtime\("):
        decision.make("?", ["a", "b"], runtime=scripted().provider)
