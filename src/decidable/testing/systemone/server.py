"""The loopback server of `FauxSystemOne`: real sockets for clients that bring their own transport."""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, cast

from decidable.providers.wires.codec import HttpReply

__all__ = ["serving"]

_LARGEST = 64 * 1024 * 1024
_GARBLED = HttpReply(
    400,
    {"content-type": "application/json", "connection": "close"},
    b'{"detail": {"error_type": "bad_request", "message": "the body is not what its headers say"}}',
)


@contextmanager
def serving(
    answer: Callable[[str, str, Mapping[str, str], bytes], HttpReply | tuple[HttpReply, float]], port: int
) -> Iterator[str]:
    """Serve what `answer` answers on 127.0.0.1 while the block runs; yields the URL."""
    server = _Server(("127.0.0.1", port), _Handler)
    server.answer = answer
    thread = Thread(target=server.serve_forever, args=(0.02,), name="faux-system-one", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()
        server.hang_up()


class _Server(ThreadingHTTPServer):
    """Keeps hold of its connections, so that none outlives it."""

    daemon_threads = True
    request_queue_size = 128
    answer: Callable[[str, str, Mapping[str, str], bytes], HttpReply | tuple[HttpReply, float]]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.stopping = Event()
        self._lock = Lock()
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Wake every thread that waits for another request of its client."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # the client hung up first
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, unless it is that a client went away."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "faux-system-one"
    sys_version = ""
    wbufsize = -1
    """Head and body leave together: apart, the second would wait for the first to be acknowledged."""

    def _serve(self) -> None:
        server = cast("_Server", self.server)
        try:
            body = self._body()
        except ValueError:
            self.close_connection = True
            self._send(_GARBLED)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            found = server.answer(self.command, self.path, headers, body)
        except ConnectionError:
            self._reset()
            return
        reply, seconds = found if isinstance(found, tuple) else (found, 0.0)
        if seconds and server.stopping.wait(seconds):
            self._reset()
            return
        self._send(reply)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve  # noqa: N815 - the base class's

    def _body(self) -> bytes:
        """The request's body, in one piece or in chunks.

        Raises:
            ValueError: It is not what the headers say, or too large.
        """
        if self.headers.get("transfer-encoding", "").strip().lower() == "chunked":
            return self._chunks()
        size = int(self.headers.get("content-length", "0"))
        if not 0 <= size <= _LARGEST:
            raise ValueError(size)
        return self._exactly(size)

    def _chunks(self) -> bytes:
        whole = bytearray()
        while size := int(self.rfile.readline(1024).partition(b";")[0], 16):
            if size < 0 or len(whole) + size > _LARGEST:
                raise ValueError(size)
            whole += self._exactly(size)
            if self.rfile.readline(3) != b"\r\n":
                raise ValueError("a chunk is longer than it says")
        while self.rfile.readline(65536).strip():
            continue  # trailers mean nothing here
        return bytes(whole)

    def _exactly(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if len(data) < size:
            raise ValueError("the body ended early")
        return data

    def _send(self, reply: HttpReply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def _reset(self) -> None:
        """Break the connection off in the way of a process that died."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        """Say nothing: requests are kept, for whoever asks."""
