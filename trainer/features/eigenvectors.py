"""Positional features of nodes: eigenvectors of the normalized Laplacian (GCC: Qiu et al., 2020)."""

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.csr import rows

EIGENVECTORS = 32

_ENTRIES = 2**22  # entries of the matrices that are decomposed together; a larger matrix is decomposed alone
_EQUAL = 1e-6  # entries of a unit vector that differ by less count as equal


def laplacian_eigenvectors(corpus: Corpus, count: int = EIGENVECTORS) -> NDArray[np.float32]:
    """Return the entries of each node in the first eigenvectors of its graph, (A, count), zero-padded on the right.

    The eigenvectors are unit vectors of I - D^-1/2 A D^-1/2 with the smallest eigenvalues, in ascending order, which
    are those of D^-1/2 A D^-1/2 with the largest. D is 1 for a node without edges. The entry of largest magnitude, the
    first of several that differ by less than 1e-6, is positive. Renumbering a graph therefore renumbers the rows,
    except where an eigenvalue is multiple: there LAPACK chooses the basis.
    """
    vectors = np.zeros((int(corpus.atom_offsets[-1]), count), np.float32)
    sizes = corpus.atoms
    for size in np.unique(sizes).tolist():
        graphs = np.flatnonzero(sizes == size)
        for ids in np.array_split(graphs, -(-len(graphs) * size**2 // _ENTRIES)):
            nodes, _ = rows(corpus.atom_offsets, ids)
            leading = _leading(_normalize(corpus, ids, size), count)
            vectors[nodes, : leading.shape[2]] = leading.reshape(len(nodes), -1)
    return vectors


def _normalize(corpus: Corpus, ids: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return D^-1/2 A D^-1/2 of the graphs `ids` (k,), all with n nodes: (k, n, n)."""
    edges, graph = rows(corpus.edge_offsets, ids)
    nodes, _ = rows(corpus.atom_offsets, ids)
    degree = corpus.degree[nodes].astype(np.int64)
    target = np.repeat(np.tile(np.arange(size), len(ids)), degree)  # edges are sorted by graph and target
    scale = np.maximum(degree, 1).reshape(len(ids), size) ** -0.5
    matrices = np.zeros((len(ids), size, size))
    matrices[graph, target, corpus.source[edges]] = 1
    return matrices * scale[:, :, None] * scale[:, None, :]


def _leading(matrices: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the last eigenvectors of symmetric matrices (k, n, n), last first, with fixed signs.

    The shape is (k, n, min(n, count)).
    """
    vectors = np.linalg.eigh(matrices).eigenvectors[:, :, ::-1][:, :, :count]
    magnitude = np.abs(vectors)
    largest = (magnitude > magnitude.max(1, keepdims=True) - _EQUAL).argmax(1)
    signed: NDArray[np.float64] = vectors * np.sign(np.take_along_axis(vectors, largest[:, None, :], 1))
    return signed
