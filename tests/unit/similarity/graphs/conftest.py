"""Random graphs, and reference similarities that GraKeL computes."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest
from grakel import Graph, VertexHistogram, WeisfeilerLehman

Content = dict[str, Any]
"""A graph as JSON: num_nodes, edges, labels."""


def _content(graph: nx.Graph, letters: str | None = None) -> Content:
    content: Content = {"num_nodes": len(graph), "edges": [list(edge) for edge in graph.edges]}
    if letters is not None:
        draw = random.Random(len(graph) + 31 * graph.number_of_edges())
        content["labels"] = [draw.choice(letters) for _ in graph]
    return content


def _various(letters: str | None = None) -> list[Content]:
    """Return trees, cycles, random and disconnected graphs, isolated nodes and single nodes, some of them twice."""
    graphs = [nx.empty_graph(1), nx.empty_graph(5), nx.path_graph(2), nx.star_graph(6), nx.cycle_graph(7)]
    graphs += [nx.disjoint_union(nx.cycle_graph(3), nx.empty_graph(2)), nx.complete_graph(6), nx.empty_graph(1)]
    graphs += [nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(4)), nx.cycle_graph(7)]
    graphs += [nx.gnp_random_graph(8 + seed, 0.25, seed=seed) for seed in range(8)]
    graphs += [nx.barabasi_albert_graph(12 + seed, 2, seed=seed) for seed in range(6)]
    return [_content(graph, letters) for graph in graphs]


def _labels(content: Content, mode: str) -> Sequence[Any]:
    graph = nx.empty_graph(content["num_nodes"])
    graph.add_edges_from((u, v) for u, v in content["edges"] if u != v)
    modes = {"degree": [degree for _, degree in graph.degree], "uniform": [0] * len(graph), "index": list(graph)}
    return content["labels"] if mode == "given" else modes[mode]


def _grakel(contents: Sequence[Content], mode: str, iterations: int) -> np.ndarray:
    graphs = []
    for content in contents:
        around: dict[int, dict[int, float]] = {node: {} for node in range(content["num_nodes"])}
        for u, v in content["edges"]:
            if u != v:
                around[u][v] = around[v][u] = 1.0
        graphs.append(Graph(around, node_labels=dict(enumerate(_labels(content, mode)))))
    if not iterations:
        return np.asarray(VertexHistogram(normalize=True).fit_transform(graphs))
    kernel = WeisfeilerLehman(n_iter=iterations, base_graph_kernel=VertexHistogram, normalize=True)
    return np.asarray(kernel.fit_transform(graphs))


def _pairs(contents: Sequence[Content], closeness: int = 10) -> set[tuple[int, int]]:
    """Return the compared pairs (docs/concepts/method.md): either member, as the target, accepts the other."""

    def accepts(target: Content, other: Content) -> bool:
        (nodes, edges), (others, their) = ((c["num_nodes"], len(c["edges"])) for c in (target, other))
        allowed = closeness * abs(their - edges) <= edges if edges else abs(their - edges) <= 5
        return closeness * abs(others - nodes) <= nodes and allowed

    ids = range(len(contents))
    either = {(a, b) for a in ids for b in ids if a != b and accepts(contents[a], contents[b])}
    return {(min(pair), max(pair)) for pair in either}


@pytest.fixture(scope="session")
def content() -> Callable[..., Content]:
    """Return content(networkx graph, letters=None), its JSON, with nodes labeled by random letters."""
    return _content


@pytest.fixture(scope="session")
def various() -> Callable[..., list[Content]]:
    """Return various(letters=None), 24 graphs of all sorts."""
    return _various


@pytest.fixture(scope="session")
def grakel() -> Callable[[Sequence[Content], str, int], np.ndarray]:
    """Return grakel(contents, labels, iterations), the (N, N) normalized Weisfeiler-Lehman similarities."""
    return _grakel


@pytest.fixture(scope="session")
def slow_pairs() -> Callable[..., set[tuple[int, int]]]:
    """Return slow_pairs(contents, closeness=10), the exact candidates by brute force."""
    return _pairs
