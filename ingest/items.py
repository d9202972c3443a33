"""The item table: distinct items in order of first appearance, with every source name and typed properties."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise
from typing import Literal, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.parsing import Parsed
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_ID
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
class Written:
    """How the values of a property are written: all as numbers, all of those in the shortest way."""

    numeric: bool
    shortest: bool

    def __and__(self, other: "Written") -> "Written":
        return Written(self.numeric and other.numeric, self.shortest and other.shortest)


@dataclass(frozen=True)
class Properties:
    """The properties of some items: `computed` are columns of their describer, all numbers; `given` are those of their
    source, by name in its order, and how each is written. One is numeric if every value is; the texts of its numbers
    are kept beside them unless all are the shortest."""

    computed: Sequence[str]
    given: Mapping[str, Written] = field(default_factory=dict)

    @classmethod
    def of(cls, computed: Sequence[str], kept: pa.Table) -> "Properties":
        """Of items as they were parsed."""
        texts_of = _source_columns(kept["properties"], computed)
        return cls(computed, {name: _written(texts) for name, texts in texts_of.items()})

    @classmethod
    def stored(cls, computed: Sequence[str], types: Mapping[str, PropertyType], written: Sequence[str]) -> "Properties":
        """As a manifest says them."""
        given = {name: Written(type == "number", name not in written) for name, type in types.items()}
        return cls(computed, {name: how for name, how in given.items() if name not in computed})

    def __and__(self, other: "Properties") -> "Properties":
        """Of the items of both, whose computed ones are the same."""
        both = {**other.given, **{name: how & other.given.get(name, how) for name, how in self.given.items()}}
        names = list(dict.fromkeys([*self.given, *other.given]))
        order = _in_order(names, [*pairwise(self.given), *pairwise(other.given)])
        return Properties(self.computed, {name: both[name] for name in order})

    @property
    def types(self) -> dict[str, PropertyType]:
        """By name: those of the source in its order, then those computed."""
        given: dict[str, PropertyType] = {name: "number" if how.numeric else "text" for name, how in self.given.items()}
        return given | dict.fromkeys(self.computed, "number")

    @property
    def written(self) -> list[str]:
        """Numbers that are not written the shortest way everywhere."""
        return sorted(name for name, how in self.given.items() if how.numeric and not how.shortest)

    def table(self, kept: pa.Table, names: pa.ListArray) -> pa.Table:
        """The item table of distinct items as they were parsed, each with all its names."""
        none = pa.nulls(len(kept), pa.string())
        identity = [kept[name] if name in kept.column_names else none for name in _IDENTITY]
        columns: dict[str, Column] = {name: kept[name].cast(pa.float64()) for name in self.computed}
        texts_of = _source_columns(kept["properties"], self.computed)
        columns |= {name: _column(texts_of.get(name, none), how) for name, how in self.given.items()}
        return _item_table([*identity, names], columns)


@dataclass(frozen=True)
class RestItems:
    """Some items of a generation, numbered anew: their table, and the properties that they have without the others."""

    table: pa.Table
    properties: Properties

    @classmethod
    def of(cls, generation: Generation, ids: Int32, computed: Sequence[str]) -> Self:
        """A property that none of these items has is left out, unless it is `computed`."""
        called = titles(generation.manifest.properties)
        rows = pa.Table.from_batches(generation.scan(ids, [*ITEM_SCHEMA.names, *called.values()]))
        texts_of = {name: texts(rows[called[name]].combine_chunks()) for name in called if name not in computed}
        given = {name: _written(own) for name, own in texts_of.items() if own.null_count < len(ids)}
        columns: dict[str, Column] = {name: rows[called[name]] for name in computed}
        columns |= {name: _column(texts_of[name], how) for name, how in given.items()}
        table = _item_table([rows[name] for name in ITEM_SCHEMA.names], columns)
        return cls(table, Properties(computed, given))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Their table."""
        return map(rebased, self.table.to_batches(max_chunksize=_BATCH))


