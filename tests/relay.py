"""What stands between clients and a server in tests: it passes everything on, and can vanish."""

import socket
import socketserver
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit


class Relay(socketserver.ThreadingTCPServer):
    """Passes everything between clients and the server at the URL `beyond`.

    knocks    how many connections were tried while it had vanished.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, url: str, link: type["Link"]) -> None:
        super().__init__(("127.0.0.1", 0), link)
        self.beyond = url
        self.knocks = 0
        self._links: set[Link] = set()
        self._reachable = True
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="relay")
        self._thread.start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def vanish(self) -> None:
        """From now on it is as if the server were down."""
        self._reachable = False
        for link in list(self._links):
            link.cut()

    def come_back(self) -> None:
        self._reachable = True

    def enter(self, link: "Link") -> None:
        self._links.add(link)
        if not self._reachable:
            self.knocks += 1
            link.cut()

    def leave(self, link: "Link") -> None:
        self._links.discard(link)

    def close(self) -> None:
        self.vanish()
        self.shutdown()
        self._thread.join()
        self.server_close()


class Link(socketserver.BaseRequestHandler, ABC):
    """One client's connection."""

    server: Relay

    def handle(self) -> None:
        beyond = urlsplit(self.server.beyond)
        with suppress(OSError), socket.create_connection((beyond.hostname, beyond.port)) as self._beyond:
            self.server.enter(self)
            replies = threading.Thread(target=self._pass, args=(self._beyond, self.request, self.passes_reply))
            replies.start()
            self._pass(self.request, self._beyond, self.passes_request)
            replies.join()
        self.server.leave(self)

    def _pass(self, source: socket.socket, sink: socket.socket, passes: Callable[[bytes, socket.socket], bool]) -> None:
        with suppress(OSError):
            while (piece := source.recv(1 << 16)) and passes(piece, sink):
                pass
        self.cut()

    @abstractmethod
    def passes_request(self, piece: bytes, server: socket.socket) -> bool:
        """Send a piece of a request on; whether the connection stays."""

    @abstractmethod
    def passes_reply(self, piece: bytes, client: socket.socket) -> bool:
        """Send a piece of a reply on; whether the connection stays."""

    def cut(self) -> None:
        for end in (self.request, self._beyond):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
