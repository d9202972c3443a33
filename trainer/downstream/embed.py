"""Embeddings of molecules (docs/training.md)."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.encoders import Encoder
from graphkin.trainer.pretraining.hgc import unit

_ATOMS = 16_384  # of a batch, and those of one graph more


def embed(encoder: Encoder, corpus: Corpus) -> NDArray[np.float32]:
    """(N, D) float32: row i is the mean of graph i's atom vectors, made a unit vector, as the contrast compares them.

    The cosine of two rows is therefore their product. The encoder is put in evaluation mode, so what a graph is encoded
    together with changes the last bits of its row at most. Encodes on the encoder's device.
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
    """The ids, by default all, cut into batches of bounded memory: of 16,384 atoms and one graph's at most."""
    wanted = np.arange(corpus.size) if ids is None else ids
    ends = np.cumsum(corpus.atoms[wanted])
    cuts = np.flatnonzero(np.diff(ends // _ATOMS)) + 1
    return (part for part in np.split(wanted, cuts) if len(part))
