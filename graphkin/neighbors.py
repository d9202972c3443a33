"""Exact nearest neighbors of molecules and fingerprints for scikit-learn.

Names, arguments and results are those of `sklearn.neighbors`. The extra `sklearn` installs scikit-learn.
"""

from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphkin.library.estimators import read_samples
from graphkin.library.pairs import require_threshold, thread_count
from graphkin.protocol.errors import InvalidInput, require, require_extra
from graphkin.similarity.batch import LOWEST_SIMILARITY
from graphkin.similarity.hits import ranks_in_groups
from graphkin.similarity.join import Join, Pairs, SelfJoin, TwoSetJoin
from graphkin.similarity.nearest import FingerprintIndex
from graphkin.similarity.popcount import row_popcounts
from graphkin.store.records import Float64, Int64, UInt64

with require_extra("sklearn", "neighbors for scikit-learn need"):
    from scipy.sparse import csr_matrix
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted

__all__ = ["GraphkinNeighbors"]

_SLACK = 1e-9  # by which the join is looser than a radius, more than the rounding error of 1 - radius


class _Neighbors(NamedTuple):
    """Neighbors of Q queries in CSR form, the nearest first, then by their row.

    Attributes:
        indptr: (Q + 1,) int64.
        indices: (E,) int64 rows of the fitted data.
        distances: (E,) float64.
    """

    indptr: Int64
    indices: Int64
    distances: Float64


