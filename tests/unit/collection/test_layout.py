"""The map of a collection: what the forest joins lies together, and nothing on anything else."""

import networkx as nx
import numpy as np
import pytest
from scipy.spatial import KDTree

from graphkin.collection.layout import Layout, lay_out
from graphkin.store import csr
from graphkin.store.records import Edges


def laid(forest: nx.Graph, done: list[int] | None = None) -> Layout:
    source, target = np.array(forest.edges, np.int32).reshape(-1, 2).T
    edges = Edges(source.copy(), target.copy(), np.full(len(source), 0.5, np.float32))
    return lay_out(csr.build(edges, len(forest)), (lambda _: None) if done is None else done.append)


def places(found: Layout) -> np.ndarray:
    return np.stack([found.x, found.y], 1).astype(np.float64)


def forest_of(sizes: list[int]) -> nx.Graph:
    return nx.disjoint_union_all([nx.random_labeled_tree(size, seed=size) for size in sizes])


def test_neighbours_lie_together_and_trees_apart() -> None:
    forest = forest_of([1, 900, 1, 40, 2, 7, 1])
    done: list[int] = []
    at = places(laid(forest, done))
    assert at.min() == 0
    assert at.max() == 1
    assert 900 < sum(done) <= len(forest)
    tree = KDTree(at)
    assert tree.query(at, k=2)[0][:, 1].min() > 1e-4  # no two in one place
    ends = np.array(forest.edges)
    length = np.linalg.norm(at[ends[:, 0]] - at[ends[:, 1]], axis=1)
    assert length.max() < 0.25
    near = [{*found} for found in tree.query(at, k=15)[1].tolist()]
    assert np.mean([b in near[a] for a, b in forest.edges]) > 0.7  # as many would be by chance: 0.015
    boxes = [(at[[*own]].min(0), at[[*own]].max(0)) for own in nx.connected_components(forest)]
    for number, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:number]:
            assert (high < other_low).any() or (other_high < low).any()


def test_the_same_forest_has_the_same_map() -> None:
    forest = forest_of([300, 20, 1])
    assert places(laid(forest)).tolist() == places(laid(forest)).tolist()


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
def test_any_forest_has_one(forest: nx.Graph) -> None:
    at = places(laid(forest))
    assert np.isfinite(at).all()
    assert len(np.unique(at.astype(np.float32), axis=0)) == len(forest)
