"""The item table: one row per distinct item, with all its names and its typed properties.

Items are numbered in the order in which they first appear. Records with equal digests are the same item.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, pairwise
from typing import Literal, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.differences import Differences, combine_differing
from graphkin.ingest.duplicates import Repeats
from graphkin.ingest.parsing import Parsed
from graphkin.ingest.source_columns import column_order, sort_topologically, source_columns
from graphkin.ingest.values import ReadColumn, differ, is_missing
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.manifest import ColumnValues, DifferingValues, Provenance
from graphkin.protocol.parameters import parameter
from graphkin.protocol.values import MAX_ID, Duplicates
from graphkin.similarity.columns import fixed_width_array
from graphkin.store.base import Generation
from graphkin.store.columns import ITEM_SCHEMA, texts, titles
from graphkin.store.records import ADDED_NAMES, REJECTION_SCHEMA, Int32, Int64, UInt64

PropertyType = Literal["number", "text"]
Column: TypeAlias = pa.ChunkedArray | pa.Array
Described = TypeVar("Described")

_IDENTITY = ("smiles", "structure", "inchikey")
_COUNTS = ("numbers", "missing", "censored", "texts")
_DIGEST = 16  # bytes
_BATCH = 4096
_RECORDS_PER_COMPARISON = 1 << 16


@dataclass(frozen=True)
class ColumnFormat:
    """How the values of a source column are written.

    A censored number has a sign, as in "<0.5". A missing marker is a text such as "n/a".

    Attributes:
        numbers: Whether some values are numbers, plain or censored.
        texts: Whether some values are neither numbers nor missing markers.
        shortest: Whether every value is the shortest text of a number.
        values: Counts of the values; None if they are not known, because the manifest lacks them.
    """

    numbers: bool
    texts: bool
    shortest: bool
    values: ColumnValues | None = None

    @classmethod
    def from_values(cls, values: ColumnValues, *, shortest: bool) -> "ColumnFormat":
        """Return the format of a column with these counts of values."""
        return cls(values.numbers + values.censored > 0, values.texts > 0, shortest, values)

    @classmethod
    def from_manifest(cls, name: str, manifest: Provenance) -> "ColumnFormat":
        """Return the format of the property `name` of a stored generation."""
        values = manifest.columns.get(name)
        if values is not None:
            odd = name in manifest.written or values.missing or values.censored or values.texts
            return cls.from_values(values, shortest=not odd)
        numeric = manifest.properties[name] == "number"
        return cls(numeric, not numeric, numeric and name not in manifest.written)

    @property
    def numeric(self) -> bool:
        """Whether the column is stored as numbers."""
        return self.numbers and not self.texts

    def __and__(self, other: "ColumnFormat") -> "ColumnFormat":
        """Return the format of the values of both columns together."""
        values = None
        if self.values is not None and other.values is not None:
            both = self.values, other.values
            counts = {name: sum(getattr(values_of, name) for values_of in both) for name in _COUNTS}
            example = self.values.example if self.values.example is not None else other.values.example
            values = ColumnValues(**counts, example=example)
        shortest = self.shortest and other.shortest
        return ColumnFormat(self.numbers or other.numbers, self.texts or other.texts, shortest, values)


@dataclass(frozen=True)
class Properties:
    """The properties of a set of items: computed columns and columns of the source.

    A source column is numeric if it has numbers, plain or censored, and no other values but missing markers. The texts
    of a numeric column are stored in addition to the numbers, unless every value is the shortest text of its number.

    Attributes:
        computed: Names of the columns that the describer computes. They are numbers.
        source: Format of each column of the source, in the order of the source.
    """

    computed: Sequence[str]
    source: Mapping[str, ColumnFormat] = field(default_factory=dict)

    @classmethod
    def from_items(cls, computed: Sequence[str], items: pa.Table) -> "Properties":
        """Return the properties of parsed items."""
        texts_of = source_columns(items["properties"], computed)
        return cls(computed, _column_formats(texts_of))

    @classmethod
    def from_manifest(cls, computed: Sequence[str], manifest: Provenance) -> "Properties":
        """Return the properties that a manifest lists."""
        source = {
            name: ColumnFormat.from_manifest(name, manifest) for name in manifest.properties if name not in computed
        }
        return cls(computed, source)

    def __and__(self, other: "Properties") -> "Properties":
        """Return the properties of the union of two sets of items with the same computed columns."""
        both = {**other.source, **self.source}
        both |= {name: self.source[name] & other.source[name] for name in self.source.keys() & other.source.keys()}
        names = list(dict.fromkeys([*self.source, *other.source]))
        order = sort_topologically(names, [*pairwise(self.source), *pairwise(other.source)])
        return Properties(self.computed, {name: both[name] for name in order})

    @property
    def types(self) -> dict[str, PropertyType]:
        """Type of each property by name. Source columns come first, in the order of the source."""
        source_types: dict[str, PropertyType] = {
            name: "number" if column_format.numeric else "text" for name, column_format in self.source.items()
        }
        return source_types | dict.fromkeys(self.computed, "number")

    @property
    def written(self) -> list[str]:
        """Names of the numeric properties whose texts are stored too."""
        return sorted(
            name for name, column_format in self.source.items() if column_format.numeric and not column_format.shortest
        )

    @property
    def columns(self) -> dict[str, ColumnValues]:
        """Counts of the values of each source column for which they are known."""
        return {
            name: column_format.values
            for name, column_format in self.source.items()
            if column_format.values is not None
        }

    @property
    def qualifiers(self) -> dict[str, str]:
        """Name of the column of signs of each property with censored numbers. It differs from all other names."""
        reserved, qualifiers = set(self.types), dict[str, str]()
        for name, column_format in self.source.items():
            if column_format.numeric and column_format.values is not None and column_format.values.censored:
                candidates = (f"{name}_qualifier{suffix}" for suffix in chain([""], map("_{}".format, count(2))))
                qualifiers[name] = next(candidate for candidate in candidates if candidate not in reserved)
                reserved.add(qualifiers[name])
        return qualifiers

    def table(self, items: pa.Table, names: pa.ListArray) -> pa.Table:
        """Return the item table.

        Args:
            items: Distinct parsed items.
            names: All names of each item.
        """
        none = pa.nulls(len(items), pa.string())
        identity = [items[name] if name in items.column_names else none for name in _IDENTITY]
        columns: dict[str, Column] = {name: items[name].cast(pa.float64()) for name in self.computed}
        texts_of = source_columns(items["properties"], self.computed)
        columns |= _stored_columns({name: texts_of.get(name, none) for name in self.source}, self.source)
        return _item_table([*identity, names], columns)


@dataclass(frozen=True)
class RemainingItems:
    """The items that remain after a removal, with new ids.

    Attributes:
        table: Their item table.
        properties: Their properties.
    """

    table: pa.Table
    properties: Properties

    @classmethod
    def from_generation(cls, generation: Generation, ids: Int32, computed: Sequence[str]) -> Self:
        """Read the remaining items from the generation before the removal.

        Args:
            generation: The generation.
            ids: Ids of the remaining items.
            computed: Names of the computed columns. Other columns are left out if no remaining item has a value.
        """
        column_titles = titles(generation.manifest.properties)
        rows = pa.Table.from_batches(generation.scan(ids, [*ITEM_SCHEMA.names, *column_titles.values()]))
        texts_of = {
            name: texts(rows[column_titles[name]].combine_chunks()) for name in column_titles if name not in computed
        }
        texts_of = {name: column for name, column in texts_of.items() if column.null_count < len(ids)}
        source = _column_formats(texts_of)
        columns: dict[str, Column] = {name: rows[column_titles[name]] for name in computed}
        columns |= _stored_columns(texts_of, source)
        table = _item_table([rows[name] for name in ITEM_SCHEMA.names], columns)
        return cls(table, Properties(computed, source))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the item table in batches."""
        return map(rebase_offsets, self.table.to_batches(max_chunksize=_BATCH))


