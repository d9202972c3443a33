"""Embeddings of graphs by a trained encoder (docs/training.md)."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.encoders import Encoder
from graphkin.trainer.pretraining.hgc import unit

_ATOMS = 16_384  # maximum atoms of a batch, plus those of one graph


def embed(encoder: Encoder, corpus: Corpus) -> NDArray[np.float32]:
    """Return the embedding of each graph, (N, D) float32: the mean of its atom vectors, scaled to a unit vector.

    The contrast compares the same vectors (method.md C), and the product of two rows is their cosine. The encoder is
    put into evaluation mode, so the other graphs of a batch change at most the last bits of a row. Encoding runs on the
    encoder's device.
    """
    device = next(encoder.parameters()).device
    assembler = Assembler(corpus, device)
    encoder.eval()
    vectors = np.empty((corpus.size, encoder.width), np.float32)
    with torch.no_grad():
        for ids in batches(corpus):
            vectors[ids] = unit(encoder.graphs(assembler.batch(ids))).cpu().numpy()
    return vectors


def batches(corpus: Corpus, ids: NDArray[np.int64] | None = None) -> Iterator[NDArray[np.int64]]:
    """Yield the ids, all by default, in batches of bounded memory: at most 16,384 atoms plus those of one graph."""
    graph_ids = np.arange(corpus.size) if ids is None else ids
    ends = np.cumsum(corpus.atoms[graph_ids])
    cuts = np.flatnonzero(np.diff(ends // _ATOMS)) + 1
    return (part for part in np.split(graph_ids, cuts) if len(part))
