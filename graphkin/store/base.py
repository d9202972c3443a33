"""The store port: the contract that every adapter keeps.

The docstrings of `Store`, `Draft`, `Growth` and `Generation` are the contract. The suite in `graphkin.store.contract`
tests it for every adapter.
"""

import pathlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict, Damage, InvalidInput, NotFound, StoreDamaged, StoreFormat, suggest
from graphkin.protocol.generations import expand_id
from graphkin.protocol.manifest import Manifest, Provenance, Rerun
from graphkin.protocol.parameters import accepts, choose_wording, parameter
from graphkin.protocol.values import Kind
from graphkin.runtime.closing import Closeable
from graphkin.store.columns import ID, item_schema, numbers, properties, titles
from graphkin.store.embeddings import EmbeddingWriter
from graphkin.store.entities import Entities
from graphkin.store.identity import BlockHasher, generation_id
from graphkin.store.keys import Keys, NoKeys
from graphkin.store.records import Edges, Fingerprints, Float32, Float64, Graph, Int32, Item, Links, UInt64
from graphkin.store.reruns import RerunRecord
from graphkin.store.sampling.base import Engine, Sampler
from graphkin.store.sampling.snapshot import SnapshotSampler

Field = Literal["smiles", "name", "inchikey"]

MAX_CANDIDATES = 2000
"""The largest number of names that `Generation.similar_names` compares with an unknown name."""

_OLDER_HINT = "ingest again, into a new store, or open it with the graphkin that wrote it (0.1 for schema version 3)"
_PAGE = 4096  # items
_PREFIX_LENGTH, _SUFFIX_LENGTH = 3, 4  # a candidate shares its first 3 or last 4 characters with the unknown name
_COLLECTION_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True)
class Collection:
    """A named set of items of one kind.

    Attributes:
        name: The name.
        kind: The kind of the items.
        current: The id of the generation that `Store.open` opens by default.
        generations: The ids of all published generations, oldest first.
    """

    name: str
    kind: Kind
    current: str
    generations: tuple[str, ...]


@dataclass(frozen=True)
class ProjectionInfo:
    """The graph of a generation in the memory of Neo4j Graph Data Science.

    Attributes:
        name: The name of the projection.
        collection: The collection, or None if the generation was deleted.
        generation: The id of the generation, or None if it was deleted.
        is_current: Whether the generation is the one that its collection serves.
        items: The number of items.
        edges: The number of edges.
        bytes: The memory that it takes on the server.
        created_at: The time of creation, ISO 8601.
    """

    name: str
    collection: str | None
    generation: str | None
    is_current: bool
    items: int
    edges: int
    bytes: int
    created_at: str


@dataclass(frozen=True)
class Neighbors:
    """One page of the neighbors of an item: similarity descending, then id.

    Attributes:
        ids: (n,) int32.
        similarity: (n,) float32.
        total: The number of neighbors on all pages.
    """

    ids: Int32
    similarity: Float32
    total: int


@dataclass(frozen=True)
class Subgraph:
    """A bounded neighborhood of an item.

    Attributes:
        nodes: (M,) int32 ids, ordered by hop, then by the best similarity to the previous hop, then by id.
        hop: (M,) int32 number of edges from the center.
        hidden: (M,) int32 number of neighbors outside the subgraph.
        edges: The edges among the nodes, most similar first.
        truncated: Whether a limit on items or edges cut something off.
    """

    nodes: Int32
    hop: Int32
    hidden: Int32
    edges: Edges
    truncated: bool


@dataclass(frozen=True)
class Path:
    """A path through the similarity graph.

    Attributes:
        ids: (L+1,) int32 ids from the source to the target.
        similarity: (L,) float32 similarity of each step.
    """

    ids: Int32
    similarity: Float32


