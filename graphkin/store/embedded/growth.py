"""Drafts of the embedded store that extend a published generation by one fragment."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from filelock import BaseFileLock

from graphkin.protocol.manifest import Provenance
from graphkin.store import csr
from graphkin.store.columns import titles, to_one_batch
from graphkin.store.embedded.catalog import Catalog
from graphkin.store.embedded.draft import FolderDraft
from graphkin.store.embedded.generation import EmbeddedGeneration
from graphkin.store.embedded.increment import INCREMENT, Increment
from graphkin.store.growth import BufferedGrowth
from graphkin.store.identity import BLOCK_SIZE, BlockHasher, block_count
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
        """Return the hashes of the blocks of the item table, of which only changed blocks are computed.

        Full blocks of the base keep their hashes. Blocks with new items or new names are hashed.
        """
        full_blocks = self._full_blocks(provenance)
        blocks = [*full_blocks, *[b""] * (block_count(provenance.counts.kept) - len(full_blocks))]
        stale = np.arange(len(blocks)) >= len(full_blocks)
        stale[self._new_names()["id"].to_numpy() // BLOCK_SIZE] = True
        numbers = np.flatnonzero(stale).tolist()
        for number, items in zip(numbers, self._item_blocks(provenance, numbers), strict=True):
            hasher = BlockHasher()
            hasher.update(items)
            (blocks[number],) = hasher.blocks
        return blocks

    def _full_blocks(self, provenance: Provenance) -> Sequence[bytes]:
        """Return the hashes of the full blocks of the base.

        The titles of columns are part of each hash, so the result is empty if the title of a column has changed.
        """
        old_titles, new_titles = titles(self.base.manifest.properties), titles(provenance.properties)
        if any(new_titles[name] != title for name, title in old_titles.items()):
            return []
        return self.base.blocks[: self.base.size // BLOCK_SIZE]

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
