"""Values of duplicates: the values that an item stores if its records have different values in a column.

With "first", the values of the first record are stored (`graphkin.ingest.differences`). Other settings use the values
of all records. The records of an item alone decide its values. So an append of new items, and an ingest by tasks, give
the same values as one ingest in memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.differences import Differences
from graphkin.ingest.parsing import Chunk, Parsed, kept_rows, rejection_rows
from graphkin.ingest.source_columns import column_name, columns_of
from graphkin.ingest.values import differ, is_missing, plain_numbers
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.protocol.values import Duplicates
from graphkin.store.records import REJECTION_SCHEMA, Int64

SEPARATOR = "; "
"""Separates the values of an item in a column NAME_values."""

PLACES = pa.schema([REJECTION_SCHEMA.field(name) for name in ("source", "line", "input")])
"""Columns that say where a record is, so that it can be rejected after it has been parsed."""

_MAX_VALUE_LENGTH = 100  # values in the reason of a rejection are cut to so many characters


@dataclass(frozen=True)
class Repeats:
    """R records of D items, each of which has several records. The records of an item are in the order of the input.

    A value is present if it is neither empty nor a missing marker. Two values conflict if they are present and differ.

    Attributes:
        records: (R,) the records, with the column `properties` and the columns of their structures.
        rows: (R,) rows of the records in the table from which they were taken.
        owners: (R,) number of the item of each record, below D.
        items: (D,) item ids.
        order: Names of the source columns, in the order of the source.
    """

    records: pa.Table
    rows: Int64
    owners: Int64
    items: Int64
    order: Sequence[str]

    @classmethod
    def from_records(cls, records: pa.Table, item_of: Int64, order: Sequence[str], first_item: int = 0) -> Self:
        """Take the records whose item occurs again among them, from all records.

        Args:
            records: (N,) all records.
            item_of: (N,) item id of each record.
            order: Names of the source columns, in the order of the source.
            first_item: Records of items with lower ids are left out.
        """
        rows = np.flatnonzero((item_of >= first_item) & (np.bincount(item_of)[item_of] > 1))
        items, owners = np.unique(item_of[rows], return_inverse=True)
        return cls(records.take(pa.array(rows)), rows, owners, items, order)

    @cached_property
    def _columns(self) -> dict[str, "_Column"]:
        texts_of = columns_of(self.records["properties"], self.order)
        return {name: _Column(texts, self.owners, len(self.items)) for name, texts in texts_of.items()}

    def add_differences(self, differences: Differences, positions: Int64, computed: Sequence[str]) -> None:
        """Add the values that differ from the first present value of their item.

        Args:
            differences: The object to which they are added.
            positions: (R,) positions of the records in the input.
            computed: Names of the computed columns.
        """
        names = {name: column_name(name, computed) for name in self._columns}
        texts_of = {names[name]: column.texts for name, column in self._columns.items()}
        first_of = {names[name]: column.first.take(pa.array(self.owners)) for name, column in self._columns.items()}
        differences.add(self.records, texts_of, first_of, positions)

    def conflicts(self) -> dict[int, str]:
        """Return the number of each item with conflicting values, and a reason for rejecting its records."""
        reasons = dict[int, str]()
        for name, column in self._columns.items():
            for owner, rows in column.conflicts():
                values = dict.fromkeys(text[:_MAX_VALUE_LENGTH] for text in column.texts.take(rows).to_pylist())
                reasons.setdefault(owner, f"the records of this item differ in {name}: {', '.join(values)}")
        return reasons

    def reject(self) -> tuple[pa.RecordBatch, Int64]:
        """Return a rejection for each record of the items with conflicting values, and the rows of these records.

        The records must have the columns of `with_places`.
        """
        reasons = self.conflicts()
        numbers = np.flatnonzero(np.isin(self.owners, [*reasons]))
        places = self.records.select(PLACES.names).take(pa.array(numbers)).combine_chunks()
        texts = pa.array([reasons[owner] for owner in self.owners[numbers].tolist()], pa.string())
        columns = [pa.concat_arrays(column.chunks) if column.num_chunks else [] for column in places.columns]
        return pa.record_batch([*columns, texts], schema=REJECTION_SCHEMA), self.rows[numbers]

    def merge_into(self, distinct: pa.Table, positions: Int64, duplicates: Duplicates) -> pa.Table:
        """Return the table `distinct` of all items, in which the items at `positions`, (D,), have merged values."""
        column = distinct.schema.get_field_index("properties")
        rows = np.arange(len(distinct))
        rows[positions] = len(distinct) + np.arange(len(positions))
        both = pa.chunked_array([*distinct["properties"].chunks, self.merge(duplicates)])
        return distinct.set_column(column, "properties", both.take(pa.array(rows)))

    def merge(self, duplicates: Duplicates) -> pa.MapArray:
        """Return the key/value pairs of the items, (D,) an Arrow map column.

        A column of an item holds its first present value. If its values conflict, "mean" and "median" replace it if all
        of them are plain numbers, and "list" adds the column NAME_values with all present values.

        Raises:
            InvalidInput: The source has a column NAME_values too.
        """
        merged = dict[str, pa.Array]()
        for name, column in self._columns.items():
            merged[name] = column.stored
            if duplicates in ("mean", "median"):
                merged[name] = _replace(column.stored, column.averages(use_median=duplicates == "median"))
            elif duplicates == "list" and (lists := column.lists()):
                merged[self._list_name(name)] = _replace(pa.nulls(len(self.items), pa.string()), lists)
        return _map_column(merged, len(self.items))

    def _list_name(self, name: str) -> str:
        list_name = f"{name}_values"
        if list_name in self.order:
            raise InvalidInput(
                "the lists of values of a column need a column that the source has already",
                given=f"{list_name}, for the values of {name}",
                expected="a source without this column",
                hint=f"rename the column, or choose another value of {parameter('--duplicates')}",
            )
        return list_name


@dataclass(frozen=True)
class _Column:
    """A source column of the records of `Repeats`.

    Attributes:
        texts: (R,) values, null where a record has none.
        owners: (R,) number of the item of each record, below `size`.
        size: Number of items.
    """

    texts: pa.Array
    owners: Int64
    size: int

    @cached_property
    def _present(self) -> Int64:
        """Records with a present value, sorted by their items."""
        rows = np.flatnonzero(~is_missing(self.texts))
        return rows[np.argsort(self.owners[rows], kind="stable")]

    @cached_property
    def first(self) -> pa.Array:
        """(D,) first present value of each item, or null."""
        owners, starts = np.unique(self.owners[self._present], return_index=True)
        rows = np.full(self.size, -1, np.int64)
        rows[owners] = self._present[starts]
        return self.texts.take(pa.array(rows, mask=rows < 0))

    @property
    def stored(self) -> pa.Array:
        """(D,) first present value of each item, or else the value of its first record, which may be a marker."""
        first_records = np.unique(self.owners, return_index=True)[1]
        return pc.coalesce(self.first, self.texts.take(pa.array(first_records)))

    def conflicts(self) -> Iterator[tuple[int, Int64]]:
        """Yield the number of each item with conflicting values, and the records with its present values."""
        is_different = differ(self.first.take(pa.array(self.owners)), self.texts)
        owners_of_present = self.owners[self._present]
        for owner in np.unique(self.owners[is_different]).tolist():
            begin, end = np.searchsorted(owners_of_present, [owner, owner + 1])
            yield owner, self._present[begin:end]

    def averages(self, *, use_median: bool) -> dict[int, str]:
        """Return the average of the values of each item whose values conflict and are plain numbers."""
        conflicts = dict(self.conflicts())
        if not conflicts:
            return {}
        numbers = plain_numbers(self.texts.take(pa.array(np.concatenate([*conflicts.values()])))).to_pylist()
        averages, start = dict[int, float](), 0
        for owner, rows in conflicts.items():
            values = numbers[start : start + len(rows)]
            start += len(rows)
            if None not in values:
                averages[owner] = _median(values) if use_median else mean(values)
        shortest = pa.array(averages.values(), pa.float64()).cast(pa.string()).to_pylist()
        return dict(zip(averages, shortest, strict=True))

    def lists(self) -> dict[int, str]:
        """Return all present values of each item whose values conflict."""
        return {owner: SEPARATOR.join(self.texts.take(rows).to_pylist()) for owner, rows in self.conflicts()}


def with_places(chunk: Chunk, parsed: Parsed) -> Parsed:
    """Return the parsed chunk with the columns of `PLACES` for each item."""
    places = rejection_rows(chunk, [(row, "") for row in kept_rows(chunk, parsed)]).select(PLACES.names)
    schema = pa.schema([*parsed.items.schema, *PLACES])
    return Parsed(pa.record_batch([*parsed.items.columns, *places.columns], schema=schema), parsed.rejections)


def _median(values: Sequence[float]) -> float:
    """Return the median, which is the exactly rounded mean of the two middle numbers if their number is even."""
    ordered = sorted(values)
    return mean(ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1])


def _replace(texts: pa.Array, replacements: Mapping[int, str]) -> pa.Array:
    """Return a copy of the texts in which some rows have other texts."""
    if not replacements:
        return texts
    rows = np.arange(len(texts))
    rows[[*replacements]] = len(texts) + np.arange(len(replacements))
    return pa.concat_arrays([texts, pa.array(replacements.values(), pa.string())]).take(pa.array(rows))


def _map_column(columns: Mapping[str, pa.Array], size: int) -> pa.MapArray:
    """Return the non-null values of columns as one map column, (size,), with the keys in the order of the columns."""
    is_present = np.zeros((size, len(columns)), np.bool_)
    for number, texts in enumerate(columns.values()):
        is_present[:, number] = texts.is_valid().to_numpy(zero_copy_only=False)
    rows, numbers = np.nonzero(is_present)
    offsets = np.append(0, np.cumsum(is_present.sum(axis=1))).astype(np.int32)
    keys = pa.array([*columns], pa.string()).take(pa.array(numbers))
    values = pa.concat_arrays([pa.nulls(0, pa.string()), *columns.values()]).take(pa.array(numbers * size + rows))
    return pa.MapArray.from_arrays(pa.array(offsets), keys, values)
