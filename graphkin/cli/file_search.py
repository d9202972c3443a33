"""Search for all structures of a file: tables of hits, one block of structures at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from graphkin.collection.batches import BatchResult, StructureText, Unreadable, join_items
from graphkin.collection.open_collection import OpenCollection
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
        """Yield the tables of `join_items`, with query_name after query.

        The columns of items are those of exports, with the prefix item_ where the name is taken.
        """
        for records in self._blocks():
            structures = [self._structure(*record) for record in zip(*records.select(["text", "fault"]), strict=True)]
            results = self.collection.search_each(structures, self.min_similarity, self.limit, self.measure)
            self._count(results)
            items_of = partial(read_items, self.collection.generation)
            rows, items = join_items(pa.array(results.errors, pa.string()), results.hits, items_of)
            names = records["name"].take(rows["query"])
            numbers = pa.array(rows["query"].to_numpy() + (self.searched - len(structures)), pa.int64())
            columns = {"query": numbers, "query_name": names, **{name: rows[name] for name in rows.column_names[1:]}}
            item_columns = {
                f"item_{name}" if name in columns else name: items[name] for name in items.column_names if name != "id"
            }
            yield pa.table({**columns, **item_columns})

    def _blocks(self) -> Iterator[pa.Table]:
        """Yield the records of the source in blocks of at least `MAX_STRUCTURES`. Only the last block is smaller."""
        block = list[pa.RecordBatch]()
        for batch in self.source:
            block.append(batch)
            if sum(map(len, block)) >= MAX_STRUCTURES:
                yield pa.Table.from_batches(block)
                block = []
        if block:
            yield pa.Table.from_batches(block)

    def _structure(self, text: pa.Scalar, fault: pa.Scalar) -> StructureText | Unreadable:
        return InvalidInput(fault.as_py()) if fault.is_valid else {self.source.notation: text.as_py()}

    def _count(self, results: BatchResult) -> None:
        self.searched += len(results.errors)
        self.unreadable += len(results.errors) - results.errors.count(None)
        self.stored += int((results.stored >= 0).sum())
        self.found += len(np.unique(results.hits.query))
