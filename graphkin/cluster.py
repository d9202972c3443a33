"""Clusters of molecules and fingerprints for scikit-learn.

Names, arguments and results are those of `sklearn.cluster`. The extra `sklearn` installs scikit-learn.
"""

from typing import Any, Self

import numpy as np

from graphkin.collection.clusters.butina import clusters_from_pairs
from graphkin.library.estimators import read_samples
from graphkin.library.pairs import require_threshold, thread_count
from graphkin.protocol.errors import require_extra
from graphkin.similarity.components import FingerprintComponents
from graphkin.similarity.join import SelfJoin
from graphkin.store.records import Int32, UInt64

with require_extra("sklearn", "clusters for scikit-learn need"):
    from sklearn.base import BaseEstimator, ClusterMixin

__all__ = ["Butina", "SingleLinkage"]


class _Clustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """The parameters that the clustering methods have in common, and how they read molecules."""

    def __init__(self, threshold: float = 0.7, *, smiles: str | None = None, threads: int | None = None) -> None:
        self.threshold = threshold
        self.smiles = smiles
        self.threads = threads

    def _read(self, X: Any) -> UInt64:
        require_threshold(self.threshold)
        return read_samples(X, self.smiles, self.threads)


class Butina(_Clustering):
    """Taylor-Butina clustering: the molecule with the most neighbors and all its neighbors form a cluster, and so on.

    The clusters are those of `rdkit.ML.Cluster.Butina.ClusterData`. Memory grows with the number of similar pairs, 16
    bytes for each, not with the square of the number of molecules.

    Args:
        threshold: Smallest similarity of neighbors, above 0 and at most 1. RDKit's distThresh is 1 - threshold.
        smiles: Name of the column with SMILES, if X is a data frame. The default is "smiles".
        threads: Number of threads, which does not change the result. The default is the number of cores.

    Attributes:
        labels_: (n,) int32 cluster of each molecule, from 0, the largest cluster first.
        cluster_centers_indices_: (C,) int32 row of the molecule at the center of each cluster.

    Example:
        ```python
        from graphkin.cluster import Butina

        labels = Butina(threshold=0.5).fit_predict(["CCO", "CCCO", "CCCCO", "c1ccccc1"])
        ```
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Cluster molecules.

        Args:
            X: Molecules or fingerprints, as in `graphkin.neighbors.GraphkinNeighbors.fit`.
            y: Ignored.

        Returns:
            The estimator.

        Raises:
            InvalidInput: If a molecule cannot be read, or a parameter is out of range.
        """
        words = self._read(X)
        pairs = SelfJoin(words, self.threshold).pairs(0, thread_count(self.threads))
        clusters = clusters_from_pairs(pairs, np.arange(len(words), dtype=np.uint64))
        self.labels_: Int32 = clusters.label
        self.cluster_centers_indices_: Int32 = clusters.centre
        return self


class SingleLinkage(_Clustering):
    """Single-linkage clustering at a threshold: molecules that a chain of similar pairs connects.

    Two molecules of different clusters are never similar, so the clusters are groups for splits without leaks. Pairs
    are not kept in memory.

    Args:
        threshold: Smallest similarity of a similar pair, above 0 and at most 1.
        smiles: Name of the column with SMILES, if X is a data frame. The default is "smiles".
        threads: Number of threads, which does not change the result. The default is the number of cores.

    Attributes:
        labels_: (n,) int32 cluster of each molecule, from 0, the largest cluster first. Of equally large ones, that
            with the lowest row comes first.

    Example:
        ```python
        from graphkin.cluster import SingleLinkage

        groups = SingleLinkage(threshold=0.6).fit_predict(bit_vectors)
        ```
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Cluster molecules.

        Args:
            X: Molecules or fingerprints, as in `graphkin.neighbors.GraphkinNeighbors.fit`.
            y: Ignored.

        Returns:
            The estimator.

        Raises:
            InvalidInput: If a molecule cannot be read, or a parameter is out of range.
        """
        words = self._read(X)
        join = SelfJoin(words, self.threshold)
        components = FingerprintComponents.from_join(join, words, 0, thread_count(self.threads))
        component = np.empty(len(words), np.int32)
        component[components.order] = components.label
        _, first, label, sizes = np.unique(component, return_index=True, return_inverse=True, return_counts=True)
        rank = np.empty(len(first), np.int32)
        rank[np.lexsort((first, -sizes))] = np.arange(len(first), dtype=np.int32)
        self.labels_: Int32 = rank[label]
        return self
