"""Augmented views of graphs: dropped nodes or edges, and subgraphs (GraphCL: You et al., 2020).

A random number depends only on the key, the graph, the turn (see `turns`) and the decision for which it is used. A
view therefore does not depend on the rest of its batch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.csr import offsets_from_counts, rows
from graphkin.trainer.strategy import Operation

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

LENGTH, RESTART = 64, 0.8
"""Steps of a walk, and the probability per step of returning to its start (method.md E5)."""

START_DECISION, CHOICE_DECISION, RESTART_DECISION, OPERATION_DECISION = range(4)
"""The decisions for which random numbers are used."""
SPLITMIX = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The increment and the two multipliers of SplitMix64."""
_WEYL, _MIX_1, _MIX_2 = map(np.uint64, SPLITMIX)


@dataclass(frozen=True, eq=False)
class AugmentedGraphs:
    """Remaining atoms and edges of n graphs of a corpus, graph by graph.

    Attributes:
        original: The corpus before augmentation.
        atoms: (sum of atom_counts,) Rows of the corpus's atom columns.
        atom_counts: (n,) Remaining atoms of each graph, 1 or more.
        edges: (sum of edge_counts,) Rows of the corpus's edge columns.
        edge_counts: (n,) Remaining directed edges of each graph.
        source: (sum of edge_counts,) Position in `atoms` of the atom that each edge leaves.
        target: (sum of edge_counts,) Position in `atoms` of the atom that each edge enters.
    """

    original: Corpus
    atoms: Rows
    atom_counts: Rows
    edges: Rows
    edge_counts: Rows
    source: Rows
    target: Rows

    def corpus(self, identity: str = "") -> Corpus:
        """Return the views as a corpus; view i is graph i."""
        begin = offsets_from_counts(self.atom_counts)
        return Corpus(
            identity,
            begin,
            offsets_from_counts(self.edge_counts),
            self.original.atom_type[self.atoms],
            self.original.chirality[self.atoms],
            np.bincount(self.target, minlength=len(self.atoms)),
            self.source - np.repeat(begin[:-1], self.edge_counts),
            self.original.bond[self.edges],
            atom_details=None if self.original.atom_details is None else self.original.atom_details[self.atoms],
            bond_details=None if self.original.bond_details is None else self.original.bond_details[self.edges],
            attributes=None if self.original.attributes is None else self.original.attributes[self.atoms],
        )


def augment(
    corpus: Corpus,
    ids: NDArray[Any],
    turns: NDArray[Any],
    operation: Operation,
    counts: NDArray[Any],
    key: tuple[int, ...],
    *,
    length: int = LENGTH,
    restart: float = RESTART,
) -> AugmentedGraphs:
    """Return views of the graphs `ids`. Edges between remaining nodes remain, unless the operation drops edges.

    The operations:

        drop-nodes          Drop `counts` nodes, chosen uniformly.
        drop-edges          Drop `counts` undirected edges, chosen uniformly. All nodes remain.
        subgraph            Start at a random node and add one neighbor of the part at a time, chosen uniformly, until
                            only `counts` nodes are left out or the part has no more neighbors.
        subgraph-published  GraphCL's code: add neighbors of the first node only, with repetition, in at most as many
                            attempts as the graph has nodes (method.md F).
        walk                Keep all nodes that a walk of `length` steps visits. Each step returns to the start with
                            probability `restart`. `counts` is ignored.

    Args:
        corpus: The graphs to augment.
        ids: (n,) Graphs, possibly repeated.
        turns: (n,) Numbers that distinguish several views of the same graph.
        operation: One of the operations above.
        counts: (n,) How many nodes or edges to leave out, 0 or more. One node always remains.
        key: Seeds of the random numbers.
        length: Steps of a walk.
        restart: Probability per step of returning to the start of the walk.
    """
    graphs = _Graphs(corpus, ids.astype(np.int64), turns.astype(np.int64), key)
    drops = np.minimum(counts, graphs.sizes - 1)
    match operation:
        case "drop-edges":
            return graphs.remaining(np.ones(len(graphs.atoms), np.bool_), graphs.without_edges(counts))
        case "drop-nodes":
            mask = graphs.without_nodes(drops)
        case "subgraph":
            mask = graphs.grow(graphs.sizes - drops)
        case "subgraph-published":
            mask = graphs.grow_around_start(graphs.sizes - drops)
        case "walk":
            mask = graphs.walk(length, restart)
    return graphs.remaining(mask, mask[graphs.tail] & mask[graphs.head])


def choose_operations(ids: NDArray[Any], turns: NDArray[Any], count: int, key: tuple[int, ...]) -> Rows:
    """Return a uniform choice for each view, (n,) in 0 to `count` - 1, which follows from key, graph and turn."""
    return (_uniforms(_stream(ids, turns, key), OPERATION_DECISION) * count).astype(np.int64)


