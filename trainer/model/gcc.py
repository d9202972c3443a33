"""The encoder of nodes that the paper's authors published, which is that of GCC (Qiu et al., 2020; method.md C)."""

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from graphkin.trainer.model.aggregation import graph_sum, neighbor_sum
from graphkin.trainer.model.batch import Batch, Padding
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.inputs import NodeFeatures
from graphkin.trainer.model.norm import BatchNorm


class GccConvolution(nn.Module):
    """GIN without ε and without bonds: an MLP of the sum over a node and its neighbors (Xu et al., 2019).

    The MLP has one hidden layer, with batch normalization and ReLU. Its output passes twice through batch normalization
    and ReLU, as in GCC's code.

    Args:
        inputs: Dimensions of the nodes' vectors.
        width: Dimensions of the hidden layer and of the output.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(inputs, width)
        self.linear = nn.Linear(width, width)
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(3))

    def forward(self, x: Tensor, edge_index: Tensor, edge_ptr: Tensor, padding: Padding | None) -> Tensor:
        """Return the nodes' next vectors, (N, width). `Batch` documents the edges and the padding."""
        first, second, third = self.norms
        x = x + neighbor_sum(x, edge_index[0], edge_ptr)
        x = self.linear(F.relu(first(self.hidden(x), padding)))
        return F.relu(third(F.relu(second(x, padding)), padding))


class GccEncoder(Encoder):
    """The encoder `gin-gcc`: convolutions over the features of nodes, and a linear readout over all layers.

    The readout sums the vectors of each graph's nodes, separately for the features and for the output of each
    convolution, maps each of these sums by a linear layer of its own, and adds up the results. With 33 features, 4
    convolutions and width 64 it has 51,648 parameters.

    Args:
        layers: Number of convolutions.
        width: Dimensions of all vectors but the features.
        dropout: Probability of dropout of the results that the readout adds up. GCC has 0.5, the paper 0.
        features: Module that computes the features of nodes.
    """

    can_capture = True

    def __init__(self, layers: int, width: int, dropout: float, features: NodeFeatures) -> None:
        super().__init__()
        self.width = width
        self.features = features
        widths = [features.width, *[width] * layers]
        self.convolutions = nn.ModuleList(GccConvolution(inputs, width) for inputs in widths[:-1])
        self.readouts = nn.ModuleList(nn.Linear(inputs, width) for inputs in widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Return the nodes' vectors after the last convolution, (N, width)."""
        return self._layers(batch)[-1]

    def graphs(self, batch: Batch) -> Tensor:
        sums = [graph_sum(x, batch.graph, batch.atom_ptr)[: batch.graphs] for x in self._layers(batch)]
        parts = [self.dropout(readout(each)) for readout, each in zip(self.readouts, sums, strict=True)]
        total, *others = parts
        for part in others:
            total = total + part
        return total

    def _layers(self, batch: Batch) -> list[Tensor]:
        """Return the features of the nodes and the output of each convolution."""
        layers = [self.features(batch).to(self.readouts[0].weight.dtype)]
        for convolution in self.convolutions:
            layers.append(convolution(layers[-1], batch.edge_index, batch.edge_ptr, batch.padding))
        return layers
