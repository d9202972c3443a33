"""Cosines of float32 vectors: candidates by products of matrices in float32, decided in float64, number by number.

The product of two float32s is exact in float64, and they are added up in the order of the vector. So a cosine does not
depend on the library that multiplies matrices; that one only says, with a margin, which pairs are worth a look.
"""

from typing import NamedTuple

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float32, Float64, Int32

_ROUNDING = 2.0**-24  # of one operation of float32, relative
_SPARE = 16  # operations beside those of the sum: unit lengths, the similarity and the threshold as float32


class Vectors(NamedTuple):
    """vectors (N, D) float32, and squares (N,) float64, each one's product with itself."""

    vectors: Float32
    squares: Float64

    @classmethod
    def of(cls, vectors: Float32) -> "Vectors":
        return cls(vectors, _squares(vectors))

    def fit(self, items: int, dimension: int) -> bool:
        """Whether types and sizes are those of so many vectors, and none of them is without a direction."""
        expected = {"vectors": (np.float32, items, dimension), "squares": (np.float64, items)}
        return all((array.dtype, *array.shape) == expected[name] for name, array in self._asdict().items()) and bool(
            (self.squares > 0).all()
        )

    def units(self, rows: slice) -> Float32:
        """(n, D) some of them, of length 1 but for rounding."""
        return (self.vectors[rows] / np.sqrt(self.squares[rows])[:, np.newaxis]).astype(np.float32)

    def cosines(self, left: Int32, right: Int32) -> Float64:
        """(P,) of pairs of rows, in [0, 1]: what points away is not similar at all."""
        return _cosines(self.vectors, self.squares, left, right)

    def cosines_with(self, query: Float32, rows: Int32) -> Float64:
        """(n,) of some rows with a vector (D,), likewise."""
        return _cosines_with(self.vectors, self.squares, query, rows)


def margin(dimension: int) -> float:
    """How far a product of two vectors of length 1, computed in float32 in any order, may be from their cosine.

    Each of D + 16 roundings costs at most 2^-24 of the sum of all products' sizes, which is at most 1 (Higham, Accuracy
    and Stability of Numerical Algorithms, 3.1).
    """
    return 1.01 * (dimension + _SPARE) * _ROUNDING


@kernel
def _product(left: Float32, right: Float32) -> float:
    total = 0.0
    for place in range(len(left)):
        total += np.float64(left[place]) * np.float64(right[place])
    return total


@kernel
def _squares(vectors: Float32) -> Float64:
    squares = np.empty(len(vectors), np.float64)
    for row in range(len(vectors)):
        squares[row] = _product(vectors[row], vectors[row])
    return squares


@kernel
def _cosines(vectors: Float32, squares: Float64, left: Int32, right: Int32) -> Float64:
    cosines = np.empty(len(left), np.float64)
    for pair in range(len(left)):
        a, b = left[pair], right[pair]
        cosines[pair] = min(max(_product(vectors[a], vectors[b]) / np.sqrt(squares[a] * squares[b]), 0.0), 1.0)
    return cosines


@kernel
def _cosines_with(vectors: Float32, squares: Float64, query: Float32, rows: Int32) -> Float64:
    own = _product(query, query)
    cosines = np.empty(len(rows), np.float64)
    for place in range(len(rows)):
        row = rows[place]
        cosines[place] = min(max(_product(vectors[row], query) / np.sqrt(squares[row] * own), 0.0), 1.0)
    return cosines
