"""The port of graph encoders, which `encoders.py` and other packages implement, and sums over the atoms of graphs.

docs/develop/extending.md has a complete encoder.
"""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from graphkin.trainer.model.aggregation import graph_sum
from graphkin.trainer.model.batch import Batch


class Encoder(nn.Module, ABC):
    """A graph encoder: a module that computes a vector of each atom, and of each graph.

    Weights, running statistics and everything else that evaluation needs are parameters and buffers, because
    checkpoints store `state_dict()`. Random numbers come from torch's default generator, which is seeded in each step,
    so that a resumed run repeats them. Fine-tuning sets the probability of every `nn.Dropout`. Normalization by
    `norm.BatchNorm` works with padding, several processes and frozen statistics; normalization by torch's does not.

    Attributes:
        width: Dimensions of the vectors of atoms and graphs.
        can_capture: Whether `forward` and `graphs` accept padded batches, give padding no influence on other rows, read
            nothing back from the device, and have shapes that depend only on the shape of the batch. If so, a GPU can
            replay training steps as CUDA graphs. An encoder without it never gets padded batches.
        can_widen: Whether the encoder computes the same with additional columns of zeros, as `widening` requires.
    """

    width: int
    can_capture: bool = False
    can_widen: bool = False

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """Return the atoms' vectors, (N, width)."""

    def graphs(self, batch: Batch) -> Tensor:
        """Return the graphs' vectors, (B, width): the readout. The default is the mean of the atoms' vectors."""
        return graph_mean(self(batch), batch)

    @property
    def has_readout(self) -> bool:
        """Whether the encoder has another readout than the mean."""
        return type(self).graphs is not Encoder.graphs


def graph_mean(atoms: Tensor, batch: Batch) -> Tensor:
    """Return the mean over each graph's rows of atoms (N, D): (B, D). No graph is empty."""
    sizes = batch.atom_ptr.diff().unsqueeze(1)
    return (graph_sum(atoms, batch.graph, batch.atom_ptr) / sizes)[: batch.graphs]


def per_atom(graphs: Tensor, batch: Batch) -> Tensor:
    """Return the row of its graph for each atom: (N, D) from graphs (B, D). Rows of padding have no meaning."""
    return graphs[batch.graph if batch.padding is None else batch.graph.clamp_max(batch.graphs - 1)]
