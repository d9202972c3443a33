"""Where a node is in its graph: eigenvectors of the normalised Laplacian (docs/training.md; Qiu et al., 2020: GCC)."""

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.csr import rows

EIGENVECTORS = 32

_ENTRIES = 2**22  # of the matrices that are decomposed together, or one matrix if that is more
_EQUAL = 1e-6  # entries of a unit vector that differ by less are equally large


def laplacian_eigenvectors(corpus: Corpus, count: int = EIGENVECTORS) -> NDArray[np.float32]:
    """(A, count): row v holds the entries of node v in the first eigenvectors of its graph, zeros where it has fewer.

    They are unit vectors of I - D^-1/2 A D^-1/2 with the smallest eigenvalues, which are those of D^-1/2 A D^-1/2 with
    the largest, in this order; D is 1 for a node without edges. The entry of largest magnitude, the first of several
    that differ by less than 1e-6, is positive. So renumbering a graph renumbers the rows, but where an eigenvalue is
    multiple: there the basis is LAPACK's choice.
    """
    found = np.zeros((int(corpus.atom_offsets[-1]), count), np.float32)
    sizes = corpus.atoms
    for size in np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == size)
        for ids in np.array_split(alike, -(-len(alike) * size**2 // _ENTRIES)):
            nodes, _ = rows(corpus.atom_offsets, ids)
            leading = _leading(_normalised(corpus, ids, size), count)
            found[nodes, : leading.shape[2]] = leading.reshape(len(nodes), -1)
    return found


def _normalised(corpus: Corpus, ids: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """(k, n, n): D^-1/2 A D^-1/2 of the graphs `ids` (k,), all of n nodes."""
    edges, graph = rows(corpus.edge_offsets, ids)
    nodes, _ = rows(corpus.atom_offsets, ids)
    degree = corpus.degree[nodes].astype(np.int64)
    target = np.repeat(np.tile(np.arange(size), len(ids)), degree)  # edges are sorted by graph and target
    scale = np.maximum(degree, 1).reshape(len(ids), size) ** -0.5
    matrices = np.zeros((len(ids), size, size))
    matrices[graph, target, corpus.source[edges]] = 1
    return matrices * scale[:, :, None] * scale[:, None, :]


def _leading(matrices: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """(k, n, at most count): the last eigenvectors of symmetric matrices (k, n, n), the last first, with their sign."""
    vectors = np.linalg.eigh(matrices).eigenvectors[:, :, ::-1][:, :, :count]
    magnitude = np.abs(vectors)
    largest = (magnitude > magnitude.max(1, keepdims=True) - _EQUAL).argmax(1)
    signed: NDArray[np.float64] = vectors * np.sign(np.take_along_axis(vectors, largest[:, None, :], 1))
    return signed
