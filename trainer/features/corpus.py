"""Features of all items of a generation as flat arrays with offsets (docs/reference/training.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict, Damaged
from graphkin.trainer.features.csr import offsets_from_counts

DUMMY = 118
"""Atom type of an atom without an element (Z = 0)."""
MASK = 119
"""Atom type of a masked atom, and of every node of an attribute-less graph."""
BOND_TYPES = 4
DIRECTIONS = 3

_INDEX_TYPES = (np.uint8, np.int16, np.int32, np.int64)  # torch can index with these types and convert them


@dataclass(frozen=True, eq=False)
class Corpus:
    """N graphs with A atoms and E directed edges. Every bond is two edges, one each way, with equal features.

    Attributes:
        identity: Id of the generation, or other text that identifies the graphs.
        atom_offsets: (N + 1,) Graph i has the atoms atom_offsets[i] to atom_offsets[i + 1] - 1.
        edge_offsets: (N + 1,) Graph i has the edges edge_offsets[i] to edge_offsets[i + 1] - 1.
        atom_type: (A,) uint8. Z - 1 in 0..117, 118 for Z = 0, 119 for nodes without attributes.
        chirality: (A,) uint8, 0..2.
        degree: (A,) Edges that end at the atom.
        source: (E,) The atom that an edge leaves, counted from its graph's first atom. Edges are sorted by graph, then
            by the atom they enter, then by source.
        bond: (E,) uint8. 3 * type (0..3) + direction (0..2).
        eigenvectors: (A, K) float32, from `eigenvectors.laplacian_eigenvectors`; None unless the graphs are
            subgraphs around a node.
        centre: (N,) The center of each graph, counted from its first node; None unless the graphs are subgraphs around
            a node.
        atom_details: (A,) Codes of `feature_sets.Details`; None for features that have none.
        bond_details: (E,) Codes of `feature_sets.Details`; None for features that have none.
        attributes: (A, K) float32. Attributes of nodes; None if they have none or are not used.

    Index columns have the smallest of uint8, int16, int32 and int64 that holds their values. Two million molecules of
    27 atoms take 0.41 GB.

    Raises:
        Damaged: The lengths of the columns contradict each other.
    """

    identity: str
    atom_offsets: NDArray[Any]
    edge_offsets: NDArray[Any]
    atom_type: NDArray[np.uint8]
    chirality: NDArray[np.uint8]
    degree: NDArray[Any]
    source: NDArray[Any]
    bond: NDArray[np.uint8]
    eigenvectors: NDArray[np.float32] | None = None
    centre: NDArray[Any] | None = None
    atom_details: NDArray[Any] | None = None
    bond_details: NDArray[Any] | None = None
    attributes: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        atoms, edges = int(self.atom_offsets[-1]), int(self.edge_offsets[-1])
        expected = {"atom_offsets": self.size + 1, "edge_offsets": self.size + 1, "source": edges, "bond": edges}
        expected |= dict.fromkeys(("atom_type", "chirality", "degree"), atoms)
        if self.is_centered:
            expected |= {"eigenvectors": atoms, "centre": self.size}
        if self.features != "hu":
            expected |= {"atom_details": atoms, "bond_details": edges}
        if self.attributes is not None:
            expected["attributes"] = atoms
        lengths = {name: len(column) for name, column in self.columns.items()}
        if lengths != expected:
            raise Damaged(
                "the features of the graphs do not fit together",
                given=str(lengths),
                expected=str(expected),
                hint="fetch or compute the features again",
            )

    @property
    def size(self) -> int:
        """The number of graphs, N."""
        return len(self.atom_offsets) - 1

    @property
    def atoms(self) -> NDArray[np.int64]:
        """The number of atoms of each graph, (N,)."""
        offsets: NDArray[np.int64] = self.atom_offsets.astype(np.int64)
        return offsets[1:] - offsets[:-1]

    @property
    def edges(self) -> NDArray[np.int64]:
        """The number of directed edges of each graph, (N,)."""
        offsets: NDArray[np.int64] = self.edge_offsets.astype(np.int64)
        return offsets[1:] - offsets[:-1]

    @property
    def is_centered(self) -> bool:
        """Whether the graphs are subgraphs around a node."""
        return self.eigenvectors is not None or self.centre is not None

    @property
    def features(self) -> str:
        """The name of the set of features (`feature_sets.FEATURE_SETS`)."""
        return "hu" if self.atom_details is None and self.bond_details is None else "rich"

    def require_features(self, name: str) -> None:
        """Check that an encoder of these features can be trained on, or applied to, the graphs.

        Graphs without attributes fit every encoder, because all their details are unknown.

        Raises:
            Conflict: The graphs have the features of another set.
        """
        if self.features != name and (self.atom_type != MASK).any():
            raise Conflict(
                "the encoder and the data have different features",
                given=f"data with the features {self.features}",
                expected=f"data with the features {name}, which the encoder has",
                hint=f"fetch the data with --features {name}, or train an encoder with --features {self.features}",
            )

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, without absent ones; `Corpus(identity, **columns)` rebuilds this corpus."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        return {name: column for name, column in columns.items() if column is not None}

    def around(self, centre: NDArray[np.int64], eigenvectors: NDArray[np.float32]) -> Self:
        """Return the same graphs as subgraphs around the nodes `centre`, (N,)."""
        return replace(self, centre=_narrow(centre), eigenvectors=eigenvectors)

    @classmethod
    def from_bonds(
        cls,
        identity: str,
        atom_counts: NDArray[np.int64],
        bond_counts: NDArray[np.int64],
        atoms: NDArray[np.integer[Any]],
        bonds: NDArray[np.integer[Any]],
    ) -> Self:
        """Build a corpus from undirected bonds, each listed once, without loops.

        Args:
            identity: As in `Corpus`.
            atom_counts: (N,) Atoms of each graph.
            bond_counts: (N,) Bonds of each graph.
            atoms: (A, 2) Type and chirality; or (A, 3) with the code of the details.
            bonds: (sum of bond_counts, 3) Begin and end, counted from the graph's first atom, and 3 * type + direction;
                or (sum of bond_counts, 4) with the code of the details.
        """
        atom_offsets, bond_offsets = offsets_from_counts(atom_counts), offsets_from_counts(bond_counts)
        first = np.tile(np.repeat(atom_offsets[:-1], bond_counts), 2)
        source, target = bonds[:, :2].T.reshape(-1), bonds[:, 1::-1].T.reshape(-1)
        order = np.lexsort((source, first + target))
        return cls(
            identity,
            _narrow(atom_offsets),
            _narrow(2 * bond_offsets),
            atoms[:, 0].astype(np.uint8),
            atoms[:, 1].astype(np.uint8),
            _narrow(np.bincount(first + target, minlength=int(atom_offsets[-1]))),
            _narrow(source[order]),
            np.tile(bonds[:, 2], 2)[order].astype(np.uint8),
            atom_details=_narrow(atoms[:, 2]) if atoms.shape[1] > 2 else None,
            bond_details=_narrow(np.tile(bonds[:, 3], 2)[order]) if bonds.shape[1] > 3 else None,
        )

    @classmethod
    def from_edges(
        cls,
        identity: str,
        nodes: NDArray[np.int64],
        edge_counts: NDArray[np.int64],
        edges: NDArray[np.int64],
    ) -> Self:
        """Build a corpus of simple undirected graphs without attributes (method.md C; docs/reference/training.md).

        All atoms are (119, 0) and all bonds have code 0.

        Args:
            identity: As in `Corpus`.
            nodes: (N,) Nodes of each graph.
            edge_counts: (N,) Edges of each graph.
            edges: (sum of edge_counts, 2) Ends of each edge, listed once, counted from the graph's first node.
        """
        atoms = np.broadcast_to(np.array([MASK, 0]), (int(nodes.sum()), 2))
        return cls.from_bonds(identity, nodes, edge_counts, atoms, np.pad(edges, ((0, 0), (0, 1))))

    @classmethod
    def concatenate(cls, identity: str, parts: Sequence["Corpus"]) -> Self:
        """Return the graphs of all parts in order, with the columns of the first part. `parts` is not empty."""
        columns = {name: [getattr(part, name) for part in parts] for name in parts[0].columns}
        result = {name: _concatenate(arrays) for name, arrays in columns.items() if not name.endswith("offsets")}
        for name in ("atom_offsets", "edge_offsets"):
            counts = np.concatenate([np.diff(each.astype(np.int64)) for each in columns[name]])
            result[name] = _narrow(offsets_from_counts(counts))
        return cls(identity, **result)


_COLUMNS = tuple(field.name for field in fields(Corpus) if field.name != "identity")


def _narrow(column: NDArray[np.integer[Any]]) -> NDArray[Any]:
    largest = int(column.max(initial=0))
    return column.astype(next(each for each in _INDEX_TYPES if largest <= np.iinfo(each).max))


def _concatenate(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(arrays, dtype=max((each.dtype for each in arrays), key=lambda dtype: dtype.itemsize))
