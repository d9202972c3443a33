"""Pairs of atoms against NetworkX, and draws against the law that they follow."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.pretraining.pairs import bonded_pairs, sample_numbers, unbonded_pairs


def batch_of(graphs: list[nx.Graph]) -> Batch:
    counts = np.array([graph.number_of_nodes() for graph in graphs])
    edges = [sorted(edge) for graph in graphs for edge in graph.edges]
    bonds = np.array([graph.number_of_edges() for graph in graphs])
    table = np.array(edges, np.int64).reshape(-1, 2)
    return Assembler(Corpus.from_edges("graphs", counts, bonds, table)).batch(np.arange(len(graphs)))


def by_graph(batch: Batch, pairs: torch.Tensor) -> list[list[tuple[int, int]]]:
    """Of each graph, counted from its first atom. Fails for a pair of two graphs."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(batch.graphs)]
    for one, other in pairs.T.tolist():
        graph = int(batch.graph[one])
        assert int(batch.graph[other]) == graph
        first = int(batch.atom_ptr[graph])
        found[graph].append((one - first, other - first))
    return found


GRAPHS = [
    nx.path_graph(1),
    nx.path_graph(2),
    nx.complete_graph(5),
    nx.star_graph(4),
    nx.cycle_graph(9),
    nx.gnm_random_graph(30, 60, seed=1),
    nx.empty_graph(4),
    nx.complete_graph(12),
    nx.gnm_random_graph(12, 50, seed=2),
]


def test_every_bond_is_one_pair() -> None:
    batch = batch_of(GRAPHS)
    found = by_graph(batch, bonded_pairs(batch))
    assert found == [
        sorted((tuple(sorted(edge)) for edge in graph.edges), key=lambda pair: pair[::-1]) for graph in GRAPHS
    ]


@pytest.mark.parametrize("seed", range(5))
def test_unbonded_pairs_are_different_atoms_without_a_bond_each_pair_once(seed: int) -> None:
    batch = batch_of(GRAPHS)
    found = by_graph(batch, unbonded_pairs(batch, torch.Generator().manual_seed(seed)))
    for graph, pairs in zip(GRAPHS, found, strict=True):
        free = {pair for pair in combinations(range(len(graph)), 2) if not graph.has_edge(*pair)}
        assert len(pairs) == len({*pairs}) == min(graph.number_of_edges(), len(free))
        assert {*pairs} <= free


def test_large_graphs_cost_what_their_bonds_cost() -> None:
    """Of 250 million pairs, the last of them as likely as the first."""
    batch = batch_of([nx.path_graph(20_000), nx.star_graph(10_000)])
    pairs = unbonded_pairs(batch, torch.Generator().manual_seed(0))
    path, star = by_graph(batch, pairs)
    assert (len({*path}), len({*star})) == (19_999, 10_000)
    assert all(low < high - 1 for low, high in path)
    assert all(0 < low < high for low, high in star)
    high = np.array(path)[:, 1] / 20_000
    assert np.mean(high**2) == pytest.approx(1 / 2, abs=0.01)  # the higher of two: density 2x


@pytest.mark.parametrize("graph", [nx.cycle_graph(5), nx.path_graph(4), nx.star_graph(5)])
def test_every_set_of_unbonded_pairs_is_as_likely(graph: nx.Graph) -> None:
    """5 of 5 pairs; 3 of 3; 5 of 10, which are 252 sets. In a batch with others."""
    free = [pair for pair in combinations(range(len(graph)), 2) if not graph.has_edge(*pair)]
    sets, generator = Counter[tuple[tuple[int, int], ...]](), torch.Generator().manual_seed(3)
    batch = batch_of([graph] * 100)
    for _ in range(100):
        sets.update(tuple(pairs) for pairs in by_graph(batch, unbonded_pairs(batch, generator)))
    possible = comb(len(free), graph.number_of_edges())
    assert len(sets) == possible
    if possible > 1:
        assert chisquare([*sets.values()]).pvalue > 1e-3


@pytest.mark.parametrize(("count", "size"), [(0, 4), (1, 7), (2, 6), (3, 6), (4, 6), (5, 6), (6, 6), (2, 2), (0, 0)])
def test_every_subset_of_a_unit_is_as_likely(count: int, size: int) -> None:
    """Among units of other sizes, sparse and dense."""
    counts, sizes = torch.tensor([3, count, 0, 7]), torch.tensor([50, size, 5, 8])
    generator, found = torch.Generator().manual_seed(1), Counter[tuple[int, ...]]()
    for _ in range(1500):
        numbers = sample_numbers(counts, sizes, generator)
        assert len(numbers) == 10 + count
        assert bool((numbers.diff() > 0).all())
        assert int((numbers < 50).sum()) == 3
        assert int((numbers >= 55 + size).sum()) == 7
        found[tuple((numbers[3 : 3 + count] - 50).tolist())] += 1
    assert all(0 <= number < size for each in found for number in each)
    assert len(found) == comb(size, count)
    if len(found) > 1:
        assert chisquare([*found.values()]).pvalue > 1e-3


def test_the_generator_alone_decides(random_corpus: Callable[..., Corpus]) -> None:
    batch = Assembler(random_corpus([20, 30, 9])).batch(np.arange(3))
    one, same, other = (unbonded_pairs(batch, torch.Generator().manual_seed(seed)) for seed in (4, 4, 5))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
