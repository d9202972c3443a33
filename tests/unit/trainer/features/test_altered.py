"""Damaged copies of graphs: against NetworkX, and the distributions that they are drawn from."""

from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chisquare

from graphkin.trainer.features.altered import AugmentedGraphs, augment
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.strategy import Operation

SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "C", "C1CC1.[Na+]", "CCO", "F/C=C/[C@H](N)C#N"]
NODES: tuple[Operation, ...] = ("drop-nodes", "subgraph", "subgraph-published", "walk")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return featurize(SMILES, "few", 1)


def graph(corpus: Corpus, item: int) -> nx.Graph:
    """With what the encoder knows of atoms and bonds; directed edges must come in pairs that say the same."""
    atoms = slice(corpus.atom_offsets[item], corpus.atom_offsets[item + 1])
    edges = slice(corpus.edge_offsets[item], corpus.edge_offsets[item + 1])
    made = nx.DiGraph()
    for place, told in enumerate(zip(corpus.atom_type[atoms], corpus.chirality[atoms], strict=True)):
        made.add_node(place, told=told)
    target = np.repeat(np.arange(corpus.atoms[item]), corpus.degree[atoms])
    for source, goal, bond in zip(corpus.source[edges].tolist(), target.tolist(), corpus.bond[edges], strict=True):
        made.add_edge(source, goal, bond=bond)
    assert all(made.edges[goal, source]["bond"] == bond for source, goal, bond in made.edges(data="bond"))
    return made.to_undirected()


def kept(copies: AugmentedGraphs, item: int, of: int) -> list[int]:
    """The atoms of a copy, as its graph counts them."""
    ends = np.cumsum(copies.atom_counts)
    rows = copies.atoms[ends[item] - copies.atom_counts[item] : ends[item]]
    return (rows - copies.original.atom_offsets[of]).tolist()


@pytest.mark.parametrize("operation", NODES)
def test_copy_is_the_subgraph_induced_by_the_remaining_nodes(corpus: Corpus, operation: Operation) -> None:
    ids, turns = np.tile(np.arange(len(SMILES)), 20), np.repeat(np.arange(20), len(SMILES))
    counts = np.array([4, 3, 1, 1, 2])[ids]
    copies = augment(corpus, ids, turns, operation, counts, (7,))
    made = copies.corpus()
    assert (copies.atom_counts >= 1).all()
    for item, of in enumerate(ids):
        atoms = kept(copies, item, of)
        induced = nx.relabel_nodes(graph(corpus, of).subgraph(atoms), {atom: at for at, atom in enumerate(atoms)})
        assert nx.utils.graphs_equal(graph(made, item), nx.Graph(induced))


@pytest.mark.parametrize("operation", ["drop-nodes", "drop-edges"])
def test_each_operation_removes_the_requested_number(corpus: Corpus, operation: Operation) -> None:
    ids, counts = np.arange(len(SMILES)), np.array([5, 9, 2, 0, 1])
    copies = augment(corpus, ids, ids, operation, counts, (1, 2))
    bonds = np.array([graph(corpus, item).number_of_edges() for item in range(len(SMILES))])
    if operation == "drop-nodes":
        np.testing.assert_array_equal(copies.atom_counts, np.maximum(corpus.atoms - counts, 1))
    else:
        np.testing.assert_array_equal(copies.atom_counts, corpus.atoms)
        np.testing.assert_array_equal(copies.edge_counts, 2 * np.maximum(bonds - counts, 0))
        graph(copies.corpus(), 0)


def test_nothing_left_out_is_the_graph(corpus: Corpus) -> None:
    ids = np.arange(len(SMILES))
    for operation in ("drop-nodes", "drop-edges"):
        same = augment(corpus, ids, ids, operation, np.zeros(len(ids), int), (0,)).corpus(corpus.identity)
        for name, column in corpus.columns.items():
            np.testing.assert_array_equal(getattr(same, name), column)


@pytest.mark.parametrize("operation", [*NODES, "drop-edges"])
def test_copy_depends_only_on_key_graph_and_turn(corpus: Corpus, operation: Operation) -> None:
    def copy(ids: list[int], turns: list[int], key: tuple[int, ...] = (3, 4)) -> AugmentedGraphs:
        return augment(corpus, np.array(ids), np.array(turns), operation, np.full(len(ids), 3), key)

    together, alone = copy([4, 0, 3, 0], [0, 5, 1, 6]), copy([0], [5])
    assert kept(together, 1, 0) == kept(alone, 0, 0)
    np.testing.assert_array_equal(together.edge_counts[1], alone.edge_counts[0])
    many = copy([0] * 200, list(range(200)))
    assert len({tuple(kept(many, each, 0)) for each in range(200)}) > 1 or len(set(map(int, many.edges))) > 1
    other = copy([0] * 200, list(range(200)), (3, 5))
    assert many.atoms.tolist() != other.atoms.tolist() or many.edges.tolist() != other.edges.tolist()


