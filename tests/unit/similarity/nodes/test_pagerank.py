"""Subgraphs by personalized PageRank: against NetworkX, and whatever the numbers of the nodes."""

from collections import Counter
from math import sqrt
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from graphkin.similarity.nodes.describer import NodeDescriber, node_texts
from graphkin.similarity.nodes.descriptors import NodeDescriptors
from graphkin.similarity.nodes.kind import NodeKind
from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.pagerank import UNIT, Scratch, pagerank
from graphkin.similarity.nodes.recipe import NodeRecipe, resolve_nodes
from graphkin.similarity.nodes.subgraphs import node_subgraphs
from tests.unit.similarity.nodes.test_walks import network_of


def twins() -> nx.Graph:
    """Return a graph with many nodes that have the same neighbors: a grid, a star, cliques and pairs of twins."""
    graph = nx.disjoint_union_all([nx.star_graph(90), nx.grid_2d_graph(6, 6), nx.caveman_graph(4, 5)])
    for node in range(30):
        for neighbor in list(graph[node + 95]):
            graph.add_edge(1000 + node, neighbor)
    return nx.convert_node_labels_to_integers(graph)


GRAPHS = {
    "random": nx.gnp_random_graph(150, 0.05, seed=3),
    "power law": nx.powerlaw_cluster_graph(300, 3, 0.4, seed=1),
    "twins": twins(),
    "regular": nx.random_regular_graph(4, 200, seed=2),
}


def transition(graph: nx.Graph) -> np.ndarray[Any, np.dtype[np.float64]]:
    adjacency = nx.to_numpy_array(graph, nodelist=range(len(graph)), weight=None)
    steps: np.ndarray[Any, np.dtype[np.float64]] = adjacency / np.maximum(adjacency.sum(axis=1, keepdims=True), 1)
    return steps


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("restart", [0.8, 0.25])
@pytest.mark.parametrize("name", GRAPHS)
def test_pagerank_is_too_small_by_at_most_the_tolerance_times_the_degree(
    name: str, restart: float, tolerance: float
) -> None:
    graph = GRAPHS[name]
    links, degree = network_of(graph).links, np.array([graph.degree(node) for node in range(len(graph))])
    rounded = round(restart * 1024) / 1024
    exact = rounded * np.linalg.inv(np.eye(len(graph)) - (1 - rounded) * transition(graph))
    scratch = Scratch.for_nodes(len(graph))
    for source in (node for node in (0, 7, len(graph) - 1) if degree[node]):
        count = pagerank(links.indptr, links.indices, source, restart, tolerance, scratch)
        assert sorted(scratch.touched[:count]) == np.flatnonzero(scratch.score).tolist()
        missing = exact[source] - scratch.score / UNIT
        assert missing.min() > -1e-12
        assert (missing <= tolerance * degree + 1e-12).all()
        scratch.score[:] = 0
        assert not scratch.residual.any()
        assert not scratch.is_touched.any()


def test_pagerank_equals_networkx() -> None:
    graph = GRAPHS["power law"]
    links, scratch = network_of(graph).links, Scratch.for_nodes(len(graph))
    pagerank(links.indptr, links.indices, 5, 0.75, 1e-9, scratch)
    exact = nx.pagerank(graph, alpha=0.25, personalization={5: 1}, tol=1e-12)
    assert np.abs(scratch.score / UNIT - [exact[node] for node in range(len(graph))]).max() < 1e-7


def subgraphs(network: Network, **options: Any) -> list[tuple[list[int], list[int], set[frozenset[int]]]]:
    """Return nodes, weights and edges of the subgraph around each node."""
    rows = []
    for block in node_subgraphs(network, resolve_nodes(**options)):
        for row in range(len(block)):
            own = slice(block.node_offsets[row], block.node_offsets[row + 1])
            nodes = block.nodes[own].tolist()
            edges = block.edges[block.edge_offsets[row] : block.edge_offsets[row + 1]].tolist()
            assert edges == sorted(edges)
            rows.append((nodes, block.weights[own].tolist(), {frozenset((nodes[u], nodes[v])) for u, v in edges}))
    return rows


@pytest.mark.parametrize("max_nodes", [5, 64])
@pytest.mark.parametrize("name", GRAPHS)
def test_subgraph_has_the_nodes_of_the_highest_pagerank(name: str, max_nodes: int) -> None:
    graph = GRAPHS[name]
    restart = round(0.8 * 1024) / 1024
    exact = restart * np.linalg.inv(np.eye(len(graph)) - (1 - restart) * transition(graph))
    degree = np.array([graph.degree(node) for node in range(len(graph))])
    for node, (nodes, weights, edges) in enumerate(subgraphs(network_of(graph), max_nodes=max_nodes)):
        if degree[node] == 0:
            assert (nodes, weights, edges) == ([node], [1 << 20], set())
            continue
        assert nodes[0] == node
        assert len(set(nodes)) == len(nodes) <= max_nodes
        assert edges == {frozenset(edge) for edge in graph.subgraph(nodes).edges}
        assert weights[1:] == sorted(weights[1:], reverse=True)
        assert np.abs(exact[node][nodes] - np.array(weights) / 2**20).max() <= 1e-4 * degree.max() + 2**-20
        left_out = np.setdiff1d(np.arange(len(graph)), nodes)
        if len(nodes) == max_nodes and len(left_out):
            surplus = (exact[node] - 1e-4 * degree)[left_out].max() - exact[node][nodes].min()
            assert surplus <= 1e-12
    assert graph.number_of_nodes() == len(subgraphs(network_of(graph), max_nodes=max_nodes))


