"""Writing stage: hand items, fingerprints and edges to a draft in batches."""

from collections.abc import Iterable

import pyarrow as pa

from graphkin.ingest.tally import Tally
from graphkin.store.base import Draft
from graphkin.store.records import Edges, Int32, UInt64

_FINGERPRINTS = 65_536  # per batch


def write_items(items: Iterable[pa.RecordBatch], words: UInt64, draft: Draft) -> None:
    """Write items in batches, then the packed fingerprints (N, W) of all of them."""
    for batch in items:
        draft.append_items(batch)
    for start in range(0, len(words), _FINGERPRINTS):
        draft.append_fingerprints(words[start : start + _FINGERPRINTS])


def write_edges(blocks: Iterable[Edges], dropped: Int32, tally: Tally, draft: Draft) -> None:
    """Write edges in blocks, the truncated pairs of each item, and the spanning forest. The tally counts the edges."""
    for edges in blocks:
        draft.append_edges(edges)
        tally.add(edges)
    draft.write_dropped(dropped)
    draft.write_forest(tally.forest.edges())
