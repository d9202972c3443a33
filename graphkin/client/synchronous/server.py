# Made from graphkin/client/asynchronous/server.py by `make docs`: edit that.

"""A server, and what it says of itself."""

from typing import Self

from graphkin.client.answers import read_reply
from graphkin.client.patience import PATIENCE
from graphkin.client.synchronous.collection import Collection
from graphkin.client.synchronous.connection import Connection
from graphkin.client.synchronous.reading import path_of
from graphkin.protocol.errors import GenerationChanged
from graphkin.protocol.generations import LENGTH, begun_with
from graphkin.protocol.replies import CollectionDetail, Collections, CollectionSummary, Health


class Graphkin:
    """A graphkin server, at the URL that `graphkin serve` prints. Safe to share, between threads or between tasks.

    Where no server answers, that is an error at once. One that is away or busy later on is tried again, with jitter,
    for `patience` seconds. Errors are those of `protocol.errors`: `Unavailable` if it stays away, `VersionMismatch` if
    the server is of another version than this client, else what the server says about the request.

    `key`: what `graphkin keys create` printed, by default what GRAPHKIN_API_KEY in the environment holds. Where keys
    are asked for, one that is missing or wrong is `Unauthorized`, and one for something else `Forbidden`.
    """

    def __init__(self, url: str, *, patience: float = PATIENCE, key: str | None = None) -> None:
        self._connection = Connection(url, patience, key)

    def collections(self) -> list[CollectionSummary]:
        """Every collection with its current generation, by name. Of one that is damaged, reading raises `Damaged`."""
        return read_reply(Collections, self._connection.whole("/v1/collections", {})).collections

    def collection(self, name: str, generation: str | None = None) -> Collection:
        """One generation of a collection, by default the one that is current now; also by how its id begins.

        Raises `NotFound`, `Deleted` for a generation that was deleted, and `InvalidInput` where several begin so.
        """
        if generation is not None and len(generation) < LENGTH:
            generation = begun_with(generation, (self._detail(name, None)).generations)
        return Collection(self._connection, self._detail(name, generation))

    def _detail(self, name: str, generation: str | None) -> CollectionDetail:
        reply = self._connection.whole(path_of(name), {"generation": generation})
        detail = read_reply(CollectionDetail, reply)
        if detail.name != name or detail.generation != (generation or detail.manifest.generation):
            raise GenerationChanged(
                f"the reply to {path_of(name)} is of another generation",
                given=f"{detail.name}, generation {detail.generation}",
                expected=f"{name}, generation {generation or detail.manifest.generation}",
                hint="nothing between client and server may drop parameters or answer from a cache of its own",
            )
        return detail

    def livez(self) -> Health:
        """That the server's process answers."""
        return read_reply(Health, self._connection.whole("/livez", {}))

    def readyz(self) -> Health:
        """That requests will be answered: a server that is not ready yet is waited for. Raises `Damaged`."""
        return read_reply(Health, self._connection.whole("/readyz", {}))

    def metrics(self) -> str:
        """Request counts and latencies, in Prometheus' text format."""
        return (self._connection.whole("/metrics", {}, "text/plain")).text

    def close(self) -> None:
        """End all requests, those of others with `Closed`."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.url!r})"
