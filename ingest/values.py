"""Values of a source column, which are numbers, censored numbers such as "<0.5", missing markers or other texts."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.protocol.manifest import ColumnValues
from graphkin.store.columns import CENSORED_SIGN
from graphkin.store.records import Float64, Mask

MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nd", "n.d.", "-", "?")
"""Texts that mark a missing value in a column of numbers. Case and surrounding white space do not matter."""

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_LONGEST_MARKER = max(map(len, MISSING))
_MAX_EXAMPLE_LENGTH = 100  # examples in the manifest are cut to so many characters


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
    def from_texts(cls, texts: pa.Array) -> "ReadColumn":
        """Read the texts of N records, null for records without a value."""
        bare = pc.utf8_trim_whitespace(texts)
        plain = pc.match_substring_regex(bare, _NUMBER)
        if pc.all(plain, min_count=0).as_py():
            numbers = _parse_numbers(bare)
            if pc.all(pc.is_finite(numbers), min_count=0).as_py():
                count = len(texts) - texts.null_count
                shortest = numbers.cast(pa.string()).equals(texts)
                return cls(numbers, ColumnValues(numbers=count, missing=0, censored=0, texts=0), shortest)
        return cls._from_mixed_texts(texts, bare, _mask(plain))

    @classmethod
    def _from_mixed_texts(cls, texts: pa.Array, bare: pa.Array, plain: Mask) -> "ReadColumn":
        """Read texts of which some are not plain finite numbers."""
        present = texts.is_valid().to_numpy(zero_copy_only=False)
        numbers, is_number = _finite(bare, plain)
        rest = np.flatnonzero(present & ~plain)
        unparsed = bare.take(pa.array(rest))
        censored = np.zeros(len(texts), np.bool_)
        signed = np.flatnonzero(_mask(pc.match_substring_regex(unparsed, CENSORED_SIGN)))
        if len(signed):
            with_sign = unparsed.take(pa.array(signed))
            unsigned = pc.replace_substring_regex(with_sign, pattern=CENSORED_SIGN, replacement="")
            bounds, is_bound = _finite(unsigned, _mask(pc.match_substring_regex(unsigned, _NUMBER)))
            numbers[rest[signed[is_bound]]] = bounds[is_bound]
            censored[rest[signed[is_bound]]] = True
        missing = np.zeros(len(texts), np.bool_)
        short = np.flatnonzero(_mask(pc.less_equal(pc.utf8_length(unparsed), _LONGEST_MARKER)))
        if len(short):
            marked = pc.is_in(pc.utf8_lower(unparsed.take(pa.array(short))), value_set=pa.array(MISSING))
            missing[rest[short]] = _mask(marked)
        is_text = present & ~(is_number | censored | missing)
        first = np.flatnonzero(is_text)[:1]
        counts = {
            "numbers": int(is_number.sum()),
            "missing": int(missing.sum()),
            "censored": int(censored.sum()),
            "texts": int(is_text.sum()),
        }
        example = texts[int(first[0])].as_py()[:_MAX_EXAMPLE_LENGTH] if len(first) else None
        column = pa.array(numbers, mask=~(is_number | censored))
        return cls(column, ColumnValues(**counts, example=example), shortest=False)


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


def _normal(texts: pa.Array) -> pa.Array:
    """Return numbers in their shortest text with their sign, and other texts unchanged."""
    numbers = ReadColumn.from_texts(texts).numbers
    bare = pc.utf8_trim_whitespace(texts)
    signs = pc.struct_field(pc.extract_regex(bare, CENSORED_SIGN), "sign").cast(pa.string())
    shortest = pc.binary_join_element_wise(pc.fill_null(signs, ""), numbers.cast(pa.string()), "")
    return pc.coalesce(shortest, texts)
