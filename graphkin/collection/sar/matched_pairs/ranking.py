"""Transformations with the change of a property in their pairs."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.collection.sar.matched_pairs.attachments import invert, permutation
from graphkin.collection.sar.matched_pairs.fragmentation import REASONS
from graphkin.collection.sar.matched_pairs.index import MatchedPairs
from graphkin.protocol.values import MAX_UNCUT, TransformationOrder
from graphkin.store.records import Float64, Int32, Int64, Mask

T = TypeVar("T", np.int64, np.float64)

TABLE = pa.schema(
    [
        ("from", pa.string()),
        ("to", pa.string()),
        ("count", pa.int32()),
        ("mean", pa.float64()),
        ("sd", pa.float64()),
        ("pairs", pa.list_(pa.list_(pa.int32(), 2))),
    ]
)
"""The columns of a table of transformations."""

PRODUCTS = pa.list_(pa.struct([("smiles", pa.string()), ("id", pa.int32())]))
"""The type of a column of the molecules that transformations make of an item."""

_LABEL = re.compile(r"\[\*:[123]\]")


@dataclass(frozen=True)
class UncutMolecules:
    """Molecules that are not cut for the same reason: the reason, their number, and the first ids."""

    reason: str
    count: int
    ids: list[int]


class Transformations:
    """The transformations of a generation.

    Args:
        pairs: The matched pairs of the generation.
    """

    def __init__(self, pairs: MatchedPairs) -> None:
        self.pairs = pairs
        self.variables = pairs.variables()

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each variable part."""
        return {text: number for number, text in enumerate(self.variables)}

    @cached_property
    def uncut(self) -> list[UncutMolecules]:
        """The molecules that are not cut, by reason."""
        reason = self.pairs.reason
        return [
            UncutMolecules(
                REASONS[number], int((reason == number).sum()), np.flatnonzero(reason == number)[:MAX_UNCUT].tolist()
            )
            for number in np.unique(reason[reason > 0]).tolist()
        ]

    def ends(self, number: int, reverse: bool) -> tuple[str, str]:
        """Return both variable parts of a transformation, with the labels of their attachment points.

        Args:
            number: The number of the transformation.
            reverse: Whether to return the target first.
        """
        source, target = (self.variables[each[number]] for each in (self.pairs.source, self.pairs.target))
        points = permutation(source.count("*"), int(self.pairs.relation[number]))
        identity = tuple(range(len(points)))
        if reverse:
            return label(target, identity), label(source, points)
        return label(source, identity), label(target, invert(points))

    def summarize(self, values: Float64, min_count: int) -> "Summary":
        """Return the change of a property in each transformation.

        Args:
            values: (N,) values of the property, NaN for items without a value.
            min_count: The smallest number of pairs in which both items have a value.
        """
        pairs = self.pairs
        difference = values[pairs.b] - values[pairs.a]
        has_value = np.isfinite(difference)
        difference[~has_value] = 0
        count = self._sum(has_value.astype(np.int64))
        mean = self._sum(difference) / np.maximum(count, 1)
        deviation = np.where(has_value, difference - np.repeat(mean, np.diff(pairs.starts)), 0)
        squares = self._sum(deviation**2)
        with np.errstate(invalid="ignore", divide="ignore"):
            sd = np.where(count > 1, np.sqrt(squares / (count - 1)), np.nan)
        numbers = np.flatnonzero(count >= min_count)
        reverse = mean[numbers] < 0
        return Summary(self, values, numbers, reverse, count[numbers], np.abs(mean[numbers]), sd[numbers])

    def _sum(self, values: NDArray[T]) -> NDArray[T]:
        """Return the sum of values of pairs in each transformation."""
        if not len(values):  # reduceat requires a value
            return values
        sums: NDArray[T] = np.add.reduceat(values, self.pairs.starts[:-1])
        return sums


def label(variable: str, labels: tuple[int, ...]) -> str:
    """Return a SMILES with `[*:1]` and so on for `*`, in the order of `labels`, which count from 0."""
    numbers = iter(labels)
    return re.sub(r"\*", lambda _: f"[*:{next(numbers) + 1}]", variable)


@dataclass(frozen=True)
class Summary:
    """R transformations and the change of a property in each of them.

    Attributes:
        transformations: All transformations.
        values: (N,) values of the property.
        numbers: (R,) int64 numbers of the transformations.
        reverse: (R,) bool whether a transformation is read from its target to its source.
        count: (R,) int64 number of pairs in which both items have a value.
        mean: (R,) mean difference in the direction of reading.
        sd: (R,) standard deviation of the difference, NaN for one pair.
    """

    transformations: Transformations
    values: Float64
    numbers: Int64
    reverse: Mask
    count: Int64
    mean: Float64
    sd: Float64

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Int64 | slice) -> "Summary":
        """Return some of the transformations."""
        names = ("numbers", "reverse", "count", "mean", "sd")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def reversed(self) -> "Summary":
        """Return the transformations in the opposite directions."""
        return replace(self, reverse=~self.reverse, mean=-self.mean)

    def ordered(self, by: TransformationOrder) -> "Summary":
        """Return the transformations in an order. Ties are in the order of the other quantity, then of the alphabet."""
        keys = (-self.count, -self.mean) if by == "mean" else (-self.mean, -self.count)
        return self.take(np.lexsort((self.numbers, *keys)))

    def between(self, source: str, target: str) -> "Summary":
        """Return the transformation from one labeled variable part to another, in that direction, or none."""
        all_pairs, numbers = self.transformations.pairs, self.transformations.numbers
        ends = [numbers.get(_LABEL.sub("*", text), -1) for text in (source, target)]
        first, last = min(ends), max(ends)
        rows = np.flatnonzero((all_pairs.source[self.numbers] == first) & (all_pairs.target[self.numbers] == last))
        for row in rows.tolist():
            for reverse in (False, True):
                if self.transformations.ends(int(self.numbers[row]), reverse) == (source, target):
                    only = self.take(np.array([row]))
                    return only if reverse == self.reverse[row] else only.reversed()
        return self.take(slice(0, 0))

    def ends(self, row: int) -> tuple[str, str]:
        """Return both variable parts of a transformation in the direction of reading."""
        return self.transformations.ends(int(self.numbers[row]), bool(self.reverse[row]))

    def pairs(self, row: int, limit: int | None = None) -> tuple[Int32, Int32, Float64]:
        """Return the pairs of a transformation with their differences, the largest first, at most `limit`."""
        pairs, number = self.transformations.pairs, int(self.numbers[row])
        rows = slice(pairs.starts[number], pairs.starts[number + 1])
        first, second = (pairs.b[rows], pairs.a[rows]) if self.reverse[row] else (pairs.a[rows], pairs.b[rows])
        difference = self.values[second] - self.values[first]
        order = np.lexsort((second, first, -difference))[: np.count_nonzero(np.isfinite(difference))][:limit]
        return first[order], second[order], difference[order]

    def table(self, pairs: int) -> pa.Table:
        """Return one row per transformation in the form of `TABLE`, with at most this number of pairs each."""
        ends = [self.ends(row) for row in range(len(self))]
        listed = [np.stack(self.pairs(row, pairs)[:2], axis=1).tolist() for row in range(len(self))]
        columns = (
            [source for source, _ in ends],
            [target for _, target in ends],
            self.count,
            self.mean,
            pa.array(self.sd, from_pandas=True),
            listed,
        )
        return pa.table(dict(zip(TABLE.names, columns, strict=True))).cast(TABLE)
