"""The matched pairs of all molecules of a generation, grouped by transformation and cached on disk."""

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from rdkit import rdBase

from graphkin.collection.sar.matched_pairs.attachments import relation
from graphkin.collection.sar.matched_pairs.blocks import (
    Bytes,
    Fragments,
    decode_lines,
    encode_lines,
    fragment_items,
)
from graphkin.collection.sar.matched_pairs.fragmentation import HYDROGEN, MAX_VARIABLE
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.kind import Advance
from graphkin.similarity.stored_index import load_or_compute_index
from graphkin.store.base import Generation
from graphkin.store.records import Int32, Int64, UInt64

_CHUNK = 2**21  # pairs that are compared at a time, some 100 bytes each
_BITS = 28  # bits of the number of a variable part in the code of a transformation


class MatchedPairs(NamedTuple):
    """P matched pairs of N molecules in T transformations of V variable parts.

    The pairs of a transformation are distinct. A pair with several transformations occurs in each of them.

    Attributes:
        source: (T,) int32 variable parts of the first molecules, ascending.
        target: (T,) int32 variable parts of the second molecules, at least `source`, ascending within a source.
        relation: (T,) uint8 numbers of the permutations from the attachment points of the source to those of the
            target.
        starts: (T + 1,) int64 positions in `a` and `b` at which the pairs of the transformations begin, and P.
        a: (P,) int32 first molecules, ascending within a transformation.
        b: (P,) int32 second molecules.
        reason: (N,) uint8 positions in `fragmentation.REASONS`: why a molecule is not cut.
        symmetry: (V,) uint8 symmetries of the variable parts.
        text: (B,) uint8 SMILES of the variable parts in the order of the alphabet, each followed by a line feed.
    """

    source: Int32
    target: Int32
    relation: Bytes
    starts: Int64
    a: Int32
    b: Int32
    reason: Bytes
    symmetry: Bytes
    text: Bytes

    def is_valid_for(self, items: int) -> bool:
        """Return whether the arrays are those of this number of molecules."""
        transformations, pairs, variables = len(self.source), len(self.a), len(self.symmetry)
        return (
            len(self.target) == len(self.relation) == len(self.starts) - 1 == transformations
            and len(self.b) == pairs == int(self.starts[-1])
            and len(self.reason) == items
            and int((self.text == ord("\n")).sum()) == variables
            and (transformations == 0 or max(self.source.max(), self.target.max()) < variables)
            and (pairs == 0 or max(self.a.max(), self.b.max()) < items)
        )

    def variables(self) -> list[str]:
        """Return the SMILES of the variable parts."""
        return decode_lines(self.text)


