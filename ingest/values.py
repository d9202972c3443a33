"""Values of a source column, which are numbers, censored numbers such as "<0.5", missing markers or other texts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graphkin.protocol.manifest import ColumnValues
from graphkin.store.columns import CENSORED_SIGN
from graphkin.store.records import Float64, Mask

MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nd", "n.d.", "-", "?")
"""Texts that mark a missing value in a column of numbers. Case and surrounding white space do not matter."""

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_LONGEST_MARKER = max(map(len, MISSING))
_MAX_EXAMPLE_LENGTH = 100  # examples in the manifest are cut to so many characters
_KINDS = ("numbers", "missing", "censored", "texts")
_PLAIN, _MISSING, _CENSORED, _TEXT = range(len(_KINDS))
_ABSENT = -1
_GROUP_SIZE = 1 << 20  # bytes of columns that are read together


@dataclass(frozen=True)
class ReadColumn:
    """A source column that was read as numbers.

    Attributes:
        numbers: (N,) float64. A censored number is its bound, 0.5 for "<0.5". Null for other texts and absent values.
        values: Counts of the values.
        shortest: Whether every value is the shortest text of a number.
    """

    numbers: pa.Array
    values: ColumnValues
    shortest: bool

    @classmethod
    def from_texts(cls, texts: pa.Array) -> Self:
        """Read the texts of N records, null for records without a value."""
        ((_, column),) = cls.from_columns({"": texts})
        return column

    @classmethod
    def from_columns(cls, columns: Mapping[str, pa.Array]) -> Iterator[tuple[str, Self]]:
        """Read columns with the texts of N records each, and yield the name and the content of each column.

        Small columns are read together, because a call for a few texts takes longer than the work on them.
        """
        for names in _groups(columns):
            texts = pa.concat_arrays([columns[name] for name in names])
            numbers, kinds = _read(texts)
            is_shortest = (kinds == _ABSENT) | _mask(pc.equal(numbers.cast(pa.string()), texts))
            rows = len(texts) // len(names)
            shape = len(names), rows
            counts = np.stack([(kinds.reshape(shape) == kind).sum(axis=1) for kind in range(len(_KINDS))], axis=1)
            shortest = is_shortest.reshape(shape).all(axis=1)
            for index, name in enumerate(names):
                column = slice(index * rows, (index + 1) * rows)
                values = ColumnValues(
                    **dict(zip(_KINDS, counts[index].tolist(), strict=True)),
                    example=_first_text(texts[column], kinds[column]),
                )
                yield name, cls(numbers[column], values, bool(shortest[index]))


def _groups(columns: Mapping[str, pa.Array]) -> Iterator[list[str]]:
    """Yield the names of small columns together, and the name of each large column on its own."""
    names, size = list[str](), 0
    for name, texts in columns.items():
        if names and size + texts.nbytes > _GROUP_SIZE:
            yield names
            names, size = [], 0
        names.append(name)
        size += texts.nbytes
    if names:
        yield names


def _first_text(texts: pa.Array, kinds: NDArray[np.int8]) -> str | None:
    """Return the first value that is no number and no missing marker, cut to a limited length."""
    (rows,) = np.nonzero(kinds == _TEXT)
    return texts[int(rows[0])].as_py()[:_MAX_EXAMPLE_LENGTH] if len(rows) else None


def _read(texts: pa.Array) -> tuple[pa.Array, NDArray[np.int8]]:
    """Return the numbers among N texts, null for other texts, and the kind of each text: an index in `_KINDS`."""
    present = texts.is_valid().to_numpy(zero_copy_only=False)
    bare = pc.utf8_trim_whitespace(texts)
    plain = _mask(pc.match_substring_regex(bare, _NUMBER))
    numbers, is_number = _finite(bare, plain)
    kinds = np.where(present, np.int8(_TEXT), np.int8(_ABSENT))
    kinds[is_number] = _PLAIN
    rest = np.flatnonzero(present & ~plain)
    unparsed = bare.take(pa.array(rest))
    signed = np.flatnonzero(_mask(pc.match_substring_regex(unparsed, CENSORED_SIGN)))
    if len(signed):
        with_sign = unparsed.take(pa.array(signed))
        unsigned = pc.replace_substring_regex(with_sign, pattern=CENSORED_SIGN, replacement="")
        bounds, is_bound = _finite(unsigned, _mask(pc.match_substring_regex(unsigned, _NUMBER)))
        numbers[rest[signed[is_bound]]] = bounds[is_bound]
        kinds[rest[signed[is_bound]]] = _CENSORED
    short = np.flatnonzero(_mask(pc.less_equal(pc.utf8_length(unparsed), _LONGEST_MARKER)))
    if len(short):
        marked = pc.is_in(pc.utf8_lower(unparsed.take(pa.array(short))), value_set=pa.array(MISSING))
        kinds[rest[short[_mask(marked)]]] = _MISSING
    return pa.array(numbers, mask=(kinds != _PLAIN) & (kinds != _CENSORED)), kinds


def plain_numbers(texts: pa.Array) -> pa.Array:
    """Return the numbers among N texts, (N,) float64. Censored numbers and all other texts are null."""
    bare = pc.utf8_trim_whitespace(texts)
    numbers, is_number = _finite(bare, _mask(pc.match_substring_regex(bare, _NUMBER)))
    return pa.array(numbers, mask=~is_number)


def is_missing(texts: pa.Array) -> Mask:
    """Return whether each text is null or a missing marker, (N,) bool."""
    markers = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(texts)), value_set=pa.array(MISSING))
    return _mask(pc.or_(texts.is_null(), markers))


def _parse_numbers(bare: pa.Array) -> pa.Array:
    return pc.utf8_ltrim(bare, "+").cast(pa.float64())


def _finite(bare: pa.Array, plain: Mask) -> tuple[Float64, Mask]:
    """Return the finite numbers among texts, with 0 for other texts, and the mask of the finite numbers.

    Args:
        bare: (N,) texts without surrounding white space.
        plain: (N,) whether each text is a plain number.
    """
    numbers, positions = np.zeros(len(bare)), np.flatnonzero(plain)
    if len(positions) == 0:
        return numbers, plain
    numbers[positions] = _parse_numbers(bare.take(pa.array(positions))).to_numpy(zero_copy_only=False)
    is_finite = plain & np.isfinite(numbers)
    return numbers, is_finite


def _mask(array: pa.Array) -> Mask:
    mask: Mask = pc.fill_null(array, False).to_numpy(zero_copy_only=False)
    return mask


def differ(first_values: pa.Array, later_values: pa.Array) -> Mask:
    """Return whether each later value differs from the first one, (N,) bool.

    Different texts of the same number do not differ. An absent or missing later value does not differ.

    Args:
        first_values: (N,) texts of the first records.
        later_values: (N,) texts of the later records.
    """
    candidates = np.flatnonzero(_mask(pc.not_equal(pc.fill_null(first_values, ""), later_values)))
    later, first = later_values.take(pa.array(candidates)), first_values.take(pa.array(candidates))
    same = _mask(pc.equal(_normal(first), _normal(later)))
    differs = np.zeros(len(first_values), np.bool_)
    differs[candidates] = ~same & ~is_missing(later)
    return differs


def differing_columns(
    first_columns: Mapping[str, pa.Array], later_columns: Mapping[str, pa.Array]
) -> Iterator[tuple[str, Mask]]:
    """Yield the name of each column with later values that differ from the first ones, and which they are, (N,) bool.

    Args:
        first_columns: (N,) texts of the first records, by column. A column that is absent has no values.
        later_columns: (N,) texts of the later records, by column.
    """
    for names in _groups(later_columns):
        later = [later_columns[name] for name in names]
        first = [
            first_columns.get(name, pa.nulls(len(texts), pa.string())) for name, texts in zip(names, later, strict=True)
        ]
        differs = differ(pa.concat_arrays(first), pa.concat_arrays(later)).reshape(len(names), -1)
        yield from ((name, mask) for name, mask in zip(names, differs, strict=True) if mask.any())


def _normal(texts: pa.Array) -> pa.Array:
    """Return numbers in their shortest text with their sign, and other texts unchanged."""
    numbers, _ = _read(texts)
    bare = pc.utf8_trim_whitespace(texts)
    signs = pc.struct_field(pc.extract_regex(bare, CENSORED_SIGN), "sign").cast(pa.string())
    shortest = pc.binary_join_element_wise(pc.fill_null(signs, ""), numbers.cast(pa.string()), "")
    return pc.coalesce(shortest, texts)
