"""Writing a fragment that comes after those of a published generation."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from filelock import BaseFileLock

from graphkin.protocol.manifest import Provenance
from graphkin.store import csr
from graphkin.store.base import Generation
from graphkin.store.columns import narrowed, one_batch
from graphkin.store.embedded.catalog import Catalog
from graphkin.store.embedded.draft import FolderDraft
from graphkin.store.embedded.increment import INCREMENT, Increment
from graphkin.store.growth import HeldGrowth
from graphkin.store.identity import BLOCK, BlockTree
from graphkin.store.records import REJECTION_SCHEMA, Int32


class EmbeddedGrowth(HeldGrowth, FolderDraft):
    """Written at once when it is published."""

    def __init__(self, base: Generation, collection: str, store: Path, catalog: Catalog, lock: BaseFileLock) -> None:
        self.base = base
        self.earlier = base.manifest.fragments
        super().__init__(collection, store, catalog, lock)

    def _begin(self) -> None:
        self._closers.append(self.base.close)
        super()._begin()

    def _blocks(self, provenance: Provenance) -> Sequence[bytes]:
        items, tree = self._every_item(provenance), BlockTree()
        for start in range(0, items.num_rows, BLOCK):
            tree.update(narrowed(items.slice(start, BLOCK)))
        return tree.blocks

    def _finish_files(self, provenance: Provenance) -> int:
        edges = self._change()
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
