"""A generation that grows, held in memory until it is published: what comes is small beside what was there."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict
from graphkin.protocol.manifest import Provenance
from graphkin.store.base import Growth
from graphkin.store.columns import grown, item_schema, one_batch
from graphkin.store.records import ADDED_NAMES, Change, Edges, Int32, Links, UInt64


class HeldGrowth(Growth):
    """Holds what it is given from `_begin` on; the adapter that publishes reads it."""

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
        raise Conflict("nodes of a big graph do not grow", given=self.base.collection, hint="ingest all files again")

    def write_index(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """The index stays that of the items which the base has one of."""

    def _own_items(self, provenance: Provenance) -> pa.RecordBatch:
        none = pa.RecordBatch.from_pylist([], schema=item_schema(provenance))
        return one_batch(pa.Table.from_batches(self._items or [none]))

    def _own_names(self) -> pa.RecordBatch:
        return one_batch(pa.Table.from_batches(self._names, ADDED_NAMES))

    def _every_item(self, provenance: Provenance) -> pa.RecordBatch:
        """The items of the base, then those that came, in one table with the columns of both."""
        before = self.base.manifest
        items = one_batch(pa.Table.from_batches(self.base.columns(item_schema(before).names)))
        parts = [(list(before.properties), items), (list(provenance.properties), self._own_items(provenance))]
        return grown(parts, [self._own_names()], provenance)

    def _change(self) -> Change:
        """The edges that go, and those that come."""
        return Change(Edges.concatenate(self._removed), Edges.concatenate(self._added))
