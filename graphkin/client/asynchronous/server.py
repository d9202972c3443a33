"""A server, and what it says of itself."""

from typing import Self

from graphkin.client.answers import read_reply
from graphkin.client.asynchronous.collection import AsyncCollection
from graphkin.client.asynchronous.connection import AsyncConnection
from graphkin.client.asynchronous.reading import path_of
from graphkin.client.patience import PATIENCE
from graphkin.protocol.errors import GenerationChanged
from graphkin.protocol.generations import LENGTH, begun_with
from graphkin.protocol.replies import CollectionDetail, Collections, CollectionSummary, Health


class AsyncGraphkin:
    """A graphkin server, at the URL that `graphkin serve` prints. Safe to share, between threads or between tasks.

    Where no server answers, that is an error at once. One that is away or busy later on is tried again, with jitter,
    for `patience` seconds. Errors are those of `protocol.errors`: `Unavailable` if it stays away, `VersionMismatch` if
    the server is of another version than this client, else what the server says about the request.

    `key`: what `graphkin keys create` printed, by default what GRAPHKIN_API_KEY in the environment holds. Where keys
    are asked for, one that is missing or wrong is `Unauthorized`, and one for something else `Forbidden`.
    """

    def __init__(self, url: str, *, patience: float = PATIENCE, key: str | None = None) -> None:
        self._connection = AsyncConnection(url, patience, key)

    async def collections(self) -> list[CollectionSummary]:
        """Every collection with its current generation, by name. Of one that is damaged, reading raises `Damaged`."""
        return read_reply(Collections, await self._connection.whole("/v1/collections", {})).collections

    async def collection(self, name: str, generation: str | None = None) -> AsyncCollection:
        """One generation of a collection, by default the one that is current now; also by how its id begins.

        Raises `NotFound`, `Deleted` for a generation that was deleted, and `InvalidInput` where several begin so.
        """
        if generation is not None and len(generation) < LENGTH:
            generation = begun_with(generation, (await self._detail(name, None)).generations)
        return AsyncCollection(self._connection, await self._detail(name, generation))

    async def _detail(self, name: str, generation: str | None) -> CollectionDetail:
        reply = await self._connection.whole(path_of(name), {"generation": generation})
        detail = read_reply(CollectionDetail, reply)
        if detail.name != name or detail.generation != (generation or detail.manifest.generation):
            raise GenerationChanged(
                f"the reply to {path_of(name)} is of another generation",
                given=f"{detail.name}, generation {detail.generation}",
                expected=f"{name}, generation {generation or detail.manifest.generation}",
                hint="nothing between client and server may drop parameters or answer from a cache of its own",
            )
        return detail

    async def livez(self) -> Health:
        """That the server's process answers."""
        return read_reply(Health, await self._connection.whole("/livez", {}))

    async def readyz(self) -> Health:
        """That requests will be answered: a server that is not ready yet is waited for. Raises `Damaged`."""
        return read_reply(Health, await self._connection.whole("/readyz", {}))

    async def metrics(self) -> str:
        """Request counts and latencies, in Prometheus' text format."""
        return (await self._connection.whole("/metrics", {}, "text/plain")).text

    async def aclose(self) -> None:
        """End all requests, those of others with `Closed`."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.url!r})"