class GraphkinNeighbors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Exact nearest neighbors by Tanimoto similarity, with the methods of `sklearn.neighbors.NearestNeighbors`.

    The distance of two fingerprints is 1 - similarity, the Jaccard distance: the number of bits that only one of them
    has, divided by the number of bits that either has. A fingerprint without bits has the distance 1 from every one.

    In a pipeline, it turns molecules into a sparse matrix of distances, which estimators with
    `metric="precomputed"` take: `KNeighborsRegressor`, `DBSCAN`, `TSNE` and others.

    Args:
        n_neighbors: Number of neighbors.
        threshold: If set, `transform` returns all neighbors with at least this similarity, above 0 and at most 1,
            instead of the `n_neighbors` nearest. It is also the default of `radius_neighbors`.
        mode: Values of the matrix that `transform` returns: "distance", or "connectivity" for ones.
        smiles: Name of the column with SMILES, if X is a data frame. The default is "smiles".
        threads: Number of threads, which does not change the result. The default is the number of cores.

    Attributes:
        n_samples_fit_: Number of molecules that the estimator was fitted on.

    Example:
        ```python
        from graphkin.neighbors import GraphkinNeighbors
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.pipeline import make_pipeline

        smiles = mine.items()["smiles"].to_pylist()
        distances, rows = GraphkinNeighbors(n_neighbors=3).fit(smiles).kneighbors(["CCO"])
        model = make_pipeline(GraphkinNeighbors(5), KNeighborsRegressor(5, metric="precomputed"))
        model.fit(smiles, mine.items()["molwt"].to_pylist()).predict(["CCO"])
        ```
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        threshold: float | None = None,
        mode: Literal["distance", "connectivity"] = "distance",
        smiles: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.mode = mode
        self.smiles = smiles
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Index molecules.

        Args:
            X: A list, Series or array of SMILES, RDKit molecules, RDKit bit vectors, an (n, bits) array of 0 and 1, an
                (n, bits / 64) uint64 array of packed bits, a sparse matrix of 0 and 1, a data frame with a column of
                SMILES, a file, or a collection.
            y: Ignored.

        Returns:
            The estimator.

        Raises:
            InvalidInput: If a molecule cannot be read, or a parameter is out of range.
        """
        _require_mode(self.mode)
        thread_count(self.threads)
        if self.threshold is not None:
            require_threshold(self.threshold)
        words = read_samples(X, self.smiles, self.threads)
        self._words = words
        self._popcounts = row_popcounts(words)
        self._index = FingerprintIndex(words)
        self.n_samples_fit_ = len(words)
        return self

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Int64 | tuple[Float64, Int64]:
        """Return the nearest neighbors of molecules.

        Args:
            X: The molecules, as in `fit`. The default is the fitted ones, none of which is its own neighbor.
            n_neighbors: Number of neighbors. The default is the parameter of the estimator.
            return_distance: Whether to return distances.

        Returns:
            (Q, n_neighbors) float64 distances, unless they are left out, and (Q, n_neighbors) int64 rows of the fitted
                molecules. The nearest comes first, and of equally near ones that with the lowest row.

        Raises:
            InvalidInput: If a molecule cannot be read, or there are fewer fitted molecules than neighbors.
        """
        check_is_fitted(self)
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        neighbors = self._nearest(X, count)
        rows = neighbors.indices.reshape(-1, count)
        return (neighbors.distances.reshape(-1, count), rows) if return_distance else rows

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: Literal["connectivity", "distance"] = "connectivity"
    ) -> csr_matrix:
        """Return the nearest neighbors of molecules as a sparse matrix.

        Args:
            X: The molecules, as in `kneighbors`.
            n_neighbors: Number of neighbors, as in `kneighbors`.
            mode: Values of the matrix: "connectivity" for ones, or "distance".

        Returns:
            A (Q, n_samples_fit_) `csr_matrix` of float64. The rows are in the order of `kneighbors`, and distances of 0
                are stored.

        Raises:
            InvalidInput: As `kneighbors` raises it, or if the mode is another one.
        """
        check_is_fitted(self)
        return self._matrix(self._nearest(X, self.n_neighbors if n_neighbors is None else n_neighbors), mode)

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True
    ) -> NDArray[np.object_] | tuple[NDArray[np.object_], NDArray[np.object_]]:
        """Return all neighbors of molecules within a distance.

        Args:
            X: The molecules, as in `kneighbors`.
            radius: Largest distance, from 0 to below 1. The default is that of the parameter `threshold`.
            return_distance: Whether to return distances.

        Returns:
            (Q,) arrays of float64 distances, unless they are left out, and (Q,) arrays of int64 rows of the fitted
                molecules, in the order of `kneighbors`.

        Raises:
            InvalidInput: If a molecule cannot be read, or the radius is out of range or missing.
        """
        check_is_fitted(self)
        neighbors = self._within(X, radius)
        rows = _split(neighbors.indptr, neighbors.indices)
        return (_split(neighbors.indptr, neighbors.distances), rows) if return_distance else rows

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: Literal["connectivity", "distance"] = "connectivity"
    ) -> csr_matrix:
        """Return all neighbors of molecules within a distance as a sparse matrix.

        Args:
            X: The molecules, as in `kneighbors`.
            radius: Largest distance, as in `radius_neighbors`.
            mode: Values of the matrix: "connectivity" for ones, or "distance".

        Returns:
            A (Q, n_samples_fit_) `csr_matrix`, as from `kneighbors_graph`.

        Raises:
            InvalidInput: As `radius_neighbors` raises it, or if the mode is another one.
        """
        check_is_fitted(self)
        return self._matrix(self._within(X, radius), mode)

    def transform(self, X: Any) -> csr_matrix:
        """Return the neighbors of molecules as a sparse matrix, for estimators with `metric="precomputed"`.

        Fitted molecules are among their own neighbors. As in `sklearn.neighbors.KNeighborsTransformer`, each row
        therefore has one neighbor more than `n_neighbors`, except in the mode "connectivity".

        Args:
            X: The molecules, as in `fit`.

        Returns:
            A (Q, n_samples_fit_) `csr_matrix`, as from `kneighbors_graph` or, with a threshold,
                `radius_neighbors_graph`.

        Raises:
            InvalidInput: As these methods raise it.
        """
        check_is_fitted(self)
        if self.threshold is not None:
            return self._matrix(self._within(X, None), self.mode)
        _require_count(self.n_neighbors, self.n_samples_fit_)
        count = min(self.n_neighbors + (self.mode == "distance"), self.n_samples_fit_)
        return self._matrix(self._nearest(X, count), self.mode)

    @property
    def _n_features_out(self) -> int:
        """The number of columns that `transform` returns, of which scikit-learn makes their names."""
        return self.n_samples_fit_

    def _nearest(self, X: Any, count: int) -> _Neighbors:
        own = X is None
        _require_count(count, self.n_samples_fit_ - own)
        queries = self._words if own else self._read(X)
        matches = self._index.search(queries, count + own, thread_count(self.threads))
        rows, ids, similarity = matches.query, matches.ids, matches.similarity
        if own:  # An item is not its own neighbor. Its hits may not include it if many items are identical to it.
            others = rows != ids
            rows, ids, similarity = rows[others], ids[others], similarity[others]
            kept = ranks_in_groups(rows) < count
            rows, ids, similarity = rows[kept], ids[kept], similarity[kept]
        distances = _distances(similarity, row_popcounts(queries)[rows], self._popcounts[ids])
        return _Neighbors(np.arange(0, len(rows) + 1, count), ids.astype(np.int64), distances)

    def _within(self, X: Any, radius: float | None) -> _Neighbors:
        threshold, largest = self._bounds(radius)
        queries = self._words if X is None else self._read(X)
        planes = self._index.planes
        join: Join = SelfJoin(queries, threshold, planes) if X is None else TwoSetJoin(queries, threshold, planes)
        pairs = Pairs.concatenate([*join.pairs(0, thread_count(self.threads))])
        rows, ids, similarity = pairs.left, pairs.right, pairs.similarity
        if X is None:  # each pair occurs once
            rows, ids = np.concatenate([rows, ids]), np.concatenate([ids, rows])
            similarity = np.concatenate([similarity, similarity])
        distances = _distances(similarity, row_popcounts(queries)[rows], self._popcounts[ids])
        within = np.flatnonzero(distances <= largest)
        order = within[np.lexsort((ids[within], distances[within], rows[within]))]
        indptr = np.searchsorted(rows[order], np.arange(len(queries) + 1))
        return _Neighbors(indptr, ids[order].astype(np.int64), distances[order])

    def _bounds(self, radius: float | None) -> tuple[float, float]:
        """Return the threshold of the join, and the largest distance of a neighbor.

        Raises:
            InvalidInput: The radius is out of range, or neither a radius nor a threshold is set.
        """
        if radius is None:
            if self.threshold is not None:
                return self.threshold, 1.0
            raise InvalidInput(
                "neighbors within a distance need a radius or a threshold",
                expected="a radius from 0 to below 1",
                hint="pass radius=0.4, or set threshold=0.6 of the estimator",
            )
        require(
            isinstance(radius, Real) and 0 <= radius < 1,
            "radius",
            radius,
            "a distance from 0 to below 1",
            hint="pass a radius such as 0.4, for similarities of 0.6 and more",
        )
        return max(1 - radius - _SLACK, LOWEST_SIMILARITY), radius

    def _matrix(self, neighbors: _Neighbors, mode: str) -> csr_matrix:
        _require_mode(mode)
        values = neighbors.distances if mode == "distance" else np.ones(len(neighbors.indices))
        shape = len(neighbors.indptr) - 1, self.n_samples_fit_
        return csr_matrix((values, neighbors.indices, neighbors.indptr), shape=shape)

    def _read(self, X: Any) -> UInt64:
        """Return the fingerprints of queries.

        Raises:
            InvalidInput: They have another length than the fitted ones.
        """
        words = read_samples(X, self.smiles, self.threads)
        width = self._words.shape[1]
        require(
            words.shape[1] == width,
            "length of the fingerprints",
            f"{64 * words.shape[1]} bits",
            f"{64 * width} bits, as of the fitted fingerprints",
            hint="compute both by the same fingerprint generator",
        )
        return words


def _distances(similarity: NDArray[np.floating[Any]], left: Int64, right: Int64) -> Float64:
    """Return the Jaccard distances of pairs, correctly rounded to float64.

    The number of common bits follows from a rounded similarity: c = s (a + b) / (1 + s).

    Args:
        similarity: (P,) similarities.
        left: (P,) popcounts of the left fingerprints.
        right: (P,) popcounts of the right fingerprints.
    """
    common = np.rint(similarity.astype(np.float64) * (left + right) / (1 + similarity.astype(np.float64)))
    union = left + right - common
    distances: Float64 = np.divide(union - common, union, out=np.ones(len(union)), where=union > 0)
    return distances


def _split(indptr: Int64, values: NDArray[Any]) -> NDArray[np.object_]:
    """Return the part of each query, as an array of arrays."""
    parts = np.empty(len(indptr) - 1, object)
    for query in range(len(parts)):
        parts[query] = values[indptr[query] : indptr[query + 1]]
    return parts


def _require_mode(mode: str) -> None:
    require(
        mode in ("distance", "connectivity"),
        "mode",
        mode,
        "distance or connectivity",
        hint='pass mode="distance" for distances, or mode="connectivity" for ones',
    )


def _require_count(count: int, available: int) -> None:
    require(
        isinstance(count, Integral) and 0 < count <= available,
        "number of neighbors",
        count,
        f"1 to {available:,}, the number of fitted molecules that can be neighbors",
        hint="lower n_neighbors, or fit more molecules",
    )
