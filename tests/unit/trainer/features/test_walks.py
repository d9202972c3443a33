"""Subgraphs by random walks with restart: against NetworkX and the distribution that they are drawn from."""

from math import e

import networkx as nx
import numpy as np
import pytest

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.network import Network
from graphkin.trainer.features.walks import Visits, sample_surroundings, visit_nodes
from graphkin.trainer.strategy import Sampling, Walks

SIZE = 200


@pytest.fixture(scope="module")
def graph() -> nx.Graph:
    """With a hub, a node without edges, and two of one edge."""
    made = nx.barabasi_albert_graph(SIZE - 3, 3, seed=1)
    made.add_edges_from((0, node) for node in range(1, 150))
    made.add_node(SIZE - 3)
    made.add_edge(SIZE - 2, SIZE - 1)
    return made


@pytest.fixture(scope="module")
def network(graph: nx.Graph) -> Network:
    return Network.from_edges(np.array(graph.edges), SIZE)


def edges_of(corpus: Corpus, item: int) -> set[tuple[int, int]]:
    edges = slice(corpus.edge_offsets[item], corpus.edge_offsets[item + 1])
    nodes = slice(corpus.atom_offsets[item], corpus.atom_offsets[item + 1])
    target = np.repeat(np.arange(corpus.atoms[item]), corpus.degree[nodes]).tolist()
    return {(one, other) for one, other in zip(corpus.source[edges].tolist(), target, strict=True) if one < other}


def test_network_holds_the_neighbors_of_every_node(graph: nx.Graph, network: Network) -> None:
    assert network.size == SIZE
    for node in range(SIZE):
        own = network.indices[network.indptr[node] : network.indptr[node + 1]]
        assert own.tolist() == sorted(graph[node])
    assert network.degree.tolist() == [degree for _, degree in sorted(graph.degree)]
    pairs = np.random.default_rng(0).integers(SIZE, size=(2, 5000))
    joined = network.joins(*pairs)
    assert joined.tolist() == [graph.has_edge(*pair) for pair in pairs.T.tolist()]
    assert joined.any()


def test_neighbours_are_chosen_evenly(network: Network) -> None:
    degree = int(network.degree[5])
    choice = (np.arange(degree * 10) + 0.5) / (degree * 10)
    chosen = network.neighbor(np.full(len(choice), 5), choice)
    np.testing.assert_array_equal(np.unique(chosen, return_counts=True)[1], 10)
    assert network.neighbor(np.array([5]), np.array([np.nextafter(1, 0)]))[0] == chosen[-1]


def split(found: Visits) -> list[list[int]]:
    return [part.tolist() for part in np.split(found.nodes, np.cumsum(found.counts)[:-1])]


def test_subgraphs_are_induced_on_connected_nodes(graph: nx.Graph, network: Network) -> None:
    nodes, turns = np.arange(SIZE), np.zeros(SIZE)
    found = split(visit_nodes(network, nodes, turns, Walks(), (0,)))
    corpus = sample_surroundings(network, nodes, turns, Walks(), (0,), "id")
    assert (corpus.size, corpus.identity) == (SIZE, "id")
    assert corpus.centre is not None
    assert not corpus.centre.any()
    assert corpus.eigenvectors is not None
    for node, own in enumerate(found):
        assert own[0] == node
        assert len({*own}) == len(own) == corpus.atoms[node]
        place = {each: at for at, each in enumerate(own)}
        inside = graph.subgraph(own)
        assert nx.is_connected(inside)
        assert edges_of(corpus, node) == {tuple(sorted((place[u], place[v]))) for u, v in inside.edges}
    assert (found[SIZE - 3], sorted(found[SIZE - 1])) == ([SIZE - 3], [SIZE - 2, SIZE - 1])


def test_visits_follow_the_law_of_the_walk() -> None:
    """From the middle of a star's arm, m walks: P(an end of the arm is not visited) by the transition matrix."""
    arm = nx.path_graph(5)
    network = Network.from_edges(np.array(arm.edges), 5)
    walks = Walks(restart=0.6, fewest=3, unit="walks")
    assert round(2 * e / (e - 1) / 0.6) == 5
    trials = 20_000
    counts, _ = visit_nodes(network, np.full(trials, 2), np.arange(trials), walks, (3,))
    step = nx.to_numpy_array(arm) / nx.to_numpy_array(arm).sum(1, keepdims=True)
    inner = np.delete(np.delete(step, 4, 0), 4, 1)  # walks that have not been at node 4
    alive = np.zeros(4)
    alive[2] = 1
    unseen = 0.0
    for _ in range(200):
        unseen += 0.6 * alive.sum()
        alive = 0.4 * alive @ inner
    both = np.delete(np.delete(inner, 0, 0), 0, 1)
    alive, neither = np.array([0.0, 1, 0]), 0.0
    for _ in range(200):
        neither += 0.6 * alive.sum()
        alive = 0.4 * alive @ both
    expected = 1 - 2 * unseen**5 + neither**5  # P(both ends are visited), of five walks
    share = float((counts == 5).mean())
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / trials)


