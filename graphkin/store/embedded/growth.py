"""Drafts of the embedded store that extend a published generation by one fragment."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from filelock import BaseFileLock

from graphkin.protocol.manifest import Provenance
from graphkin.store import csr
from graphkin.store.columns import to_one_batch
from graphkin.store.embedded.catalog import Catalog
from graphkin.store.embedded.draft import FolderDraft
from graphkin.store.embedded.generation import EmbeddedGeneration
from graphkin.store.embedded.increment import INCREMENT, Increment
from graphkin.store.growth import BufferedGrowth
from graphkin.store.records import REJECTION_SCHEMA, Int32


class EmbeddedGrowth(BufferedGrowth, FolderDraft):
    """A draft that starts with the content of `base`. It collects all additions, and writes them as one fragment."""

    base: EmbeddedGeneration

    def __init__(
        self, base: EmbeddedGeneration, collection: str, store: Path, catalog: Catalog, lock: BaseFileLock
    ) -> None:
        self.base = base
        self.earlier_fragments = base.manifest.fragments
        super().__init__(collection, store, catalog, lock)

    def _begin(self) -> None:
        self._closers.append(self.base.close)
        super()._begin()

    def _blocks(self, provenance: Provenance) -> Sequence[bytes]:
        return self._hash_blocks(provenance, self.base.blocks)

    def _finish_files(self, provenance: Provenance, blocks: Sequence[bytes]) -> int:
        change = self._change()
        ids, dropped = self._changed_dropped(provenance.counts.kept)
        increment = Increment(
            items=self._new_items(provenance),
            names=self._new_names(),
            rejections=to_one_batch(pa.Table.from_batches(self._rejections, REJECTION_SCHEMA)),
            words=np.concatenate(self._words),
            edges=change,
            forest=csr.difference(self.base.forest(), self._forest),
            ids=ids,
            dropped=dropped,
            blocks=blocks,
        )
        increment.write(self._folder / INCREMENT)
        return len(change.added)

    def _changed_dropped(self, items: int) -> tuple[Int32, Int32]:
        """Return the items whose number of truncated pairs has changed, and the new numbers."""
        old_counts = self.base.dropped()
        if old_counts is None or self._dropped is None:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        padded_counts = np.zeros(items, np.int32)
        padded_counts[: len(old_counts)] = old_counts
        ids = np.flatnonzero(padded_counts != self._dropped).astype(np.int32)
        return ids, self._dropped[ids]
