"""Subgraphs of a big graph, sampled anew in every epoch (GCC: Qiu et al., 2020)."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.features.network import Network
from graphkin.trainer.features.turns import turns
from graphkin.trainer.features.walks import sample_surroundings
from graphkin.trainer.model.batch import Assembler, Batch, Graphs
from graphkin.trainer.strategy import Walks


class WalkedGraphs(Graphs):
    """Subgraphs around the nodes of a network, which depend only on seed, epoch and node.

    Each occurrence of a node in a batch is another subgraph: its first sample, its second sample, and so on.
    """

    def __init__(self, network: Network, walks: Walks, seed: int, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self._network = network
        self._walks = walks
        self._seed = seed

    def batch(self, ids: NDArray[Any], epoch: int = 0) -> Batch:
        if len(ids) == 0 or ids.min() < 0 or ids.max() >= self._network.size:
            raise InvalidInput("there are no such nodes", expected=f"0 to {self._network.size - 1}")
        corpus = sample_surroundings(self._network, ids, turns(ids), self._walks, (self._seed, epoch))
        return Assembler(corpus, self.device).batch(np.arange(len(ids)))
