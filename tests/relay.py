"""A relay between clients and a server, which forwards all bytes and can become unreachable."""

import socket
import socketserver
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit


class Relay(socketserver.ThreadingTCPServer):
    """Forwards all bytes between clients and the server at `server_url`.

    `refused_connections` counts the connections that clients tried while the relay was unreachable.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, url: str, link: type["Link"]) -> None:
        super().__init__(("127.0.0.1", 0), link)
        self.server_url = url
        self.refused_connections = 0
        self._links: set[Link] = set()
        self._reachable = True
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="relay")
        self._thread.start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def vanish(self) -> None:
        """Cut all connections and refuse new ones, as if the server were down."""
        self._reachable = False
        for link in list(self._links):
            link.cut()

    def come_back(self) -> None:
        """Accept connections again."""
        self._reachable = True

    def enter(self, link: "Link") -> None:
        self._links.add(link)
        if not self._reachable:
            self.refused_connections += 1
            link.cut()

    def leave(self, link: "Link") -> None:
        self._links.discard(link)

    def close(self) -> None:
        self.vanish()
        self.shutdown()
        self._thread.join()
        self.server_close()


class Link(socketserver.BaseRequestHandler, ABC):
    """The connection of one client, and the connection to the server that belongs to it."""

    server: Relay

    def handle(self) -> None:
        address = urlsplit(self.server.server_url)
        with suppress(OSError), socket.create_connection((address.hostname, address.port)) as self._upstream:
            self.server.enter(self)
            replies = threading.Thread(target=self._pass, args=(self._upstream, self.request, self.passes_reply))
            replies.start()
            self._pass(self.request, self._upstream, self.passes_request)
            replies.join()
        self.server.leave(self)

    def _pass(self, source: socket.socket, sink: socket.socket, passes: Callable[[bytes, socket.socket], bool]) -> None:
        with suppress(OSError):
            while (piece := source.recv(1 << 16)) and passes(piece, sink):
                pass
        self.cut()

    @abstractmethod
    def passes_request(self, piece: bytes, server: socket.socket) -> bool:
        """Forward a piece of a request, and return whether the connection stays open."""

    @abstractmethod
    def passes_reply(self, piece: bytes, client: socket.socket) -> bool:
        """Forward a piece of a reply, and return whether the connection stays open."""

    def cut(self) -> None:
        for end in (self.request, self._upstream):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
