"""Embeddings of graphs by a trained encoder (docs/reference/training.md)."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.pooling import Pooling, pool
from graphkin.trainer.pretraining.hgc import unit

_BATCH_ATOMS = 16_384  # maximum number of atoms in a batch, without those of its first graph


def embed(encoder: Encoder, corpus: Corpus, pooling: Pooling = "readout") -> NDArray[np.float32]:
    """Return the embedding of each graph, (N, D) float32: its vector, scaled to a unit vector.

    By default, these are the vectors that contrastive pre-training compares (method.md C). The dot product of two rows
    is their cosine similarity. The encoder runs on its own device, and is put into evaluation mode. So the other graphs
    of a batch change at most the last bits of a row.
    """
    device = next(encoder.parameters()).device
    assembler = Assembler(corpus, device)
    encoder.eval()
    vectors = np.empty((corpus.size, encoder.width), np.float32)
    with torch.no_grad():
        for ids in batches(corpus):
            vectors[ids] = unit(pool(encoder, assembler.batch(ids), pooling)).cpu().numpy()
    return vectors


def batches(corpus: Corpus, ids: NDArray[np.int64] | None = None) -> Iterator[NDArray[np.int64]]:
    """Yield ids of graphs in batches of bounded memory.

    A batch has at most 16,384 atoms plus the atoms of one graph.

    Args:
        corpus: The graphs.
        ids: Ids to yield, in this order; None for all.
    """
    graph_ids = np.arange(corpus.size) if ids is None else ids
    ends = np.cumsum(corpus.atoms[graph_ids])
    cuts = np.flatnonzero(np.diff(ends // _BATCH_ATOMS)) + 1
    return (part for part in np.split(graph_ids, cuts) if len(part))
