"""Subgraphs around a node as features (docs/training.md)."""

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors


def surroundings(
    identity: str,
    nodes: NDArray[np.int64],
    edge_counts: NDArray[np.int64],
    edges: NDArray[np.int64],
    centre: NDArray[np.int64],
) -> Corpus:
    """Of N subgraphs, each around its node centre[i]; the others as of `Corpus.from_edges`."""
    corpus = Corpus.from_edges(identity, nodes, edge_counts, edges)
    return corpus.around(centre, laplacian_eigenvectors(corpus))
