"""The store port: the promises of every adapter.

One contract suite (`tests/contract`) runs over every adapter.
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

from graphkin.protocol.errors import Conflict, Damage, InvalidInput, NotFound, StoreDamaged, StoreFormat
from graphkin.protocol.generations import begun_with
from graphkin.protocol.manifest import Manifest, Provenance, Rerun
from graphkin.protocol.values import Kind
from graphkin.store.columns import ID, item_schema, numbers, properties, titles
from graphkin.store.identity import BlockTree, generation_id
from graphkin.store.keys import Keys, NoKeys
from graphkin.store.records import Edges, Fingerprints, Float32, Float64, Graph, Int32, Item, Links, UInt64
from graphkin.store.reruns import KeptRerun
from graphkin.store.sampling.base import Engine, Sampler
from graphkin.store.sampling.snapshot import SnapshotSampler

Field = Literal["smiles", "name", "inchikey"]

CONSIDERED = 2000
"""Names that are compared letter by letter with one that no item has."""

_IF_OLDER = "ingest again, into a new store, or open it with the graphkin that wrote it (0.1 for schema version 3)"
_PAGE = 4096  # items
_BEGINNING, _ENDING = 3, 4  # characters by which they are chosen
_COLLECTION_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True)
class Collection:
    """A named set of items of one kind; `generations` are ids, oldest first, `current` is the one served."""

    name: str
    kind: Kind
    current: str
    generations: tuple[str, ...]


@dataclass(frozen=True)
class Neighbors:
    """One page of an item's neighbours: similarity descending, then id. `total` counts them all."""

    ids: Int32
    similarity: Float32
    total: int


@dataclass(frozen=True)
class Subgraph:
    """A bounded neighbourhood. nodes (M,) int32 ordered by hop, best similarity to the hop before, id; hop (M,);
    hidden (M,) neighbours not shown; edges among the nodes, most similar first; truncated: a cap cut something."""

    nodes: Int32
    hop: Int32
    hidden: Int32
    edges: Edges
    truncated: bool


@dataclass(frozen=True)
class Path:
    """ids (L+1,) int32 from source to target; similarity (L,) float32 of each step."""

    ids: Int32
    similarity: Float32


