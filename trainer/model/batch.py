"""Batches of graphs, assembled on the device by indexing a corpus that is stored there (docs/reference/training.md)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.features.corpus import MASK, Corpus
from graphkin.trainer.features.feature_sets import UNKNOWN

Part = Literal["whole", "anchors", "others"]
"""A batch of a step: all graphs of `Draw.ids`, the anchors alone, or all graphs but the anchors."""

_MARGIN = 64  # at least one atom in 64 is padding, so that no padding atom gets many of the padding edges


class Shape(NamedTuple):
    """Numbers of atoms and directed edges of a padded batch, including its padding."""

    atoms: int
    edges: int

    @classmethod
    def holding(cls, atoms: int, edges: int) -> Self:
        """Return a shape with room for this many atoms and edges, and for padding.

        Both numbers are rounded up to one of 8 sizes per power of two, so that few different shapes occur.
        """
        return cls(_padded(atoms), _padded(edges))


def _padded(count: int) -> int:
    count += count // _MARGIN + 1
    unit = 2 ** max(count.bit_length() - 4, 3)
    return -(-count // unit) * unit


class Padding(NamedTuple):
    """Rows of a padded tensor that are atoms, and not padding.

    Attributes:
        is_atom: (N,) bool.
        atoms: () int64. Number of atoms without padding.
    """

    is_atom: Tensor
    atoms: Tensor


@dataclass(frozen=True, eq=False)
class Batch:
    """B graphs with N atoms and E directed edges. All tensors are on one device.

    A padded batch has one more graph after the B graphs. It consists of the padding: atoms that are bonded to nothing
    but themselves. N and E include it, so batches of different molecules have the same shape, and a step over them can
    be replayed as a CUDA graph. Every operation gives the results of the batch without padding, because batch
    normalization, means and losses leave the padding out.

    Attributes:
        atom_type: (N,) int64, 0..119.
        chirality: (N,) int64, 0..2.
        graph: (N,) The graph of each atom, ascending.
        atom_ptr: (B + 1,) Graph g has the atoms atom_ptr[g] to atom_ptr[g + 1] - 1. (B + 2,) if padded.
        edge_index: (2, E) Source and target of each edge, sorted by target.
        edge_ptr: (N + 1,) Atom v is the target of the edges edge_ptr[v] to edge_ptr[v + 1] - 1.
        bond: (E,) int64. 3 * type + direction.
        atom_ends: (B,) Ends of the graphs' atoms, on the host, so that sizes need no transfer from the device. Empty if
            padded, because the host does not know them.
        edge_ends: (B,) Ends of the graphs' edges, on the host. Empty if padded.
        eigenvectors: (N, K) float32; None unless the graphs are subgraphs around a node.
        centre: (N,) bool. Whether an atom is the center of its graph; None unless graphs are subgraphs around a node.
        padding: The atoms of the B graphs; None if the batch is not padded.
        atom_details: (N,) int64. Codes of `feature_sets.Details`; None for features that have none.
        bond_details: (E,) int64. Codes of `feature_sets.Details`; None for features that have none.
        attributes: (N, K) float32. Attributes of nodes; None if they have none or are not used.
    """

    atom_type: Tensor
    chirality: Tensor
    graph: Tensor
    atom_ptr: Tensor
    edge_index: Tensor
    edge_ptr: Tensor
    bond: Tensor
    atom_ends: NDArray[np.int64]
    edge_ends: NDArray[np.int64]
    eigenvectors: Tensor | None = None
    centre: Tensor | None = None
    padding: Padding | None = None
    atom_details: Tensor | None = None
    bond_details: Tensor | None = None
    attributes: Tensor | None = None

    @property
    def graphs(self) -> int:
        """The number of graphs, B."""
        return len(self.atom_ptr) - (1 if self.padding is None else 2)

    @property
    def atoms(self) -> int:
        """The number of atoms, N."""
        return len(self.atom_type)

    def masked(self, nodes: Tensor) -> "Batch":
        """Return the batch with the atoms of `nodes`, (N,) bool, set to (119, 0), and their details to unknown.

        Bonds are never masked (method.md D).
        """
        return replace(
            self,
            atom_type=self.atom_type.masked_fill(nodes, MASK),
            chirality=self.chirality.masked_fill(nodes, 0),
            atom_details=None if self.atom_details is None else self.atom_details.masked_fill(nodes, UNKNOWN),
        )

    def first(self, graphs: int) -> "Batch":
        """Return the first `graphs` graphs as views."""
        atoms, edges = int(self.atom_ends[graphs - 1]), int(self.edge_ends[graphs - 1])
        return Batch(
            self.atom_type[:atoms],
            self.chirality[:atoms],
            self.graph[:atoms],
            self.atom_ptr[: graphs + 1],
            self.edge_index[:, :edges],
            self.edge_ptr[: atoms + 1],
            self.bond[:edges],
            self.atom_ends[:graphs],
            self.edge_ends[:graphs],
            None if self.eigenvectors is None else self.eigenvectors[:atoms],
            None if self.centre is None else self.centre[:atoms],
            atom_details=None if self.atom_details is None else self.atom_details[:atoms],
            bond_details=None if self.bond_details is None else self.bond_details[:edges],
            attributes=None if self.attributes is None else self.attributes[:atoms],
        )

    def rest(self, graphs: int) -> "Batch":
        """Return all graphs but the first `graphs`, which is 1 or more."""
        atoms, edges = int(self.atom_ends[graphs - 1]), int(self.edge_ends[graphs - 1])
        return Batch(
            self.atom_type[atoms:],
            self.chirality[atoms:],
            self.graph[atoms:] - graphs,
            self.atom_ptr[graphs:] - atoms,
            self.edge_index[:, edges:] - atoms,
            self.edge_ptr[atoms:] - edges,
            self.bond[edges:],
            self.atom_ends[graphs:] - atoms,
            self.edge_ends[graphs:] - edges,
            None if self.eigenvectors is None else self.eigenvectors[atoms:],
            None if self.centre is None else self.centre[atoms:],
            atom_details=None if self.atom_details is None else self.atom_details[atoms:],
            bond_details=None if self.bond_details is None else self.bond_details[edges:],
            attributes=None if self.attributes is None else self.attributes[atoms:],
        )

    def induced(self, atoms: Tensor) -> "Batch":
        """Return the subgraphs on `atoms`, (N,) bool, and the bonds among them.

        Graphs without atoms keep their position.
        """
        if self.padding is not None:
            return self._compacted(atoms)
        is_kept = atoms[self.edge_index].all(0)
        new_index = _pointer(atoms)
        edge_index, graph = new_index[self.edge_index[:, is_kept]], self.graph[atoms]
        atom_ptr = new_index[self.atom_ptr]
        edge_ptr = _pointer(torch.bincount(edge_index[1], minlength=len(graph)))
        return Batch(
            self.atom_type[atoms],
            self.chirality[atoms],
            graph,
            atom_ptr,
            edge_index,
            edge_ptr,
            self.bond[is_kept],
            atom_ptr[1:].cpu().numpy(),
            edge_ptr[atom_ptr[1:]].cpu().numpy(),
            None if self.eigenvectors is None else self.eigenvectors[atoms],
            None if self.centre is None else self.centre[atoms],
            atom_details=None if self.atom_details is None else self.atom_details[atoms],
            bond_details=None if self.bond_details is None else self.bond_details[is_kept],
            attributes=None if self.attributes is None else self.attributes[atoms],
        )

    def _compacted(self, atoms: Tensor) -> "Batch":
        """Return the subgraphs on `atoms`, padded to the same shape. `atoms` is False for padding."""
        is_kept = atoms[self.edge_index].all(0)
        atom_place, edge_place = compaction(atoms), compaction(is_kept)
        count, edge_count = atoms.sum(), is_kept.sum()
        old_atom, old_edge = inverse(atom_place), inverse(edge_place)
        is_atom, is_edge = _range(atom_place) < count, _range(edge_place) < edge_count
        kept_degree = torch.zeros_like(atom_place).index_add_(0, self.edge_index[1], is_kept.long())
        padding_degree = _padding_degrees(Shape(len(atom_place), len(edge_place)), count, edge_count)
        degree = torch.where(is_atom, kept_degree.index_select(0, old_atom), padding_degree)
        target = torch.repeat_interleave(degree, output_size=len(edge_place))
        source = atom_place.index_select(0, self.edge_index[0].index_select(0, old_edge))
        first = torch.cat([_pointer(atoms).index_select(0, self.atom_ptr[:-1]), self.atom_ptr[-1:]])
        return replace(
            self,
            atom_type=self.atom_type.index_select(0, old_atom),
            chirality=self.chirality.index_select(0, old_atom),
            graph=torch.where(is_atom, self.graph.index_select(0, old_atom), self.graphs),
            atom_ptr=first,
            edge_index=torch.stack([torch.where(is_edge, source, target), target]),
            edge_ptr=_pointer(degree),
            bond=self.bond.index_select(0, old_edge),
            eigenvectors=None if self.eigenvectors is None else self.eigenvectors.index_select(0, old_atom),
            centre=None if self.centre is None else self.centre.index_select(0, old_atom),
            padding=Padding(is_atom, count),
            atom_details=None if self.atom_details is None else self.atom_details.index_select(0, old_atom),
            bond_details=None if self.bond_details is None else self.bond_details.index_select(0, old_edge),
            attributes=None if self.attributes is None else self.attributes.index_select(0, old_atom),
        )


def compaction(mask: Tensor) -> Tensor:
    """Return the place of each row, (N,), in an order that has the rows of `mask`, (N,) bool, before the others."""
    before = mask.cumsum(0) - mask.long()
    return torch.where(mask, before, mask.sum() + _range(mask) - before)


def inverse(permutation: Tensor) -> Tensor:
    """Return the row at each place, (N,), from the place of each row: the inverse of a permutation."""
    return torch.empty_like(permutation).scatter_(0, permutation, _range(permutation))


def _range(rows: Tensor) -> Tensor:
    return torch.arange(len(rows), device=rows.device)


def require_ids(ids: NDArray[Any], size: int, noun: str = "graphs", whole: str = "set") -> None:
    """Check the items of a batch.

    Args:
        ids: (B,) Items.
        size: Number of items that exist. Their ids are 0 to `size` - 1.
        noun: Word for the items in messages, in the plural.
        whole: Word for what they belong to.

    Raises:
        InvalidInput: `ids` is empty or names an unknown item.
    """
    if len(ids) == 0 or ids.min() < 0 or ids.max() >= size:
        raise InvalidInput(
            f"the batch has no {noun}, or {noun} that do not exist",
            given="none" if len(ids) == 0 else f"{ids.min()} to {ids.max()}",
            expected=f"0 to {size - 1}",
            hint=f"pass one id or more, all of {noun} of this {whole}",
        )


class Graphs(ABC):
    """Source of a step's graphs: `Assembler`, or a class that samples new graphs in every epoch.

    Attributes:
        device: The device of its batches.
    """

    device: torch.device

    @abstractmethod
    def batch(self, ids: NDArray[Any], epoch: int = 0) -> Batch:
        """Return the graphs of the items `ids`, (B,) integers, in this order, as they are in this epoch.

        Raises:
            InvalidInput: `ids` is empty or names an unknown item.
        """


class PaddedGraphs(Graphs):
    """Source of graphs whose padded batches are assembled on the device, without the host.

    Attributes:
        sizes: (N, 2) int64. Largest numbers of atoms and directed edges that each item has in a batch, on the host.
    """

    sizes: NDArray[np.int64]

    @abstractmethod
    def padded_batch(self, ids: Tensor, shape: Shape, key: Tensor, part: Part = "whole") -> Batch:
        """Return the graphs `ids`, (B,) int64 on the device, padded to `shape`. Nothing is read back from the device.

        Ids and shape are not checked. The shape holds more atoms than the graphs, and at least as many edges.

        Args:
            ids: (B,) Items.
            shape: Shape of the batch.
            key: () int64. State of the epoch's random numbers, from seed and epoch.
            part: The batch of the step that these graphs are.
        """


class Assembler(PaddedGraphs):
    """Batches of a corpus, which is copied to `device` as a whole. On the CPU nothing is copied.

    Attributes:
        size: Number of graphs.
    """

    def __init__(self, corpus: Corpus, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self.size = corpus.size
        self.sizes = np.stack([corpus.atoms, corpus.edges], axis=1)
        self._is_centered = corpus.is_centered
        self._has_details = corpus.features != "hu"
        self._atoms, self._edges = len(corpus.atom_type), len(corpus.bond)
        self._columns = {name: torch.from_numpy(column).to(self.device) for name, column in corpus.columns.items()}

    def batch(self, ids: NDArray[Any], epoch: int = 0) -> Batch:  # noqa: ARG002  (graphs are the same in all epochs)
        """Return the graphs `ids`, (B,) integers, in this order; a graph may occur more than once.

        Raises:
            InvalidInput: `ids` is empty or names an unknown graph.
        """
        require_ids(ids, self.size)
        atom_ends, edge_ends = self.sizes[ids].cumsum(0).T
        shape = Shape(int(atom_ends[-1]), int(edge_ends[-1]))
        return self._assemble(self._to_device(ids), shape, atom_ends, edge_ends)

    def padded_batch(self, ids: Tensor, shape: Shape, key: Tensor, part: Part = "whole") -> Batch:  # noqa: ARG002  (nothing is random)
        none = np.empty(0, np.int64)
        return self._assemble(ids, shape, none, none)

    def _assemble(self, ids: Tensor, shape: Shape, atom_ends: NDArray[np.int64], edge_ends: NDArray[np.int64]) -> Batch:
        is_padded = len(atom_ends) == 0
        atoms, graph, atom_ptr = _rows(self._columns["atom_offsets"], ids, shape.atoms, self._atoms, is_padded)
        edges, graph_of_edge, edge_counts = _rows(
            self._columns["edge_offsets"], ids, shape.edges, self._edges, is_padded
        )
        degree, padding = self._gather("degree", atoms), None
        if is_padded:
            padding = Padding(graph < len(ids), atom_ptr[-2])
            degree = torch.where(padding.is_atom, degree, _padding_degrees(shape, atom_ptr[-2], edge_counts[-2]))
        edge_index = torch.empty(2, len(edges), dtype=torch.long, device=self.device)
        torch.add(self._gather("source", edges), atom_ptr.index_select(0, graph_of_edge), out=edge_index[0])
        edge_index[1] = torch.repeat_interleave(degree, output_size=len(edges))
        if is_padded:
            torch.where(graph_of_edge < len(ids), edge_index[0], edge_index[1], out=edge_index[0])
        return Batch(
            self._gather("atom_type", atoms),
            self._gather("chirality", atoms),
            graph,
            atom_ptr,
            edge_index,
            _pointer(degree),
            self._gather("bond", edges),
            atom_ends,
            edge_ends,
            *self._centered_columns(ids, atoms, atom_ptr[: len(ids)]),
            padding,
            self._gather("atom_details", atoms) if self._has_details else None,
            self._gather("bond_details", edges) if self._has_details else None,
            self._columns["attributes"].index_select(0, atoms) if "attributes" in self._columns else None,
        )

    def _centered_columns(self, ids: Tensor, atoms: Tensor, first: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Return eigenvectors and centers of a batch's atoms if the corpus has them. `first` is each graph's atom 0."""
        if not self._is_centered:
            return None, None
        centre = torch.zeros(len(atoms), dtype=torch.bool, device=self.device)
        centre.index_fill_(0, first + self._gather("centre", ids), value=True)
        return self._columns["eigenvectors"].index_select(0, atoms), centre

    def _gather(self, name: str, rows: Tensor) -> Tensor:
        return (
            self._columns[name].index_select(0, rows).long()
        )  # on the CPU this is five times as fast as indexing with rows

    def _to_device(self, ids: NDArray[Any]) -> Tensor:
        host = torch.from_numpy(np.ascontiguousarray(ids, np.int64))
        if self.device.type == "cuda":
            return host.pin_memory().to(self.device, non_blocking=True)
        return host.to(self.device)


