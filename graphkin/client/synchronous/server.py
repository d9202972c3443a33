# Made from graphkin/client/asynchronous/server.py by `make docs`: edit that.

"""A graphkin server: its collections, health and metrics."""

from typing import Self

from graphkin.client.responses import read_reply
from graphkin.client.retries import RETRY_SECONDS
from graphkin.client.synchronous.collection import Collection
from graphkin.client.synchronous.connection import Connection
from graphkin.client.synchronous.generation_reader import collection_path
from graphkin.client.synchronous.uploads import Uploads
from graphkin.protocol.errors import GenerationChanged
from graphkin.protocol.generations import LENGTH, expand_id
from graphkin.protocol.replies import CollectionDetail, Collections, CollectionSummary, Health, Readiness


class Graphkin(Uploads):
    """A graphkin server. Safe to share, between threads or between the tasks of one event loop.

    Retries:
        Until a server has answered once, a request to an unreachable server fails immediately, because the URL may be
        wrong. Later requests are retried, with jitter, while the server is unreachable or busy.

    Errors:
        Every method raises the errors of `graphkin.protocol.errors`:

        - `Unavailable`: the server stayed unreachable or busy.
        - `VersionMismatch`: the server's version is incompatible with this client.
        - `Unauthorized`: the server requires a key, and the key is missing or wrong.
        - `Forbidden`: the key lacks a permission.
        - otherwise the error that the server reports.

    Args:
        url: The URL that `graphkin serve` prints.
        retry_seconds: Maximum number of seconds for which a request is retried.
        key: The key that `graphkin keys create` printed; default: GRAPHKIN_API_KEY in the environment.
    """

    def __init__(self, url: str, *, retry_seconds: float = RETRY_SECONDS, key: str | None = None) -> None:
        self._connection = Connection(url, retry_seconds, key)

    def collections(self) -> list[CollectionSummary]:
        """Return a summary of each collection and its current generation.

        Returns:
            The summaries, ordered by name. Damaged collections are included. Reading one of them raises `Damaged`.

        Raises:
            Unavailable: The server stayed unreachable or busy.
            Unauthorized: The server requires a key.
        """
        return read_reply(Collections, self._connection.fetch("/v1/collections", {})).collections

    def collection(self, name: str, generation: str | None = None) -> Collection:
        """Return one generation of a collection.

        Args:
            name: Name of the collection.
            generation: Id of the generation, or a prefix of the id; default: the current generation.

        Returns:
            The collection, which reads this generation even after another one is published.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: The generation was deleted.
            InvalidInput: Several ids begin with the prefix.
        """
        if generation is not None and len(generation) < LENGTH:
            generation = expand_id(generation, (self._fetch_detail(name, None)).generations)
        return Collection(self._connection, self._fetch_detail(name, generation))

    def _fetch_detail(self, name: str, generation: str | None) -> CollectionDetail:
        """Return the description of a generation, None for the current one.

        Raises:
            GenerationChanged: The reply describes another collection or generation.
        """
        reply = self._connection.fetch(collection_path(name), {"generation": generation})
        detail = read_reply(CollectionDetail, reply)
        if detail.name != name or detail.generation != (generation or detail.manifest.generation):
            raise GenerationChanged(
                f"the reply to {collection_path(name)} belongs to another generation",
                given=f"{detail.name}, generation {detail.generation}",
                expected=f"{name}, generation {generation or detail.manifest.generation}",
                hint="check that no proxy between client and server removes parameters or answers from its own cache",
            )
        return detail

    def livez(self) -> Health:
        """Check that the server process answers requests.

        Returns:
            The status of the server.

        Raises:
            Unavailable: The server stayed unreachable.
        """
        return read_reply(Health, self._connection.fetch("/livez", {}))

    def readyz(self) -> Readiness:
        """Wait until the server is ready to answer requests.

        Returns:
            The status of the server, and how many generations are damaged.

        Raises:
            Unavailable: The server stayed unreachable or not ready.
        """
        return read_reply(Readiness, self._connection.fetch("/readyz", {}))

    def metrics(self) -> str:
        """Return the server's metrics, such as request counts and latencies.

        Returns:
            The metrics in the text format of Prometheus.

        Raises:
            Forbidden: The key lacks the scope `admin`.
        """
        return (self._connection.fetch("/metrics", {}, "text/plain")).text

    def close(self) -> None:
        """Close the connection. Pending requests raise `Closed`."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.url!r})"
