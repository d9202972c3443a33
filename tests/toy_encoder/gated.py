"""An encoder that graphkin does not know: sums over neighbors, and a mean of the atoms weighted by a learned gate."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from graphkin.trainer.model.aggregation import graph_sum, neighbor_sum
from graphkin.trainer.model.batch import Batch
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.inputs import AtomInputs
from graphkin.trainer.model.norm import BatchNorm
from graphkin.trainer.pretraining.config import Model


class GatedEncoder(Encoder):
    can_capture = True

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.width = model.width
        self.inputs = AtomInputs(model.width, model.features)
        self.layers = nn.ModuleList(nn.Linear(2 * model.width, model.width) for _ in range(model.layers))
        self.norms = nn.ModuleList(BatchNorm(model.width) for _ in range(model.layers))
        self.dropout = nn.Dropout(model.dropout)
        self.gate = nn.Linear(model.width, 1)

    def forward(self, batch: Batch) -> Tensor:
        x: Tensor = self.inputs(batch)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            neighbors = neighbor_sum(x, batch.edge_index[0], batch.edge_ptr)
            update = norm(layer(torch.cat([x, neighbors], dim=1)), batch.padding)
            x = x + self.dropout(F.relu(update))
        return x

    def graphs(self, batch: Batch) -> Tensor:
        atoms = self(batch)
        gates = self.gate(atoms).sigmoid()
        weighted, total = (graph_sum(each, batch.graph, batch.atom_ptr) for each in (gates * atoms, gates))
        return (weighted / total)[: batch.graphs]
