"""The Python client, for notebooks and for the trainer.

with Graphkin("http://localhost:8000") as server:
    nci = server.collection("nci")
    nci.search(smiles="CCO", limit=5)
    nci.neighbors(17, min_similarity=0.7)
    nci.epoch(0, "random_walk", k=5, seed=1)      # an Arrow table, one row an anchor
"""

from collections.abc import Callable, Iterator
from typing import Any, Self, TypedDict
from urllib.parse import quote

import httpx
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.client.connection import Connection, Parameters
from graphkin.client.rows import MEDIA_TYPE, Rows, stream_of
from graphkin.protocol.errors import Conflict, GenerationChanged, Unavailable
from graphkin.protocol.values import MAX_BATCHES, MAX_EXPORTED, MAX_NEGATIVES, MAX_PAGE, PolicyName

PATIENCE = 600.0
"""Seconds for which a request is tried again by default: enough for a restart, or for positive sets to be drawn."""

_NOTHING: Parameters = {}


class Damage(TypedDict):
    """A file of the server's that is not what was written."""

    file: str
    problem: str


class CollectionSummary(TypedDict):
    """A collection as it is listed: its kind, its current generation, how large that is, and whether it is known to be
    damaged: whoever reads from it then gets `Damaged`."""

    name: str
    kind: str
    generation: str
    items: int
    edges: int
    published_at: str
    damaged: Damage | None


class Item(TypedDict):
    """`smiles` None for graphs; `dropped`: similar pairs lost to the cap, None if unknown."""

    id: int
    smiles: str | None
    names: list[str]
    inchikey: str | None
    properties: dict[str, Any]
    degree: int
    dropped: int | None


class SimilarItem(TypedDict):
    item: Item
    similarity: float


class Hits(TypedDict):
    """`query`: the structure as the collection writes it, and its id if it is stored. `total` with min_similarity."""

    query: dict[str, Any]
    hits: list[SimilarItem]
    total: int | None


