"""GraKeL's kernels as the similarity of a collection."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import networkx as nx
import numpy as np
import pytest
from grakel import Graph, GraphletSampling, ShortestPath

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.graphs import reference
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.graphs.reference import GrakelKernel
from graphkin.similarity.graphs.structure import Structure
from graphkin.store.base import Generation


def _similarity(generation: Generation) -> dict[tuple[int, int], float]:
    return {
        (a, b): s
        for block in generation.edges()
        for a, b, s in zip(block.source.tolist(), block.target.tolist(), block.similarity.tolist(), strict=True)
    }


@pytest.mark.parametrize(
    ("labels", "iterations", "candidates"),
    [("degree", 2, "exact"), ("uniform", 1, "window"), ("index", 0, "window"), ("given", 0, "exact")],
)
def test_grakel_equals_wl(
    generation: Callable[..., Generation], various: Any, labels: Any, iterations: int, candidates: Any
) -> None:
    recipe_options: dict[str, Any] = {
        "labels": labels,
        "iterations": iterations,
        "closeness": 2,
        "candidates": candidates,
    }
    own, reference_similarity = (
        _similarity(generation(various("ab"), resolve_graphs(kernel=kernel, **recipe_options)))
        for kernel in ("wl", "grakel")
    )
    assert own == pytest.approx(reference_similarity, abs=1e-6)
    assert len(own) > 20


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("grakel-shortest-path", ShortestPath(normalize=True)),
        ("grakel-graphlet", GraphletSampling(normalize=True, k=3, random_state=0)),
    ],
)
def test_other_kernels_equal_grakel(
    generation: Callable[..., Generation], content: Any, slow_pairs: Any, name: Any, kernel: Any
) -> None:
    graphs = [nx.gnp_random_graph(9 + seed % 3, 0.35, seed=seed) for seed in range(12)]
    graphs += [
        nx.disjoint_union(nx.cycle_graph(8), nx.empty_graph(2)),
        nx.empty_graph(9),
        nx.empty_graph(1),
        nx.path_graph(2),
    ]
    contents = [content(graph) for graph in graphs]
    similarities = _similarity(generation(contents, resolve_graphs(kernel=name, closeness=5)))
    grakel_graphs = [Graph(nx.to_numpy_array(graph), node_labels=dict(graph.degree)) for graph in graphs]
    with np.errstate(invalid="ignore"):
        exact = np.asarray(kernel.fit_transform(grakel_graphs))
    expected = {pair: exact[pair] for pair in slow_pairs(contents, 5) if exact[pair] > 0}
    assert similarities == pytest.approx(expected, abs=1e-6)
    assert len(expected) > 20


def test_graphs_without_features_are_not_similar(generation: Callable[..., Generation], content: Any) -> None:
    """The graphs have no paths, and no three nodes."""
    for kernel in ("grakel-shortest-path", "grakel-graphlet"):
        few = [content(nx.empty_graph(2)), content(nx.empty_graph(1)), content(nx.empty_graph(1))]
        assert _similarity(generation(few, resolve_graphs(kernel=kernel))) == {}


def test_manifest_has_the_version_of_grakel_if_used(generation: Callable[..., Generation], various: Any) -> None:
    few = various()[2:5]
    assert generation(few, resolve_graphs(kernel="grakel")).manifest.versions["grakel"] == version("grakel")
    assert "grakel" not in generation(few).manifest.versions


def test_too_many_graphs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [Structure.read('{"edges": [[0, 1]]}')] * 5
    monkeypatch.setattr(reference, "_MAX_GRAPHS", 5)
    assert GrakelKernel(few, resolve_graphs(kernel="grakel")).similarities(np.array([0]), np.array([1])).tolist() == [1]
    with pytest.raises(InvalidInput, match="too many"):
        GrakelKernel([*few, *few], resolve_graphs(kernel="grakel"))
