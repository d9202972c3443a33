"""Vectors of graphs from the vectors of their atoms."""

from typing import Literal

from torch import Tensor

from graphkin.protocol.errors import Conflict
from graphkin.trainer.model.aggregation import graph_sum
from graphkin.trainer.model.batch import Batch
from graphkin.trainer.model.encoder import Encoder, graph_mean

Pooling = Literal["mean", "sum", "center", "readout"]
POOLINGS: tuple[Pooling, ...] = ("mean", "sum", "center", "readout")


def pool(encoder: Encoder, batch: Batch, pooling: Pooling) -> Tensor:
    """Return the vectors of the graphs of a batch, (B, width).

    Args:
        encoder: The encoder.
        batch: The graphs, without padding.
        pooling: `mean` or `sum` of the atom vectors; `center`, the vector of the node that the subgraph is around;
            or `readout` for the encoder's own, which is the mean unless the encoder has another one.

    Raises:
        Conflict: `center`, and the graphs are not subgraphs around a node.
    """
    if pooling == "readout":
        return encoder.graphs(batch)
    atoms: Tensor = encoder(batch)
    match pooling:
        case "mean":
            return graph_mean(atoms, batch)
        case "sum":
            return graph_sum(atoms, batch.graph, batch.atom_ptr)
        case "center":
            if batch.centre is None:
                raise Conflict(
                    "these graphs surround no node, so they have no center",
                    given="--pooling center",
                    expected=", ".join(each for each in POOLINGS if each != "center"),
                    hint="choose another --pooling: center is for nodes of big graphs",
                )
            return atoms[batch.centre]
