"""Subgraphs of a big graph, sampled again in every epoch (GCC: Qiu et al., 2020)."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphkin.trainer.features.network import Network
from graphkin.trainer.features.turns import turns
from graphkin.trainer.features.walks import sample_surroundings
from graphkin.trainer.model.batch import Assembler, Batch, Graphs, require_ids
from graphkin.trainer.strategy import Walks


class WalkedGraphs(Graphs):
    """Random subgraphs around the nodes of a network.

    A subgraph depends only on the seed, the epoch, the node, and the number of times that the node occurs before in the
    batch.
    """

    def __init__(self, network: Network, walks: Walks, seed: int, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self._network = network
        self._walks = walks
        self._seed = seed

    def batch(self, ids: NDArray[Any], epoch: int = 0) -> Batch:
        require_ids(ids, self._network.size, "nodes", "network")
        corpus = sample_surroundings(self._network, ids, turns(ids), self._walks, (self._seed, epoch))
        return Assembler(corpus, self.device).batch(np.arange(len(ids)))
