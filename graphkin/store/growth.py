"""Drafts that extend a generation.

They hold the additions in memory until publication, because additions are small compared with the base.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict
from graphkin.protocol.manifest import Manifest, Provenance
from graphkin.store import csr
from graphkin.store.base import Draft, Generation, Growth
from graphkin.store.columns import item_schema, merge_item_tables, narrow_offsets, titles, to_one_batch
from graphkin.store.identity import BLOCK_SIZE, BlockHasher, block_count
from graphkin.store.records import ADDED_NAMES, Change, Edges, Int32, Links, UInt64

_ROWS = 4096  # fingerprints per call


class BufferedGrowth(Growth):
    """A base class for growths that collect their additions in memory.

    A subclass calls `_begin` before the first addition, and writes all additions in `publish`.
    """

    def _begin(self) -> None:
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
        raise Conflict(
            "the links of a network cannot be changed",
            given=self.base.collection,
            expected="a collection of molecules, graphs, fingerprints or vectors",
            hint="ingest all files again",
        )

    def write_index(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Do nothing: the index of the base stays valid for the items that it covers."""

    def _new_items(self, provenance: Provenance) -> pa.RecordBatch:
        empty = pa.RecordBatch.from_pylist([], schema=item_schema(provenance))
        return to_one_batch(pa.Table.from_batches(self._items or [empty]))

    def _new_names(self) -> pa.RecordBatch:
        return to_one_batch(pa.Table.from_batches(self._names, ADDED_NAMES))

    def _item_blocks(self, provenance: Provenance, numbers: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """Iterate over some blocks of the item table of the grown generation: items of the base, then new items.

        `numbers` are the numbers of the blocks. Each block has all columns.
        """
        base_manifest, base_size = self.base.manifest, self.base.size
        new_items, names = self._new_items(provenance), self._new_names()
        for number in numbers:
            start, stop = number * BLOCK_SIZE, (number + 1) * BLOCK_SIZE
            parts = []
            if start < base_size:
                rows = self.base.columns(item_schema(base_manifest).names, start, min(stop, base_size))
                parts.append((list(base_manifest.properties), to_one_batch(pa.Table.from_batches(rows))))
            if stop > base_size:
                offset = max(start - base_size, 0)
                parts.append((list(provenance.properties), new_items.slice(offset, stop - base_size - offset)))
            yield narrow_offsets(merge_item_tables(parts, [_names_between(names, start, stop)], provenance))

    def _hash_blocks(self, provenance: Provenance, base_blocks: Sequence[bytes]) -> list[bytes]:
        """Return the hashes of the blocks of the item table, of which only changed blocks are computed.

        Full blocks of the base keep their hashes. Blocks with new items or new names are hashed. The titles of columns
        are part of each hash, so all blocks are hashed if the title of a column has changed.

        Args:
            provenance: The provenance of the grown generation.
            base_blocks: The hashes of the blocks of the base.
        """
        old_titles, new_titles = titles(self.base.manifest.properties), titles(provenance.properties)
        is_same = all(new_titles[name] == title for name, title in old_titles.items())
        full_blocks = base_blocks[: self.base.size // BLOCK_SIZE] if is_same else []
        blocks = [*full_blocks, *[b""] * (block_count(provenance.counts.kept) - len(full_blocks))]
        stale = np.arange(len(blocks)) >= len(full_blocks)
        stale[self._new_names()["id"].to_numpy() // BLOCK_SIZE] = True
        numbers = np.flatnonzero(stale).tolist()
        for number, items in zip(numbers, self._item_blocks(provenance, numbers), strict=True):
            hasher = BlockHasher()
            hasher.update(items)
            (blocks[number],) = hasher.blocks
        return blocks

    def _change(self) -> Change:
        """Return the removed and added edges."""
        return Change(Edges.concatenate(self._removed), Edges.concatenate(self._added))


class RewrittenGrowth(BufferedGrowth):
    """A growth for stores whose generations share no data. It writes the base and the additions into a draft."""

    def __init__(self, base: Generation, draft: Draft) -> None:
        self.base = base
        self.workspace = draft.workspace
        self._draft = draft
        self._begin()

    def publish(self, provenance: Provenance) -> Manifest:
        self._write_items(provenance)
        for words in (self.base.fingerprints().words, *self._words):
            for start in range(0, len(words), _ROWS):
                self._draft.append_fingerprints(words[start : start + _ROWS])
        graph = csr.apply_change(self.base.graph(), provenance.counts.kept, self._change())
        for edges in csr.edge_blocks(graph, np.float32(0)):
            self._draft.append_edges(edges)
        if self._dropped is not None:
            self._draft.write_dropped(self._dropped)
        self._draft.write_forest(self._forest)
        manifest = self._draft.publish(provenance)
        self.discard()
        return manifest

    def _write_items(self, provenance: Provenance) -> None:
        for items in self._item_blocks(provenance, range(block_count(provenance.counts.kept))):
            self._draft.append_items(items)
        for rejections in (*self.base.rejections(), *self._rejections):
            self._draft.append_rejections(rejections)

    def discard(self) -> None:
        self._draft.discard()
        self.base.close()


def _names_between(names: pa.RecordBatch, start: int, stop: int) -> pa.RecordBatch:
    """Return the added names (`ADDED_NAMES`) of the items `start` to `stop` - 1, with ids relative to `start`."""
    ids = names["id"].to_numpy()
    selection = names.filter(pa.array((ids >= start) & (ids < stop)))
    return selection.set_column(0, "id", pa.array(selection["id"].to_numpy() - np.int32(start)))