def visits_of_walks(graph: nx.Graph, start: int, visits: int, restart: float, random: np.random.Generator) -> set[int]:
    """Walk from a node until all walks together have made that many steps, and return the nodes on the way."""
    seen, steps = {start}, 0
    while steps < visits:
        node = start
        while steps < visits and random.random() >= restart:
            node = random.choice([*graph[node]])
            seen.add(node)
            steps += 1
    return seen


def test_number_of_visits_is_that_of_gcc(graph: nx.Graph, network: Network) -> None:
    """A walk of NetworkX's graph, step by step, visits as many different nodes on average."""
    walks = Walks(restart=0.7, fewest=20)
    for start in (0, 3, 170):  # the hub; many visits; the minimum
        visits = max(20, round(graph.degree[start] * e / (e - 1) / 0.7))
        counts, _ = visit_nodes(network, np.full(500, start), np.arange(500), walks, (1,))
        random = np.random.default_rng(start)
        expected = [len(visits_of_walks(graph, start, visits, 0.7, random)) for _ in range(100)]
        error = np.sqrt(np.var(expected) / 100 + counts.var() / 500)
        assert abs(counts.mean() - np.mean(expected)) < 4 * error
        assert counts.max() <= 1 + visits


def test_visits_of_a_star_are_exactly_as_many_as_set() -> None:
    """Walks of one step each from the center of a star with a million leaves visit each leaf with equal chance."""
    star = Network.from_edges(np.array([(0, leaf) for leaf in range(1, 1_000_001)]), 1_000_001)
    walks = Walks(restart=0.999, fewest=10, max_nodes=10**9)
    visits = round(1_000_000 * e / (e - 1) / 0.999)
    counts, nodes = visit_nodes(star, np.array([0]), np.array([0]), walks, (0,))
    leaves = 1_000_000
    expected = leaves * (1 - (1 - 1 / leaves) ** visits)
    assert counts[0] == len(nodes)
    assert abs(counts[0] - 1 - expected) < 0.002 * leaves


def test_walks_of_earlier_runs_are_unchanged(network: Network) -> None:
    """A run resumes with the subgraphs that it began with; these nodes are those of version 0.1."""
    old = Sampling.from_json(
        {"policy": None, "walks": {"restart": 0.8, "fewest": 64, "max_nodes": 256}, "batch_size": 8}
    ).walks
    assert old == Walks(fewest=64, unit="walks")
    counts, nodes = visit_nodes(network, np.array([5, 160]), np.array([0, 1]), old, (0, 3))
    assert counts.tolist() == [15, 6]
    assert nodes[:15].tolist() == [5, 20, 6, 152, 9, 0, 18, 146, 137, 71, 73, 64, 183, 193, 196]
    assert nodes[15:].tolist() == [160, 56, 90, 140, 21, 157]


def test_visits_follow_from_key_node_and_turn_alone(network: Network) -> None:
    nodes, turns = np.random.default_rng(0).integers(SIZE - 3, size=300), np.arange(300) % 3
    whole = split(visit_nodes(network, nodes, turns, Walks(), (5, 2)))
    for item in (0, 131, 299):
        alone = visit_nodes(network, nodes[item : item + 1], turns[item : item + 1], Walks(), (5, 2))
        assert split(alone) == [whole[item]]
    for key, turn in (((5, 3), 0), ((6, 2), 0), ((5, 2), 1)):
        others = split(visit_nodes(network, nodes, turns + turn, Walks(), key))
        assert np.mean([one != other for one, other in zip(whole, others, strict=True)]) > 0.9


def test_only_the_first_nodes_are_kept(network: Network) -> None:
    nodes, turns = np.array([0, 1, 0]), np.arange(3)
    whole = split(visit_nodes(network, nodes, turns, Walks(), (0,)))
    assert min(map(len, whole)) > 10
    assert split(visit_nodes(network, nodes, turns, Walks(max_nodes=10), (0,))) == [each[:10] for each in whole]


def test_no_nodes_give_no_surroundings(network: Network) -> None:
    none = np.empty(0, np.int64)
    assert sample_surroundings(network, none, none, Walks(), (0,)).size == 0
