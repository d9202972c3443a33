"""Features of subgraphs around a node (docs/reference/training.md)."""

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
    """Return the features of N subgraphs, each around its node centre[i].

    `Corpus.from_edges` documents the other arguments.
    """
    corpus = Corpus.from_edges(identity, nodes, edge_counts, edges)
    return corpus.around(centre, laplacian_eigenvectors(corpus))
