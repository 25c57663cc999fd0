"""`FauxSystemOne`: a server of decision models that is not there, with answers that nobody thought about."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from threading import Lock
from typing import Any, TypeAlias, cast
from urllib.parse import parse_qs, unquote

from decidable.providers.wires.codec import HttpReply
from decidable.testing.scripted import ScriptError
from decidable.testing.systemone import openai
from decidable.testing.systemone.answers import answered, canonical
from decidable.testing.systemone.arriving import Arrived, arrived
from decidable.testing.systemone.checking import check
from decidable.testing.systemone.dialects import (
    OPENAI,
    OPENROUTER,
    PARALLEL,
    TYPESAFE,
    Dialect,
    dialect_at,
    failure_body,
    reply_body,
)
from decidable.testing.systemone.failing import Failure
from decidable.testing.systemone.faults import Fault
from decidable.testing.systemone.images import check_images, images_in, pinned
from decidable.testing.systemone.models import FauxModel, Models

__all__ = ["FauxRequest", "FauxSystemOne"]

Given: TypeAlias = "HttpReply | tuple[HttpReply, float]"
"""An answer, or an answer and the seconds it takes."""

_JSON = {"content-type": "application/json"}
_PREFIXES = {"cloudflare-decisions": "/accounts/faux/ai/run"}


@dataclass(frozen=True, slots=True, eq=False)
class FauxRequest:
    """A request as it came.

    Attributes:
        method: The HTTP method.
        path: Path and query.
        headers: By lower-case name.
        body: Its JSON, that of the part ``request`` where it came in parts; None if it has none.
        raw: Its bytes.
        images: The images in it, by token; on OpenAI's wire by ``"0"``, ``"1"`` and so on.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes
    images: Mapping[str, bytes]

    def __repr__(self) -> str:
        return f"FauxRequest({self.method} {self.path}, {len(self.raw)} bytes)"