class _Rows(NamedTuple):
    """Fragmentations of all molecules. The arrays are those of `Fragments`."""

    item: Int32
    key: UInt64
    variable: Int32
    order: Bytes
    exchange: Bytes

    def take(self, rows: Int64) -> "_Rows":
        """Return some of the fragmentations."""
        return _Rows(self.item[rows], self.key[rows], self.variable[rows], self.order[rows], self.exchange[rows])

    @classmethod
    def concatenate(cls, parts: Sequence["_Rows"]) -> "_Rows":
        """Return all fragmentations of several parts, at least one."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def cached_matched_pairs(
    generation: Generation, processes: int, advance: Advance = lambda _: None, max_pairs: int | None = None
) -> MatchedPairs:
    """Return the matched pairs of a generation from the cache of the user, or find them.

    Args:
        generation: A generation of molecules.
        processes: The number of worker processes.
        advance: A function that is called with the number of items that have been processed.
        max_pairs: The largest accepted number of pairs of fragmentations with the same constant parts. None means any
            number.

    Raises:
        InvalidInput: There are more than `max_pairs` such pairs.
        StoreError: The operating system ended a worker process.
    """
    fields = " ".join(MatchedPairs._fields)
    return load_or_compute_index(
        generation,
        f"matched pairs {fields} {MAX_VARIABLE} {rdBase.rdkitVersion} {version('graphkin')}",
        MatchedPairs,
        lambda cached: cached.is_valid_for(generation.size),
        lambda: pair_fragments(fragment_items(generation, processes, advance), generation.size, max_pairs),
    )


def pair_fragments(blocks: Iterable[tuple[int, Fragments]], items: int, max_pairs: int | None = None) -> MatchedPairs:
    """Return the matched pairs of molecules.

    Args:
        blocks: The fragmentations of all molecules in blocks, each with the number of its first molecule.
        items: The number of molecules.
        max_pairs: As in `cached_matched_pairs`.
    """
    rows, reason, symmetry, variables = _join(blocks, items)
    points = np.array([max(1, text.count("*")) for text in variables], np.uint8)
    rows = rows.take(np.lexsort((rows.item, rows.key)))
    codes, pairs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for left, right in _candidates(rows.key, max_pairs):
        code, pair = _compare(rows, left, right, points, symmetry)
        codes.append(code)
        pairs.append(pair)
    code, pair = _distinct(np.concatenate(codes), np.concatenate(pairs))
    transformations, starts = np.unique(code, return_index=True)
    source = transformations >> (_BITS + 3)
    target = transformations >> 3 & (2**_BITS - 1)
    used, numbers = np.unique(np.concatenate([source, target]), return_inverse=True)
    source, target = np.split(numbers.astype(np.int32), 2)
    return MatchedPairs(
        source,
        target,
        (transformations & 7).astype(np.uint8),
        np.append(starts, len(code)).astype(np.int64),
        (pair >> 32).astype(np.int32),
        (pair & 0xFFFFFFFF).astype(np.int32),
        reason,
        symmetry[used],
        encode_lines([variables[number] for number in used.tolist()]),
    )


def _join(blocks: Iterable[tuple[int, Fragments]], items: int) -> tuple[_Rows, Bytes, Bytes, list[str]]:
    """Return the fragmentations of all molecules, the reasons of uncut molecules, and the distinct variable parts.

    The symmetries and SMILES of the variable parts are in the order of the alphabet. Molecules that are a constant part
    with a hydrogen atom get rows with the variable part `HYDROGEN`.
    """
    parts: list[_Rows] = []
    hydrogenated: list[UInt64] = []
    structure, reason = np.zeros(items, np.uint64), np.zeros(items, np.uint8)
    numbers, symmetries = {HYDROGEN: 0}, [1]
    for start, block in blocks:
        lines = decode_lines(block.text)
        for text, symmetry in zip(lines, block.symmetry.tolist(), strict=True):
            if text not in numbers:
                numbers[text] = len(numbers)
                symmetries.append(symmetry)
        own = np.array([numbers[text] for text in lines], np.int32)
        item, variable = block.item + np.int32(start), own[block.variable]
        parts.append(_Rows(item, block.key, variable, block.order, block.exchange))
        hydrogenated.append(block.hydrogenated)
        structure[start : start + len(block.structure)] = block.structure
        reason[start : start + len(block.reason)] = block.reason
    rows = _with_hydrogens(_Rows.concatenate(parts), np.concatenate(hydrogenated), structure)
    variables = [*numbers]
    alphabetical = np.array(sorted(range(len(variables)), key=variables.__getitem__), np.int32)
    rank = np.empty(len(variables), np.int32)
    rank[alphabetical] = np.arange(len(variables), dtype=np.int32)
    return (
        rows._replace(variable=rank[rows.variable]),
        reason,
        np.array(symmetries, np.uint8)[alphabetical],
        [variables[number] for number in alphabetical.tolist()],
    )


def _with_hydrogens(rows: _Rows, hydrogenated: UInt64, structure: UInt64) -> _Rows:
    """Add a row for each molecule that is a constant part of another molecule with a hydrogen atom."""
    by_structure = np.argsort(structure, kind="stable")
    keys, first = np.unique(rows.key, return_index=True)
    wanted = hydrogenated[first]
    keys, wanted = keys[wanted != 0], wanted[wanted != 0]
    begins, ends = (np.searchsorted(structure[by_structure], wanted, side) for side in ("left", "right"))
    counts = ends - begins
    key = np.repeat(keys, counts)
    within = np.arange(len(key)) - np.repeat(np.cumsum(counts) - counts, counts)
    item = by_structure[np.repeat(begins, counts) + within].astype(np.int32)
    zeros, ones = np.zeros(len(key), np.uint8), np.ones(len(key), np.uint8)
    added = _Rows(item, key, np.zeros(len(key), np.int32), zeros, ones)
    return _Rows.concatenate([rows, added])


def _candidates(key: UInt64, max_pairs: int | None) -> Iterator[tuple[Int64, Int64]]:
    """Yield pairs of rows with the same constant parts, in chunks.

    Args:
        key: (F,) hashes of the constant parts, sorted.
        max_pairs: As in `cached_matched_pairs`.
    """
    rows = np.arange(len(key))
    partners = np.searchsorted(key, key, "right") - rows - 1
    before = np.concatenate([[0], np.cumsum(partners)])
    if max_pairs is not None and before[-1] > max_pairs:
        raise InvalidInput(
            "too many molecules share their constant parts",
            given=f"{before[-1]:,} pairs of fragmentations",
            expected=f"at most {max_pairs:,} on this server",
            hint="run `graphkin matched-pairs` on your machine, which has no such limit",
        )
    begin = 0
    while begin < len(key):
        end = max(begin + 1, int(np.searchsorted(before, before[begin] + _CHUNK, "right")) - 1)
        counts = partners[begin:end]
        left = np.repeat(rows[begin:end], counts)
        yield left, left + 1 + np.arange(len(left)) - np.repeat(before[begin:end] - before[begin], counts)
        begin = end


def _compare(rows: _Rows, left: Int64, right: Int64, points: Bytes, symmetry: Bytes) -> tuple[Int64, Int64]:
    """Return the codes of the transformations between pairs of rows, and the pairs of molecules, without duplicates.

    The first molecule of a pair has the variable part that comes first in the alphabet.
    """
    differs = rows.item[left] != rows.item[right]
    left, right = left[differs], right[differs]
    swapped = rows.variable[left] > rows.variable[right]
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    forward = _relations(rows, left, right, points, symmetry)
    alike = np.flatnonzero(rows.variable[left] == rows.variable[right])
    if len(alike):  # the order of equal variable parts is that of their attachment
        backward = _relations(rows, right[alike], left[alike], points, symmetry)
        later = rows.order[left[alike]] > rows.order[right[alike]]
        turned = alike[(backward < forward[alike]) | ((backward == forward[alike]) & later)]
        left[turned], right[turned] = right[turned], left[turned]
        forward[alike] = np.minimum(forward[alike], backward)
    kept = (rows.variable[left] != rows.variable[right]) | (forward != 0)
    left, right, forward = left[kept], right[kept], forward[kept]
    source, target = rows.variable[left].astype(np.int64), rows.variable[right].astype(np.int64)
    code = source << (_BITS + 3) | target << 3 | forward
    return _distinct(code, rows.item[left].astype(np.int64) << 32 | rows.item[right])


def _relations(rows: _Rows, left: Int64, right: Int64, points: Bytes, symmetry: Bytes) -> Int64:
    """Return `attachments.relation` of pairs of rows."""
    ours, theirs = rows.variable[left], rows.variable[right]
    fields = (points[ours], symmetry[ours], rows.order[left], rows.exchange[left], rows.order[right], symmetry[theirs])
    packed = np.zeros(len(left), np.int64)
    for field in fields:
        packed = packed << 6 | field
    distinct, position = np.unique(packed, return_inverse=True)
    values = [relation(*(code >> shift & 63 for shift in range(30, -1, -6))) for code in distinct.tolist()]
    return np.array(values, np.int64)[position]


def _distinct(code: Int64, pair: Int64) -> tuple[Int64, Int64]:
    """Return the distinct rows of two columns, sorted."""
    order = np.lexsort((pair, code))
    code, pair = code[order], pair[order]
    first = np.ones(len(code), np.bool_)
    first[1:] = (code[1:] != code[:-1]) | (pair[1:] != pair[:-1])
    return code[first], pair[first]
