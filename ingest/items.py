"""The item table: distinct items in order of first appearance, with every source name and typed properties."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.parsing import Parsed
from graphkin.similarity.columns import fixed_width
from graphkin.store.base import Generation
from graphkin.store.columns import ITEM_SCHEMA, texts, titles
from graphkin.store.records import ADDED_NAMES, Int32, Int64, UInt64

PropertyType = Literal["number", "text"]
Column: TypeAlias = pa.ChunkedArray | pa.Array
Described = TypeVar("Described")

_IDENTITY = ("smiles", "structure", "inchikey")
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_SOURCE = "source."
_DIGEST = 16  # bytes
_BATCH = 4096


@dataclass(frozen=True)
class Older:
    """Items that are there before: their digests, one after the other; the types of their properties, and which of them
    are not written the shortest way everywhere; what gives the names of some, and all packed fingerprints."""

    digests: bytes
    property_types: Mapping[str, PropertyType]
    written: Sequence[str]
    names: Callable[[Int32], pa.ListArray]
    fingerprints: Callable[[], UInt64]

    def described(self) -> Iterator[tuple[bytes, bytes]]:
        """Digest and packed fingerprint of each."""
        for place, bits in enumerate(self.fingerprints()):
            yield self.digests[_DIGEST * place : _DIGEST * (place + 1)], bits.tobytes()

    def __len__(self) -> int:
        return len(self.digests) // _DIGEST


NONE_BEFORE = Older(
    b"", {}, (), lambda ids: pa.nulls(len(ids), pa.list_(pa.string())), lambda: np.empty((0, 0), np.uint64)
)


@dataclass
class ItemTable:
    """Collects parsed items, collapses equal digests, and yields the item table; `computed` are columns of theirs that
    become numeric properties. `written`: numbers that are not written the shortest way everywhere; `names`: how many
    names the items have.

    Where there are `older` items, those that equal one of them collapse into it, and `added_names` (`ADDED_NAMES`) are
    the names that these get; the table is of the others. Types are those of the properties of both.
    """

    computed: Sequence[str]
    older: Older = NONE_BEFORE
    read: int = 0
    rejected: int = 0
    names: int = 0
    property_types: dict[str, PropertyType] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    added_names: pa.RecordBatch = field(default_factory=lambda: pa.RecordBatch.from_pylist([], ADDED_NAMES))
    _batches: list[pa.RecordBatch] = field(default_factory=list)

    def add(self, parsed: Parsed) -> None:
        self.read += parsed.items.num_rows + parsed.rejections.num_rows
        self.rejected += parsed.rejections.num_rows
        if parsed.items.num_rows:
            self._batches.append(parsed.items)

    def finish(self, describe: Callable[[pa.Table], Described]) -> tuple[Described, Iterator[pa.RecordBatch]]:
        """What is made of the distinct items as they were parsed, and their item table in batches. At least one must
        have been kept."""
        items = pa.Table.from_batches(self._batches)
        self._batches = []
        before = len(self.older)
        item_of, first = _collapse(np.frombuffer(self.older.digests, "<u8"), items["digest"])
        names = _names(items["name"], item_of, len(first))
        self._add_names(names.slice(0, before))
        names = names.slice(before)
        self.names = len(names.flatten())
        kept = items.take(pa.array(first[before:] - before))
        described = describe(kept)
        none = pa.nulls(len(kept), pa.string())
        identity = [kept[name] if name in kept.column_names else none for name in _IDENTITY]
        properties = self._properties(kept)
        self.property_types, self.written = types_of(properties), written_of(properties)
        return described, item_batches([*identity, names], properties)

    def _add_names(self, found: pa.ListArray) -> None:
        """Those of the names found of older items that they have not."""
        ids = np.flatnonzero(np.asarray(found.value_lengths())).astype(np.int32)
        had, found = self.older.names(ids), found.take(pa.array(ids))
        owners = [np.repeat(np.arange(len(ids)), np.asarray(each.value_lengths())) for each in (had, found)]
        names = pa.chunked_array([each.flatten() for each in (had, found)], pa.string())
        together = _names(names, np.concatenate(owners), len(ids))
        lengths, before = (np.asarray(each.value_lengths(), np.int32) for each in (together, had))
        place = np.arange(len(together.values)) - np.repeat(np.asarray(together.offsets)[:-1], lengths)
        more = lengths > before
        offsets = np.append(0, np.cumsum((lengths - before)[more])).astype(np.int32)
        texts = together.values.filter(pa.array(place >= np.repeat(before, lengths)))
        added = pa.ListArray.from_arrays(pa.array(offsets), texts)
        self.added_names = pa.record_batch([ids[more], added], schema=ADDED_NAMES)

    def _properties(self, kept: pa.Table) -> dict[str, Column]:
        """A column each, by name. One is numeric if every value is; the text of a number is kept if need be."""
        columns: dict[str, Column] = {name: kept[name].cast(pa.float64()) for name in self.computed}
        texts_of = {self._called(name): texts for name, texts in _source_columns(kept["properties"])}
        none = pa.nulls(len(kept), pa.string())
        for name in {*texts_of, *self.older.property_types} - columns.keys():
            columns[name] = self._property(name, texts_of.get(name, none))
        return {name: columns[name] for name in sorted(columns)}

    def _called(self, name: str) -> str:
        """A column of the source beside those that are computed."""
        bare = name
        while bare.startswith(_SOURCE):
            bare = bare.removeprefix(_SOURCE)
        return f"{_SOURCE}{name}" if bare in self.computed else name

    def _property(self, name: str, texts: pa.Array) -> pa.Array:
        known = self.older.property_types.get(name)
        bare = known is not None and texts.null_count == len(texts)
        numbers = None if known == "text" else texts.cast(pa.float64()) if bare else _numbers(texts)
        return _column(numbers, texts, written=name in self.older.written)


@dataclass(frozen=True)
class RestItems:
    """Items of a generation, numbered anew: the columns that every item has, and those of properties by name, with the
    types that they have without the others."""

    common: Sequence[Column]
    properties: Mapping[str, Column]

    @classmethod
    def of(cls, generation: Generation, ids: Int32, computed: Sequence[str]) -> Self:
        """Some of its items. A property that none of these has is left out, unless it is `computed`."""
        names = generation.manifest.properties
        called = titles(names)
        rows = pa.Table.from_batches(generation.scan(ids, [*ITEM_SCHEMA.names, *called.values()]))
        columns = {name: rows[called[name]] for name in sorted(names)}
        kept = {name: values for name, values in columns.items() if name in computed or values.null_count < len(ids)}
        return cls([rows[name] for name in ITEM_SCHEMA.names], {name: _retyped(kept[name]) for name in kept})

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Their item table."""
        return item_batches(self.common, self.properties)