@dataclass(frozen=True)
class OldItems:
    """The items that were in a collection before an append.

    Attributes:
        digests: Digests of the items, 16 bytes each, concatenated.
        properties: The properties of the items.
        names: Returns the names of the items with these ids.
        texts: Returns the texts of the source columns, by column, of the items with these ids.
        fingerprints: Returns the packed fingerprints of all items.
        merged: Names of the source columns in which some items store averages or lists.
    """

    digests: bytes
    properties: Properties
    names: Callable[[Int32], pa.ListArray]
    texts: Callable[[Int32], dict[str, pa.Array]]
    fingerprints: Callable[[], UInt64]
    merged: Collection[str] = ()

    @classmethod
    def empty(cls, computed: Sequence[str]) -> "OldItems":
        """Return an empty set of items with these computed columns."""
        return cls(
            b"",
            Properties(computed),
            lambda ids: pa.nulls(len(ids), pa.list_(pa.string())),
            lambda _: {},
            lambda: np.empty((0, 0), np.uint64),
        )

    def fingerprints_by_digest(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the digest and the packed fingerprint of each item."""
        for id, bits in enumerate(self.fingerprints()):
            yield self.digests[_DIGEST * id : _DIGEST * (id + 1)], bits.tobytes()

    def __len__(self) -> int:
        return len(self.digests) // _DIGEST


@dataclass
class ItemTable:
    """Collects parsed items, merges those with equal digests, and builds the item table of the new items.

    A parsed item that equals an old item is not new. It can add names to the old item.

    Attributes:
        older: The old items of the collection.
        read: Number of records.
        rejected: Number of rejected records.
        rejections: The rejected records.
        names: Total number of names of the new items.
        added_names: Names that old items get (`ADDED_NAMES`).
        duplicates: Rule for the values of an item whose records differ.
        differing: Values of later records that differ from the first record of their item.
        properties: Properties of the old and the new items together.
    """

    older: OldItems
    duplicates: Duplicates = "first"
    read: int = 0
    rejected: int = 0
    rejections: list[pa.RecordBatch] = field(default_factory=list)
    names: int = 0
    added_names: pa.RecordBatch = field(default_factory=lambda: pa.RecordBatch.from_pylist([], ADDED_NAMES))
    differing: DifferingValues = field(default_factory=DifferingValues)
    _batches: list[pa.RecordBatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.properties = self.older.properties

    def add(self, parsed: Parsed) -> None:
        """Add the items and the rejections of a parsed chunk."""
        self.read += parsed.items.num_rows + parsed.rejections.num_rows
        self._reject(parsed.rejections)
        if parsed.items.num_rows:
            self._batches.append(parsed.items)

    def _reject(self, rejections: pa.RecordBatch) -> None:
        self.rejected += rejections.num_rows
        if rejections.num_rows:
            self.rejections.append(rejections)

    def reject_conflicts(self) -> pa.RecordBatch:
        """Reject all records of the new items whose values conflict, and return the rejections.

        The items must have been added with the columns of `with_places`.

        Raises:
            Conflict: A record conflicts with an old item.
        """
        if not self._batches:
            return pa.RecordBatch.from_pylist([], REJECTION_SCHEMA)
        items = pa.Table.from_batches(self._batches)
        item_of, _ = assign_item_ids(items["digest"], self.older.digests)
        self._require_unchanged(items, item_of)
        repeats = self._repeats(items, item_of)
        self.differing = self._differences(repeats)
        rejections, rows = repeats.reject()
        self._reject(rejections)
        self._batches = items.take(pa.array(np.delete(np.arange(len(items)), rows))).to_batches()
        return rejections

    def finish(self, describe: Callable[[pa.Table], Described]) -> tuple[Described, Iterator[pa.RecordBatch]]:
        """Return the result of `describe` for the new items, and their item table in batches.

        At least one item must have been added. The attributes other than `read` and `rejected` are complete afterwards.

        Args:
            describe: Computes a result, such as the descriptors, from the distinct new items as they were parsed.

        Raises:
            InvalidInput: There are more items than ids.
        """
        items = pa.Table.from_batches(self._batches)
        self._batches = []
        before = len(self.older)
        item_of, first = assign_item_ids(items["digest"], self.older.digests)
        require_enough_ids(before + len(first))
        distinct = items.take(pa.array(first))
        if self.duplicates == "first":
            self.differing = self._differing(items, item_of, first)
        else:
            self._require_unchanged(items, item_of)
            repeats = self._repeats(items, item_of)
            self.differing = combine_differing(self.differing, self._differences(repeats))
            distinct = repeats.merge_into(distinct, repeats.items - before, self.duplicates)
        names = collect_names(items["name"], item_of, before + len(first))
        self._add_names(names.slice(0, before))
        names = names.slice(before)
        self.names = len(names.flatten())
        described = describe(distinct)
        self.properties &= Properties.from_items(self.properties.computed, distinct)
        table = self.properties.table(distinct, names)
        return described, map(rebase_offsets, table.to_batches(max_chunksize=_BATCH))

    def _repeats(self, items: pa.Table, item_of: Int64) -> Repeats:
        """Return the records of the new items that have several records."""
        return Repeats.from_records(items, item_of, column_order(items["properties"]), first_item=len(self.older))

    def _differences(self, repeats: Repeats) -> DifferingValues:
        """Return the values that differ from the first present value of their item."""
        differences = Differences()
        repeats.add_differences(differences, repeats.rows, self.properties.computed)
        return differences.differing()

    def _require_unchanged(self, items: pa.Table, item_of: Int64) -> None:
        """Check that the records of old items do not change the stored values, which depend on all records.

        Raises:
            Conflict: A record has another value than the old item, or a value in a column with averages or lists, whose
                original values are not stored.
        """
        rows = np.flatnonzero(item_of < len(self.older))
        if not len(rows):
            return
        records, ids = items.take(pa.array(rows)), item_of[rows].astype(np.int32)
        stored = self.older.texts(ids)
        for name, values in source_columns(records["properties"], self.properties.computed).items():
            before = stored.get(name, pa.nulls(len(values), pa.string()))
            changes = ~is_missing(values) if name in self.older.merged else differ(before, values)
            if changes.any():
                raise Conflict(
                    "an append cannot change stored values, as the collection's "
                    f"{parameter('--duplicates', self.duplicates)} demands",
                    given=f"{int(changes.sum()):,} values of {name}, for items that the collection has already",
                    expected="records of new items",
                    hint="ingest the old and the new files together, or append only records of new items",
                )

    def _differing(self, items: pa.Table, item_of: Int64, first: Int64) -> DifferingValues:
        """Return values of later records that differ from the first record of their item."""
        computed, before = self.properties.computed, len(self.older)
        records = items.select([name for name in ("properties", *_IDENTITY) if name in items.column_names])
        first_of = np.append(np.full(before, -1), first)
        later = np.flatnonzero(first_of[item_of] != np.arange(len(item_of)))
        differences = Differences()
        for start in range(0, len(later), _RECORDS_PER_COMPARISON):
            rows = later[start : start + _RECORDS_PER_COMPARISON]
            is_older = item_of[rows] < before
            for places in (rows[is_older], rows[~is_older]):
                if not len(places):
                    continue
                part, ids = records.take(pa.array(places)), item_of[places]
                if ids[0] < before:
                    first_values = self.older.texts(ids.astype(np.int32))
                else:
                    first_values = source_columns(records["properties"].take(pa.array(first_of[ids])), computed)
                differences.add(part, source_columns(part["properties"], computed), first_values, places)
        return differences.differing()

    def _add_names(self, candidates: pa.ListArray) -> None:
        """Set `added_names` to the names that old items have in new records but do not have yet.

        Args:
            candidates: Names of each old item in the new records.
        """
        ids = np.flatnonzero(np.asarray(candidates.value_lengths())).astype(np.int32)
        current, candidates = self.older.names(ids), candidates.take(pa.array(ids))
        owners = [np.repeat(np.arange(len(ids)), np.asarray(lists.value_lengths())) for lists in (current, candidates)]
        names = pa.chunked_array([lists.flatten() for lists in (current, candidates)], pa.string())
        together = collect_names(names, np.concatenate(owners), len(ids))
        lengths, before = (np.asarray(lists.value_lengths(), np.int32) for lists in (together, current))
        place = np.arange(len(together.values)) - np.repeat(np.asarray(together.offsets)[:-1], lengths)
        more = lengths > before
        offsets = np.append(0, np.cumsum((lengths - before)[more])).astype(np.int32)
        texts = together.values.filter(pa.array(place >= np.repeat(before, lengths)))
        added = pa.ListArray.from_arrays(pa.array(offsets), texts)
        self.added_names = pa.record_batch([ids[more], added], schema=ADDED_NAMES)


def require_enough_ids(items: int) -> None:
    """Raise `InvalidInput` if there are more items than ids."""
    if items > MAX_ID + 1:
        raise InvalidInput(
            "the files hold too many different items for one collection",
            given=f"{items:,}",
            expected=f"at most {MAX_ID + 1:,}, the number of ids",
            hint="ingest them as several collections",
        )


def rebase_offsets(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a copy of a slice whose text offsets start at 0, so that it holds no texts of other rows."""
    return batch.take(pa.array(np.arange(batch.num_rows)))


def assign_item_ids(digests: pa.ChunkedArray, older: bytes = b"") -> tuple[Int64, Int64]:
    """Assign an item id to each record by its digest.

    Old items have the first ids. New items are numbered after them, in the order of their first records.

    Args:
        digests: (N,) digest of each record, 16 bytes each.
        older: Concatenated digests of the old items.

    Returns:
        The item id of each record, (N,), and the first record of each new item.
    """
    halves = fixed_width_array(digests, "<u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))  # stable: the first of a group is its first appearance
    ordered = halves[order]
    starts = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    first = order[starts]
    items = (
        _find_digests(digests.combine_chunks().take(pa.array(first)), older)
        if older
        else np.full(len(first), -1, np.int64)
    )
    newer = np.flatnonzero(items < 0)
    newer = newer[np.argsort(first[newer])]
    items[newer] = len(older) // _DIGEST + np.arange(len(newer))
    item_of = np.empty(len(order), np.int64)
    item_of[order] = items[np.cumsum(starts) - 1]
    return item_of, first[newer]


def _find_digests(digests: pa.FixedSizeBinaryArray, older: bytes) -> Int64:
    """Return the index of each of some distinct digests in `older`, or -1 if `older` does not contain it."""
    places = np.full(len(digests), -1, np.int64)
    if not older:
        return places
    older_digests = pa.FixedSizeBinaryArray.from_buffers(
        digests.type, len(older) // _DIGEST, [None, pa.py_buffer(older)]
    )
    matches = pc.index_in(older_digests, value_set=digests)
    places[np.asarray(matches.drop_null())] = np.flatnonzero(np.asarray(matches.is_valid()))
    return places


def collect_names(names: pa.ChunkedArray, item_of: Int64, items: int) -> pa.ListArray:
    """Return the distinct names of each item, in the order of their first records.

    Args:
        names: (N,) name of each record, or null.
        item_of: (N,) item id of each record.
        items: Number of items.
    """
    encoded = names.combine_chunks().dictionary_encode()
    has_name = np.flatnonzero(np.asarray(encoded.is_valid()))
    codes = np.asarray(encoded.indices.drop_null())
    pairs = item_of[has_name] * max(len(encoded.dictionary), 1) + codes
    _, once = np.unique(pairs, return_index=True)
    once = np.sort(once)
    owner = item_of[has_name][once]
    by_item = np.argsort(owner, kind="stable")
    offsets = np.zeros(items + 1, np.int32)
    np.cumsum(np.bincount(owner, minlength=items), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), encoded.dictionary.take(pa.array(codes[once][by_item])))


def _item_table(common: Sequence[Column], properties: Mapping[str, Column]) -> pa.Table:
    """Return the item table.

    Args:
        common: Columns that every item table has, in the order of `ITEM_SCHEMA`.
        properties: Columns of the properties, by name.
    """
    column_titles = titles(properties)
    ordered = [(column_titles[name], properties[name]) for name in sorted(properties)]
    fields = [pa.field(title, values.type) for title, values in ordered]
    return pa.table([*common, *(values for _, values in ordered)], pa.schema([*ITEM_SCHEMA, *fields]))


def _column_formats(columns: Mapping[str, pa.Array]) -> dict[str, ColumnFormat]:
    """Return the formats of columns of texts."""
    return {
        name: ColumnFormat.from_values(column.values, shortest=column.shortest)
        for name, column in ReadColumn.from_columns(columns)
    }


def _stored_columns(columns: Mapping[str, pa.Array], formats: Mapping[str, ColumnFormat]) -> dict[str, pa.Array]:
    """Return columns of texts as they are stored: numeric columns as numbers, with their texts where needed."""
    stored = dict(columns)
    for name, column in ReadColumn.from_columns({name: columns[name] for name in columns if formats[name].numeric}):
        stored[name] = column.numbers
        if not formats[name].shortest:
            texts = columns[name]
            stored[name] = pa.StructArray.from_arrays([column.numbers, texts], ["number", "text"], mask=texts.is_null())
    return stored