class FauxSystemOne:
    """A stand-in for every service of decision models: same paths, same refusals, made-up answers.

    An answer depends on the model, the question, the state and its images, and on nothing else: not on the question's
    id, nor on what else is asked. Nothing is random and no clock is read. It may be asked from several threads.

    Args:
        key: The only key that is accepted; None for any or none.
        models: Models, or their names; None for a small catalogue.

    Attributes:
        requests: Every request that came, in order.
        tries: How many there were, with those whose connection was refused.

    Example:
        >>> from decidable import judge_from_provider
        >>> from decidable.questions import Noul
        >>> from decidable.testing.systemone import status
        >>> faux = FauxSystemOne()
        >>> faux.next(status(429, retry_after="0"))
        >>> judgement = judge_from_provider(faux.provider()).ask("Due in May.", {"late": Noul("Is it late?")})
        >>> len(faux.requests), len(judgement.attempts), sorted(judgement.values)
        (2, 2, ['late'])
    """

    def __init__(self, key: str | None = None, models: Iterable[FauxModel | str] | None = None) -> None:
        self._key = key
        self._models = Models(models)
        self._lock = Lock()
        self._faults: dict[str, deque[Fault]] = {}
        self.requests: list[FauxRequest] = []
        self.tries = 0

    # --- the script -----------------------------------------------------------------------------------------------

    def next(self, *faults: Fault, method: str = "POST") -> None:
        """Line up what happens to the next requests, one each, after what is lined up already; then all goes well.

        Args:
            faults: From `decidable.testing.systemone`, such as ``status(429, retry_after="1")`` and ``broken()``.
            method: Of which requests; ``"GET"`` for those for lists of models.
        """
        with self._lock:
            self._faults.setdefault(method, deque()).extend(faults)

    def assert_complete(self) -> None:
        """Fail if something is still lined up.

        Raises:
            ScriptError: Saying how much.
        """
        left = sum(len(line) for line in self._faults.values())
        if left:
            raise ScriptError(f"{left} of the requests that were provided for never came")

    @property
    def posts(self) -> list[FauxRequest]:
        """The requests that asked something, without those for lists of models."""
        return [request for request in self.requests if request.method == "POST"]

    # --- the ways to ask ------------------------------------------------------------------------------------------

    def provider(self, name: str = "typesafe", **settings: Any) -> Any:
        """A provider of this library that asks here.

        Args:
            name: ``"endpoint"`` or ``"endpoint:model"`` of a decision endpoint, as for `decidable.connect`.
            settings: As for `decidable.connect`. A key and, where the endpoint has none, an address are made up.
        """
        from decidable.providers.decision_endpoints import DECISION_ENDPOINTS
        from decidable.providers.registry import connect

        client, async_client = self.clients()
        given = {"api_key": self._key or "faux-key", **settings, "client": client, "async_client": async_client}
        endpoint = DECISION_ENDPOINTS.get(name.partition(":")[0])
        if endpoint is not None and (not endpoint.base_url or "{" in endpoint.base_url):
            given.setdefault("base_url", "https://faux.invalid" + _PREFIXES.get(endpoint.name, ""))
        made = cast("Any", connect(name, **given))
        made.capabilities = replace(made.capabilities, remote=False)
        return made

    def clients(self) -> tuple[Any, Any]:
        """A sync and an async HTTP client that ask here, whatever the host; no connection is opened."""
        from decidable.providers.http_mock import mock_clients  # brings in httpx

        return mock_clients(self.answer)

    @contextmanager
    def serve(self, port: int = 0) -> Iterator[str]:
        """Serve on 127.0.0.1 while the block runs.

        Args:
            port: Where; 0 for any that is free.

        Yields:
            The server's URL, without a path.
        """
        from decidable.testing.systemone.server import serving  # brings in http.server

        with serving(self.answer, port) as url:
            yield url

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Given:
        """The answer to one request, without any I/O.

        Args:
            method: The HTTP method.
            path: Path and query.
            headers: By name in any case.
            body: The bytes as sent.

        Raises:
            ConnectionRefusedError: The script wants no connection to be made.
            ConnectionResetError: The script wants the connection to break.
        """
        with self._lock:
            self.tries += 1
            line = self._faults.get(method)
            fault = line.popleft() if line else Fault()
        if fault.cut == "refused":
            raise ConnectionRefusedError("made to refuse")
        headers = {name.lower(): value for name, value in headers.items()}
        came = arrived(headers, body)
        request = FauxRequest(method, path, headers, came.body, body, _images(came))
        with self._lock:
            self.requests.append(request)
        if fault.cut:
            raise ConnectionResetError("made to break")
        reply = self._reply(request, came, fault)
        return (reply, fault.delay_s) if fault.delay_s else reply

    # --- one request ----------------------------------------------------------------------------------------------

    def _reply(self, request: FauxRequest, came: Arrived, fault: Fault) -> HttpReply:
        if isinstance(fault.instead, HttpReply):
            return fault.instead
        asked = dialect_at(unquote(request.path.partition("?")[0]), request.headers, came.body)
        dialect, model = asked or (OPENROUTER if request.path.startswith("/api/") else TYPESAFE, "")
        name = _name_of(came, request.raw)
        named = {dialect.request_id: name} if dialect.request_id else {}
        found: Any = None
        failure = fault.instead
        if failure is None:
            try:
                found = self._answered(dialect, model, request, came, name) if asked else self._listed(request)
            except Failure as error:
                failure = error
        if failure is not None:
            sent = json.dumps(failure_body(dialect, failure, name)).encode()
            return HttpReply(failure.status or dialect.invalid, {**_JSON, **named, **failure.headers}, sent)
        for change in fault.changes:
            found = change(found)
        return HttpReply(200, {**_JSON, **named}, json.dumps(found).encode())

    def _listed(self, request: FauxRequest) -> dict[str, Any]:
        """A list of models; OpenRouter's is public."""
        place, _, query = request.path.partition("?")
        if place not in ("/v1/models", "/api/v1/models"):
            raise Failure(404, "there is nothing at this path")
        if request.method != "GET":
            raise Failure(405, "this path takes GET", headers={"allow": "GET"})
        if "decisions" in parse_qs(query).get("output_modalities", []):
            return self._models.catalogue()
        self._let_in(TYPESAFE, request.headers)
        return self._models.listed()

    def _answered(self, dialect: Dialect, model: str, request: FauxRequest, came: Arrived, name: str) -> dict[str, Any]:
        """The body of an answer.

        Raises:
            Failure: There is none.
        """
        if request.method != "POST":
            raise Failure(405, "this path takes POST", headers={"allow": "POST"})
        self._let_in(dialect, request.headers)
        if came.failure is not None:
            raise came.failure
        if came.multipart and not dialect.multipart:
            raise Failure(415, "this path takes JSON alone")
        tokens = max(1, came.size // 4)
        if dialect is OPENAI:
            return self._openai(came.body, tokens)
        body = check(came.body, dialect, model)
        served = FauxModel("parallel-fast")
        if dialect is not PARALLEL:
            served = self._models.find(model or body["model"], on_openrouter=dialect is OPENROUTER)
        images = images_in(came) if dialect.images else {}
        check_images(images, body, request.headers, served)
        called = served.alias_of or served.name
        state = pinned(body["state"], images)
        answers = {
            question_id: _in_own_words(question, answered(called, pinned(question, images), state))
            for question_id, question in body["questions"].items()
        }
        return reply_body(dialect, body, answers, model=called, tokens=tokens, request_id=name)

    def _openai(self, body: Any, tokens: int) -> dict[str, Any]:
        body = openai.check(body)
        served = self._models.find(body["model"])
        if openai.takes_images(body) and not served.images:
            raise Failure(400, "this model takes no images")
        return openai.answer(body, served.alias_of or served.name, tokens)

    def _let_in(self, dialect: Dialect, headers: Mapping[str, str]) -> None:
        """Nothing, if the key is there and right.

        Raises:
            Failure: With status 401.
        """
        given = headers.get(dialect.key_header, "")
        if dialect.key_header == "authorization":
            scheme, _, given = given.partition(" ")
            given = given if scheme.lower() == "bearer" else ""
        if self._key is not None and given != self._key:
            raise Failure(401, "the key is wrong" if given else "a key is needed")


def _in_own_words(question: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """`answer` with the levels as they were asked, where digests of images stood in them."""
    if "legend" in answer:
        answer["legend"] = {str(level): text for level, text in enumerate(question["criteria"])}
    return answer


def _images(came: Arrived) -> Mapping[str, bytes]:
    """The images of a request, as far as they can be read."""
    if isinstance(came.body, dict) and "input" in came.body:
        return openai.images_in(came.body)
    try:
        return images_in(came)
    except Failure:
        return {}


def _name_of(came: Arrived, raw: bytes) -> str:
    """What the answer is called, which depends on what was asked."""
    return f"faux-{sha256(raw if came.body is None else canonical(came.body)).hexdigest()[:12]}"