class _Graphs:
    """The n graphs before augmentation, with one row for each of their A atoms and E directed edges.

    Attributes:
        atoms: (A,) Rows of the corpus's atom columns.
        edges: (E,) Rows of the corpus's edge columns.
        owner: (A,) The view that each atom belongs to.
        edge_owner: (E,) The view that each edge belongs to.
        tail: (E,) The atom, 0..A - 1, that each edge leaves.
        head: (E,) The atom, 0..A - 1, that each edge enters.
    """

    def __init__(self, corpus: Corpus, ids: Rows, turns: Rows, key: tuple[int, ...]) -> None:
        self.corpus = corpus
        self.atoms, self.owner = rows(corpus.atom_offsets, ids)
        self.edges, self.edge_owner = rows(corpus.edge_offsets, ids)
        self.sizes = np.bincount(self.owner, minlength=len(ids))
        self.first = np.cumsum(self.sizes) - self.sizes
        self.degree = corpus.degree[self.atoms].astype(np.int64)
        self.tail = self.first[self.edge_owner] + corpus.source[self.edges]
        self.head = np.repeat(np.arange(len(self.atoms)), self.degree)
        self.first_edge = np.cumsum(self.degree) - self.degree
        self._stream = _stream(ids, turns, key)

    def remaining(self, atoms: Mask, edges: Mask) -> AugmentedGraphs:
        count, place = len(self.sizes), np.cumsum(atoms) - 1
        return AugmentedGraphs(
            self.corpus,
            self.atoms[atoms],
            np.bincount(self.owner[atoms], minlength=count),
            self.edges[edges],
            np.bincount(self.edge_owner[edges], minlength=count),
            place[self.tail[edges]],
            place[self.head[edges]],
        )

    def without_nodes(self, counts: Rows) -> Mask:
        place = np.arange(len(self.owner)) - self.first[self.owner]
        rank = _ranks(self._uniforms(CHOICE_DECISION, self.owner, place), self.owner)
        return rank >= counts[self.owner]

    def without_edges(self, counts: Rows) -> Mask:
        ends = np.stack([self.tail, self.head]) - self.first[self.edge_owner]
        bond = ends.min(0) * np.int64(2**31) + ends.max(0)  # both directions share one random number
        rank = _ranks(self._uniforms(CHOICE_DECISION, self.edge_owner, bond), self.edge_owner)
        return rank >= 2 * counts[self.edge_owner]

    def grow(self, sizes: Rows) -> Mask:
        mask, neighbors = np.zeros((2, len(self.atoms)), np.bool_)
        nodes = self._starts()
        for step in range(int(sizes.max(initial=0))):
            mask[nodes] = True
            newest = np.zeros(len(self.atoms), np.bool_)
            newest[nodes] = True
            neighbors[self.head[newest[self.tail]]] = True
            candidates = neighbors & ~mask & (step + 1 < sizes)[self.owner]
            if not candidates.any():
                break
            place = np.arange(len(self.owner)) - self.first[self.owner]
            scores = np.where(candidates, self._uniforms(CHOICE_DECISION, self.owner, place, step), -1.0)
            best = np.maximum.reduceat(scores, self.first)
            nodes = np.flatnonzero(candidates & (scores == best[self.owner]))
        return mask

    def grow_around_start(self, sizes: Rows) -> Mask:
        mask = np.zeros(len(self.atoms), np.bool_)
        start = self._starts()
        mask[start] = True
        counts = np.ones(len(start), np.int64)
        for attempt in range(int(self.sizes.max(initial=0))):
            active = np.flatnonzero((attempt < self.sizes) & (counts < sizes) & (self.degree[start] > 0))
            nodes = self._neighbor(start[active], self._uniforms(CHOICE_DECISION, active, attempt))
            counts[active] += ~mask[nodes]
            mask[nodes] = True
        return mask

    def walk(self, length: int, restart: float) -> Mask:
        mask = np.zeros(len(self.atoms), np.bool_)
        start = self._starts()
        mask[start] = True
        active = np.flatnonzero(self.degree[start] > 0)
        position = start[active]
        for step in range(length):
            returns = self._uniforms(RESTART_DECISION, active, step) < restart
            position = np.where(
                returns, start[active], self._neighbor(position, self._uniforms(CHOICE_DECISION, active, step))
            )
            mask[position] = True
        return mask

    def _starts(self) -> Rows:
        copies = np.arange(len(self.sizes))
        return self.first + (self._uniforms(START_DECISION, copies) * self.sizes).astype(np.int64)

    def _neighbor(self, atoms: Rows, choice: NDArray[np.float64]) -> Rows:
        """Return a uniformly chosen neighbor of each atom, by `choice` in [0, 1). No atom is isolated."""
        return self.tail[self.first_edge[atoms] + (choice * self.degree[atoms]).astype(np.int64)]

    def _uniforms(self, purpose: int, copies: Rows, *decision: Rows | int) -> NDArray[np.float64]:
        return _uniforms(self._stream[copies], purpose, *decision)


def random_state(key: tuple[int, ...]) -> np.uint64:
    """Return the generator state of a key."""
    return np.uint64(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])


def _stream(ids: NDArray[Any], turns: NDArray[Any], key: tuple[int, ...]) -> NDArray[np.uint64]:
    """Return the generator state of each view, (n,)."""
    return _mix(_mix(random_state(key) ^ ids.astype(np.uint64)) ^ turns.astype(np.uint64))


def _uniforms(stream: NDArray[np.uint64], *decision: Rows | int) -> NDArray[np.float64]:
    """Return numbers in [0, 1) with 53 random bits.

    Args:
        stream: Generator state of each view.
        decision: Integers that identify the decision for which a number is used, broadcast with `stream`.
    """
    words = stream
    for part in decision:
        words = _mix(words ^ np.asarray(part, np.uint64))
    uniforms: NDArray[np.float64] = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return uniforms


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the next output of SplitMix64 for each state (Steele, Lea and Flood, OOPSLA 2014)."""
    words = words + _WEYL
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return words ^ (words >> np.uint64(31))


def _ranks(values: NDArray[np.float64], owner: Rows) -> Rows:
    """Return the rank of each value among those of its owner, (n,), from the smallest; owner ascends."""
    order = np.lexsort((values, owner))
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values)) - np.searchsorted(owner, owner)
    return ranks
