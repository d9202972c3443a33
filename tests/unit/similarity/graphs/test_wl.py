"""The Weisfeiler-Lehman kernel against GraKeL's."""

import json
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkin.similarity.graphs.describer import GraphDescriber
from graphkin.similarity.graphs.recipe import GraphRecipe, resolve_graphs
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import Features


def _features(contents: list[dict[str, Any]], recipe: GraphRecipe) -> Features:
    return Features.from_structures([Structure.read(json.dumps(content)) for content in contents], recipe)


def _matrix(features: Features) -> np.ndarray:
    count = len(features)
    a, b = (ends.astype(np.int32) for ends in np.triu_indices(count, 1))
    matrix = np.eye(count)
    matrix[a, b] = matrix[b, a] = features.similarities(a, b)
    return matrix


@pytest.mark.parametrize("iterations", range(6))
@pytest.mark.parametrize("labels", ["degree", "uniform", "index", "given"])
def test_similarities_equal_grakel(various: Any, grakel: Any, labels: Any, iterations: int) -> None:
    contents = various("abc")
    recipe = resolve_graphs(labels=labels, iterations=iterations)
    found = _matrix(_features(contents, recipe))
    assert np.abs(found - grakel(contents, labels, iterations)).max() < 1e-9
    assert found.max() <= 1


def test_integers_are_labels_like_any(various: Any, grakel: Any) -> None:
    letters = various("abc")
    numbers = [
        {**content, "labels": [10**15 * ord(letter) - 2**62 for letter in content["labels"]]} for content in letters
    ]
    recipe = resolve_graphs(labels="given")
    assert np.array_equal(_matrix(_features(numbers, recipe)), _matrix(_features(letters, recipe)))
    assert np.abs(_matrix(_features(numbers, recipe)) - grakel(numbers, "given", 3)).max() < 1e-9


@st.composite
def collections(draw: st.DrawFn) -> list[dict[str, Any]]:
    def graph() -> dict[str, Any]:
        nodes = draw(st.integers(1, 8))
        edge = st.lists(st.integers(0, nodes - 1), min_size=2, max_size=2)
        labels = draw(st.lists(st.sampled_from("abc"), min_size=nodes, max_size=nodes))
        return {"num_nodes": nodes, "edges": draw(st.lists(edge, max_size=14)), "labels": labels}

    return [graph() for _ in range(draw(st.integers(2, 4)))]


@given(collections(), st.sampled_from(["degree", "uniform", "index", "given"]), st.integers(0, 4))
@settings(max_examples=60)
def test_any_graphs(grakel: Any, contents: list[dict[str, Any]], labels: Any, iterations: int) -> None:
    found = _matrix(_features(contents, resolve_graphs(labels=labels, iterations=iterations)))
    assert np.abs(found - grakel(contents, labels, iterations)).max() < 1e-9


def _same(some: Features, others: Features) -> bool:
    return all(np.array_equal(getattr(some, name), getattr(others, name)) for name in ("indptr", "subtree", "count"))


@given(collections(), st.sampled_from(["degree", "uniform", "given"]), st.randoms(use_true_random=False))
def test_similarities_do_not_depend_on_node_numbers(contents: list[dict[str, Any]], labels: Any, random: Any) -> None:
    renumbered = []
    for content in contents:
        number = random.sample(range(content["num_nodes"]), content["num_nodes"])
        told = [""] * len(number)
        for node, label in enumerate(content["labels"]):
            told[number[node]] = label
        edges = [[number[u], number[v]] for u, v in content["edges"]]
        renumbered.append({"num_nodes": len(number), "edges": edges, "labels": told})
    recipe = resolve_graphs(labels=labels)
    assert _same(_features(contents, recipe), _features(renumbered, recipe))


def test_the_numbers_of_the_nodes_are_all_that_index_labels_see(content: Callable[..., Any]) -> None:
    path = content(nx.path_graph(4))
    other = {"num_nodes": 4, "edges": [[2, 0], [0, 3], [3, 1]]}
    degree, index = (
        _matrix(_features([path, other], resolve_graphs(labels=labels)))[0, 1] for labels in ("degree", "index")
    )
    assert degree == 1
    assert index < 0.5


@given(collections(), st.sampled_from(["degree", "uniform", "index", "given"]))
def test_described_alone_or_together_they_are_the_same(contents: list[dict[str, Any]], labels: Any) -> None:
    recipe = resolve_graphs(labels=labels)
    together = _features(contents, recipe)
    describer = GraphDescriber(recipe, 100)
    for number, content in enumerate(contents):
        row = dict(zip(describer.schema.names, describer.describe(json.dumps(content), "graph", None), strict=True))
        alone = _features([content], recipe)
        mine = slice(together.indptr[number], together.indptr[number + 1])
        for name in ("subtree", "count"):
            assert np.array_equal(row[name], getattr(together, name)[mine])
            assert np.array_equal(row[name], getattr(alone, name))


def test_graphs_that_the_test_of_weisfeiler_and_lehman_cannot_tell_apart(content: Callable[..., Any]) -> None:
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    matrix = _matrix(_features([content(triangles), content(nx.cycle_graph(6))], resolve_graphs(iterations=5)))
    assert matrix[0, 1] == 1


def test_a_large_graph(content: Callable[..., Any]) -> None:
    """Counts whose products pass 32 bits."""
    contents = [content(nx.star_graph(nodes)) for nodes in (60_000, 70_000)]
    features = _features(contents, resolve_graphs(labels="uniform", iterations=1))
    assert features.square.tolist() == [(n + 1) ** 2 + n**2 + 1 for n in (60_000, 70_000)]
    product = 60_001 * 70_001 + 60_000 * 70_000
    expected = product / np.sqrt(features.square[0] * features.square[1])
    assert _matrix(features)[0, 1] == pytest.approx(expected, rel=1e-12)
