"""A server on this machine whose every byte a test decides: real sockets, real chunks, real silence."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Connection:
    """What a test's script does with one request."""

    sock: socket.socket
    request: bytes

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def reply(self, status: str, body: bytes, *, kind: str = "application/json", more: str = "") -> None:
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n"
        self.send(head.encode() + body)

    def chunked(self, pieces: list[bytes], *, kind: str = "text/event-stream", end: bool = True) -> None:
        self.send(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for piece in pieces:
            self.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            time.sleep(0.002)
        if end:
            self.send(b"0\r\n\r\n")

    def closed_by_peer(self, within_s: float) -> bool:
        self.sock.settimeout(within_s)
        try:
            return self.sock.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    def cut(self) -> None:
        """Close at once, as a crashed server does."""
        self.sock.close()


Script = Callable[[Connection], None]


@dataclass
class Server:
    """The server; its address, and the requests it got."""

    url: str
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    errors: list[BaseException] = field(default_factory=list)


@contextmanager
def serving(*scripts: Script) -> Iterator[Server]:
    """Answer the nth request with the nth script; the last one answers all that follow."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(f"http://127.0.0.1:{listener.getsockname()[1]}")
    stop = threading.Event()
    open_sockets: list[socket.socket] = []

    def talk(sock: socket.socket) -> None:
        with sock:
            try:
                while not stop.is_set() and (request := _request(sock)):
                    server.requests.append(request)
                    scripts[min(len(server.requests), len(scripts)) - 1](Connection(sock, request))
            except OSError:
                pass  # the client went away, or the script cut the connection: both are part of the tests
            except BaseException as error:
                server.errors.append(error)

    def accept() -> None:
        while not stop.is_set():
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            server.connections += 1
            open_sockets.append(sock)
            threading.Thread(target=talk, args=(sock,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for sock in open_sockets:
            sock.close()
        thread.join(5)
    assert server.errors == []


def _request(sock: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0
    )
    while len(body) < length:
        body += sock.recv(65536)
    return head + b"\r\n\r\n" + body