class Store(Closeable):
    """A store of collections.

    ## Thread safety

    Any number of threads may read a store and its generations at the same time. A `Draft` belongs to one thread.

    Each collection has at most one writer at a time, in all processes together: `draft`, `growth` and `copy_from` raise
    `StoreBusy` while another writer holds the collection. Object stores offer no locks. There, several writers may work
    at the same time: the first one to publish wins, and `Draft.publish` of the others raises `StoreError`.

    ## Consistency

    A published generation never changes. A reader of a generation keeps returning the same content, whatever is
    published meanwhile. If its own generation is deleted, the reader either continues as before or raises `Deleted`. It
    never returns a partial result.

    ## Publication

    Drafts are invisible to readers. A publication is atomic: after a crash the generation is either complete or absent.
    The published generation becomes the current generation of its collection. The id of a generation is a hash of its
    content (`store.identity`), so the same content has the same id in every store.

    ## Errors

    Every method may raise:

    - `StoreFormat`, if the files have another format or a newer schema version,
    - `StoreDamaged`, if stored data differs from what was written,
    - `StoreError`, if the store cannot be reached.

    An operation on an unknown collection or generation raises `NotFound`. An operation on a deleted generation raises
    `Deleted`.
    """

    @abstractmethod
    def collections(self) -> list[Collection]:
        """Return every collection that has a published generation, ordered by name. Drafts are not listed."""

    def collection(self, name: str) -> Collection:
        """Return a collection by name.

        Raises:
            NotFound: There is no such collection. The error lists the names of all collections.
        """
        collections = self.collections()
        for collection in collections:
            if collection.name == name:
                return collection
        raise NotFound(
            f"there is no collection {name!r}",
            given=name,
            expected=f"one of {', '.join(entry.name for entry in collections)}"
            if collections
            else "this store holds no collection yet",
            hint=suggest(
                name,
                [entry.name for entry in collections],
                _collection_hint() if collections else "run `graphkin ingest` to create a collection",
            ),
        )

    def full_id(self, collection: str, id_prefix: str | None) -> str | None:
        """Return the full id of the generation whose id starts with `id_prefix`.

        Returns None for None. Returns `id_prefix` unchanged if no generation matches: it may be the id of a deleted
        generation, for which `open` raises `Deleted`.

        Raises:
            InvalidInput: Several generations match.
            NotFound: There is no such collection.
        """
        return None if id_prefix is None else expand_id(id_prefix, self.collection(collection).generations)

    @abstractmethod
    def open(self, collection: str, generation: str | None = None) -> "Generation":
        """Return a reader of one published generation, by default the current one.

        The reader stays valid until it is closed, whatever is published meanwhile. If its generation is deleted, the
        reader either continues as before or raises `Deleted`. It never returns a partial result.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: The generation was published once and then deleted.
            StoreDamaged: The generation cannot be read.
        """

    def manifest(self, collection: str, generation: str | None = None) -> Manifest:
        """Return the manifest of a generation, by default the current one.

        A store that keeps the manifest apart from the data returns it for a damaged generation, too. Raises the same
        errors as `open`.
        """
        with self.open(collection, generation) as reader:
            return reader.manifest

    def damage(self, collection: str, generation: str | None = None) -> Damage | None:
        """Read every file of a generation and return the first damage, or None if there is none.

        Stores that keep no files always return None.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: The generation was deleted.
        """
        try:
            with self.open(collection, generation) as reader:
                for _ in reader.scrub():
                    pass
                return reader.damage
        except StoreDamaged as error:
            return error.damage

    @abstractmethod
    def draft(self, collection: str, kind: Kind) -> "Draft":
        """Start writing a new generation of a collection.

        The draft holds the writer lock of the collection until it is published or discarded. Leftovers of a writer that
        died are removed first.

        Raises:
            InvalidInput: `collection` is not a valid name.
            StoreBusy: Another writer holds the lock.
            Conflict: The collection holds items of another kind.
        """

    def growth(self, collection: str) -> "Growth":
        """Start writing a generation that extends the current generation of a collection.

        Like `draft`, it holds the writer lock.

        Raises:
            NotFound: There is no such collection.
            StoreBusy: Another writer holds the lock.
            Conflict: The store or the current generation does not support growth.
        """
        raise Conflict(
            "collections in this store cannot be changed",
            given=collection,
            expected="a store in a folder, or in Neo4j",
            hint="append to the collection in a folder or in Neo4j, then export the lake again",
        )

    @abstractmethod
    def delete(self, collection: str, generation: str) -> None:
        """Delete a published generation.

        If it was the current generation, the newest remaining generation becomes current. A collection without
        generations disappears.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: The generation was deleted before.
            StoreBusy: The store deletes under the writer lock, and a writer holds it.
        """

    def copy_from(self, source: "Store", collection: str, generation: str, advance: Callable[[int], object]) -> bool:
        """Publish a generation of another store by copying its files, and make it current.

        Args:
            source: The store to copy from.
            collection: The collection, which has the same name in both stores.
            generation: The id of the generation.
            advance: A function that is called with the number of bytes after each part is copied.

        Returns:
            Whether the generation was copied. False means that the stores have different file formats and nothing was
            copied.

        Raises:
            StoreDamaged: A file differs from what was written. Nothing is published.
            GraphkinError: Any error of `source.open` or of `draft`.
        """
        del source, collection, generation, advance
        return False

    def keep_rerun(self, collection: str, generation: str, rerun: Rerun, rejections: Sequence[pa.RecordBatch]) -> None:
        """Record a run that produced a generation which was already published.

        The record holds the counts of the run and its rejected records. It replaces the record of an earlier such run
        and is deleted with the generation. Published data does not change. The default implementation does nothing.

        Args:
            collection: The collection.
            generation: The id of the generation.
            rerun: The inputs and counts of the run.
            rejections: The rejected records, with the columns of `REJECTION_SCHEMA`.

        Raises:
            StoreError: The record cannot be written.
        """

    def rerun(self, collection: str, generation: str) -> RerunRecord | None:  # noqa: ARG002
        """Return the latest record that `keep_rerun` wrote for a generation, or None.

        Raises:
            StoreDamaged: The record differs from what was written.
        """
        return None

    def keys(self) -> Keys:
        """Return the API keys of this store. The default implementation holds no keys and accepts none."""
        return NoKeys()

    def require_engine(self, engine: Engine) -> None:
        """Check that the store supports a sampling engine.

        Raises:
            InvalidInput: The store does not have this engine.
            StoreError: The server of the store lacks the engine.
        """
        _require_snapshot(engine)

    def engine_note(self, engine: Engine) -> str | None:
        """Return a sentence on a sampling engine that works but may fail, or None.

        Raises:
            InvalidInput: The store does not have this engine.
            StoreError: The server of the store lacks the engine.
        """
        self.require_engine(engine)
        return None

    def projections(self) -> list[ProjectionInfo]:
        """Return the graphs that the database user of this store keeps in the memory of Neo4j Graph Data Science.

        Raises:
            InvalidInput: The store is not in Neo4j.
            StoreError: The server has no Graph Data Science, or does not respond.
        """
        raise _not_neo4j_error("only a Neo4j store has projections")

    def drop_projection(self, name: str) -> None:  # noqa: ARG002 - for adapters
        """Drop a projection of `projections` by its name, if it still exists. The next request creates it again.

        Raises the same errors as `projections`.
        """
        raise _not_neo4j_error("only a Neo4j store has projections")

    def entities(self) -> Entities:
        """Return the nodes to which users attach their own data.

        Raises:
            InvalidInput: The store is not in Neo4j.
        """
        raise _not_neo4j_error("only a Neo4j store has nodes to which users attach data")

    def embedding_writer(
        self,
        collection: str,
        generation: str,  # noqa: ARG002 - for adapters
        name: str,  # noqa: ARG002 - for adapters
        dimensions: int,  # noqa: ARG002 - for adapters
        encoder: str,  # noqa: ARG002 - for adapters
    ) -> EmbeddingWriter:
        """Start to write one vector for each item of a generation, and remove an earlier embedding of this name.

        Args:
            collection: The collection.
            generation: The id of the generation.
            name: The name of the embedding. Embeddings with different names exist side by side.
            dimensions: The number of dimensions of a vector, D.
            encoder: A text that tells where the vectors come from.

        Raises:
            InvalidInput: The store keeps no embeddings, or the name or the number of dimensions is not valid.
            Conflict: The items have a property of this name.
            NotFound: There is no such collection or generation.
            Deleted: The generation was deleted.
        """
        raise InvalidInput(
            "only a Neo4j store keeps embeddings with its items",
            given=f"collection {collection!r} of a store that is not in Neo4j",
            expected="a store at a neo4j:// or bolt:// URL",
            hint="name a Neo4j server, or write a file with --output",
        )

    def _require_writable(self, collection: str, kind: Kind) -> None:
        """Check the name and the kind of a collection before an adapter starts a draft.

        Raises:
            InvalidInput: `collection` is not a valid name.
            Conflict: The collection holds items of another kind.
        """
        require_collection_name(collection)
        for existing in self.collections():
            if existing.name == collection and existing.kind != kind:
                raise Conflict(
                    f"collection {collection!r} holds items of kind {existing.kind}",
                    given=kind,
                    expected=f"items of kind {existing.kind}",
                    hint=f"choose another name with {parameter('--collection')}",
                )

    @abstractmethod
    def close(self) -> None:
        """Release the files and connections of the store."""


