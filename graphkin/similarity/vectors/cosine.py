"""Cosines of float32 vectors: candidates by float32 matrix products, decided in float64.

The product of two float32 numbers is exact in float64, and the products are summed in the order of the vector. So a
cosine does not depend on the library that multiplies matrices. The library only selects, with a margin, the pairs to
compute.
"""

from typing import NamedTuple

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float32, Float64, Int32

_UNIT_ROUNDOFF = 2.0**-24  # relative error of one float32 operation
_EXTRA_OPERATIONS = 16  # besides the sum: scaling to unit length, rounding similarity and threshold to float32


class Vectors(NamedTuple):
    """N vectors and their squared lengths.

    Attributes:
        vectors: (N, D) float32.
        squares: (N,) float64 dot product of each vector with itself.
    """

    vectors: Float32
    squares: Float64

    @classmethod
    def from_rows(cls, vectors: Float32) -> "Vectors":
        return cls(vectors, _squares(vectors))

    def is_valid_for(self, items: int, dimension: int) -> bool:
        """Return whether data types and shapes are valid and no vector is zero."""
        expected = {"vectors": (np.float32, items, dimension), "squares": (np.float64, items)}
        return all((array.dtype, *array.shape) == expected[name] for name, array in self._asdict().items()) and bool(
            (self.squares > 0).all()
        )

    def units(self, rows: slice) -> Float32:
        """Return (n, D) float32 rows scaled to length 1, up to rounding."""
        return (self.vectors[rows] / np.sqrt(self.squares[rows])[:, np.newaxis]).astype(np.float32)

    def cosines(self, left: Int32, right: Int32) -> Float64:
        """Return (P,) cosines of pairs of rows, in [0, 1]; a negative cosine becomes 0."""
        return _cosines(self.vectors, self.squares, left, right)

    def cosines_with(self, query: Float32, rows: Int32) -> Float64:
        """Return (n,) cosines of the rows `rows` with a vector (D,), in [0, 1]; a negative cosine becomes 0."""
        return _cosines_with(self.vectors, self.squares, query, rows)


def margin(dimension: int) -> float:
    """Return the maximum error of a float32 dot product of two unit vectors, summed in any order.

    Each of D + 16 roundings contributes at most 2^-24 of the sum of the products' magnitudes, which is at most 1
    (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
    """
    return 1.01 * (dimension + _EXTRA_OPERATIONS) * _UNIT_ROUNDOFF


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
    query_square = _product(query, query)
    cosines = np.empty(len(rows), np.float64)
    for place in range(len(rows)):
        row = rows[place]
        cosines[place] = min(max(_product(vectors[row], query) / np.sqrt(squares[row] * query_square), 0.0), 1.0)
    return cosines
