"""What many structures find, as one table: what the library returns, and what the command writes of a file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from graphkin.collection.queries import Answers, Queries, Unread, Written, read_each
from graphkin.export import read_items
from graphkin.export.cells import csv_lines
from graphkin.export.columnar import parquet
from graphkin.ingest.readers import Source
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_STRUCTURES
from graphkin.similarity.hits import Matches
from graphkin.similarity.kind import Search
from graphkin.store.base import Generation
from graphkin.store.records import Int32


def beside(errors: pa.Array, hits: Matches, items_of: Callable[[Int32], pa.Table]) -> tuple[pa.Table, pa.Table]:
    """A row for each hit, and one for each structure that could not be read, in the order of the structures.

    The columns query int32, error, id int32 and similarity float32; and beside them, row by row, those of the items,
    which `items_of` reads by their ids. Where there is an error, the others are null.
    """
    failed = np.flatnonzero(errors.is_valid().to_numpy(zero_copy_only=False)).astype(np.int32)
    query = np.concatenate([hits.query, failed])
    order = np.argsort(query, kind="stable")
    none = np.arange(len(query)) >= len(hits.query)
    distinct, place = np.unique(hits.ids, return_inverse=True)

    def aligned(values: np.ndarray) -> pa.Array:
        filled = np.concatenate([values, np.zeros(len(failed), values.dtype)])
        return pa.array(filled[order], mask=none[order])

    said = errors.take(pa.array(query[order], mask=~none[order]))
    columns = {"query": query[order], "error": said, "id": aligned(hits.ids), "similarity": aligned(hits.similarity)}
    return pa.table(columns), items_of(distinct).take(aligned(place.astype(np.int64)))


def write(tables: Iterator[pa.Table], suffix: str) -> Iterator[bytes]:
    """All of them, one at least, as a file with this extension: `.csv` or `.parquet`."""
    if suffix == ".csv":
        return csv_lines(tables, plain=("smiles", "structure"))
    first = next(tables)
    return parquet(first.schema, (batch for table in chain([first], tables) for batch in table.to_batches()))


@dataclass
class FileSearch:
    """The structures of a file, searched for so many at a time as the tables are read. Counts them meanwhile.

    found: those with a hit; stored: those that are items; unreadable: those with an error instead.
    """

    generation: Generation
    search: Search
    source: Source
    min_similarity: float | None
    limit: int
    threads: int
    searched: int = 0
    found: int = 0
    stored: int = 0
    unreadable: int = 0

    def tables(self) -> Iterator[pa.Table]:
        """As `beside`, with query_name after query; the columns of items are those of exports."""
        for records in self._blocks():
            given = [self._given(*record) for record in zip(*records.select(["text", "fault"]), strict=True)]
            asked = Queries.of(self.search, read_each(self.generation, given))
            answers = asked.found(asked.parts(self.min_similarity, self.limit, self.threads))
            self._count(answers)
            rows, items = beside(
                pa.array(answers.errors, pa.string()), answers.hits, partial(read_items, self.generation)
            )
            names = records["name"].take(rows["query"])
            numbers = pa.array(rows["query"].to_numpy() + (self.searched - len(given)), pa.int64())
            own = {"query": numbers, "query_name": names, **{each: rows[each] for each in rows.column_names[1:]}}
            beside_them = {
                f"item_{each}" if each in own else each: items[each] for each in items.column_names if each != "id"
            }
            yield pa.table({**own, **beside_them})

    def _blocks(self) -> Iterator[pa.Table]:
        held = list[pa.RecordBatch]()
        for batch in self.source:
            held.append(batch)
            if sum(map(len, held)) >= MAX_STRUCTURES:
                yield pa.Table.from_batches(held)
                held = []
        if held:
            yield pa.Table.from_batches(held)

    def _given(self, text: pa.Scalar, fault: pa.Scalar) -> Written | Unread:
        return InvalidInput(fault.as_py()) if fault.is_valid else {self.source.writing: text.as_py()}

    def _count(self, answers: Answers) -> None:
        self.searched += len(answers.errors)
        self.unreadable += len(answers.errors) - answers.errors.count(None)
        self.stored += int((answers.stored >= 0).sum())
        self.found += len(np.unique(answers.hits.query))
