"""A graph encoder in PyTorch Geometric, exported by graphkin (`graphkin weights export --format geometric`).

It needs torch and torch-geometric, and RDKit to read SMILES. Next to this file lie its weights and their architecture:

    from torch_geometric.data import Batch
    from encoder import load, molecule

    encoder = load()
    vectors = encoder.embed(Batch.from_data_list([molecule("CCO"), molecule("c1ccccc1")]))

Each row is a unit vector, so the product of two rows is their cosine.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import MessagePassing, global_mean_pool
from torch_geometric.utils import add_self_loops, degree

ATOM_TYPES, CHIRALITIES, BOND_TYPES, BOND_DIRECTIONS = 120, 3, 6, 3
SELF_LOOP = [4, 0]  # type and direction


class Convolution(MessagePassing):  # type: ignore[misc]
    """A sum of neighbors and their bonds: GIN, GCN or GraphSAGE as in Hu et al. (2020).

    Args:
        kind: gin, gcn or sage.
        width: Width of all vectors.
    """

    def __init__(self, kind: str, width: int) -> None:
        super().__init__(aggr="mean" if kind == "sage" else "sum")
        self.kind = kind
        self.bond_type = nn.Embedding(BOND_TYPES, width)
        self.bond_direction = nn.Embedding(BOND_DIRECTIONS, width)
        if kind == "gin":
            self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        else:
            self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        """Return the atoms' new vectors (N, width). The edges (2, E) include self-loops."""
        bonds = self.bond_type(edge_attr[:, 0]) + self.bond_direction(edge_attr[:, 1])
        if self.kind != "gin":
            x = self.linear(x)
        scale = x.new_ones(edge_index.shape[1], 1)
        if self.kind == "gcn":
            root = degree(edge_index[0], len(x), x.dtype).rsqrt()
            scale = (root[edge_index[0]] * root[edge_index[1]]).unsqueeze(1)
        out: Tensor = self.propagate(edge_index, x=x, bonds=bonds, scale=scale)
        if self.kind == "gin":
            out = self.mlp(out)
        return nn.functional.normalize(out, dim=-1) if self.kind == "sage" else out

    def message(self, x_j: Tensor, bonds: Tensor, scale: Tensor) -> Tensor:
        return scale * (x_j + bonds)


class Encoder(nn.Module):
    """A graph encoder: embeddings of atoms, then blocks of convolution, batch normalization and ReLU.

    Args:
        encoder: gin, gcn or sage.
        layers: Number of blocks. The last one has no ReLU.
        width: Width of all vectors.
    """

    def __init__(self, encoder: str, layers: int, width: int) -> None:
        super().__init__()
        self.inputs = nn.ModuleDict(
            {"atom_type": nn.Embedding(ATOM_TYPES, width), "chirality": nn.Embedding(CHIRALITIES, width)}
        )
        self.convolutions = nn.ModuleList(Convolution(encoder, width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))

    def forward(self, data: Any) -> Tensor:
        """Return the atoms' vectors (N, width).

        Args:
            data: Graphs with x (N, 2) of atom types and chiralities, edge_index (2, E) with both directions of every
                bond, and edge_attr (E, 2) of bond types and directions; all int64. `molecule` has their codes.
        """
        loops = data.edge_attr.new_tensor(SELF_LOOP).expand(data.num_nodes, 2)
        edge_index = add_self_loops(data.edge_index, num_nodes=data.num_nodes)[0]
        edge_attr = torch.cat([data.edge_attr, loops])
        x = self.inputs["atom_type"](data.x[:, 0]) + self.inputs["chirality"](data.x[:, 1])
        for layer, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            x = norm(convolution(x, edge_index, edge_attr))
            if layer < len(self.norms) - 1:
                x = x.relu()
        return x

    def embed(self, data: Any) -> Tensor:
        """Return the graphs' embeddings (B, width): the means of their atoms' vectors, scaled to length 1."""
        self.eval()
        with torch.no_grad():
            return nn.functional.normalize(global_mean_pool(self(data), data.batch), dim=-1)


def load(folder: str | Path = Path(__file__).parent) -> Encoder:
    """Return the encoder of a folder, by default that of this file, in evaluation mode."""
    encoder = Encoder(**json.loads((Path(folder) / "config.json").read_text()))
    encoder.load_state_dict(torch.load(Path(folder) / "encoder.pt", weights_only=True))
    return encoder.eval()


def molecule(smiles: str) -> Data:
    """Return a molecule that RDKit can read.

    x: atomic number - 1, or 118 without an element; chirality unspecified, clockwise, other as 0 to 2. edge_attr:
    single, double, triple, aromatic as 0 to 3, and other bonds as 0; direction none, up-right, down-right as 0 to 2.
    """
    from rdkit import Chem

    types = {Chem.BondType.DOUBLE: 1, Chem.BondType.TRIPLE: 2, Chem.BondType.AROMATIC: 3}
    directions = {Chem.BondDir.ENDUPRIGHT: 1, Chem.BondDir.ENDDOWNRIGHT: 2}
    parsed = Chem.MolFromSmiles(smiles)
    atoms = [((atom.GetAtomicNum() or 119) - 1, min(int(atom.GetChiralTag()), 2)) for atom in parsed.GetAtoms()]
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in parsed.GetBonds()]
    codes = [(types.get(bond.GetBondType(), 0), directions.get(bond.GetBondDir(), 0)) for bond in parsed.GetBonds()]
    edges = torch.tensor(bonds, dtype=torch.int64).reshape(-1, 2)
    attributes = torch.tensor(codes, dtype=torch.int64).reshape(-1, 2)
    return Data(
        x=torch.tensor(atoms),
        edge_index=torch.cat([edges, edges.flip(1)]).T.contiguous(),
        edge_attr=torch.cat([attributes, attributes]),
    )
