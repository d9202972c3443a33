"""A proxy before the API that cuts connections, holds replies and can vanish."""

import socket
import socketserver
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit


class Proxy(socketserver.ThreadingTCPServer):
    """Passes everything between clients and the server at `beyond`, but for what it is told.

    requests  (when it came, by the monotonic clock; its first line) of every request.
    knocks    how many connections were tried while it had vanished.
    rewrite   what becomes of a piece of a request, or of a reply; by default nothing.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Link)
        self.beyond = url
        self.requests: list[tuple[float, str]] = []
        self.knocks = 0
        self.rewrite: Callable[[bytes], bytes] = bytes
        self.held = threading.Event()
        self._released = threading.Event()
        self._hold_at: int | None = None
        self._hold_in: tuple[str, int] | None = None
        self._cuts: list[int] = []
        self._passed = 0
        self._links: set[_Link] = set()
        self._reachable = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="proxy")
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def cut_after(self, *passed: int) -> None:
        """Cut the connection when so many bytes of replies have passed from now on, or from the cut before."""
        with self._lock:
            self._passed, self._cuts = 0, [*passed]

    @property
    def cuts_left(self) -> int:
        return len(self._cuts)

    def hold_after(self, passed: int) -> None:
        """When so many bytes of replies have passed from now on, set `held` and pass no more until `release`."""
        self.held.clear()
        self._released.clear()
        with self._lock:
            self._passed, self._hold_at = 0, passed

    def hold_in(self, path: str, passed: int) -> None:
        """As `hold_after`, but from the next request for this path on."""
        self.held.clear()
        self._hold_in = path, passed

    def release(self) -> None:
        self._released.set()

    def vanish(self) -> None:
        """From now on it is as if the server were down."""
        self._reachable = False
        for link in list(self._links):
            link.cut()

    def come_back(self) -> None:
        self._reachable = True

    def note(self, sent: bytes) -> None:
        if sent.startswith((b"GET ", b"POST ")):
            line = sent.split(b" HTTP")[0].decode()
            self.requests.append((time.monotonic(), line))
            if self._hold_in and self._hold_in[0] in line:
                self.hold_after(self._hold_in[1])
                self._hold_in = None

    def allowance(self, size: int) -> int:
        """How many of so many bytes of a reply may pass before the connection is cut."""
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

    def enter(self, link: "_Link") -> None:
        self._links.add(link)
        if not self._reachable:
            self.knocks += 1
            link.cut()

    def leave(self, link: "_Link") -> None:
        self._links.discard(link)

    def close(self) -> None:
        self.release()
        self.vanish()
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Link(socketserver.BaseRequestHandler):
    """One client's connection."""

    server: Proxy

    def handle(self) -> None:
        beyond = urlsplit(self.server.beyond)
        with suppress(OSError), socket.create_connection((beyond.hostname, beyond.port)) as self._server:
            self.server.enter(self)
            replies = threading.Thread(target=self._replies)
            replies.start()
            self._requests()
            replies.join()
        self.server.leave(self)

    def _requests(self) -> None:
        with suppress(OSError):
            while sent := self.request.recv(1 << 16):
                self.server.note(sent)
                self._server.sendall(self.server.rewrite(sent))
        self.cut()

    def _replies(self) -> None:
        with suppress(OSError):
            while data := self._server.recv(1 << 16):
                allowed = self.server.allowance(len(data))
                self.request.sendall(self.server.rewrite(data[:allowed]))
                if allowed < len(data):
                    break
        self.cut()

    def cut(self) -> None:
        for end in (self.request, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
