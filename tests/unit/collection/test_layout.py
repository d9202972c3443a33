"""The map places neighbors in the forest together, and no two items in one place."""

import networkx as nx
import numpy as np
import pytest
from scipy.spatial import KDTree

from graphkin.collection.layout import Layout, compute_layout
from graphkin.store import csr
from graphkin.store.records import Edges


def layout_of(forest: nx.Graph, done: list[int] | None = None) -> Layout:
    source, target = np.array(forest.edges, np.int32).reshape(-1, 2).T
    edges = Edges(source.copy(), target.copy(), np.full(len(source), 0.5, np.float32))
    return compute_layout(csr.build(edges, len(forest)), (lambda _: None) if done is None else done.append)


def coordinates(layout: Layout) -> np.ndarray:
    return np.stack([layout.x, layout.y], 1).astype(np.float64)


def forest_of(sizes: list[int]) -> nx.Graph:
    return nx.disjoint_union_all([nx.random_labeled_tree(size, seed=size) for size in sizes])


def test_neighbors_lie_together_and_trees_apart() -> None:
    forest = forest_of([1, 900, 1, 40, 2, 7, 1])
    done: list[int] = []
    points = coordinates(layout_of(forest, done))
    assert points.min() == 0
    assert points.max() == 1
    assert 900 < sum(done) <= len(forest)
    tree = KDTree(points)
    assert tree.query(points, k=2)[0][:, 1].min() > 1e-4  # no two in one place
    ends = np.array(forest.edges)
    length = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    assert length.max() < 0.25
    near = [{*indices} for indices in tree.query(points, k=15)[1].tolist()]
    assert np.mean([b in near[a] for a, b in forest.edges]) > 0.7  # as many would be by chance: 0.015
    boxes = [
        (points[[*component]].min(0), points[[*component]].max(0)) for component in nx.connected_components(forest)
    ]
    for number, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:number]:
            assert (high < other_low).any() or (other_high < low).any()


def test_the_same_forest_has_the_same_map() -> None:
    forest = forest_of([300, 20, 1])
    assert coordinates(layout_of(forest)).tolist() == coordinates(layout_of(forest)).tolist()


@pytest.mark.parametrize(
    "forest",
    [
        nx.empty_graph(0),
        nx.empty_graph(1),
        nx.empty_graph(5),
        nx.path_graph(2),
        nx.path_graph(3000),
        nx.star_graph(5000),
    ],
    ids=["none", "one", "alone", "two", "path", "star"],
)
def test_any_forest_has_distinct_places(forest: nx.Graph) -> None:
    points = coordinates(layout_of(forest))
    assert np.isfinite(points).all()
    assert len(np.unique(points.astype(np.float32), axis=0)) == len(forest)
