"""Subgraphs around nodes: restart distribution, induced edges, bounds, replay."""

from math import e
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.similarity.nodes.subgraphs import NodeSubgraphs, node_subgraphs
from graphkin.similarity.nodes.walks import ENDED, next_node
from graphkin.store.sampling.philox import STEP, replay_key, uniforms

GRAPHS = {
    "path": nx.path_graph(5),
    "star": nx.star_graph(6),
    "karate": nx.karate_club_graph(),
    "two parts": nx.disjoint_union(nx.complete_graph(4), nx.cycle_graph(5)),
}


def network_of(graph: nx.Graph) -> Network:
    source, target = np.array(graph.edges, np.int32).reshape(-1, 2).T
    return Network.from_edges(pa.array([str(node) for node in range(len(graph))]), source, target)


def rows(network: Network, **options: Any) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """Of every node the nodes of its subgraph, and the edges by their places."""
    found = []
    for block in node_subgraphs(network, resolve_nodes(subgraph="walks", **options)):
        assert isinstance(block, NodeSubgraphs)
        for row in range(len(block)):
            own = slice(block.node_offsets[row], block.node_offsets[row + 1])
            edges = block.edges[block.edge_offsets[row] : block.edge_offsets[row + 1]]
            found.append((block.nodes[own].tolist(), [(u, v) for u, v in edges.tolist()]))
    return found


def ends(network: Network, node: int, key: np.uint64, restart: float, walks: int) -> list[int]:
    """Where each of the walks from a node ends."""
    found = []
    for walk in range(walks):
        here, step = node, 0
        while (
            following := next_node(network.links.indptr, network.links.indices, here, key, restart, node, walk, step)
        ) != ENDED:
            here, step = following, step + 1
        found.append(here)
    return found


@pytest.mark.parametrize("restart", [0.8, 0.2])
@pytest.mark.parametrize("name", GRAPHS)
def test_walks_end_where_the_restart_distribution_says(name: str, restart: float) -> None:
    graph, walks = GRAPHS[name], 10_000
    adjacency = nx.to_numpy_array(graph, weight=None)
    steps = adjacency / adjacency.sum(axis=1, keepdims=True)
    exact = restart * np.linalg.inv(np.eye(len(graph)) - (1 - restart) * steps)
    for node in (0, len(graph) - 1):
        found = ends(network_of(graph), node, replay_key(node, name, "test", 0), restart, walks)
        counts = np.bincount(found, minlength=len(graph))
        likely = exact[node] * walks >= 5
        assert counts[exact[node] == 0].sum() == 0
        expected = np.append(exact[node][likely] * walks, max(exact[node][~likely].sum() * walks, 1e-9))
        observed = np.append(counts[likely], counts[~likely].sum())
        kept = expected > 1e-6
        assert chisquare(observed[kept], expected[kept] * observed[kept].sum() / expected[kept].sum()).pvalue > 1e-4


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("options", [{}, {"restart": 0.1, "walks": 300, "max_nodes": 9}, {"walks": 1, "seed": 3}])
def test_subgraphs_equal_those_induced_by_networkx(name: str, options: dict[str, Any]) -> None:
    graph = GRAPHS[name]
    for node, (nodes, edges) in enumerate(rows(network_of(graph), **options)):
        assert nodes[0] == node
        assert len(set(nodes)) == len(nodes) <= options.get("max_nodes", 256)
        induced = {frozenset(edge) for edge in graph.subgraph(nodes).edges}
        assert {frozenset((nodes[u], nodes[v])) for u, v in edges} == induced
        assert edges == sorted(set(edges))
        assert all(u < v for u, v in edges)


@pytest.mark.parametrize("options", [{}, {"restart": 0.3, "walks": 20}, {"restart": 0.2, "max_nodes": 4, "seed": 9}])
def test_the_nodes_are_those_that_the_walks_visit_first(options: dict[str, Any]) -> None:
    graph, recipe = GRAPHS["karate"], resolve_nodes(subgraph="walks", **options)
    network = network_of(graph)
    key = replay_key(recipe.seed, network.digest, "surroundings", 0)
    (block,) = node_subgraphs(network, recipe)
    for node in range(len(graph)):
        m = max(256, round(graph.degree(node) * e / (e - 1) / recipe.restart))
        visited: list[int] = []
        for walk in range(10_000 if recipe.walks == "paper" else recipe.walks):
            if recipe.walks == "paper" and len(visited) - walk >= m:  # every walk visits its start and then makes steps
                break
            here, step = node, 0
            while True:
                visited.append(here)
                ending, choice = uniforms(key, node, walk, step, STEP)
                if ending < recipe.restart:
                    break
                around = sorted(graph[here])
                here, step = around[int(choice * len(around))], step + 1
        first = [*dict.fromkeys(visited)][: recipe.max_nodes]
        own = slice(block.node_offsets[node], block.node_offsets[node + 1])
        assert block.nodes[own].tolist() == first
        if len(first) == recipe.max_nodes:
            visited = visited[: visited.index(first[-1]) + 1]
        assert block.weights[own].tolist() == [visited.count(each) for each in first]


def test_hub_takes_more_walks_and_fills_its_subgraph() -> None:
    nodes, edges = rows(network_of(nx.star_graph(30_000)))[0]
    assert len(nodes) == 256
    assert edges == [(0, leaf) for leaf in range(1, 256)]


def test_a_leaf_of_a_hub_has_no_neighbours_but_the_hub() -> None:
    """The row of a node of many neighbours is searched, not read."""
    graph = nx.star_graph(30_000)
    graph.add_edge(7, 8)
    found = rows(network_of(graph), walks=400, restart=0.3, max_nodes=40)
    for leaf in (7, 29_999):
        nodes, edges = found[leaf]
        assert {frozenset((nodes[u], nodes[v])) for u, v in edges} == {
            frozenset(x) for x in graph.subgraph(nodes).edges
        }


def test_another_seed_or_graph_draws_others() -> None:
    once = rows(network_of(GRAPHS["karate"]))
    assert once == rows(network_of(GRAPHS["karate"]))
    assert once != rows(network_of(GRAPHS["karate"]), seed=1)
    longer = nx.disjoint_union(GRAPHS["karate"], nx.path_graph(2))
    assert once != rows(network_of(longer))[: len(once)]


def test_node_without_edges_has_a_subgraph_of_itself() -> None:
    assert rows(network_of(nx.disjoint_union(nx.path_graph(2), nx.empty_graph(1))))[2] == ([2], [])
