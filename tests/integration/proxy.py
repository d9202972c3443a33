"""A proxy in front of the API that cuts connections, holds replies and can become unreachable."""

import re
import socket
import threading
import time
from collections.abc import Callable

from tests.relay import Link, Relay

_CODINGS = re.compile(rb"accept-encoding: [^\r]*", re.IGNORECASE)


class Proxy(Relay):
    """Forwards everything between clients and the server at `server_url`, with planned interruptions.

    Replies are uncompressed, so that their bytes can be counted and rewritten.

    Attributes:
        requests: (monotonic time, first line) of every request.
        rewrite: Function that replaces a piece of a request or reply. By default, it changes nothing.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, _Link)
        self.requests: list[tuple[float, str]] = []
        self.rewrite: Callable[[bytes], bytes] = bytes
        self.held = threading.Event()
        self._released = threading.Event()
        self._hold_at: int | None = None
        self._hold_in: tuple[str, int] | None = None
        self._cuts: list[int] = []
        self._passed = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut_after(self, *passed: int) -> None:
        """Cut connections after these numbers of reply bytes, each counted from now or from the previous cut."""
        with self._lock:
            self._passed, self._cuts = 0, [*passed]

    @property
    def cuts_left(self) -> int:
        return len(self._cuts)

    def hold_after(self, passed: int) -> None:
        """After this many bytes of replies, set `held` and forward no more until `release`."""
        self.held.clear()
        self._released.clear()
        with self._lock:
            self._passed, self._hold_at = 0, passed

    def hold_in(self, path: str, passed: int) -> None:
        """Do the same as `hold_after`, starting with the next request for this path."""
        self.held.clear()
        self._hold_in = path, passed

    def release(self) -> None:
        self._released.set()

    def record(self, sent: bytes) -> None:
        if sent.startswith((b"GET ", b"POST ")):
            line = sent.split(b" HTTP")[0].decode()
            self.requests.append((time.monotonic(), line))
            if self._hold_in and self._hold_in[0] in line:
                self.hold_after(self._hold_in[1])
                self._hold_in = None

    def allowance(self, size: int) -> int:
        """Return how many of the next `size` bytes of a reply may pass before the connection is cut."""
        with self._lock:
            allowed = size
            if self._cuts and self._passed + size >= self._cuts[0]:
                allowed, self._passed = self._cuts.pop(0) - self._passed, -size
            self._passed += size
            hold = self._hold_at is not None and self._passed >= self._hold_at
            if hold:
                self._hold_at = None
        if hold:
            self.held.set()
            self._released.wait()
        return allowed

    def close(self) -> None:
        self.release()
        super().close()


class _Link(Link):
    server: Proxy

    def passes_request(self, piece: bytes, server: socket.socket) -> bool:
        self.server.record(piece)
        server.sendall(self.server.rewrite(_CODINGS.sub(b"Accept-Encoding: identity", piece)))
        return True

    def passes_reply(self, piece: bytes, client: socket.socket) -> bool:
        allowed = self.server.allowance(len(piece))
        client.sendall(self.server.rewrite(piece[:allowed]))
        return allowed == len(piece)