class Graphkin:
    """A graphkin server, at the URL that `graphkin serve` prints. Safe to share between threads.

    Where no server answers, that is an error at once. One that is away or busy later on is tried again, with jitter,
    for `patience` seconds. Errors are those of `protocol.errors`: `Unavailable` if it stays away,
    `VersionMismatch` if the server is of another version than this client, else what the server says about the request.
    """

    def __init__(self, url: str, *, patience: float = PATIENCE) -> None:
        self._connection = Connection(url, patience)

    def collections(self) -> list[CollectionSummary]:
        """Every collection with its current generation, by name."""
        reply, _ = self._connection.json("/v1/collections", {})
        found: list[CollectionSummary] = reply["collections"]
        return found

    def collection(self, name: str, generation: str | None = None) -> "Collection":
        """One generation of a collection, by default the one that is current now.

        Raises `NotFound`, and `Deleted` for a generation that was deleted.
        """
        reply, _ = self._connection.json(f"/v1/collections/{quote(name, safe='')}", {"generation": generation})
        return Collection(self._connection, reply)

    def close(self) -> None:
        """End all requests, those of other threads with `Closed`."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Graphkin({self._connection.url!r})"


class Collection:
    """One generation of a collection, made by `Graphkin.collection`.

    Whatever is read through this object is of that generation, also after another was published. Once it has been
    deleted, reading raises `Deleted`; should anything answer with another, `GenerationChanged`.

    name, kind   kind is `molecule`, `graph` or `node`.      generation   its id.
    size         items; their ids are 0 to size - 1.         manifest     recipe, versions, inputs, counts.
    """

    def __init__(self, connection: Connection, detail: dict[str, Any]) -> None:
        self._connection = connection
        self.name: str = detail["name"]
        self.kind: str = detail["kind"]
        self.generation: str = detail["generation"]
        self.manifest: dict[str, Any] = detail["manifest"]
        self.size: int = self.manifest["counts"]["kept"]

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, {self.size:,} items ({self.kind}), generation {self.generation[:12]})"

    def item(self, id: int) -> Item:
        """Raises `NotFound` for an id that there is not."""
        found: Item = self._ask(f"items/{id}")  # type: ignore[assignment]
        return found

    def items(
        self, *, smiles: str | None = None, name: str | None = None, inchikey: str | None = None
    ) -> Iterator[Item]:
        """All items by id, or those with this structure, name or InChIKey (one of these at most)."""
        yield from self._pages("items", "items", {"smiles": smiles, "name": name, "inchikey": inchikey}, None)

    def neighbors(self, id: int, *, min_similarity: float | None = None, limit: int | None = None) -> list[SimilarItem]:
        """The stored neighbours of an item, similarity descending, then id.

        min_similarity is from the stored threshold, the default, to 1; at most `limit` of them, by default all.
        """
        return [*self._pages(f"items/{id}/neighbors", "neighbors", {"min_similarity": min_similarity}, limit)]

    def search(
        self,
        *,
        smiles: str | None = None,
        inchi: str | None = None,
        molblock: str | None = None,
        min_similarity: float | None = None,
        limit: int = 10,
    ) -> Hits:
        """The items most similar to a structure, given as exactly one of three: the whole collection, exactly.

        min_similarity is in (0, 1], and with it `total` is counted; limit is at most 1,000.
        """
        structure = {"smiles": smiles, "inchi": inchi, "molblock": molblock, "min_similarity": min_similarity}
        said = {field: value for field, value in structure.items() if value is not None}
        found: Hits = self._ask("search", body={**said, "limit": limit})  # type: ignore[assignment]
        return found

    def positives(
        self, id: int, policy: PolicyName, *, seed: int = 0, epoch: int = 0, **parameters: Any
    ) -> list[dict[str, Any]]:
        """The positives of one anchor, each with its similarity, visits and path. Parameters as of `epoch`."""
        query = {"policy": policy, "seed": seed, "epoch": epoch, **parameters}
        found: list[dict[str, Any]] = self._ask(f"items/{id}/positives", query)["positives"]
        return found

    def epoch(
        self,
        epoch: int,
        policy: PolicyName,
        *,
        seed: int = 0,
        start: int = 0,
        stop: int | None = None,
        **parameters: Any,
    ) -> pa.Table:
        """The positive sets of anchors `start` to `stop` - 1 (by default of all), one row an anchor, ascending.

        parameters: k, length, walks, p, q, p_end, rank, pad; what is not said is the server's default, and the
        table's metadata says all of them. Columns: anchor int32; count uint16; isolated bool; positives, k int32 each,
        -1 in the rows of isolated anchors; visits, k uint16 each.

        Waits while the server draws them. A stream that breaks off is continued after its last anchor.
        Raises `GenerationChanged` if what continues it is of another draw.
        """
        query = {"policy": policy, "seed": seed, "stop": stop, **parameters}
        rows = Rows("anchor", start, self.size if stop is None else stop)
        return self._all(rows, f"positives/epochs/{epoch}", lambda: {**query, "start": rows.next})

    def negatives(self, epoch: int, *, seed: int = 0, first: int = 0, batches: int = 1, count: int = 255) -> pa.Table:
        """The shared negatives of batches `first` to `first` + `batches` - 1: batch int32; ids, `count` int32 each.

        Distinct within a batch, drawn with probability proportional to degree^0.75; items without neighbours never.
        Raises `InvalidInput` where fewer than `count` items have neighbours.
        """
        query = {"seed": seed, "epoch": epoch, "count": count}
        most = max(1, min(MAX_BATCHES, MAX_NEGATIVES // max(1, count)))
        rows = Rows("batch", first, first + batches)
        return self._all(rows, "negatives", lambda: {**query, "first": rows.next, "batches": min(most, rows.missing)})

    def column(self, name: str) -> Iterator[list[Any]]:
        """One column of all items in id order, 10,000 of them at a time.

        Molecules have `smiles`; graphs have `structure`, JSON of their nodes and edges; all have `names` and their
        properties. Raises `Conflict` for a column that they do not have.
        """
        starts = range(0, self.size, MAX_EXPORTED)
        return (self._column(name, start, min(start + MAX_EXPORTED, self.size)) for start in starts)

    def _column(self, name: str, start: int, stop: int) -> list[Any]:
        rows = Rows("id", start, stop)
        wanted = {"what": "items", "format": "arrow"}
        table = self._all(rows, "export", dict, lambda: {**wanted, "ids": [*range(rows.next, stop)]})
        if name not in table.column_names:
            raise Conflict(
                f"these items have no {name}", given=self.name, expected=f"one of {', '.join(table.column_names)}"
            )
        found: list[Any] = table[name].to_pylist()
        return found

    def edges(self, *, min_similarity: float = 0.0) -> pa.Table:
        """The stored edges of at least this similarity: source < target int32; similarity float32; by source, target.

        The server sends all of them, and again from the first if the connection breaks.
        """
        return self._connection.attempt(lambda: self._edges(pa.scalar(min_similarity, pa.float32())))

    def _edges(self, threshold: pa.Scalar) -> pa.Table:
        query = self._pinned({"what": "edges", "format": "arrow"})
        read = 0
        kept: list[pa.Table] = []
        with self._connection.stream(self._path("export"), query, MEDIA_TYPE) as reply:
            self._require_own(reply.headers)
            for schema, batch in stream_of(reply.iter_bytes()):
                whole = schema.empty_table() if batch is None else pa.Table.from_batches([batch])
                kept.append(whole.filter(pc.greater_equal(whole["similarity"], threshold)))
                read += len(whole)
        if read != self.manifest["edges"]:
            raise Unavailable("the reply broke off", given=read, expected=f"{self.manifest['edges']} edges")
        return pa.concat_tables(kept).combine_chunks()

    def _all(
        self, rows: Rows, path: str, query: Callable[[], Parameters], body: Callable[[], Any] = lambda: None
    ) -> pa.Table:
        """The rows, by as many requests as it takes. `query` and `body` ask for those that are missing yet."""

        def take() -> None:
            before = rows.next
            try:
                with self._connection.stream(self._path(path), self._pinned(query()), MEDIA_TYPE, body()) as reply:
                    self._require_own(reply.headers)
                    rows.take(reply.iter_bytes())
            except Unavailable:
                if rows.next == before:  # else it went well for a while, and patience begins anew
                    raise

        while True:
            self._connection.attempt(take)
            if not rows.missing:
                return rows.table()

    def _pages(self, path: str, field: str, query: Parameters, limit: int | None) -> Iterator[Any]:
        page = {**query, "limit": MAX_PAGE if limit is None else min(MAX_PAGE, limit)}
        cursor, left = None, self.size if limit is None else limit
        while left:
            reply = self._ask(path, {**page, "cursor": cursor})
            yield from reply[field][:left]
            left -= min(left, len(reply[field]))
            cursor = reply["next_cursor"]
            if cursor is None:
                return

    def _ask(self, path: str, query: Parameters = _NOTHING, body: Any = None) -> dict[str, Any]:
        """A JSON reply without its generation, which is this one's."""
        reply, headers = self._connection.json(self._path(path), self._pinned(query), body)
        self._require_own(headers)
        return {name: value for name, value in reply.items() if name != "generation"}

    def _path(self, path: str) -> str:
        return f"/v1/collections/{quote(self.name, safe='')}/{path}"

    def _pinned(self, query: Parameters) -> Parameters:
        return {**query, "generation": self.generation}

    def _require_own(self, headers: httpx.Headers) -> None:
        told = headers.get("graphkin-generation")
        if told != self.generation:
            raise GenerationChanged(
                f"a reply about {self.name!r} is not of the generation asked for",
                given=told or "a reply that names no generation",
                expected=self.generation,
                hint="nothing between client and server may drop parameters or answer from a cache of its own",
            )
