"""Edges as Arrow batches and as CSV."""

import io
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.csv

from graphkin.store.records import EDGE_SCHEMA, Edges, Float32, to_decimal_floats

_BLOCK = 1 << 20
_UNQUOTED = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")


def filter_sources(blocks: Iterable[Edges], sources: range) -> Iterator[Edges]:
    """Yield the edges whose source is in `sources`. The blocks are ordered by source."""
    for block in blocks:
        begin, end = np.searchsorted(block.source, [sources.start, sources.stop])
        if begin < end:
            yield block.take(slice(begin, end))
        if end < len(block):
            return


def split(edges: Edges) -> Iterator[Edges]:
    """Yield edges in blocks of about a million, so that each takes little memory as text."""
    for start in range(0, len(edges), _BLOCK):
        yield edges.take(slice(start, start + _BLOCK))


def batches(blocks: Iterable[Edges]) -> Iterator[pa.RecordBatch]:
    """Yield the blocks as batches of `EDGE_SCHEMA`."""
    for block in blocks:
        yield pa.record_batch([block.source, block.target, block.similarity], schema=EDGE_SCHEMA)


def similarity_texts(similarity: Float32) -> pa.Array:
    """Return similarities as text: the shortest decimal that rounds to the float32, as in JSON.

    Each distinct value is formatted once, because few values are distinct.
    """
    distinct, codes = np.unique(similarity, return_inverse=True)
    return pa.array(map(repr, to_decimal_floats(distinct)), pa.string()).take(pa.array(codes))


def csv_lines(blocks: Iterable[Edges]) -> Iterator[bytes]:
    """Yield the edges as a CSV file, one chunk per block."""
    yield f"{','.join(EDGE_SCHEMA.names)}\n".encode()
    for block in blocks:
        text = io.BytesIO()
        columns = [block.source, block.target, similarity_texts(block.similarity)]
        pyarrow.csv.write_csv(pa.table(columns, EDGE_SCHEMA.names), text, _UNQUOTED)
        yield text.getvalue()