def test_hub_leaf_and_isolated_node() -> None:
    rows = subgraphs(network_of(nx.disjoint_union(nx.star_graph(30_000), nx.empty_graph(1))))
    nodes, weights, edges = rows[0]
    assert (len(nodes), len(edges), len(set(weights[1:]))) == (64, 63, 1)
    assert rows[1][0] == [1, 0]
    assert rows[30_001] == ([30_001], [1 << 20], set())


def test_starts_select_subgraphs() -> None:
    network = network_of(GRAPHS["power law"])
    every, starts = subgraphs(network), np.array([200, 3, 3], np.int32)
    (block,) = node_subgraphs(network, resolve_nodes(), starts)
    assert block.starts.tolist() == starts.tolist()
    for row, start in enumerate(starts):
        own = slice(block.node_offsets[row], block.node_offsets[row + 1])
        assert block.nodes[own].tolist() == every[start][0]


def test_paper_preset_takes_what_the_authors_walks_visit_once_on_average() -> None:
    graph = GRAPHS["power law"]
    restart = round(0.8 * 1024) / 1024
    exact = restart * np.linalg.inv(np.eye(len(graph)) - (1 - restart) * transition(graph))
    for node, (nodes, _, _) in enumerate(subgraphs(network_of(graph), preset="paper")):
        m = max(64, round(graph.degree(node) * np.e / (np.e - 1) / 0.8))
        visits = 6 * m * exact[node] / 0.8
        sure = np.flatnonzero(visits > 1.1)
        assert set(sure.tolist()) <= set(nodes)
        assert all(visits[each] > 0.95 for each in nodes)
        assert nodes[0] == node


def renumbered(graph: nx.Graph, seed: int) -> tuple[Network, list[int]]:
    """Return the network with its nodes in another order, under the same names, and the order."""
    order = np.random.default_rng(seed).permutation(len(graph))
    place = np.argsort(order)
    edges = place[np.array(graph.edges)].astype(np.int32)
    edges = edges[np.random.default_rng(seed + 1).permutation(len(edges))]
    names = pa.array([f"n{node}" for node in order])
    return Network.from_edges(names, edges[:, 1], edges[:, 0]), order.tolist()


def described(network: Network, recipe: NodeRecipe) -> NodeDescriptors:
    describer = NodeDescriber(recipe, 10_000)
    texts = zip(node_texts(network, recipe), network.names.to_pylist(), strict=True)
    rows = [describer.describe(text, "graph", name) for text, name in texts]
    return NodeKind().descriptors(pa.table([*zip(*rows, strict=True)], schema=describer.schema), recipe)


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("name", GRAPHS)
def test_subgraphs_do_not_depend_on_the_numbers_of_nodes(name: str, preset: str) -> None:
    graph, recipe = GRAPHS[name], resolve_nodes(preset, max_nodes=20)
    results = []
    for seed in (0, 1, 2):
        network, order = renumbered(graph, seed)
        rows = subgraphs(network, preset=preset, max_nodes=20)
        results.append((
            network.digest,
            {order[node]: ([order[each] for each in rows[node][0]], rows[node][1]) for node in range(len(rows))},
            {order[node]: tie for node, tie in enumerate(described(network, recipe).tie.tolist())},
        ))  # fmt: skip
    assert results[0] == results[1] == results[2]


def plain_features(graph: nx.Graph, nodes: list[int], weights: list[int]) -> Counter[object]:
    """Return the features of the default recipe, with subtrees as nested tuples."""
    whole, induced = sum(weights), graph.subgraph(nodes)
    labels: dict[int, Any] = {node: int(np.log2(graph.degree(node))) for node in nodes}
    counter: Counter[object] = Counter()
    for level in range(2):
        shares: Counter[object] = Counter()
        for node, weight in zip(nodes, weights, strict=True):
            shares[level, labels[node]] += weight
        counter.update({key: round(1024 * sqrt(weight / whole)) for key, weight in shares.items()})
        labels = {node: (labels[node], tuple(sorted(labels[other] for other in induced[node]))) for node in nodes}
    return counter


@pytest.mark.parametrize("name", ["power law", "twins"])
def test_features_and_exact_join_equal_a_plain_one(name: str) -> None:
    graph = GRAPHS[name].subgraph(node for node, degree in GRAPHS[name].degree if degree)
    graph = nx.convert_node_labels_to_integers(graph)
    network = network_of(graph)
    features = [plain_features(graph, nodes, weights) for nodes, weights, _ in subgraphs(network)]
    columns = {key: column for column, key in enumerate(dict.fromkeys(key for each in features for key in each))}
    dense = np.zeros((len(graph), len(columns)))
    for row, counter in enumerate(features):
        dense[row, [columns[key] for key in counter]] = [*counter.values()]
    product, square = dense @ dense.T, (dense**2).sum(axis=1)
    similarity = np.minimum(product / np.sqrt(square[:, None] * square), 1)
    for threshold in (0.0, 0.5, 0.9, 1.0):
        descriptors = described(network, resolve_nodes(threshold=threshold))
        for threads, first_task in ((1, 0), (3, 0), (2, 1)):
            blocks = descriptors.pairs(first_task, threads, lambda _: None)
            pairs = [pair for block in blocks for pair in zip(*vars(block).values(), strict=True)]
            mask = np.triu((similarity >= threshold) & (similarity > 0), 1)
            mask[: 256 * first_task] = False
            left, right = np.nonzero(mask)
            assert pairs == [*zip(left, right, similarity[left, right], strict=True)]
