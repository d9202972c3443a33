"""A graphkin server: its collections, health and metrics."""

from typing import Self

from graphkin.client.answers import read_reply
from graphkin.client.asynchronous.collection import AsyncCollection
from graphkin.client.asynchronous.connection import AsyncConnection
from graphkin.client.asynchronous.reading import collection_path
from graphkin.client.patience import PATIENCE
from graphkin.protocol.errors import GenerationChanged
from graphkin.protocol.generations import LENGTH, expand_id
from graphkin.protocol.replies import CollectionDetail, Collections, CollectionSummary, Health


class AsyncGraphkin:
    """A graphkin server. Safe to share, between threads or between tasks.

    If no server answers the first request, it fails immediately. Later requests are retried for up to `patience`
    seconds, with jitter, while the server is unreachable or busy. Errors are those of `graphkin.protocol.errors`:
    `Unavailable` if the server stays unreachable, `VersionMismatch` if its version is incompatible with this client,
    otherwise the error that the server reports. If the server requires keys, a missing or wrong key raises
    `Unauthorized`, and a key without the necessary permission `Forbidden`.

    Args:
        url: The URL that `graphkin serve` prints.
        patience: Seconds for which a request is retried.
        key: The key that `graphkin keys create` printed; default: GRAPHKIN_API_KEY in the environment.
    """

    def __init__(self, url: str, *, patience: float = PATIENCE, key: str | None = None) -> None:
        self._connection = AsyncConnection(url, patience, key)

    async def collections(self) -> list[CollectionSummary]:
        """Return every collection with its current generation, ordered by name.

        Reading a damaged collection raises `Damaged`.
        """
        return read_reply(Collections, await self._connection.fetch("/v1/collections", {})).collections

    async def collection(self, name: str, generation: str | None = None) -> AsyncCollection:
        """Return one generation of a collection.

        Args:
            name: Name of the collection.
            generation: Id of the generation or the beginning of the id; default: the current generation.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: The generation was deleted.
            InvalidInput: Several ids begin like this.
        """
        if generation is not None and len(generation) < LENGTH:
            generation = expand_id(generation, (await self._detail(name, None)).generations)
        return AsyncCollection(self._connection, await self._detail(name, generation))

    async def _detail(self, name: str, generation: str | None) -> CollectionDetail:
        reply = await self._connection.fetch(collection_path(name), {"generation": generation})
        detail = read_reply(CollectionDetail, reply)
        if detail.name != name or detail.generation != (generation or detail.manifest.generation):
            raise GenerationChanged(
                f"the reply to {collection_path(name)} is of another generation",
                given=f"{detail.name}, generation {detail.generation}",
                expected=f"{name}, generation {generation or detail.manifest.generation}",
                hint="nothing between client and server may drop parameters or answer from a cache of its own",
            )
        return detail

    async def livez(self) -> Health:
        """Check that the server's process answers."""
        return read_reply(Health, await self._connection.fetch("/livez", {}))

    async def readyz(self) -> Health:
        """Wait until the server is ready to answer requests.

        Raises:
            Damaged: A collection is damaged.
        """
        return read_reply(Health, await self._connection.fetch("/readyz", {}))

    async def metrics(self) -> str:
        """Return request counts and latencies in Prometheus' text format."""
        return (await self._connection.fetch("/metrics", {}, "text/plain")).text

    async def aclose(self) -> None:
        """Close the connection. Pending requests raise `Closed`."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.url!r})"
