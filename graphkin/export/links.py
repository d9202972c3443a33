"""Links, which are the edges of the big graph that a collection's nodes come from, as Arrow batches and as CSV."""

import io
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.csv

from graphkin.store.records import LINK_SCHEMA, Int32, Links

_SOURCES = 65_536  # sources per batch


def batches(links: Links, sources: range, among: Int32 | None = None) -> Iterator[pa.RecordBatch]:
    """Yield each link once, with source < target, ordered by source, then target.

    Args:
        links: The big graph.
        sources: Yield only links whose source is in this range.
        among: Yield only links with both ends among these ids.
    """
    is_selected = None if among is None else np.isin(np.arange(len(links.indptr) - 1), among)
    for begin in range(sources.start, sources.stop, _SOURCES):
        end = min(begin + _SOURCES, sources.stop)
        rows = slice(links.indptr[begin], links.indptr[end])
        source = np.repeat(np.arange(begin, end, dtype=np.int32), np.diff(links.indptr[begin : end + 1]))
        target = links.indices[rows]
        mask = source < target
        if is_selected is not None:
            mask &= is_selected[source] & is_selected[target]
        if mask.any():
            yield pa.record_batch([source[mask], target[mask]], schema=LINK_SCHEMA)


def csv_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Yield the links as a CSV file, one chunk per batch."""
    yield f"{','.join(LINK_SCHEMA.names)}\n".encode()
    for batch in batches:
        text = io.BytesIO()
        pyarrow.csv.write_csv(batch, text, pyarrow.csv.WriteOptions(include_header=False))
        yield text.getvalue()
