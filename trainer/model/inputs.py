"""Input layers of an encoder: the first vector of each node (docs/reference/training.md)."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from graphkin.protocol.errors import Conflict
from graphkin.trainer.features.feature_sets import FEATURE_SETS
from graphkin.trainer.model.batch import Batch
from graphkin.trainer.model.norm import BatchNorm

ATOM_TYPES = 120  # 0..117 elements, 118 dummy, 119 mask
CHIRALITIES = 3


class AtomInputs(nn.Module):
    """The sum of learned vectors of the atom's type and chirality (Hu et al., 2020; method.md C), and of its details.

    Args:
        width: Width of the vectors.
        features: Name of the set of features (`feature_sets`), which decides the details. Each detail has a vector for
            each of its values, and one for an unknown value, which masked atoms and nodes without attributes have.
    """

    def __init__(self, width: int, features: str = "hu") -> None:
        super().__init__()
        self.atom_type = nn.Embedding(ATOM_TYPES, width)
        self.chirality = nn.Embedding(CHIRALITIES, width)
        nn.init.xavier_uniform_(self.atom_type.weight)
        nn.init.xavier_uniform_(self.chirality.weight)
        self.detail_rows: Tensor
        self.details: nn.Embedding | None = None
        details = FEATURE_SETS[features].atoms
        if details is not None:
            sizes = torch.tensor([*details.sizes.values()]) + 1  # the first row of each is that of an unknown value
            self.details = nn.Embedding(int(sizes.sum()), width)
            nn.init.xavier_uniform_(self.details.weight)
            rows = torch.from_numpy(details.values()) + 1 + sizes.cumsum(0) - sizes
            self.register_buffer("detail_rows", rows, persistent=False)

    def forward(self, batch: Batch) -> Tensor:
        """Return the atoms' first vectors, (N, width)."""
        # One table of all pairs costs a sum of 360 rows and one gather, instead of two gathers and a sum of N rows.
        pairs = self.atom_type.weight.unsqueeze(1) + self.chirality.weight
        vectors = F.embedding(CHIRALITIES * batch.atom_type + batch.chirality, pairs.flatten(0, 1))
        if self.details is None:
            return vectors
        codes = torch.zeros_like(batch.atom_type) if batch.atom_details is None else batch.atom_details
        return vectors + F.embedding_bag(self.detail_rows[codes], self.details.weight, mode="sum")


class NodeFeatures(nn.Module):
    """Features of the nodes of a subgraph around a node, side by side (GCC: Qiu et al., 2020; method.md C).

    They are the entries in the first `eigenvectors` Laplacian eigenvectors; a learned vector of `degree_width` for the
    degree in the subgraph, where degrees above `max_degree` count as `max_degree`; and 1 for the center of the
    subgraph, 0 for other nodes.

    Args:
        eigenvectors: Number of eigenvectors.
        degree_width: Width of the vector of a degree; 0 for none.
        max_degree: The largest degree with a vector of its own.
        has_unit_rows: Whether the entries of each node in the eigenvectors are scaled to length 1, as in GCC.
    """

    def __init__(self, eigenvectors: int, degree_width: int, max_degree: int, has_unit_rows: bool = False) -> None:
        super().__init__()
        self.width = eigenvectors + degree_width + 1
        self._eigenvectors = eigenvectors
        self._has_unit_rows = has_unit_rows
        self.degree = nn.Embedding(max_degree + 1, degree_width) if degree_width else None

    def forward(self, batch: Batch) -> Tensor:
        """Return the features of the nodes, (N, width).

        Raises:
            Conflict: The graphs are not subgraphs around a node.
        """
        if batch.eigenvectors is None or batch.centre is None:
            raise Conflict(
                "this encoder was trained on nodes of a network",
                given="molecules, or whole graphs",
                expected="nodes: a collection of kind node, or an edge list",
                hint="use a collection of kind node, or an encoder of molecules or graphs",
            )
        eigenvectors = batch.eigenvectors[:, : self._eigenvectors]
        features = [F.normalize(eigenvectors) if self._has_unit_rows else eigenvectors]
        if self.degree is not None:
            features.append(self.degree(batch.edge_ptr.diff().clamp_max(self.degree.num_embeddings - 1)))
        return torch.cat([*features, batch.centre.unsqueeze(1).to(eigenvectors.dtype)], dim=1)


class NodeInputs(NodeFeatures):
    """A linear layer over `NodeFeatures`.

    Args:
        width: Width of the nodes' first vectors.
        eigenvectors: As in `NodeFeatures`.
        degree_width: As in `NodeFeatures`.
        max_degree: As in `NodeFeatures`.
    """

    def __init__(self, width: int, eigenvectors: int, degree_width: int, max_degree: int) -> None:
        super().__init__(eigenvectors, degree_width, max_degree)
        self.linear = nn.Linear(self.width, width)

    def forward(self, batch: Batch) -> Tensor:
        """Return the nodes' first vectors, (N, width).

        Raises:
            Conflict: The graphs are not subgraphs around a node.
        """
        vectors: Tensor = self.linear(super().forward(batch).to(self.linear.weight.dtype))
        return vectors


class AttributeInputs(nn.Module):
    """A linear layer over the attributes of nodes, which batch normalization brings to a common scale.

    Args:
        width: Width of the nodes' first vectors.
        attributes: Number of attributes.
    """

    def __init__(self, width: int, attributes: int) -> None:
        super().__init__()
        self.norm = BatchNorm(attributes)
        self.linear = nn.Linear(attributes, width)

    def forward(self, batch: Batch) -> Tensor:
        """Return the nodes' first vectors, (N, width).

        Raises:
            Conflict: The nodes have another number of attributes, or none.
        """
        count = 0 if batch.attributes is None else batch.attributes.shape[1]
        if batch.attributes is None or count != self.norm.num_features:
            raise Conflict(
                "this encoder was trained on graphs whose nodes have other attributes",
                given=f"nodes with {count} attributes",
                expected=f"nodes with {self.norm.num_features} attributes: those of the set it was trained on",
                hint="use graphs with these attributes, or another encoder",
            )
        attributes = batch.attributes.to(self.linear.weight.dtype)
        vectors: Tensor = self.linear(self.norm(attributes, batch.padding))
        return vectors