class Draft(ABC):
    """A generation being written, invisible to readers.

    Leaving the `with` block without `publish` discards the draft.

    Attributes:
        workspace: A local folder for intermediate results, which may not exist yet. If the process of this draft is
            killed, the next draft of the collection gets the same folder and can use the results. No other writer
            uses the folder.

    ## Thread safety

    A draft belongs to one thread.

    ## Order of calls

    1. `append_items` and `append_rejections`, in any order,
    2. `append_fingerprints`, `write_links`, `write_index`, `append_edges`, `write_dropped` and `write_forest`, in this
       order,
    3. `publish`.

    Only the items are required. Without `write_dropped` or `write_links`, readers get None. Other parts that were not
    written are empty.

    ## Ownership

    Every method copies or writes its arrays before it returns, so the caller may reuse them.

    ## Errors

    Every method raises `StoreError` if the store cannot be written (disk full, no permission). Nothing is published
    then.
    """

    workspace: pathlib.Path

    @abstractmethod
    def append_items(self, items: pa.RecordBatch) -> None:
        """Append rows to the item table.

        All batches have the columns of `item_schema`. Ids continue densely from 0.
        """

    @abstractmethod
    def append_rejections(self, rejections: pa.RecordBatch) -> None:
        """Append rejected records (`REJECTION_SCHEMA`)."""

    @abstractmethod
    def append_fingerprints(self, words: UInt64) -> None:
        """Append packed fingerprints, (n, W) uint64, in id order."""

    @abstractmethod
    def append_edges(self, edges: Edges) -> None:
        """Append edges in any order.

        Each pair is appended exactly once, with source < target < N.
        """

    @abstractmethod
    def write_dropped(self, dropped: Int32) -> None:
        """Write the number of truncated pairs of each item, (N,) int32.

        A truncated pair has a similarity ≥ τ, but the top-k limit of both ends left it out. The method is not called if
        these pairs could not be counted.
        """

    @abstractmethod
    def write_forest(self, forest: Edges) -> None:
        """Write the maximum spanning forest of the edges, most similar first.

        The forest determines the connected components (single linkage) at every threshold.
        """

    @abstractmethod
    def write_links(self, links: Links) -> None:
        """Write the big graph whose nodes are the items.

        The method is called only for items of kind `node`. `Provenance.links` holds the digest of the graph.
        """

    @abstractmethod
    def write_index(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write named arrays, derived from the fingerprints, that speed up searches. A store may ignore them."""

    @abstractmethod
    def publish(self, provenance: Provenance) -> Manifest:
        """Publish the generation and make it current, atomically.

        After a crash the generation is either complete or absent. If the same content is already published, that
        generation becomes current and the draft is dropped. A store may then replace the files of a generation that
        consists of several fragments by those of the draft.

        Returns:
            The manifest of the published generation. If the content was published before, this is the older manifest.

        Raises:
            StoreError: The store cannot be written (disk full, no permission). Nothing is published.
        """

    @abstractmethod
    def discard(self) -> None:
        """Drop the draft and release the lock. After `publish` this does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.discard()


class Growth(Draft):
    """A draft that starts with the whole content of a published generation, `base`.

    Appended items, rejections, fingerprints and edges follow those of the base, and ids continue. If the base has
    counts of truncated pairs and a forest, the caller writes both again, for all items. The caller never writes links
    or an index. The base stays open as long as the draft.
    """

    base: "Generation"

    @abstractmethod
    def append_names(self, names: pa.RecordBatch) -> None:
        """Append names (`ADDED_NAMES`) to items of the base.

        The new names follow the present names of an item and differ from them.
        """

    @abstractmethod
    def remove_edges(self, edges: Edges) -> None:
        """Remove edges of the base. Each edge is listed once."""


class Generation(Closeable):
    """A reader of one published generation.

    ## Thread safety

    A generation is immutable. Threads may share it.

    ## Consistency

    A generation returns exactly what was published. A store that keeps files checks each file before its first use.

    ## Similarity thresholds

    A threshold (`min_similarity`) is rounded to float32 before it is compared with stored similarities, so an edge with
    the stored similarity 0.7 passes `min_similarity=0.7`. None passes every edge.

    ## Ownership

    Returned arrays may be memory maps or shared. The caller must not write to them.

    ## Errors

    Every method may raise:

    - `NotFound`, for an id out of range,
    - `StoreDamaged`, if a file differs from what was written,
    - `Deleted`, if the generation was deleted and the store cannot continue to read it.
    """

    collection: str
    manifest: Manifest
    is_local: ClassVar[bool] = False
    """Whether a small read takes microseconds, so that a server can read in its event loop, without another thread."""

    @property
    def id(self) -> str:
        return self.manifest.generation

    @property
    def size(self) -> int:
        """The number of items."""
        return self.manifest.counts.kept

    @property
    def file_bytes(self) -> int:
        """The size of the files that this process holds open for the generation, 0 if there are none."""
        return 0

    @property
    def damage(self) -> Damage | None:
        """The first damage that a read through this object has found, None if there is none."""
        return None

    def scrub(self, again: bool = False) -> Iterator[str]:  # noqa: ARG002
        """Check the files of the generation that have not been checked yet, or all of them if `again` is true.

        Read `damage` for the result: this method never raises `StoreDamaged`.

        Yields:
            The name of each file after its check, so that the caller can pause in between.
        """
        return iter(())

    def _require_ids(self, *ids: int) -> None:
        """Check ids for an adapter.

        Raises:
            NotFound: An id is out of range. The error names it.
        """
        for id in ids:
            if not 0 <= id < self.size:
                raise NotFound(
                    f"there is no item {id}",
                    given=id,
                    expected=f"an id from 0 to {self.size - 1}",
                    hint="use an id of this generation: ids change from generation to generation",
                )

    @cached_property
    def _all_columns(self) -> list[str]:
        return [ID.name, *item_schema(self.manifest).names]

    def _require_columns(self, names: Sequence[str]) -> None:
        """Check the names of columns for an adapter.

        Raises:
            NotFound: There is no such column. The error names all columns.
        """
        known = frozenset(self._all_columns)
        for name in names:
            if name not in known:
                raise NotFound(
                    f"there is no column {name!r}",
                    given=name,
                    expected=f"one of {', '.join(self._all_columns)}",
                    hint="choose one of the accepted columns",
                )

    def _require_range(self, start: int, stop: int | None) -> range:
        """Return the ids from `start` to `stop` - 1 for an adapter, by default all.

        Raises:
            NotFound: The range exceeds the items.
        """
        last = self.size if stop is None else stop
        if not 0 <= start <= last <= self.size:
            raise NotFound(
                "there is no such range of items",
                given=f"{start} to {last}",
                expected=f"0 to {self.size}",
                hint=f"keep start at or below stop, and stop at or below {self.size}",
            )
        return range(start, last)

    def _require_field(self, field: Field, value: str) -> None:
        """Check a search field for an adapter.

        Raises:
            Conflict: The field is `inchikey`, and the collection was ingested without InChIKeys.
        """
        if field == "inchikey" and not self.manifest.recipe.get("inchikey"):
            raise Conflict(
                f"collection {self.collection!r} has no InChIKeys",
                given=value,
                expected="a collection with InChIKeys",
                hint=f"select items by SMILES or by name, or ingest again with {parameter('--inchikey', True)}",
            )

    def items(self, ids: Sequence[int] | Int32) -> list[Item]:
        """Return the items with these ids, in the order of `ids`.

        This method is meant for pages. Use `scan` to read all items.

        Raises:
            NotFound: An id is out of range. The error names it.
        """
        item_ids = [int(id) for id in ids]
        self._require_ids(*item_ids)
        property_names = self._property_names
        return [
            Item(
                id=id,
                smiles=smiles,
                names=names,
                inchikey=inchikey,
                properties=properties(property_names, values, self.manifest.qualifiers),
                degree=degree,
                dropped=dropped,
            )
            for id, (degree, dropped, smiles, _, inchikey, names, *values) in zip(
                item_ids, self._page(item_ids), strict=True
            )
        ]

    @cached_property
    def _property_names(self) -> list[str]:
        return list(titles(self.manifest.properties))

    @abstractmethod
    def _page(self, ids: Sequence[int]) -> Iterator[Sequence[Any]]:
        """Return one row for each of these items.

        A row holds the number of neighbors, the number of truncated pairs (None if they were not counted), and the
        values of the columns of `item_schema`.
        """

    def scan(self, ids: Int32 | None = None, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows of the item table as batches.

        Args:
            ids: The items, in the order of the result. By default all items, in id order.
            names: The columns. By default int32 `id` and all columns of `item_schema`.
        """
        columns = self._all_columns if names is None else names
        if ids is not None:
            return (self.take(ids[start : start + _PAGE], columns) for start in range(0, len(ids), _PAGE))
        return self.columns(columns)

    @abstractmethod
    def columns(self, names: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """Iterate over columns of the items `start` to `stop` - 1, by default all items, in id order.

        Only the named columns are read.

        Args:
            names: `id` and the columns of `item_schema`, in any order.
            start: The first id.
            stop: The id after the last one.

        Raises:
            NotFound: There is no such column, or the range exceeds the items.
        """

    @abstractmethod
    def take(self, ids: Int32, names: Sequence[str] | None = None) -> pa.RecordBatch:
        """Return columns of some items, in the order of `ids`.

        Args:
            ids: The items.
            names: The columns. By default int32 `id` and all columns of `item_schema`.

        Raises:
            NotFound: There is no such column, or an id is out of range.
        """

    def structures(self, ids: Int32 | None = None) -> Iterator[str]:
        """Iterate over the structures of the items, as SMILES or as graphs in JSON, in the order of `scan`."""
        name = self.manifest.structure
        batches = self.columns([name]) if ids is None else [self.take(ids, [name])]
        return (text for batch in batches for text in batch[name].to_pylist())

    def identity(self) -> str:
        """Compute the generation id from the items that are stored now.

        The result differs from `id` if the items differ from the published ones.
        """
        hasher = BlockHasher()
        for batch in self.columns(item_schema(self.manifest).names):
            hasher.update(batch)
        return generation_id(self.manifest, hasher.blocks)

    @abstractmethod
    def find(self, field: Field, value: str, after: int = -1, limit: int = 1000) -> list[int]:
        """Return the ids > `after` of items whose field equals `value` exactly, ascending, at most `limit`.

        Raises:
            Conflict: The field is `inchikey`, and the collection was ingested without InChIKeys.
        """

    def ids_by_name(self, name: str, after: int = -1, limit: int = 1000) -> list[int]:
        """Return the ids > `after` of items with this name, ascending, at most `limit`.

        If no item has exactly this name, the comparison ignores case.
        """
        ids = self.find("name", name, after, limit)
        if ids or (after >= 0 and self.find("name", name, limit=1)):
            return ids
        return self._find_ignoring_case(name, after, limit)

    def similar_names(self, name: str, limit: int = 3) -> list[str]:
        """Suggest up to `limit` names that are similar to an unknown name, the closest first.

        Candidates share the first or the last characters with the unknown name.
        """
        lower = name.lower()
        originals = {
            candidate.lower(): candidate
            for candidate in self._candidate_names(lower[:_PREFIX_LENGTH], lower[-_SUFFIX_LENGTH:])
        }
        return [originals[candidate] for candidate in get_close_matches(lower, originals, limit)]

    def _find_ignoring_case(self, name: str, after: int, limit: int) -> list[int]:
        _, lower, owners = self._lower_names
        ids = owners[np.asarray(pc.equal(lower, pc.utf8_lower(pa.scalar(name))))]
        return np.unique(ids[ids > after])[:limit].tolist()

    def _candidate_names(self, prefix: str, suffix: str) -> list[str]:
        """Return at most `MAX_CANDIDATES` names that start or end with these lower-case texts, ignoring case."""
        names, lower, _ = self._lower_names
        matches = pc.or_(pc.starts_with(lower, prefix), pc.ends_with(lower, suffix))
        return names.filter(matches)[:MAX_CANDIDATES].to_pylist()

    @cached_property
    def _lower_names(self) -> tuple[pa.Array, pa.Array, Int32]:
        """All names of all items: as stored, in lower case, and the id of the owner of each."""
        lists = pa.chunked_array([batch["names"] for batch in self.columns(["names"])], pa.list_(pa.string()))
        names = pc.list_flatten(lists).combine_chunks()
        owners = np.repeat(np.arange(self.size, dtype=np.int32), np.asarray(pc.list_value_length(lists)))
        return names, pc.utf8_lower(names), owners

    def column(self, name: str) -> Float64:
        """Return one numeric property of every item, (N,) float64, NaN where an item has no value.

        Raises:
            NotFound: There is no such numeric property. The error names all of them.
        """
        return self.numeric_columns([name])[0]

    def numeric_columns(self, names: Sequence[str]) -> list[Float64]:
        """Return several numeric properties, each as `column` does, from one pass over the items."""
        numeric = [key for key, kind in self.manifest.properties.items() if kind == "number"]
        unknown = next((name for name in names if name not in numeric), None)
        if unknown is not None:
            raise NotFound(
                f"there is no numeric property {unknown!r}",
                given=unknown,
                expected=f"one of {', '.join(numeric)}" if numeric else "no name: the items have no numeric property",
                hint="choose one of the accepted properties",
            )
        columns = [titles(self.manifest.properties)[name] for name in names]
        batches = [[numbers(batch[title]) for title in columns] for batch in self.columns(columns)]
        return [
            np.concatenate([np.empty(0), *(batch[place].to_numpy(zero_copy_only=False) for batch in batches)])
            for place in range(len(columns))
        ]

    def dropped(self) -> Int32 | None:
        """Return the number of truncated pairs of each item, (N,) int32, or None if they were not counted."""
        if self.manifest.dropped is None:
            return None
        pages = (range(start, min(start + _PAGE, self.size)) for start in range(0, self.size, _PAGE))
        counts = (item["dropped"] for page in pages for item in self.items(page))
        return np.fromiter(counts, np.int32, count=self.size)

    @abstractmethod
    def rejections(self, begin: int = 0) -> Iterator[pa.RecordBatch]:
        """Iterate over the rejected records in input order (`REJECTION_SCHEMA`), without the first `begin` of them."""

    @abstractmethod
    def neighbors(
        self, id: int, min_similarity: float | None = None, offset: int = 0, limit: int | None = None
    ) -> Neighbors:
        """Return one page of the neighbors of an item: similarity descending, then id.

        Args:
            id: The item.
            min_similarity: The lowest similarity.
            offset: The number of neighbors to skip.
            limit: The length of the page. None means all.
        """

    @abstractmethod
    def subgraph(
        self, id: int, hops: int, max_items: int, max_edges: int, min_similarity: float | None = None
    ) -> Subgraph:
        """Return the items within `hops` edges of an item.

        If `max_items` or `max_edges` cuts the result, the nearest and most similar items and edges remain.
        """

    @abstractmethod
    def path(self, source: int, target: int, max_hops: int, min_similarity: float | None = None) -> Path | None:
        """Return the best path between two items, or None if they are more than `max_hops` edges apart.

        The best path has the fewest edges, then the largest minimum similarity, then the lowest ids.
        """

    @abstractmethod
    def edges(self, min_similarity: float | None = None, ids: Int32 | None = None) -> Iterator[Edges]:
        """Iterate over blocks of edges, ordered by source, then target.

        Args:
            min_similarity: The lowest similarity.
            ids: If present, only edges with both ends among these ids. Duplicate ids are allowed. For a few ids only
                their rows are read.
        """

    @abstractmethod
    def graph(self) -> Graph:
        """Return the whole similarity graph as CSR arrays, memory-mapped if the store can do that."""

    def sampler(self, engine: Engine = "snapshot", threads: int | None = None) -> Sampler:
        """Return a sampler of this generation. It is valid while the generation is open.

        Args:
            engine: `snapshot` samples in this process and returns the same samples for every store. `cypher` returns
                these samples too, and reads only the rows that a small request needs from a Neo4j server. `gds` samples
                on a Neo4j server.
            threads: The number of threads of the `snapshot` engine. By default one per core.

        Raises:
            InvalidInput: The store does not have this engine.
        """
        _require_snapshot(engine)
        return SnapshotSampler(self.graph(), self.id, threads)

    @abstractmethod
    def forest(self) -> Edges:
        """Return the stored maximum spanning forest, most similar first."""

    @abstractmethod
    def links(self) -> Links | None:
        """Return the big graph whose nodes are the items, memory-mapped if possible. None for other kinds of items."""

    @abstractmethod
    def fingerprints(self) -> Fingerprints:
        """Return all packed fingerprints, memory-mapped if the store can do that."""

    @abstractmethod
    def index(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `Draft.write_index` received, or an empty dictionary if the store does not keep them.

        The index covers the first `indexed_count` items. In a generation that has grown, these are the items of the
        first fragment.
        """

    @property
    def indexed_count(self) -> int:
        """The number of items that `index` covers, counted from id 0."""
        return self.size

    @abstractmethod
    def check(self) -> list[str]:
        """Read everything and return a list of problems: wrong checksums, sizes or content hash.

        The list is empty if the generation is intact. Problems are returned and never raised as `StoreDamaged`.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the files of the reader."""


def _not_neo4j_error(message: str) -> InvalidInput:
    return InvalidInput(
        message,
        given="a store that is not in Neo4j",
        expected="a store at a neo4j:// or bolt:// URL",
        hint="name the Neo4j server: --store neo4j://HOST",
    )


def _require_snapshot(engine: Engine) -> None:
    if engine != "snapshot":
        raise InvalidInput(
            f"the {engine} sampler needs a Neo4j store",
            given=f"sampler {engine}, and a store that is not in Neo4j",
            expected="sampler snapshot, or a store at a neo4j:// or bolt:// URL",
            hint="use the sampler snapshot, which works with every store",
        )


def require_independent(generation: Generation) -> None:
    """Check that items can be added to and removed from a generation.

    Raises:
        Conflict: The items are nodes of a big graph.
    """
    if generation.manifest.links is not None:
        raise Conflict(
            "nodes of a network can be neither appended nor removed",
            given="a collection of nodes",
            expected="a collection of molecules, graphs, fingerprints or vectors",
            hint="ingest all files again",
        )


def require_collection_name(name: str) -> None:
    """Check the name of a collection.

    Raises:
        InvalidInput: The name is not valid.
    """
    if not isinstance(name, str) or not _COLLECTION_NAME.fullmatch(name):
        raise InvalidInput(
            "this is not a valid name of a collection",
            given=name,
            expected="1 to 63 of the characters a-z 0-9 . _ -, beginning with a letter or digit",
            hint="use lower-case letters, such as chembl-36",
        )


def _collection_hint() -> str:
    option = choose_wording(command_line=" with --collection", python="") if accepts("--collection") else ""
    return f"name one of them{option}"


def unknown_generation(collection: str, generation: str) -> NotFound:
    """Return the error for a generation that a collection does not have."""
    return NotFound(
        f"collection {collection!r} has no generation with this id",
        given=generation,
        expected="the id of one of its generations",
        hint="`graphkin info` lists the generations of a store",
    )


def require_schema_version(version: int, accepted: int, older_hint: str = _OLDER_HINT) -> None:
    """Check the schema version of a store for an adapter.

    Args:
        version: The version in the store.
        accepted: The version that this release reads.
        older_hint: The hint for a store with an older version.

    Raises:
        StoreFormat: The versions differ.
    """
    if version == accepted:
        return
    is_newer = version > accepted
    raise StoreFormat(
        f"the store was written by {'a newer' if is_newer else 'an older'} version of graphkin",
        given=f"schema version {version}",
        expected=f"schema version {accepted}",
        hint="upgrade graphkin" if is_newer else older_hint,
    )


def as_float32(min_similarity: float | None) -> np.float32:
    """Return a threshold as float32, the precision of stored similarities. None becomes 0, which passes every edge."""
    return np.float32(0.0 if min_similarity is None else min_similarity)


def id_range(generation: Generation, start: int, stop: int | None) -> range:
    """Return the ids from `start` to `stop` - 1, by default all.

    Raises:
        InvalidInput: The range exceeds the items.
    """
    last = generation.size if stop is None else stop
    if not 0 <= start <= last <= generation.size:
        raise InvalidInput(
            "there is no such range of ids",
            given=f"{start} to {last}",
            expected=f"0 <= start <= stop <= {generation.size}",
            hint=f"the collection has {generation.size} items, with ids from 0",
        )
    return range(start, last)


def require_edges(generation: Generation) -> None:
    """Check that a similarity graph has edges.

    Raises:
        Conflict: The generation has no edges.
    """
    if not generation.manifest.edges:
        raise Conflict(
            "this similarity graph has no edges",
            given=generation.collection,
            expected="a collection with pairs at or above its threshold",
            hint="ingest the files again with a lower threshold",
        )


def require_stored_threshold(generation: Generation, min_similarity: float | None) -> None:
    """Check that a threshold lies between the stored threshold τ and 1, compared as float32. None is accepted.

    Raises:
        InvalidInput: The threshold is out of range.
    """
    stored = generation.manifest.threshold
    if min_similarity is not None and not np.float32(stored) <= np.float32(min_similarity) <= 1:
        raise InvalidInput(
            "min_similarity lies outside the stored range",
            given=min_similarity,
            expected=f"{stored:g} to 1",
            hint=f"the similarity graph has no edges below {stored:g}; a search finds less similar items too",
        )
