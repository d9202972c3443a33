"""Search for all structures of a file: tables of hits, one block of structures at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from graphkin.collection.opened import OpenCollection
from graphkin.collection.queries import Answers, Unread, Written, join_items
from graphkin.export import read_items
from graphkin.export.cells import csv_lines
from graphkin.export.columnar import parquet
from graphkin.ingest.readers import Source
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.measure import Measure
from graphkin.protocol.values import MAX_STRUCTURES


def write(tables: Iterator[pa.Table], suffix: str) -> Iterator[bytes]:
    """Yield tables as the content of one file with this suffix: `.csv` or `.parquet`."""
    if suffix == ".csv":
        return csv_lines(tables, plain=("smiles", "structure"))
    first = next(tables)
    return parquet(first.schema, (batch for table in chain([first], tables) for batch in table.to_batches()))


@dataclass
class FileSearch:
    """The search for all structures of a file. Reading `tables` runs it and updates the counts.

    Attributes:
        searched: Number of structures so far.
        found: Number of structures with at least one hit.
        stored: Number of structures that are items of the collection.
        unreadable: Number of structures that have an error instead of hits.
    """

    collection: OpenCollection
    source: Source
    measure: Measure | None
    min_similarity: float | None
    limit: int
    searched: int = 0
    found: int = 0
    stored: int = 0
    unreadable: int = 0

    def tables(self) -> Iterator[pa.Table]:
        """Yield the tables of `beside`, with query_name after query.

        The columns of items are those of exports, with the prefix item_ where the name is taken.
        """
        for records in self._blocks():
            given = [self._given(*record) for record in zip(*records.select(["text", "fault"]), strict=True)]
            answers = self.collection.search_each(given, self.min_similarity, self.limit, self.measure)
            self._count(answers)
            items_of = partial(read_items, self.collection.generation)
            rows, items = join_items(pa.array(answers.errors, pa.string()), answers.hits, items_of)
            names = records["name"].take(rows["query"])
            numbers = pa.array(rows["query"].to_numpy() + (self.searched - len(given)), pa.int64())
            own = {"query": numbers, "query_name": names, **{each: rows[each] for each in rows.column_names[1:]}}
            beside_them = {
                f"item_{each}" if each in own else each: items[each] for each in items.column_names if each != "id"
            }
            yield pa.table({**own, **beside_them})

    def _blocks(self) -> Iterator[pa.Table]:
        """Yield the records of the source in blocks of at least `MAX_STRUCTURES`. Only the last block is smaller."""
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
