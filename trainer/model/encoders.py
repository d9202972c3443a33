"""Graph encoders: GIN, GCN and GraphSAGE, layer by layer as in Hu et al. (2020) and the paper (method.md C)."""

import warnings
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from graphkin.trainer.features.corpus import BOND_TYPES, DIRECTIONS
from graphkin.trainer.features.feature_sets import FEATURE_SETS
from graphkin.trainer.model.aggregation import neighbor_sum, row_sum
from graphkin.trainer.model.batch import Batch
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.inputs import AtomInputs
from graphkin.trainer.model.norm import BatchNorm

with warnings.catch_warnings():  # importing PyTorch Geometric uses torch.jit, which is deprecated
    warnings.simplefilter("ignore", FutureWarning)
    from torch_geometric.nn import MessagePassing

_TABLE = BOND_TYPES + 2  # rows of a layer's table: bond types, self-loop, mask
_SELF_LOOP = 4
_CODES = BOND_TYPES * DIRECTIONS


@dataclass(frozen=True, eq=False)
class Incidence:
    """Weighted adjacency of a batch's atoms for one kind of convolution, computed once for all layers.

    A message from u to v has the weight left_u * right_v. Both factors are powers of degrees that include self-loops.

    Attributes:
        edge_index: (2, E) As in `Batch`, without self-loops.
        edge_ptr: (N + 1,) As in `Batch`, without self-loops.
        left: (N, 1); None for ones.
        right: (N, 1); None for ones.
        counts: (N, 9) Bonds of an atom and its self-loop, counted by type (6) and direction (3), each with its weight
            left_u; (N, 9 + K) with details of bonds, counted by their values too. Multiplied by a layer's tables, they
            are the bonds' part of the sum, so no row per edge is ever created (method.md C).
    """

    edge_index: Tensor
    edge_ptr: Tensor
    left: Tensor | None
    right: Tensor | None
    counts: Tensor


def incidence(batch: Batch, bonds: Tensor, left: float, right: float) -> Incidence:
    """Return the incidence of a batch, with message weights degree_u**left * degree_v**right.

    Args:
        batch: The batch.
        bonds: The table of `bond_features()`.
        left: Exponent of the sender's degree.
        right: Exponent of the receiver's degree.
    """
    codes = batch.bond
    if batch.bond_details is not None and len(bonds) > _CODES:
        codes = codes + _CODES * batch.bond_details
    degree = (batch.edge_ptr.diff() + 1).to(bonds.dtype).unsqueeze(1)
    sending = degree**left if left else None
    weights = None if sending is None else sending.squeeze(1).index_select(0, batch.edge_index[0])
    counts = row_sum(bonds, codes, batch.edge_ptr, weights)
    loop = 1.0 if sending is None else sending.squeeze(1)
    counts[:, _SELF_LOOP] += loop
    counts[:, _TABLE] += loop  # a self-loop has no direction
    return Incidence(batch.edge_index, batch.edge_ptr, sending, degree**right if right else None, counts)


def bond_features(features: str = "hu") -> Tensor:
    """Return the one-hot type and direction of every bond code, side by side: (12, 9).

    With details, row 12 · d + b is that of bond code b and detail code d, and further columns are the one-hot values of
    the details: (12 · D, 9 + K). They are all 0 where details are unknown.
    """
    types, directions = torch.arange(BOND_TYPES), torch.arange(DIRECTIONS)
    rows = torch.cartesian_prod(types, directions)
    table = torch.cat([F.one_hot(rows[:, 0], _TABLE), F.one_hot(rows[:, 1], DIRECTIONS)], dim=1)
    details = FEATURE_SETS[features].bonds
    if details is not None:
        columns = zip(torch.from_numpy(details.values()).unbind(1), details.sizes.values(), strict=True)
        one_hot = torch.cat([(column[:, None] == torch.arange(size)).to(table) for column, size in columns], dim=1)
        table = torch.cat([table.repeat(details.codes, 1), one_hot.repeat_interleave(_CODES, dim=0)], dim=1)
    return table.to(torch.get_default_dtype())


