"""The faux service on a port of this machine."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
from faux_kit import SYSTEMONE, answers, asked

from decidable.testing.systemone import (
    FauxSystemOne,
    body,
    broken,
    refused,
    slow,
    status,
)


def over(url: str, timeout: float = 10) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(url.removeprefix("http://"), timeout=timeout)


def test_the_server_answers_as_the_handler_does():
    faux = FauxSystemOne("k")
    raw = json.dumps(asked()).encode()
    wanted = faux.answer("POST", SYSTEMONE, {"authorization": "Bearer k"}, raw)
    with faux.serve() as url:
        connection = over(url)
        for _ in range(3):  # over one connection
            connection.request("POST", SYSTEMONE, raw, {"Authorization": "Bearer k"})
            reply = connection.getresponse()
            assert (reply.status, reply.read()) == (200, wanted.body)
            assert reply.headers["x-typesafe-request-id"] == wanted.headers["x-typesafe-request-id"]
        connection.request("HEAD", SYSTEMONE)
        reply = connection.getresponse()
        assert (reply.status, reply.read()) == (405, b"")
        connection.request("DELETE", "/v1/models")
        assert connection.getresponse().read()
        connection.close()
    assert faux.requests[1].raw == raw
    assert faux.requests[1].headers["authorization"] == "Bearer k"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 1)


def test_the_server_reads_chunks():
    faux = FauxSystemOne()
    raw = json.dumps(asked()).encode()
    with faux.serve() as url:
        connection = over(url)
        connection.request("POST", SYSTEMONE, iter([raw[:7], raw[7:20], raw[20:]]), encode_chunked=True)
        assert connection.getresponse().read()
        connection.request("POST", SYSTEMONE, raw)  # the connection is in step
        assert connection.getresponse().status == 200
        connection.close()
        for bad in (b"zz\r\n", b"3\r\nabcdef\r\n0\r\n\r\n", b"-1\r\n"):
            assert b" 400 " in said(url, b"transfer-encoding: chunked", bad)
        for bad in (b"-1", b"many", b"99999999999"):
            assert b" 400 " in said(url, b"content-length: " + bad, b"")
        trailers = b"%x;ext=1\r\n%s\r\n0\r\nx-trailer: 1\r\n\r\n" % (len(raw), raw)
        assert b" 200 " in said(url, b"transfer-encoding: chunked", trailers)
    assert [request.body for request in faux.requests] == [asked()] * 3


def said(url: str, header: bytes, content: bytes) -> bytes:
    """The first line that the server answers to a request made by hand."""
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 10) as sock:
        sock.sendall(b"POST /v1/systemone HTTP/1.1\r\nhost: x\r\n%s\r\n\r\n%s" % (header, content))
        return sock.recv(65536).partition(b"\r\n")[0]


def test_faults_over_sockets():
    faux = FauxSystemOne()
    faux.next(broken(), refused(), slow(0.2), body(b"<html>"), status(429, retry_after="1"))
    with faux.serve() as url:
        for _ in range(2):
            connection = over(url)
            with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
                connection.request("POST", SYSTEMONE, b"{}")
                connection.getresponse()
            connection.close()
        connection = over(url)
        began = time.monotonic()
        connection.request("POST", SYSTEMONE, json.dumps(asked()))
        reply = connection.getresponse()
        assert (reply.status, time.monotonic() - began > 0.19) == (200, True)
        reply.read()
        connection.request("POST", SYSTEMONE, b"{}")
        assert connection.getresponse().read() == b"<html>"
        connection.request("POST", SYSTEMONE, b"{}")
        reply = connection.getresponse()
        assert (reply.status, reply.headers["retry-after"]) == (429, "1")
        connection.close()


def test_the_server_does_not_wait_for_those_who_wait():
    faux = FauxSystemOne()
    faux.next(slow(60))
    idle = late = None
    began = time.monotonic()
    with faux.serve() as url:
        idle, late = over(url), over(url)
        idle.request("GET", "/v1/models")
        idle.getresponse().read()
        late.request("POST", SYSTEMONE, b"{}")
        while not faux.posts:
            time.sleep(0.005)
    assert time.monotonic() - began < 5
    idle.close()
    late.close()


def test_many_at_once_over_sockets():
    faux = FauxSystemOne()
    found: list[int] = []

    def ask(url: str) -> None:
        connection = over(url)
        for _ in range(5):
            connection.request("POST", SYSTEMONE, json.dumps(asked()))
            reply = connection.getresponse()
            reply.read()
            found.append(reply.status)
        connection.close()

    with faux.serve() as url:
        threads = [threading.Thread(target=ask, args=(url,)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [200] * 80


def test_the_command():
    command = [sys.executable, "-m", "decidable.testing.systemone", "--port", "0", "--key", "k"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        url = process.stdout.readline().strip()
        connection = over(url)
        connection.request("POST", SYSTEMONE, json.dumps(asked()), {"Authorization": "Bearer k"})
        assert json.loads(connection.getresponse().read())["answers"] == answers(FauxSystemOne())
        connection.close()
        process.stdin.close()
        assert process.wait(10) == 0
