"""Embeddings of molecules (method.md C)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trainer.batch import Assembler
from trainer.corpus import Corpus
from trainer.encoders import Encoder
from trainer.hgc import unit

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


def batches(corpus: Corpus) -> Iterator[NDArray[np.int64]]:
    """The ids of all graphs in order, cut into batches of bounded memory: of 16,384 atoms and one graph's at most."""
    ends: NDArray[Any] = corpus.atom_offsets[1:].astype(np.int64)
    cuts = np.flatnonzero(np.diff(ends // _ATOMS)) + 1
    return (ids for ids in np.split(np.arange(corpus.size), cuts) if len(ids))