@dataclass(frozen=True)
class Older:
    """Items that are there before: their digests, one after the other, and their properties; what gives the names of
    some, and all packed fingerprints."""

    digests: bytes
    properties: Properties
    names: Callable[[Int32], pa.ListArray]
    fingerprints: Callable[[], UInt64]

    @classmethod
    def none(cls, computed: Sequence[str]) -> "Older":
        """None before items with these computed properties."""
        return cls(
            b"",
            Properties(computed),
            lambda ids: pa.nulls(len(ids), pa.list_(pa.string())),
            lambda: np.empty((0, 0), np.uint64),
        )

    def described(self) -> Iterator[tuple[bytes, bytes]]:
        """Digest and packed fingerprint of each."""
        for place, bits in enumerate(self.fingerprints()):
            yield self.digests[_DIGEST * place : _DIGEST * (place + 1)], bits.tobytes()

    def __len__(self) -> int:
        return len(self.digests) // _DIGEST


@dataclass
class ItemTable:
    """Collects parsed items, collapses equal digests, and yields the item table. `names`: how many names the items
    have.

    Where there are `older` items, those that equal one of them collapse into it, and `added_names` (`ADDED_NAMES`) are
    the names that these get; the table is of the others. `properties` are those of both.
    """

    older: Older
    read: int = 0
    rejected: int = 0
    names: int = 0
    added_names: pa.RecordBatch = field(default_factory=lambda: pa.RecordBatch.from_pylist([], ADDED_NAMES))
    _batches: list[pa.RecordBatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.properties = self.older.properties

    def add(self, parsed: Parsed) -> None:
        self.read += parsed.items.num_rows + parsed.rejections.num_rows
        self.rejected += parsed.rejections.num_rows
        if parsed.items.num_rows:
            self._batches.append(parsed.items)

    def finish(self, describe: Callable[[pa.Table], Described]) -> tuple[Described, Iterator[pa.RecordBatch]]:
        """What is made of the distinct items as they were parsed, and their item table in batches. At least one must
        have been kept. Raises `InvalidInput` for more items than there are ids."""
        items = pa.Table.from_batches(self._batches)
        self._batches = []
        before = len(self.older)
        item_of, first = collapse(items["digest"], self.older.digests)
        require_numbered(before + len(first))
        names = names_of(items["name"], item_of, before + len(first))
        self._add_names(names.slice(0, before))
        names = names.slice(before)
        self.names = len(names.flatten())
        kept = items.take(pa.array(first))
        described = describe(kept)
        self.properties &= Properties.of(self.properties.computed, kept)
        table = self.properties.table(kept, names)
        return described, map(rebased, table.to_batches(max_chunksize=_BATCH))

    def _add_names(self, found: pa.ListArray) -> None:
        """Those of the names found of older items that they have not."""
        ids = np.flatnonzero(np.asarray(found.value_lengths())).astype(np.int32)
        had, found = self.older.names(ids), found.take(pa.array(ids))
        owners = [np.repeat(np.arange(len(ids)), np.asarray(each.value_lengths())) for each in (had, found)]
        names = pa.chunked_array([each.flatten() for each in (had, found)], pa.string())
        together = names_of(names, np.concatenate(owners), len(ids))
        lengths, before = (np.asarray(each.value_lengths(), np.int32) for each in (together, had))
        place = np.arange(len(together.values)) - np.repeat(np.asarray(together.offsets)[:-1], lengths)
        more = lengths > before
        offsets = np.append(0, np.cumsum((lengths - before)[more])).astype(np.int32)
        texts = together.values.filter(pa.array(place >= np.repeat(before, lengths)))
        added = pa.ListArray.from_arrays(pa.array(offsets), texts)
        self.added_names = pa.record_batch([ids[more], added], schema=ADDED_NAMES)


def require_numbered(items: int) -> None:
    """Raises `InvalidInput` for more items than there are ids."""
    if items > MAX_ID + 1:
        raise InvalidInput(
            "a collection cannot have so many items",
            given=f"{items:,} that differ",
            expected=f"at most {MAX_ID + 1:,}, as many as there are ids",
            hint="ingest them as several collections",
        )


def rebased(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Offsets of texts count from this batch's first."""
    return batch.take(pa.array(np.arange(batch.num_rows)))


def collapse(digests: pa.ChunkedArray, older: bytes = b"") -> tuple[Int64, Int64]:
    """item id of each record, and the first record of each item that is none of the older, which have these digests,
    all different; ids follow first appearance, after those of the older."""
    halves = fixed_width(digests, "<u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))  # stable: the first of a group is its first appearance
    ordered = halves[order]
    starts = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    first = order[starts]
    items = (
        _places(digests.combine_chunks().take(pa.array(first)), older) if older else np.full(len(first), -1, np.int64)
    )
    newer = np.flatnonzero(items < 0)
    newer = newer[np.argsort(first[newer])]
    items[newer] = len(older) // _DIGEST + np.arange(len(newer))
    item_of = np.empty(len(order), np.int64)
    item_of[order] = items[np.cumsum(starts) - 1]
    return item_of, first[newer]


def _places(digests: pa.FixedSizeBinaryArray, older: bytes) -> Int64:
    """Where each of some digests, all different, is among older ones; -1 where it is not."""
    places = np.full(len(digests), -1, np.int64)
    if not older:
        return places
    held = pa.FixedSizeBinaryArray.from_buffers(digests.type, len(older) // _DIGEST, [None, pa.py_buffer(older)])
    found = pc.index_in(held, value_set=digests)
    places[np.asarray(found.drop_null())] = np.flatnonzero(np.asarray(found.is_valid()))
    return places


def names_of(names: pa.ChunkedArray, item_of: Int64, items: int) -> pa.ListArray:
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


def _in_order(names: Sequence[str], before: Iterable[tuple[str, str]]) -> list[str]:
    """Names, of which the first of each pair comes before the other; what that leaves open, or contradicts, as they
    are."""
    rank = {name: place for place, name in enumerate(names)}
    sorter = TopologicalSorter[str](dict.fromkeys(names, ()))
    for one, other in before:
        sorter.add(other, one)
    try:
        sorter.prepare()
    except CycleError:
        return [*names]
    found, ready = list[str](), list[tuple[int, str]]()
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, (rank[name], name))
        found.append(heappop(ready)[1])
        sorter.done(found[-1])
    return found


def _source_columns(properties: pa.ChunkedArray, computed: Sequence[str]) -> dict[str, pa.Array]:
    """The readers' key/value pairs as one nullable text column a key, by what it is called beside those computed, in
    the order of their records."""
    pairs = properties.combine_chunks()
    rows = np.repeat(np.arange(len(pairs)), np.diff(np.asarray(pairs.offsets)))
    keys = pairs.keys.dictionary_encode()
    codes = np.asarray(keys.indices)
    found = keys.dictionary.to_pylist()
    follows = rows[:-1] == rows[1:]
    both = pa.array(codes[:-1][follows] * np.int64(len(found)) + codes[1:][follows]).unique().to_pylist()
    before = [(found[one], found[other]) for one, other in (divmod(each, len(found)) for each in both) if one != other]
    code_of = {key: code for code, key in enumerate(found)}
    columns = {}
    for key in _in_order(found, before):
        code = code_of[key]
        chosen = np.flatnonzero(codes == code)
        picked = np.full(len(pairs), -1, np.int64)
        picked[rows[chosen]] = chosen
        columns[_called(key, computed)] = pairs.items.take(pa.array(picked, mask=picked < 0))
    return columns


def _called(name: str, computed: Sequence[str]) -> str:
    bare = name
    while bare.startswith(_SOURCE):
        bare = bare.removeprefix(_SOURCE)
    return f"{_SOURCE}{name}" if bare in computed else name


def _item_table(common: Sequence[Column], properties: Mapping[str, Column]) -> pa.Table:
    """Of the columns that every item has, and those of properties by name."""
    called = titles(properties)
    ordered = [(called[name], properties[name]) for name in sorted(properties)]
    fields = [pa.field(title, values.type) for title, values in ordered]
    return pa.table([*common, *(values for _, values in ordered)], pa.schema([*ITEM_SCHEMA, *fields]))


def _written(texts: pa.Array) -> Written:
    numbers = _numbers(texts)
    return Written(numbers is not None, numbers is not None and numbers.cast(pa.string()).equals(texts))


def _column(texts: pa.Array, written: Written) -> pa.Array:
    if not written.numeric:
        return texts
    numbers = _numbers(texts)
    if written.shortest:
        return numbers
    return pa.StructArray.from_arrays([numbers, texts], ["number", "text"], mask=texts.is_null())


def _numbers(texts: pa.Array) -> pa.Array | None:
    """The values as doubles, if each is a finite number."""
    bare = pc.utf8_trim_whitespace(texts)
    if not pc.all(pc.match_substring_regex(bare, _NUMBER), min_count=0).as_py():
        return None
    numbers = pc.utf8_ltrim(bare, "+").cast(pa.float64())
    return numbers if pc.all(pc.is_finite(numbers), min_count=0).as_py() else None
