"""Writing a lake: parts as they fill, the manifest last."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from platformdirs import user_cache_path

from graphkin.protocol.errors import Conflict, StoreError
from graphkin.protocol.manifest import NEWEST_FORMAT, Manifest, Provenance
from graphkin.store import csr
from graphkin.store.base import Draft
from graphkin.store.identity import BlockTree, generation_id
from graphkin.store.lake.layout import FOLDERS, MANIFEST, Group, Lake, Part, sealed
from graphkin.store.lake.parts import (
    FOREST,
    ROWS,
    Filling,
    edge_table,
    tables,
    with_ids,
    write_array,
    write_table,
)
from graphkin.store.lake.place import Place
from graphkin.store.records import Edges, Graph, Int32, Links, UInt64


class LakeDraft(Draft):
    """Files without a manifest, which nobody takes for a lake. There is no lock: nobody else may write there."""

    def __init__(self, place: Place, collection: str) -> None:
        self.workspace = user_cache_path("graphkin") / "work" / hashlib.sha256(place.url.encode()).hexdigest()
        self._place = place
        self._collection = collection
        self._parts: dict[Group, list[Part]] = {}
        self._items = tables(self._write_items)
        self._rejections = tables(partial(self._table, "rejections"))
        self._words: Filling[UInt64] = Filling(
            np.concatenate, lambda words, start: words[start : start + ROWS], partial(self._array, "fingerprints")
        )
        self._blocks = BlockTree()
        self._written = 0
        self._edges: list[Edges] = []
        self._open = True
        clear(place)

    def append_items(self, items: pa.RecordBatch) -> None:
        self._blocks.update(items)
        self._items.add(pa.Table.from_batches([items]))

    def _write_items(self, rows: pa.Table) -> None:
        self._table("items", with_ids(rows, self._written))
        self._written += len(rows)

    def append_rejections(self, rejections: pa.RecordBatch) -> None:
        self._rejections.add(pa.Table.from_batches([rejections]))

    def append_fingerprints(self, words: UInt64) -> None:
        if words.shape[1]:
            self._words.add(words.copy())

    def append_edges(self, edges: Edges) -> None:
        self._edges.append(Edges(edges.source.copy(), edges.target.copy(), edges.similarity.copy()))

    def write_dropped(self, dropped: Int32) -> None:
        for start in range(0, len(dropped), ROWS):
            self._array("dropped", dropped[start : start + ROWS])

    def write_forest(self, forest: Edges) -> None:
        for start in range(0, len(forest), FOREST):
            self._table("forest", edge_table(forest.take(slice(start, start + FOREST))))

    def write_links(self, links: Links) -> None:
        self._array("links.indptr", links.indptr)
        self._array("links.indices", links.indices)

    def write_index(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Not kept: who searches makes it of the fingerprints."""

    def publish(self, provenance: Provenance) -> Manifest:
        if not self._open:
            raise StoreError("this draft is already published or discarded")
        for filling in (self._items, self._rejections, self._words):
            filling.finish()
        self._write_graph(csr.build(Edges.concatenate(self._edges), self._written))
        manifest = publish(self._place, self._collection, provenance, self._blocks.blocks, self._parts)
        self._open = False
        return manifest

    def _write_graph(self, graph: Graph) -> None:
        for start in range(0, graph.nodes, ROWS):
            shard = csr.shard(graph, range(start, min(start + ROWS, graph.nodes)))
            self._table("edges", edge_table(csr.edges_of(shard, start)))
            self._array("indptr", shard.indptr)
            self._array("indices", shard.indices)
            self._array("similarity", shard.similarity)

    def _table(self, group: Group, table: pa.Table) -> None:
        parts = self._parts.setdefault(group, [])
        parts.append(write_table(self._place, group, len(parts), table))

    def _array(self, group: Group, array: NDArray[Any]) -> None:
        parts = self._parts.setdefault(group, [])
        parts.append(write_array(self._place, group, len(parts), array))

    def discard(self) -> None:
        if self._open:
            self._open = False
            with suppress(StoreError):  # what is left is no lake, and the next draft removes it
                clear(self._place)


def clear(place: Place) -> None:
    """Remove what a writer that died has left. Raises as `require_new`."""
    for name in require_new(place):
        place.remove(name)


def require_new(place: Place, *besides: str) -> list[str]:
    """What a writer that died has left. Raises `Conflict` for a lake, and for a folder with files in other folders than
    those of a lake and `besides`."""
    names = place.names()
    if MANIFEST in names:
        raise Conflict(
            "this lake is published, and a lake is written once",
            given=place.shown,
            expected="a new or empty folder",
        )
    others = [name for name in names if name.partition("/")[0] not in {*FOLDERS, *besides}]
    if others:
        raise Conflict(
            "this folder holds other files",
            given=f"{place.shown}: {others[0]}",
            expected="a new or empty folder",
        )
    return names


def publish(
    place: Place,
    collection: str,
    provenance: Provenance,
    blocks: Sequence[bytes],
    parts: Mapping[Group, list[Part]],
) -> Manifest:
    """Write the manifest over parts that are there. `blocks` are the digests of the item table."""
    manifest = Manifest(
        **provenance.model_dump(),
        generation=generation_id(provenance, blocks),
        format=NEWEST_FORMAT,
        published_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    place.write(MANIFEST, sealed(Lake(collection=collection, manifest=manifest, parts=dict(parts))))
    return manifest