def _rows(offsets: Tensor, ids: Tensor, total: int, available: int, is_padded: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of the items' ranges in order, the position in `ids` of each row, and the row pointer.

    Args:
        offsets: (n + 1,) Item i has the rows offsets[i] to offsets[i + 1] - 1.
        ids: (B,) Items.
        total: Number of rows of the result.
        available: Number of rows of all items.
        is_padded: Whether the items have fewer than `total` rows. Padding then has position B, and repeats other rows.
    """
    first, stop = offsets.index_select(0, ids).long(), offsets.index_select(0, ids + 1).long()
    counts = stop - first
    if is_padded:
        first = torch.cat([first, first.new_zeros(1)])
        counts = torch.cat([counts, total - counts.sum(0, keepdim=True)])
    pointer = _pointer(counts)
    owner = torch.repeat_interleave(counts, output_size=total)
    rows = torch.arange(total, device=ids.device) + (first - pointer[:-1]).index_select(0, owner)
    return rows.clamp_max(available - 1) if is_padded else rows, owner, pointer


def _padding_degrees(shape: Shape, atoms: Tensor, edges: Tensor) -> Tensor:
    """Return degrees of a padded batch's atoms, (N,), which spread the padding edges evenly over the padding atoms.

    Values of other atoms have no meaning. `atoms` and `edges`, both (), are the sizes without padding.
    """
    place = torch.arange(shape.atoms + 1, device=atoms.device) - atoms
    return torch.div(place * (shape.edges - edges), shape.atoms - atoms, rounding_mode="floor").diff()


def _pointer(counts: Tensor) -> Tensor:
    pointer = torch.zeros(len(counts) + 1, dtype=torch.long, device=counts.device)
    torch.cumsum(counts, 0, out=pointer[1:])
    return pointer