def item_batches(common: Sequence[Column], properties: Mapping[str, Column]) -> Iterator[pa.RecordBatch]:
    """The item table of the columns that every item has, then of properties by name."""
    called = titles(properties)
    fields = [pa.field(called[name], values.type) for name, values in properties.items()]
    table = pa.table([*common, *properties.values()], pa.schema([*ITEM_SCHEMA, *fields]))
    return map(_rebased, table.to_batches(max_chunksize=_BATCH))


def types_of(properties: Mapping[str, Column]) -> dict[str, PropertyType]:
    """Of the columns of properties by name."""
    return {name: "text" if values.type == pa.string() else "number" for name, values in properties.items()}


def written_of(properties: Mapping[str, Column]) -> list[str]:
    """Those beside whose numbers the texts of the source stand."""
    return [name for name, values in properties.items() if pa.types.is_struct(values.type)]


def _column(numbers: pa.Array | None, texts: pa.Array, *, written: bool = False) -> pa.Array:
    """A property: its texts, or their numbers where each is one; both if it is `written` so, or not the shortest way
    everywhere."""
    if numbers is None:
        return texts
    if not written and numbers.cast(pa.string()).equals(texts):
        return numbers
    return pa.StructArray.from_arrays([numbers, texts], ["number", "text"], mask=texts.is_null())


def _retyped(column: pa.ChunkedArray) -> Column:
    """Some values of a property as if there were no others. A number without its text is written the shortest way."""
    if pa.types.is_floating(column.type):
        return column
    written = texts(column.combine_chunks())
    return _column(_numbers(written), written)


def _rebased(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Offsets of texts count from this batch's first."""
    return batch.take(pa.array(np.arange(batch.num_rows)))


def _collapse(older: UInt64, digests: pa.ChunkedArray) -> tuple[Int64, Int64]:
    """item id of each record, and the first record of each item; ids follow first appearance. The older items, by the
    halves of their digests, come first, each its own record, whose id is not told."""
    halves = np.concatenate([older, fixed_width(digests, "<u8")]).reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))  # stable: the first of a group is its first appearance
    ordered = halves[order]
    starts = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    first = order[starts]
    appearance = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[appearance] = np.arange(len(first))
    item_of = np.empty(len(order), np.int64)
    item_of[order] = rank[np.cumsum(starts) - 1]
    return item_of[len(older) // 2 :], first[appearance]


def _names(names: pa.ChunkedArray, item_of: Int64, items: int) -> pa.ListArray:
    """Per item its distinct names in order of appearance."""
    encoded = names.combine_chunks().dictionary_encode()
    named = np.flatnonzero(np.asarray(encoded.is_valid()))
    codes = np.asarray(encoded.indices.drop_null())
    pairs = item_of[named] * max(len(encoded.dictionary), 1) + codes
    _, once = np.unique(pairs, return_index=True)
    once = np.sort(once)
    owner = item_of[named][once]
    by_item = np.argsort(owner, kind="stable")
    offsets = np.zeros(items + 1, np.int32)
    np.cumsum(np.bincount(owner, minlength=items), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), encoded.dictionary.take(pa.array(codes[once][by_item])))


def _source_columns(properties: pa.ChunkedArray) -> Iterator[tuple[str, pa.Array]]:
    """The readers' key/value pairs as one nullable text column a key, in key order."""
    pairs = properties.combine_chunks()
    rows = np.repeat(np.arange(len(pairs)), np.diff(np.asarray(pairs.offsets)))
    keys = pairs.keys.dictionary_encode()
    codes = np.asarray(keys.indices)
    for code, key in sorted(enumerate(keys.dictionary.to_pylist()), key=lambda pair: pair[1]):
        chosen = np.flatnonzero(codes == code)
        picked = np.full(len(pairs), -1, np.int64)
        picked[rows[chosen]] = chosen
        yield key, pairs.items.take(pa.array(picked, mask=picked < 0))


def _numbers(texts: pa.Array) -> pa.Array | None:
    """The values as doubles, if each is a finite number."""
    bare = pc.utf8_trim_whitespace(texts)
    if not pc.all(pc.match_substring_regex(bare, _NUMBER)).as_py():
        return None
    numbers = pc.utf8_ltrim(bare, "+").cast(pa.float64())
    return numbers if pc.all(pc.is_finite(numbers)).as_py() else None
