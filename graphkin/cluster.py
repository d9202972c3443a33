"""Clusters of molecules and fingerprints for scikit-learn.

Names, arguments and results are those of `sklearn.cluster`. The extra `sklearn` installs scikit-learn.
"""

from abc import abstractmethod
from numbers import Integral
from typing import Any, Self

import numpy as np

from graphkin.collection.clusters.butina import clusters_from_pairs
from graphkin.library.estimators import read_samples
from graphkin.library.pairs import require_threshold, thread_count
from graphkin.protocol.errors import require, require_extra
from graphkin.protocol.values import BUTINA_THRESHOLD
from graphkin.similarity.components import FingerprintComponents
from graphkin.similarity.join import SelfJoin
from graphkin.store.records import Int32, UInt64

with require_extra("sklearn", "clusters for scikit-learn need"):
    from sklearn.base import BaseEstimator, ClusterMixin

__all__ = ["BitBirch", "Butina", "SingleLinkage"]


class _Clustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """The parameters and the method `fit` of all clustering methods."""

    def __init__(self, threshold: float = 0.7, *, smiles: str | None = None, threads: int | None = None) -> None:
        self.threshold = threshold
        self.smiles = smiles
        self.threads = threads

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
        require_threshold(self.threshold)
        self._cluster(read_samples(X, self.smiles, self.threads))
        return self

    @abstractmethod
    def _cluster(self, words: UInt64) -> None:
        """Set the attributes for the packed fingerprints `words`, (n, W) uint64."""


class Butina(_Clustering):
    """Taylor-Butina clustering: the molecule with the most neighbors and all its neighbors form a cluster, and so on.

    The clusters are those of `rdkit.ML.Cluster.Butina.ClusterData`. Memory grows with the number of similar pairs, 16
    bytes for each, not with the square of the number of molecules.

    Args:
        threshold: Smallest similarity of neighbors, above 0 and at most 1. RDKit's distThresh is 1 - threshold. The
            default is 0.55.
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

    def __init__(
        self, threshold: float = BUTINA_THRESHOLD, *, smiles: str | None = None, threads: int | None = None
    ) -> None:
        super().__init__(threshold, smiles=smiles, threads=threads)

    def _cluster(self, words: UInt64) -> None:
        pairs = SelfJoin(words, self.threshold).pairs(0, thread_count(self.threads))
        clusters = clusters_from_pairs(pairs, np.arange(len(words), dtype=np.uint64))
        self.labels_: Int32 = clusters.label
        self.cluster_centers_indices_: Int32 = clusters.centre


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

    def _cluster(self, words: UInt64) -> None:
        join = SelfJoin(words, self.threshold)
        components = FingerprintComponents.from_join(join, words, 0, thread_count(self.threads))
        component = np.empty(len(words), np.int32)
        component[components.order] = components.label
        _, first, label, sizes = np.unique(component, return_index=True, return_inverse=True, return_counts=True)
        rank = np.empty(len(first), np.int32)
        rank[np.lexsort((first, -sizes))] = np.arange(len(first), dtype=np.int32)
        self.labels_: Int32 = rank[label]


class BitBirch(_Clustering):
    """BitBIRCH clustering by the package `bblean`, in one pass over the molecules.

    A cluster takes a molecule if the mean similarity within the cluster (iSIM) then is at least the threshold. Time and
    memory grow with the number of molecules, not with the number of similar pairs. The clusters depend on the order of
    the molecules, and similar molecules may be in different clusters. The extra `bitbirch` installs the package, whose
    license is GPL-3.0.

    Args:
        threshold: Smallest mean similarity of a cluster, above 0 and at most 1.
        branching_factor: Maximum number of clusters in a node of the tree, 2 or more.
        smiles: Name of the column with SMILES, if X is a data frame. The default is "smiles".
        threads: Number of threads that read molecules. The default is the number of cores.

    Attributes:
        labels_: (n,) int32 cluster of each molecule, from 0, the largest cluster first.

    Example:
        ```python
        from graphkin.cluster import BitBirch

        labels = BitBirch(threshold=0.5).fit_predict(bit_vectors)
        ```
    """

    def __init__(
        self,
        threshold: float = 0.65,
        *,
        branching_factor: int = 254,
        smiles: str | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(threshold, smiles=smiles, threads=threads)
        self.branching_factor = branching_factor

    def _cluster(self, words: UInt64) -> None:
        with require_extra("bitbirch", "BitBIRCH clusters need"):
            import bblean

        require(
            isinstance(self.branching_factor, Integral) and self.branching_factor >= 2,
            "branching_factor",
            self.branching_factor,
            "2 or more",
            hint="pass a number such as 50 or 254",
        )
        tree = bblean.BitBirch(threshold=self.threshold, branching_factor=self.branching_factor)
        tree.fit(np.ascontiguousarray(words).view(np.uint8))
        self.labels_: Int32 = tree.get_assignments().astype(np.int32) - 1
