"""Input layers of an encoder: the first vector of each node (docs/reference/training.md)."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from graphkin.protocol.errors import Conflict
from graphkin.trainer.model.batch import Batch

ATOM_TYPES = 120  # 0..117 elements, 118 dummy, 119 mask
CHIRALITIES = 3


class AtomInputs(nn.Module):
    """The sum of a learned vector of the atom's type and one of its chirality (Hu et al., 2020; method.md C)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.atom_type = nn.Embedding(ATOM_TYPES, width)
        self.chirality = nn.Embedding(CHIRALITIES, width)
        nn.init.xavier_uniform_(self.atom_type.weight)
        nn.init.xavier_uniform_(self.chirality.weight)

    def forward(self, batch: Batch) -> Tensor:
        """Return the atoms' first vectors, (N, width)."""
        # One table of all pairs costs a sum of 360 rows and one gather, instead of two gathers and a sum of N rows.
        pairs = self.atom_type.weight.unsqueeze(1) + self.chirality.weight
        return F.embedding(CHIRALITIES * batch.atom_type + batch.chirality, pairs.flatten(0, 1))


class NodeInputs(nn.Module):
    """A linear layer over the features of each node of a subgraph (GCC: Qiu et al., 2020; method.md C, AP_NF).

    The features are concatenated: entries in the first `eigenvectors` Laplacian eigenvectors; a learned vector of
    `degree_width` for the degree in the subgraph, where degrees above `max_degree` count as `max_degree`; and 1 for the
    node that the subgraph surrounds, 0 for others.
    """

    def __init__(self, width: int, eigenvectors: int, degree_width: int, max_degree: int) -> None:
        super().__init__()
        self._eigenvectors = eigenvectors
        self.degree = nn.Embedding(max_degree + 1, degree_width)
        self.linear = nn.Linear(eigenvectors + degree_width + 1, width)

    def forward(self, batch: Batch) -> Tensor:
        """Return the nodes' first vectors, (N, width).

        Raises:
            Conflict: The graphs surround no node.
        """
        if batch.eigenvectors is None or batch.centre is None:
            raise Conflict(
                "this encoder was trained on nodes of a network",
                given="molecules, or whole graphs",
                expected="nodes: a collection of kind node, or an edge list",
                hint="use a collection of kind node, or an encoder of molecules or graphs",
            )
        degree = self.degree(batch.edge_ptr.diff().clamp_max(self.degree.num_embeddings - 1))
        eigenvectors = batch.eigenvectors[:, : self._eigenvectors].to(degree.dtype)
        centre = batch.centre.unsqueeze(1).to(degree.dtype)
        vectors: Tensor = self.linear(torch.cat([eigenvectors, degree, centre], dim=1))
        return vectors
