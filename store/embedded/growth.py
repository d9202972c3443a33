"""Writing a fragment that comes after those of a published generation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from filelock import BaseFileLock
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict
from graphkin.protocol.manifest import Provenance
from graphkin.store import csr
from graphkin.store.base import Generation, Growth
from graphkin.store.columns import item_schema
from graphkin.store.embedded.catalog import Catalog
from graphkin.store.embedded.draft import FolderDraft
from graphkin.store.embedded.increment import INCREMENT, Increment
from graphkin.store.embedded.items import grown
from graphkin.store.embedded.tables import narrowed, one_batch
from graphkin.store.identity import BLOCK, BlockTree
from graphkin.store.records import ADDED_NAMES, REJECTION_SCHEMA, Change, Edges, Int32, Links, UInt64


class EmbeddedGrowth(FolderDraft, Growth):
    """Held in memory until it is published, and then written at once: it is small beside what was there."""

    def __init__(self, base: Generation, collection: str, store: Path, catalog: Catalog, lock: BaseFileLock) -> None:
        self.base = base
        self.earlier = base.manifest.fragments
        super().__init__(collection, store, catalog, lock)

    def _begin(self) -> None:
        self._closers.append(self.base.close)
        self._items: list[pa.RecordBatch] = []
        self._names: list[pa.RecordBatch] = []
        self._rejections: list[pa.RecordBatch] = []
        self._words = [np.empty((0, self.base.fingerprints().words.shape[1]), np.uint64)]
        self._added: list[Edges] = []
        self._removed: list[Edges] = []
        self._dropped = self.base.dropped()
        self._forest = self.base.forest()

    def append_items(self, items: pa.RecordBatch) -> None:
        self._items.append(items)

    def append_names(self, names: pa.RecordBatch) -> None:
        self._names.append(names)

    def append_rejections(self, rejections: pa.RecordBatch) -> None:
        self._rejections.append(rejections)

    def append_fingerprints(self, words: UInt64) -> None:
        self._words.append(words.copy())

    def append_edges(self, edges: Edges) -> None:
        self._added.append(Edges(*(array.copy() for array in vars(edges).values())))

    def remove_edges(self, edges: Edges) -> None:
        self._removed.append(Edges(*(array.copy() for array in vars(edges).values())))

    def write_dropped(self, dropped: Int32) -> None:
        self._dropped = dropped.copy()

    def write_forest(self, forest: Edges) -> None:
        self._forest = Edges(*(array.copy() for array in vars(forest).values()))

    def write_links(self, links: Links) -> None:  # noqa: ARG002
        raise Conflict("nodes of a big graph do not grow", given=self._collection, hint="ingest all files again")

    def write_index(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """The index stays that of the items which the first fragment holds."""

    def _own_items(self, provenance: Provenance) -> pa.RecordBatch:
        none = pa.RecordBatch.from_pylist([], schema=item_schema(provenance))
        return one_batch(pa.Table.from_batches(self._items or [none]))

    def _own_names(self) -> pa.RecordBatch:
        return one_batch(pa.Table.from_batches(self._names, ADDED_NAMES))

    def _blocks(self, provenance: Provenance) -> Sequence[bytes]:
        before = self.base.manifest
        items = one_batch(pa.Table.from_batches(self.base.columns(item_schema(before).names)))
        parts = [(list(before.properties), items), (list(provenance.properties), self._own_items(provenance))]
        whole = grown(parts, [self._own_names()], provenance)
        tree = BlockTree()
        for start in range(0, whole.num_rows, BLOCK):
            tree.update(narrowed(whole.slice(start, BLOCK)))
        return tree.blocks

    def _finish_files(self, provenance: Provenance) -> int:
        edges = Change(Edges.concatenate(self._removed), Edges.concatenate(self._added))
        ids, dropped = self._more_dropped(provenance.counts.kept)
        increment = Increment(
            items=self._own_items(provenance),
            names=self._own_names(),
            rejections=one_batch(pa.Table.from_batches(self._rejections, REJECTION_SCHEMA)),
            words=np.concatenate(self._words),
            edges=edges,
            forest=csr.difference(self.base.forest(), self._forest),
            ids=ids,
            dropped=dropped,
        )
        increment.write(self._folder / INCREMENT)
        return len(edges.added)

    def _more_dropped(self, items: int) -> tuple[Int32, Int32]:
        """The items with other counts than before, and those."""
        before = self.base.dropped()
        if before is None or self._dropped is None:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        padded = np.zeros(items, np.int32)
        padded[: len(before)] = before
        ids = np.flatnonzero(padded != self._dropped).astype(np.int32)
        return ids, self._dropped[ids]