class Store(ABC):
    """A place that holds collections. Safe to read from many threads; one writer per collection at a time.

    Raises `StoreFormat` for files of another format or a newer schema, `StoreError` when it cannot be reached.
    """

    @abstractmethod
    def collections(self) -> list[Collection]:
        """Every collection with a published generation, by name. Drafts are never listed."""

    def collection(self, name: str) -> Collection:
        """Raises `NotFound` naming the collections there are."""
        found = self.collections()
        for collection in found:
            if collection.name == name:
                return collection
        raise NotFound(
            f"no collection {name!r}",
            given=name,
            expected=f"one of {', '.join(c.name for c in found)}" if found else "this store holds no collection yet",
        )

    def full_id(self, collection: str, beginning: str | None) -> str | None:
        """The id of the one generation of a collection whose id begins so; what was given where none does, for `open`
        knows which were deleted. Raises `InvalidInput` where several do, and `NotFound` as `collection` does."""
        return None if beginning is None else begun_with(beginning, self.collection(collection).generations)

    @abstractmethod
    def open(self, collection: str, generation: str | None = None) -> "Generation":
        """A reader of one published generation (default: the current one).

        The reader stays valid while it is open, whatever is published meanwhile. When its own generation is deleted it
        either goes on as before or raises `Deleted`; it never answers half.
        Raises `NotFound`; `Deleted` for a generation that was published once; `StoreDamaged` for one that cannot be
        read.
        """

    def manifest(self, collection: str, generation: str | None = None) -> Manifest:
        """A generation's provenance, also of one that is damaged where the store can tell. Raises as `open` does."""
        with self.open(collection, generation) as opened:
            return opened.manifest

    def damage(self, collection: str, generation: str | None = None) -> Damage | None:
        """What is found wrong by reading every file of a generation; None in stores that keep no files.

        Raises `NotFound` and `Deleted` as `open` does.
        """
        try:
            with self.open(collection, generation) as opened:
                for _ in opened.scrub():
                    pass
                return opened.damage
        except StoreDamaged as error:
            return error.damage

    @abstractmethod
    def draft(self, collection: str, kind: Kind) -> "Draft":
        """Start writing a generation of `collection`, holding its writer lock until publish or discard.

        Leftovers of a writer that died are swept first. Raises `StoreBusy` if another writer holds the lock and
        `Conflict` if the collection exists with another kind.
        """

    def growth(self, collection: str) -> "Growth":
        """Start writing a generation that begins with all of the current one of `collection`, as `draft` does.

        Raises `NotFound`, `StoreBusy`, and `Conflict` in stores, and for generations, that cannot be grown.
        """
        raise Conflict(
            "this store does not grow collections",
            given=collection,
            expected="a store in a folder, or in Neo4j",
            hint="append to the collection in a folder, then write it anew",
        )

    @abstractmethod
    def delete(self, collection: str, generation: str) -> None:
        """Delete a published generation. The current one moves to the newest that is left; a collection without
        generations disappears. Raises `NotFound` and `Deleted` as `open` does."""

    def take_over(self, source: "Store", collection: str, generation: str, advance: Callable[[int], object]) -> bool:
        """Publish a generation of another store as its files are, and make it current; False where the two stores do
        not keep files alike. `advance` is told of bytes that are done.

        Raises as `open` does of the other store, as `draft` does, and `StoreDamaged` for files that are not what was
        written; nothing is published then.
        """
        del source, collection, generation, advance
        return False

    def keep_rerun(  # noqa: B027 - a store whose generations are written once has nothing to keep
        self, collection: str, generation: str, rerun: Rerun, rejections: Sequence[pa.RecordBatch]
    ) -> None:
        """Keep what the latest run that gave a published generation again read and rejected (`REJECTION_SCHEMA`).

        It replaces the record of an earlier such run, changes nothing that is published, and goes with the generation.
        Raises `StoreError`.
        """

    def rerun(self, collection: str, generation: str) -> KeptRerun | None:  # noqa: ARG002
        """The latest run that `keep_rerun` kept of a generation. Raises `StoreDamaged`."""
        return None

    def keys(self) -> Keys:
        """The keys of the API that this store keeps: here none, and it can have none."""
        return NoKeys()

    def require_engine(self, engine: Engine) -> None:
        """Raises `InvalidInput` for an engine that this store does not have, `StoreError` where its server lacks it."""
        _require_snapshot(engine)

    def _require_writable(self, collection: str, kind: Kind) -> None:
        """For adapters, before a draft: raises `InvalidInput` for what is no collection name, and `Conflict`."""
        require_collection_name(collection)
        for found in self.collections():
            if found.name == collection and found.kind != kind:
                raise Conflict(
                    f"collection {collection!r} holds items of kind {found.kind!r}",
                    given=kind,
                    expected="one kind of item per collection",
                    hint="choose another collection name",
                )

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Draft(ABC):
    """A generation being written, invisible to readers. Leaving the `with` block unpublished discards it.

    The order is: items and rejections in any interleaving, then fingerprints, links, index, edges, dropped and forest,
    then publish. All but items may be left out; dropped and links are then read back as None, the others as empty.
    Arrays handed over are copied or written before the call returns. Not thread-safe.

    `workspace`, a local folder that may not exist yet, is for what the next draft of the collection can use if this
    one dies. No other writer touches it.
    """

    workspace: pathlib.Path

    @abstractmethod
    def append_items(self, items: pa.RecordBatch) -> None:
        """The next rows of the item table, all with the columns of `item_schema`; ids continue densely from 0."""

    @abstractmethod
    def append_rejections(self, rejections: pa.RecordBatch) -> None:
        """Records that could not be kept (`REJECTION_SCHEMA`)."""

    @abstractmethod
    def append_fingerprints(self, words: UInt64) -> None:
        """The next rows of packed fingerprints, (n, W) uint64, in id order."""

    @abstractmethod
    def append_edges(self, edges: Edges) -> None:
        """Edges in any order; each pair must be appended exactly once, with source < target < N."""

    @abstractmethod
    def write_dropped(self, dropped: Int32) -> None:
        """(N,) per item, how many of its pairs ≥ τ the cap did not keep. Not called where it could not be counted."""

    @abstractmethod
    def write_forest(self, forest: Edges) -> None:
        """The maximum spanning forest of the edges, most similar first (single linkage at every threshold)."""

    @abstractmethod
    def write_links(self, links: Links) -> None:
        """The big graph whose nodes the items are. Not called where they are none; `Provenance.links` is its digest."""

    @abstractmethod
    def write_index(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Arrays by name, derived from the fingerprints, that make searching them quick. A store need not keep them."""

    @abstractmethod
    def publish(self, provenance: Provenance) -> Manifest:
        """Make the generation visible and current, atomically: after a crash it is either whole or absent.

        If this content is already published it becomes current and the draft is dropped; the returned manifest is
        then the older one. A store may keep the draft's files in the place of those of a generation that has grown.
        Raises `StoreError` (disk full, unwritable) with nothing published.
        """

    @abstractmethod
    def discard(self) -> None:
        """Drop the draft and release the lock. Harmless after publish."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.discard()


class Growth(Draft):
    """A draft that begins with all that a generation holds, `base`, which is open as long as the draft is.

    Items, rejections, fingerprints and edges come after those of the base; ids continue. Where the base has dropped
    counts and a forest, both are written, of all items. Index and links are never written.
    """

    base: "Generation"

    @abstractmethod
    def append_names(self, names: pa.RecordBatch) -> None:
        """Names (`ADDED_NAMES`) that items of the base get after those that they have, which are others."""

    @abstractmethod
    def remove_edges(self, edges: Edges) -> None:
        """Edges of the base that go, each given once."""


class Generation(ABC):
    """A reader of one published hierarchy. Immutable, safe to share between threads.

    What it answers is what was published: a store that keeps files checks each before it is first used, and every
    method raises `StoreDamaged` for one that is not what was written.

    Thresholds given to it are rounded to float32 before comparing with stored similarities, so a stored 0.7 passes
    `min_similarity=0.7`. Ids out of range raise `NotFound`. Arrays returned must not be written to.
    """

    collection: str
    manifest: Manifest
    local: ClassVar[bool] = False
    """Whether a small read takes microseconds, so that it may be done without handing it to another thread."""

    @property
    def id(self) -> str:
        return self.manifest.generation

    @property
    def size(self) -> int:
        """Number of items."""
        return self.manifest.counts.kept

    @property
    def file_bytes(self) -> int:
        """Size of the files that this process holds open for it; 0 where there are none."""
        return 0

    @property
    def damage(self) -> Damage | None:
        """What was found damaged first, whoever met it; None as long as nothing was."""
        return None

    def scrub(self, again: bool = False) -> Iterator[str]:  # noqa: ARG002
        """Check the files it is read from that were not checked yet, `again` all of them; `damage` then tells.

        Gives the name of each when it is done, so that the caller may rest. Never raises `StoreDamaged`.
        """
        return iter(())

    def _require(self, *ids: int) -> None:
        """For adapters: raises `NotFound` naming an id out of range."""
        for id in ids:
            if not 0 <= id < self.size:
                raise NotFound(f"no item {id}", given=id, expected=f"an id from 0 to {self.size - 1}")

    @cached_property
    def _all_columns(self) -> list[str]:
        return [ID.name, *item_schema(self.manifest).names]

    def _require_columns(self, names: Sequence[str]) -> None:
        """For adapters: raises `NotFound` naming a column that there is not."""
        for name in names:
            if name not in self._all_columns:
                raise NotFound(f"no column {name!r}", given=name, expected=f"one of {', '.join(self._all_columns)}")

    def _require_range(self, start: int, stop: int | None) -> range:
        """For adapters: the ids from `start` to `stop` - 1, by default all."""
        last = self.size if stop is None else stop
        if not 0 <= start <= last <= self.size:
            raise NotFound("no such range of items", given=f"{start} to {last}", expected=f"0 to {self.size}")
        return range(start, last)

    def _require_field(self, field: Field, value: str) -> None:
        """For adapters: raises `Conflict` for a search by InChIKey where there are none."""
        if field == "inchikey" and not self.manifest.recipe.get("inchikey"):
            raise Conflict(
                f"collection {self.collection!r} has no InChIKeys",
                given=value,
                expected="a collection ingested with --inchikey",
                hint="search by SMILES, or ingest again with --inchikey",
            )

    def items(self, ids: Sequence[int] | Int32) -> list[Item]:
        """The items in the order asked for. Meant for pages; `scan` reads all. Raises `NotFound` naming an id."""
        wanted = [int(id) for id in ids]
        self._require(*wanted)
        called = self._property_names
        return [
            Item(
                id=id,
                smiles=smiles,
                names=names,
                inchikey=inchikey,
                properties=properties(called, own, self.manifest.qualifiers),
                degree=degree,
                dropped=dropped,
            )
            for id, (degree, dropped, smiles, _, inchikey, names, *own) in zip(wanted, self._page(wanted), strict=True)
        ]

    @cached_property
    def _property_names(self) -> list[str]:
        return list(titles(self.manifest.properties))

    @abstractmethod
    def _page(self, ids: Sequence[int]) -> Iterator[Sequence[Any]]:
        """Of each of some items how many neighbours it has; how many pairs ≥ τ were lost to the cap, None where that
        could not be counted; and its values in the columns of `item_schema`."""

    def scan(self, ids: Int32 | None = None, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Some columns, by default int32 `id` and all others, in id order, or of the given ids in their order."""
        wanted = self._all_columns if names is None else names
        if ids is not None:
            return (self.take(ids[start : start + _PAGE], wanted) for start in range(0, len(ids), _PAGE))
        return self.columns(wanted)

    @abstractmethod
    def columns(self, names: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        """Some columns of items `start` to `stop` - 1, by default of all, as batches in id order.

        Names are `id` and those of `item_schema`; only what is named is read. Raises `NotFound` naming the columns
        for another, and for a range that goes beyond the items.
        """

    @abstractmethod
    def take(self, ids: Int32, names: Sequence[str] | None = None) -> pa.RecordBatch:
        """Some columns, by default `id` and all others, of some items, in the order of `ids`. Raises as `columns`."""

    def structures(self, ids: Int32 | None = None) -> Iterator[str]:
        """What the items are, as SMILES or graphs as JSON, in the order of `scan`."""
        name = self.manifest.structure
        batches = self.columns([name]) if ids is None else [self.take(ids, [name])]
        return (text for batch in batches for text in batch[name].to_pylist())

    def identity(self) -> str:
        """The id that the items give as they are read now: another than its own if they are not what was published."""
        tree = BlockTree()
        for batch in self.columns(item_schema(self.manifest).names):
            tree.update(batch)
        return generation_id(self.manifest, tree.blocks)

    @abstractmethod
    def find(self, field: Field, value: str, after: int = -1, limit: int = 1000) -> list[int]:
        """Ids > `after` whose field equals `value` exactly, ascending, at most `limit`.

        Raises `Conflict` for `inchikey` on a collection that was ingested without them.
        """

    def named(self, name: str, after: int = -1, limit: int = 1000) -> list[int]:
        """Ids > `after` of the items that have this name, ascending, at most `limit`; where no item has it exactly so,
        of those that have it in other cases."""
        found = self.find("name", name, after, limit)
        if found or (after >= 0 and self.find("name", name, limit=1)):
            return found
        return self._named_in_any_case(name, after, limit)

    def names_like(self, name: str, limit: int = 3) -> list[str]:
        """What somebody may have meant who asked for a name that no item has: at most so many names, the nearest first,
        of those that begin or end as it does."""
        lower = name.lower()
        known = {each.lower(): each for each in self._names_about(lower[:_BEGINNING], lower[-_ENDING:])}
        return [known[each] for each in get_close_matches(lower, known, limit)]

    def _named_in_any_case(self, name: str, after: int, limit: int) -> list[int]:
        _, lower, owners = self._lower_names
        ids = owners[np.asarray(pc.equal(lower, pc.utf8_lower(pa.scalar(name))))]
        return np.unique(ids[ids > after])[:limit].tolist()

    def _names_about(self, beginning: str, ending: str) -> list[str]:
        """At most `CONSIDERED` names that, in lower case, begin or end so."""
        names, lower, _ = self._lower_names
        alike = pc.or_(pc.starts_with(lower, beginning), pc.ends_with(lower, ending))
        return names.filter(alike)[:CONSIDERED].to_pylist()

    @cached_property
    def _lower_names(self) -> tuple[pa.Array, pa.Array, Int32]:
        """Every name of every item, as it is and in lower case, and whose it is."""
        lists = pa.chunked_array([batch["names"] for batch in self.columns(["names"])], pa.list_(pa.string()))
        names = pc.list_flatten(lists).combine_chunks()
        owners = np.repeat(np.arange(self.size, dtype=np.int32), np.asarray(pc.list_value_length(lists)))
        return names, pc.utf8_lower(names), owners

    def column(self, name: str) -> Float64:
        """(N,) one numeric property of every item, NaN where an item lacks it. Raises `NotFound` naming the columns."""
        numeric = [key for key, kind in self.manifest.properties.items() if kind == "number"]
        if name not in numeric:
            raise NotFound(f"no numeric property {name!r}", given=name, expected=f"one of {', '.join(numeric)}")
        title = titles(self.manifest.properties)[name]
        parts = [numbers(batch[title]).to_numpy(zero_copy_only=False) for batch in self.columns([title])]
        return np.concatenate([np.empty(0), *parts])

    def dropped(self) -> Int32 | None:
        """(N,) how many pairs ≥ τ of each item the cap did not keep; None where they could not be counted."""
        if self.manifest.dropped is None:
            return None
        pages = (range(start, min(start + _PAGE, self.size)) for start in range(0, self.size, _PAGE))
        counts = (item["dropped"] for page in pages for item in self.items(page))
        return np.fromiter(counts, np.int32, count=self.size)

    @abstractmethod
    def rejections(self, begin: int = 0) -> Iterator[pa.RecordBatch]:
        """The records that were not kept, but for the first `begin`, in input order (`REJECTION_SCHEMA`)."""

    @abstractmethod
    def neighbors(
        self, id: int, min_similarity: float | None = None, offset: int = 0, limit: int | None = None
    ) -> Neighbors:
        """Neighbours of one item, similarity descending then id; `limit` None means all."""

    @abstractmethod
    def subgraph(
        self, id: int, hops: int, max_items: int, max_edges: int, min_similarity: float | None = None
    ) -> Subgraph:
        """What lies within `hops` of an item, the nearest and most similar first when a cap cuts."""

    @abstractmethod
    def path(self, source: int, target: int, max_hops: int, min_similarity: float | None = None) -> Path | None:
        """Fewest edges, then the largest minimum similarity, then the lowest ids; None if farther than `max_hops`."""

    @abstractmethod
    def edges(self, min_similarity: float | None = None, ids: Int32 | None = None) -> Iterator[Edges]:
        """All edges, or those with both ends among `ids`, in blocks, ordered by source then target.

        For a few ids only their rows are read; an id may be given twice.
        """

    @abstractmethod
    def graph(self) -> Graph:
        """The whole hierarchy as CSR arrays (memory-mapped where the store can)."""

    def sampler(self, engine: Engine = "snapshot", threads: int | None = None) -> Sampler:
        """What draws over this generation, for as long as that is open.

        `snapshot` reads the graph here and now, for `threads` threads (default: all cores); it draws the same in every
        store. Raises `InvalidInput` for an engine that the store does not have.
        """
        _require_snapshot(engine)
        return SnapshotSampler(self.graph(), self.id, threads)

    @abstractmethod
    def forest(self) -> Edges:
        """The stored maximum spanning forest, most similar first."""

    @abstractmethod
    def links(self) -> Links | None:
        """The big graph whose nodes the items are (memory-mapped where the store can); None where they are none."""

    @abstractmethod
    def fingerprints(self) -> Fingerprints:
        """All packed fingerprints (memory-mapped where the store can)."""

    @abstractmethod
    def index(self) -> dict[str, NDArray[Any]]:
        """What `Draft.write_index` was given (memory-mapped), or nothing where the store does not keep it.

        It is of the first `indexed` items: of those that the generation began with, if it has grown.
        """

    @property
    def indexed(self) -> int:
        """How many items, the first ones, `index` is of."""
        return self.size

    @abstractmethod
    def check(self) -> list[str]:
        """Damage found by reading everything back: checksums, sizes, the content hash. Empty when whole.

        It is reported, never raised as `StoreDamaged`.
        """

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _require_snapshot(engine: Engine) -> None:
    if engine != "snapshot":
        raise InvalidInput(
            "the gds sampler needs a Neo4j store",
            given=f"sampler {engine}, for a store that is no Neo4j server",
            expected="a store at a neo4j:// or bolt:// URL",
            hint="use the snapshot sampler",
        )


def require_independent(generation: Generation) -> None:
    """Raises `Conflict` for a generation to which no item can be added and from which none can be removed."""
    if generation.manifest.links is not None:
        raise Conflict(
            "items of this generation can be neither added nor removed",
            given="nodes of a big graph",
            expected="items that do not depend on each other",
            hint="ingest all files again",
        )


def require_collection_name(name: str) -> None:
    """Raises `InvalidInput` for what is none."""
    if not _COLLECTION_NAME.fullmatch(name):
        raise InvalidInput(
            "not a collection name",
            given=name,
            expected="1 to 63 of the characters a-z 0-9 . _ -, the first a letter or digit",
        )


def require_schema_version(written: int, accepted: int, if_older: str = _IF_OLDER) -> None:
    """For adapters: raises `StoreFormat` unless a store was written in the schema that this version reads.

    `if_older` is the hint for a store of an older schema.
    """
    if written == accepted:
        return
    newer = written > accepted
    raise StoreFormat(
        f"the store was written by {'a newer' if newer else 'an older'} graphkin",
        given=f"schema version {written}",
        expected=f"schema version {accepted}",
        hint="upgrade graphkin" if newer else if_older,
    )


def rounded(min_similarity: float | None) -> np.float32:
    """A caller's threshold as stored similarities are compared with it: rounded to float32; None passes all."""
    return np.float32(0.0 if min_similarity is None else min_similarity)


def id_range(generation: Generation, start: int, stop: int | None) -> range:
    """The ids that a caller means by `start` to `stop` - 1, by default all. Raises `InvalidInput` for others."""
    last = generation.size if stop is None else stop
    if not 0 <= start <= last <= generation.size:
        expected = f"0 ≤ start ≤ stop ≤ {generation.size}"
        raise InvalidInput("not a range of ids", given=f"{start} to {last}", expected=expected)
    return range(start, last)


def require_edges(generation: Generation) -> None:
    """Raises `Conflict` for a hierarchy in which no two items are joined."""
    if not generation.manifest.edges:
        raise Conflict(
            "this hierarchy has no edges",
            given=generation.collection,
            expected="a collection with pairs at or above its threshold",
            hint="ingest it with a lower threshold",
        )


def require_stored_threshold(generation: Generation, min_similarity: float | None) -> None:
    """Raises `InvalidInput` if a caller's threshold is no similarity or lies below the stored τ (both as float32)."""
    stored = generation.manifest.threshold
    if min_similarity is not None and not np.float32(stored) <= np.float32(min_similarity) <= 1:
        raise InvalidInput(
            "min_similarity is below the threshold of this hierarchy, or above 1",
            given=min_similarity,
            expected=f"{stored:g} to 1",
            hint="no edge below the threshold is stored; search has no such bound",
        )
