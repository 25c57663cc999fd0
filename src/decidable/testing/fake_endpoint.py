"""A server's side of a wire, in this process: what a program sends is encoded for real, and answered from a script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from threading import Lock
from typing import Any, TypeAlias, cast

from decidable.errors import SettingError, UnknownProviderError, did_you_mean
from decidable.messages import ChatRequest, Reply
from decidable.providers.endpoints import ENDPOINTS
from decidable.providers.registry import connect
from decidable.providers.wires.codec import HttpReply
from decidable.testing.scripted import ScriptError, Step, text
from decidable.tools import ToolCall

__all__ = ["FakeEndpoint", "HttpStep", "fake_endpoint", "http_failure"]


@dataclass(frozen=True, slots=True)
class HttpStep:
    """A step that answers with an HTTP failure.

    Attributes:
        status: The status, 300 or more.
        code: The wire's code for it, e.g. ``"rate_limit_error"``.
        message: Its words.
        headers: Such as ``{"retry-after": "2"}``.
    """

    status: int
    code: str = ""
    message: str = "made to fail"
    headers: Mapping[str, str] = field(default_factory=dict)


def http_failure(status: int, code: str = "", *, message: str = "made to fail", **headers: str) -> HttpStep:
    """A step by which the endpoint answers with a failure; ``retry_after="2"`` is sent as the header Retry-After."""
    if type(status) is not int or not 300 <= status <= 599:
        raise ValueError(f"a failure has a status from 300 to 599, not {status!r}")
    return HttpStep(status, code, message, {name.replace("_", "-"): value for name, value in headers.items()})


WireStep: TypeAlias = "Step | HttpStep"


class FakeEndpoint:
    """A known endpoint, answered from a script; nothing leaves the process.

    Attributes:
        provider: For ``Runtime(...)``.
        bodies: Every request's JSON body so far, as the endpoint read it.
        headers: Every request's headers, by lower-case name.
        paths: Every request's path and query.
    """

    def __init__(self, spec: str, steps: Sequence[WireStep], settings: Mapping[str, Any]) -> None:
        from decidable.providers.http_mock import mock_clients  # brings in httpx

        name, _, self._model = spec.partition(":")
        if name not in ENDPOINTS:
            raise UnknownProviderError(f"no endpoint is named {name!r}; {did_you_mean(name, tuple(ENDPOINTS))}")
        if "client" in settings or "async_client" in settings:
            raise SettingError("a fake endpoint brings its own clients")
        endpoint = ENDPOINTS[name]
        self._wire: Any = import_module(f"decidable.testing.fake_wires.{endpoint.wire.replace('-', '_')}")
        self._steps = list(steps)
        self._lock = Lock()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        client, async_client = mock_clients(self._answer)
        given = {"api_key": "fake-key", **settings, "client": client, "async_client": async_client}
        if not endpoint.base_url:
            given.setdefault("base_url", "https://fake.invalid/v1")
        self.provider = cast("Any", connect(spec, **given))
        self.provider.capabilities = replace(self.provider.capabilities, remote=False)

    def assert_complete(self) -> None:
        """Fail if steps are left over.

        Raises:
            ScriptError: Saying how many.
        """
        if len(self.bodies) < len(self._steps):
            raise ScriptError(f"{len(self._steps) - len(self.bodies)} of {len(self._steps)} steps were never asked for")

    def _answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        with self._lock:
            number = len(self.bodies)
            sent = json.loads(body)
            self.bodies.append(sent)
            self.headers.append(headers)
            self.paths.append(path)
        if number >= len(self._steps):
            raise ScriptError(f"request {number + 1} is one too many: the script has {len(self._steps)} steps")
        step = self._steps[number]
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, HttpStep):
            failed = self._wire.failure(step.status, step.code, step.message)
            return HttpReply(step.status, step.headers, json.dumps(failed).encode())
        request = self._wire.asked(path, sent)
        answer = step(request) if callable(step) else step
        reply = _obedient(text(answer) if isinstance(answer, str) else answer, request)
        model = request.model or self._model or "fake-model"
        if sent.get("stream") or "streamGenerateContent" in path:
            events = "".join(_event(name, data) for name, data in self._wire.events(reply, model))
            return HttpReply(200, {"content-type": "text/event-stream"}, events.encode())
        whole = json.dumps(self._wire.answer(reply, model))
        return HttpReply(200, {"content-type": "application/json"}, whole.encode())


def fake_endpoint(spec: str, *steps: WireStep, **settings: Any) -> FakeEndpoint:
    """A known endpoint, answered from a script, for tests of what is really sent.

    Args:
        spec: ``"name"`` or ``"name:model"`` of an endpoint, as for `decidable.connect`.
        steps: One per request, as for `decidable.testing.scripted`; or `http_failure(...)`.
        settings: As for `decidable.connect`; a key is made up.

    Raises:
        UnknownProviderError: No endpoint has that name.

    Example:
        >>> from decidable import Runtime, decision
        >>> from decidable.testing import fake_endpoint, pick
        >>> fake = fake_endpoint("openai:gpt-5.2", pick("close"))
        >>> decision.make("Next?", ["close", "wait"], runtime=Runtime(fake.provider, via="tools"))
        'close'
        >>> fake.bodies[0]["tool_choice"], [tool["function"]["name"] for tool in fake.bodies[0]["tools"]]
        ('required', ['close', 'wait'])
    """
    return FakeEndpoint(spec, steps, settings)


def _event(name: str, data: str) -> str:
    lines = "".join(f"data: {line}\n" for line in data.split("\n"))
    return (f"event: {name}\n" if name else "") + lines + "\n"


def _obedient(reply: Reply, request: ChatRequest) -> Reply:
    """`reply` as a model gives it that the endpoint holds to the schemas that were really sent."""
    schemas = {tool.name: tool.parameters for tool in request.tools}
    calls = tuple(
        ToolCall(c.id, c.name, conformed(dict(c.arguments), schemas[c.name]))
        if c.name in schemas and not isinstance(c.arguments, str)
        else c
        for c in reply.tool_calls
    )
    written = reply.text
    if request.output_schema is not None:
        try:
            value = json.loads(reply.text)
        except ValueError:
            pass  # a step that is no JSON is a model that disobeys
        else:
            written = json.dumps(conformed(value, request.output_schema), ensure_ascii=False)
    return replace(reply, text=written, tool_calls=calls)


def conformed(value: Any, schema: Mapping[str, Any]) -> Any:
    """`value` with what a wire's dialect of its schema adds: nulls for keys left out, a wrapper."""
    if variants := schema.get("anyOf"):
        return next((conformed(value, v) for v in variants if _fits(value, v)), value)
    properties = schema.get("properties", {})
    if list(properties) == ["value"] and not (isinstance(value, dict) and "value" in value):
        return {"value": conformed(value, properties["value"])}
    if isinstance(value, dict) and properties:
        wanted = [*value, *(key for key in schema.get("required", ()) if key not in value)]
        return {key: conformed(value.get(key), properties.get(key, {})) for key in wanted}
    if isinstance(value, list) and "items" in schema:
        return [conformed(item, schema["items"]) for item in value]
    return value


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    if "properties" not in schema:
        return not isinstance(value, dict) and (value is None) == (schema.get("type") == "null")
    if not isinstance(value, dict):
        return False
    for key, sub in schema["properties"].items():
        allowed = [sub["const"]] if "const" in sub else sub.get("enum", ()) if len(sub.get("enum", ())) == 1 else None
        if allowed is not None and value.get(key) not in allowed:
            return False
    return True
