"""Edges of a selection, as batches and as CSV."""

import io
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.csv

from store.base import Generation
from store.records import EDGE_SCHEMA, Edges, Float32, Int32, shortest

_UNQUOTED = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")


def select(generation: Generation, min_similarity: float | None, ids: Int32 | None) -> Iterator[Edges]:
    """The edges in blocks, only those with both ends among `ids` if given: then their rows are read, not all edges."""
    if ids is None:
        yield from generation.edges(min_similarity)
        return
    selected = np.unique(ids)
    yield Edges.concatenate([_upwards(generation, id, selected, min_similarity) for id in selected.tolist()])


def _upwards(generation: Generation, id: int, selected: Int32, min_similarity: float | None) -> Edges:
    """The edges from an item to those selected items that have higher ids."""
    near = generation.neighbors(id, min_similarity)
    inside = np.flatnonzero((near.ids > id) & np.isin(near.ids, selected))
    inside = inside[np.argsort(near.ids[inside])]
    return Edges(np.full(len(inside), id, np.int32), near.ids[inside], near.similarity[inside])


def batches(blocks: Iterable[Edges]) -> Iterator[pa.RecordBatch]:
    """The blocks as batches of `EDGE_SCHEMA`."""
    for block in blocks:
        yield pa.record_batch([block.source, block.target, block.similarity], schema=EDGE_SCHEMA)


def similarity_texts(similarity: Float32) -> pa.Array:
    """The shortest text of each float32, as JSON prints it; few values are distinct, so each is formatted once."""
    distinct, which = np.unique(similarity, return_inverse=True)
    return pa.array(map(repr, shortest(distinct)), pa.string()).take(pa.array(which))


def csv_lines(blocks: Iterable[Edges]) -> Iterator[bytes]:
    """A header and one line an edge, a piece per block."""
    yield f"{','.join(EDGE_SCHEMA.names)}\n".encode()
    for block in blocks:
        text = io.BytesIO()
        columns = [block.source, block.target, similarity_texts(block.similarity)]
        pyarrow.csv.write_csv(pa.table(columns, EDGE_SCHEMA.names), text, _UNQUOTED)
        yield text.getvalue()