def drawn(corpus: Corpus, operation: Operation, count: int, of: int, trials: int = 20_000, **how: Any) -> Counter:
    ids = np.full(trials, of)
    copies = augment(corpus, ids, np.arange(trials), operation, np.full(trials, count), (11,), **how)
    sets = np.zeros((trials, corpus.atoms[of]), bool)
    sets[np.repeat(np.arange(trials), copies.atom_counts), copies.atoms - corpus.atom_offsets[of]] = True
    return Counter(tuple(np.flatnonzero(each).tolist()) for each in sets)


def fits(seen: Counter, expected: dict[tuple[int, ...], float]) -> bool:
    assert set(seen) == set(expected)
    total = sum(seen.values())
    return chisquare([seen[each] for each in expected], [total * share for share in expected.values()]).pvalue > 1e-3


def test_nodes_are_dropped_evenly(corpus: Corpus) -> None:
    pairs = [tuple(sorted(set(range(4)) - {gone})) for gone in range(4)]
    assert fits(drawn(corpus, "drop-nodes", 1, 2), dict.fromkeys(pairs, 1 / 4))


def test_edges_are_dropped_evenly() -> None:
    ring = featurize(["C1CCCCC1"], "ring", 1)
    copies = augment(ring, np.zeros(30_000, int), np.arange(30_000), "drop-edges", np.full(30_000, 2), (2,))
    assert (copies.edge_counts == 8).all()
    first = np.repeat(np.cumsum(copies.atom_counts) - copies.atom_counts, copies.edge_counts)
    low, high = np.minimum(copies.source, copies.target) - first, np.maximum(copies.source, copies.target) - first
    bonds = {
        bond: place for place, bond in enumerate(sorted({(v, (v + 1) % 6) if v < 5 else (0, 5) for v in range(6)}))
    }
    left = np.zeros((30_000, 6), bool)
    owner = np.repeat(np.arange(30_000), copies.edge_counts)
    left[owner, [bonds[pair] for pair in zip(low.tolist(), high.tolist(), strict=True)]] = True
    seen = Counter(tuple(np.flatnonzero(~each).tolist()) for each in left)
    assert fits(seen, dict.fromkeys(combinations(range(6), 2), 1 / 15))


def grown(of: nx.Graph, size: int) -> dict[tuple[int, ...], float]:
    """The probability of each set, every order of growing it enumerated."""
    found: dict[tuple[int, ...], float] = defaultdict(float)

    def grow(held: frozenset[int], share: float) -> None:
        around = {other for node in held for other in of[node]} - held
        if len(held) == size or not around:
            found[tuple(sorted(held))] += share
            return
        for node in around:
            grow(held | {node}, share / len(around))

    for node in of:
        grow(frozenset([node]), 1 / len(of))
    return found


@pytest.mark.parametrize(("of", "size"), [(4, 4), (4, 6), (2, 3)])
def test_subgraph_grows_by_each_neighbor_with_its_expected_probability(corpus: Corpus, of: int, size: int) -> None:
    expected = grown(graph(corpus, of), size)
    assert fits(drawn(corpus, "subgraph", int(corpus.atoms[of]) - size, of), expected)


def test_published_subgraph_stays_among_the_first_neighbors(corpus: Corpus) -> None:
    """Its code, replayed in every possible way: as many attempts as nodes, each drawing with repetition."""
    of = graph(corpus, 4)
    size = 3
    expected: dict[tuple[int, ...], float] = defaultdict(float)
    for start in of:
        states = {frozenset([start]): 1 / len(of)}
        for _ in range(len(of)):
            after: dict[frozenset[int], float] = defaultdict(float)
            for held, share in states.items():
                for node in of[start] if len(held) < size else ():
                    after[held | {node}] += share / len(of[start])
                if len(held) >= size:
                    after[held] += share
            states = after
        for held, share in states.items():
            expected[tuple(sorted(held))] += share
    assert fits(drawn(corpus, "subgraph-published", len(of) - size, 4), expected)


def test_walk_restarts_at_its_first_node(corpus: Corpus) -> None:
    """The sets that walks of 3 steps visit, every walk enumerated."""
    of, restart = graph(corpus, 4), 0.3
    expected: dict[tuple[int, ...], float] = defaultdict(float)

    def step(start: int, here: int, held: frozenset[int], left: int, share: float) -> None:
        if not left:
            expected[tuple(sorted(held))] += share
            return
        step(start, start, held, left - 1, share * restart)
        for node in of[here]:
            step(start, node, held | {node}, left - 1, share * (1 - restart) / len(of[here]))

    for start in of:
        step(start, start, frozenset([start]), 3, 1 / len(of))
    assert fits(drawn(corpus, "walk", 0, 4, length=3, restart=restart), expected)
