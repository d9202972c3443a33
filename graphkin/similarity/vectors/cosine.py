"""Cosines of float32 vectors, computed in float64.

The caller selects candidates with fast float32 matrix products, whose rounding depends on the linear algebra library.
A margin makes up for the rounding. The cosines of the candidates are then computed by the kernels of this module. These
add up products in a fixed order, so a cosine is the same on every machine.
"""

from typing import NamedTuple

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float32, Float64, Int32

_UNIT_ROUNDOFF = 2.0**-24  # relative error of one float32 operation
_EXTRA_ROUNDINGS = 16  # for the scaling to unit length, and for the rounding of similarity and threshold to float32


class Vectors(NamedTuple):
    """N vectors with D numbers each, and their squared lengths.

    Attributes:
        vectors: (N, D) float32 vectors.
        squares: (N,) float64 dot product of each vector with itself.
    """

    vectors: Float32
    squares: Float64

    @classmethod
    def from_rows(cls, vectors: Float32) -> "Vectors":
        """Compute the squared lengths of `vectors`, (N, D) float32."""
        return cls(vectors, _squares(vectors))

    def is_valid_for(self, items: int, dimension: int) -> bool:
        """Return whether data types and shapes are valid and no vector is zero."""
        expected = {"vectors": (np.float32, items, dimension), "squares": (np.float64, items)}
        return all((array.dtype, *array.shape) == expected[name] for name, array in self._asdict().items()) and bool(
            (self.squares > 0).all()
        )

    def units(self, rows: slice) -> Float32:
        """Return the vectors in `rows` scaled to length 1, (n, D) float32."""
        return (self.vectors[rows] / np.sqrt(self.squares[rows])[:, np.newaxis]).astype(np.float32)

    def cosines(self, left: Int32, right: Int32) -> Float64:
        """Return the cosines of pairs of vectors, (P,) float64 in [0, 1]. Negative cosines become 0.

        Args:
            left: (P,) rows of the first vectors.
            right: (P,) rows of the second vectors.
        """
        return _cosines(self.vectors, self.squares, left, right)

    def cosines_with(self, query: Float32, rows: Int32) -> Float64:
        """Return the cosines of the vectors in `rows`, (n,), with the vector `query`, (D,).

        The result is (n,) float64 in [0, 1]. Negative cosines become 0.
        """
        return _cosines_with(self.vectors, self.squares, query, rows)


def margin(dimension: int) -> float:
    """Return the maximum error of the float32 dot product of two unit vectors, whatever the order of its sum.

    There are at most `dimension` + 16 roundings. Each of them contributes at most 2^-24 of the sum of the magnitudes of
    the products, which is at most 1 (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
    """
    return 1.01 * (dimension + _EXTRA_ROUNDINGS) * _UNIT_ROUNDOFF


@kernel
def _dot_product(left: Float32, right: Float32) -> float:
    total = 0.0
    for index in range(len(left)):
        total += np.float64(left[index]) * np.float64(right[index])
    return total


@kernel
def _squares(vectors: Float32) -> Float64:
    squares = np.empty(len(vectors), np.float64)
    for row in range(len(vectors)):
        squares[row] = _dot_product(vectors[row], vectors[row])
    return squares


@kernel
def _cosines(vectors: Float32, squares: Float64, left: Int32, right: Int32) -> Float64:
    cosines = np.empty(len(left), np.float64)
    for pair in range(len(left)):
        a, b = left[pair], right[pair]
        cosines[pair] = min(max(_dot_product(vectors[a], vectors[b]) / np.sqrt(squares[a] * squares[b]), 0.0), 1.0)
    return cosines


@kernel
def _cosines_with(vectors: Float32, squares: Float64, query: Float32, rows: Int32) -> Float64:
    query_square = _dot_product(query, query)
    cosines = np.empty(len(rows), np.float64)
    for index in range(len(rows)):
        row = rows[index]
        cosines[index] = min(max(_dot_product(vectors[row], query) / np.sqrt(squares[row] * query_square), 0.0), 1.0)
    return cosines