class Convolution(MessagePassing):  # type: ignore[misc]
    """Weighted sum over neighbors: out_v = right_v * Σ_u left_u (x_u + e_uv) for u in N(v) and u = v.

    Input and output are (N, width). e_uv is the sum of a learned vector of the bond's type and one of its direction. A
    self-loop has type 4 and direction 0 (method.md C). The set of features may add details, each with a learned vector
    of its value. A self-loop has no details.
    """

    left = 0.0
    right = 0.0

    def __init__(self, width: int, features: str = "hu") -> None:
        super().__init__(aggr="sum")
        self.bond_type = nn.Embedding(_TABLE, width)
        self.bond_direction = nn.Embedding(DIRECTIONS, width)
        nn.init.xavier_uniform_(self.bond_type.weight)
        nn.init.xavier_uniform_(self.bond_direction.weight)
        details = FEATURE_SETS[features].bonds
        self.bond_details = None if details is None else nn.Embedding(sum(details.sizes.values()), width)
        if self.bond_details is not None:
            nn.init.xavier_uniform_(self.bond_details.weight)

    def forward(self, x: Tensor, adjacency: Incidence) -> Tensor:
        if adjacency.left is not None:
            x = adjacency.left * x
        parts = [self.bond_type.weight, self.bond_direction.weight]
        tables = torch.cat(parts if self.bond_details is None else [*parts, self.bond_details.weight])
        out: Tensor = self.propagate(adjacency.edge_index, x=x, edge_ptr=adjacency.edge_ptr)
        out = out + x + adjacency.counts @ tables
        return out if adjacency.right is None else adjacency.right * out

    def message(self, x: Tensor) -> Tensor:
        return x  # not one row per edge: `aggregate` gathers rows while it sums

    def aggregate(self, inputs: Tensor, edge_index_j: Tensor, edge_ptr: Tensor) -> Tensor:
        return neighbor_sum(inputs, edge_index_j, edge_ptr)


class GIN(Convolution):
    """GIN without ε: MLP(Σ (x_u + e_uv)) (Xu et al., 2019; Hu et al., 2020).

    The MLP has one hidden layer of twice the width, with ReLU.
    """

    def __init__(self, width: int, features: str = "hu") -> None:
        super().__init__(width, features)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, adjacency: Incidence) -> Tensor:
        out: Tensor = self.mlp(super().forward(x, adjacency))
        return out


class GCN(Convolution):
    """GCN: Σ d_u^-1/2 d_v^-1/2 (W x_u + e_uv), with degrees that include self-loops (Kipf and Welling, 2017)."""

    left = -0.5
    right = -0.5

    def __init__(self, width: int, features: str = "hu") -> None:
        super().__init__(width, features)
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor, adjacency: Incidence) -> Tensor:
        return super().forward(self.linear(x), adjacency)


class GraphSAGE(Convolution):
    """GraphSAGE: the mean of W x_u + e_uv, scaled to a unit vector (Hamilton et al., 2017)."""

    right = -1.0

    def __init__(self, width: int, features: str = "hu") -> None:
        super().__init__(width, features)
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor, adjacency: Incidence) -> Tensor:
        return F.normalize(super().forward(self.linear(x), adjacency), dim=-1)


CONVOLUTIONS: dict[str, type[Convolution]] = {"gin": GIN, "gcn": GCN, "sage": GraphSAGE}


class ConvolutionalEncoder(Encoder):
    """An encoder of inputs and `layers` blocks of convolution, batch normalization, ReLU and dropout.

    The last block has no ReLU, and its atom vectors are the output (JK = last). With 5 layers of width 300, GIN has
    1,857,900 parameters, GCN and GraphSAGE 504,900 (method.md C). Graphs without attributes use the same encoder: every
    node is (119, 0) and every edge (0, 0).

    Args:
        name: Kind of convolution: `gin`, `gcn` or `sage`.
        layers: Number of blocks.
        width: Width of all vectors.
        dropout: Probability of dropout after each block.
        inputs: Module that computes the first vector of each node, (N, width); `AtomInputs` by default. See
            `inputs.py`.
        features: Name of the set of features (`feature_sets`).
    """

    can_capture = True
    can_widen = True

    def __init__(
        self,
        name: str,
        layers: int = 5,
        width: int = 300,
        dropout: float = 0.0,
        inputs: nn.Module | None = None,
        features: str = "hu",
    ) -> None:
        super().__init__()
        self.bonds: Tensor
        self.width = width
        self.inputs = inputs or AtomInputs(width, features)
        kind = CONVOLUTIONS[name]
        self._weights = kind.left, kind.right
        self.convolutions = nn.ModuleList(kind(width, features) for _ in range(layers))
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("bonds", bond_features(features), persistent=False)

    def forward(self, batch: Batch) -> Tensor:
        """Return the atoms' vectors, (N, width)."""
        x = self.inputs(batch)
        adjacency = incidence(batch, self.bonds, *self._weights)
        last = len(self.convolutions) - 1
        for layer, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            x = norm(convolution(x, adjacency), batch.padding)
            x = self.dropout(x if layer == last else F.relu(x))
        return x
