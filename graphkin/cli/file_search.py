"""Search for all structures in a file, one block of structures at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from graphkin.collection.batches import BatchResult, StructureText, Unreadable, add_item_columns, join_items
from graphkin.collection.open_collection import OpenCollection
from graphkin.export import read_items
from graphkin.export.cells import csv_lines
from graphkin.export.columnar import parquet
from graphkin.ingest.readers import Source
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.measure import Measure
from graphkin.protocol.values import MAX_STRUCTURES
from graphkin.similarity.devices import Device


def encode_tables(tables: Iterator[pa.Table], suffix: str) -> Iterator[bytes]:
    """Yield the bytes of a file that holds the rows of all tables.

    Args:
        tables: At least one table. All have the same columns.
        suffix: Format of the file: ".csv" or ".parquet".
    """
    if suffix == ".csv":
        return csv_lines(tables, plain=("smiles", "structure"))
    first = next(tables)
    return parquet(first.schema, (batch for table in chain([first], tables) for batch in table.to_batches()))


@dataclass
class FileSearch:
    """A search for all structures in a file. It runs while `tables` is read, which also updates the counts.

    Attributes:
        collection: The collection to search.
        source: The structures.
        measure: The similarity measure; None for the collection's own.
        min_similarity: Smallest similarity of a hit.
        limit: Maximum number of hits per structure.
        device: Processor that compares structures with items.
        structures: Number of structures so far.
        with_hits: Number of structures with at least one hit.
        stored_items: Number of structures that equal the structure of an item.
        unreadable: Number of structures that could not be read.
    """

    collection: OpenCollection
    source: Source
    measure: Measure | None
    min_similarity: float | None
    limit: int
    device: Device = "cpu"
    structures: int = 0
    with_hits: int = 0
    stored_items: int = 0
    unreadable: int = 0

    def tables(self) -> Iterator[pa.Table]:
        """Yield tables with one row per hit, and one row for each structure that cannot be read.

        The columns are query int64 (the number of the structure in the file, from 0), query_name, the other columns of
        `join_items`, and the columns of the items as in exports. A column of items with the name of an earlier column
        gets the prefix `item_`.
        """
        for records in self._blocks():
            structures = [self._structure(*record) for record in zip(*records.select(["text", "fault"]), strict=True)]
            results = self.collection.search_each(
                structures, self.min_similarity, self.limit, self.measure, self.device
            )
            self._count(results)
            items_of = partial(read_items, self.collection.generation)
            rows, items = join_items(pa.array(results.errors, pa.string()), results.hits, items_of)
            names = records["name"].take(rows["query"])
            numbers = pa.array(rows["query"].to_numpy() + (self.structures - len(structures)), pa.int64())
            columns = {"query": numbers, "query_name": names, **{name: rows[name] for name in rows.column_names[1:]}}
            yield add_item_columns(columns, items)

    def _blocks(self) -> Iterator[pa.Table]:
        """Yield the records of the source in blocks of at least `MAX_STRUCTURES`. The last one may be smaller."""
        block = list[pa.RecordBatch]()
        for batch in self.source:
            block.append(batch)
            if sum(map(len, block)) >= MAX_STRUCTURES:
                yield pa.Table.from_batches(block)
                block = []
        if block:
            yield pa.Table.from_batches(block)

    def _structure(self, text: pa.Scalar, fault: pa.Scalar) -> StructureText | Unreadable:
        """Return the text of a record by the notation of the file, or the error with the reason why it is rejected."""
        return InvalidInput(fault.as_py()) if fault.is_valid else {self.source.notation: text.as_py()}

    def _count(self, results: BatchResult) -> None:
        self.structures += len(results.errors)
        self.unreadable += len(results.errors) - results.errors.count(None)
        self.stored_items += int((results.stored >= 0).sum())
        self.with_hits += len(np.unique(results.hits.query))
