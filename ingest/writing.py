"""The stage that writes items, fingerprints and edges to a draft, in batches."""

from collections.abc import Iterable

import pyarrow as pa

from graphkin.ingest.tally import Tally
from graphkin.store.base import Draft
from graphkin.store.records import Edges, Int32, UInt64

_FINGERPRINTS_PER_BATCH = 65_536


def write_items(items: Iterable[pa.RecordBatch], words: UInt64, draft: Draft) -> None:
    """Write batches of items, and then the packed fingerprints of all items, (N, W) uint64."""
    for batch in items:
        draft.append_items(batch)
    for start in range(0, len(words), _FINGERPRINTS_PER_BATCH):
        draft.append_fingerprints(words[start : start + _FINGERPRINTS_PER_BATCH])


def write_edges(blocks: Iterable[Edges], dropped: Int32, tally: Tally, draft: Draft) -> None:
    """Write edges, the numbers of truncated pairs, and the spanning forest.

    Args:
        blocks: The edges in blocks.
        dropped: (N,) number of truncated pairs of each item.
        tally: Statistics of the edges written before. The edges are added to it.
        draft: The draft.
    """
    for edges in blocks:
        draft.append_edges(edges)
        tally.add(edges)
    draft.write_dropped(dropped)
    draft.write_forest(tally.forest.edges())
