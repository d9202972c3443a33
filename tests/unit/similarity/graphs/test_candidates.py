"""Which graphs are compared: slow readings of both rules (docs/concepts/method.md), and ties that leak nothing."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkin.similarity.graphs.descriptors import GraphDescriptors
from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.recipe import GraphRecipe, resolve_graphs
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.join import Pairs
from graphkin.store.identity import content_digest

Size = tuple[int, int]
"""Nodes, edges."""

Found = dict[tuple[int, int], float]


def _ignored(_: int) -> None:
    """Progress of no interest."""


def _described(sizes: Sequence[Size], recipe: GraphRecipe, tie: Sequence[int] | None = None) -> GraphDescriptors:
    """Graphs of these sizes, all alike to the kernel; ties by position unless told."""
    count = len(sizes)
    features = Features(np.arange(count + 1), np.zeros(count, np.uint64), np.ones(count, np.int32))
    nodes, edges = np.array(sizes, np.int32).reshape(-1, 2).T
    ranks = np.arange(count) if tie is None else np.array(tie)
    return GraphDescriptors(recipe, features, nodes, edges, ranks.astype(np.uint64), ())


def _pairs(descriptors: GraphDescriptors, threads: int = 1) -> Found:
    blocks = list(descriptors.pairs(0, threads, _ignored))
    ends = [
        (min(a, b), max(a, b))
        for found in blocks
        for a, b in zip(found.left.tolist(), found.right.tolist(), strict=True)
    ]
    assert len(set(ends)) == len(ends)
    return dict(zip(ends, np.concatenate([found.similarity for found in blocks]).tolist(), strict=True))


def _accepts(target: Size, other: Size, closeness: int) -> bool:
    (nodes, edges), (others, their) = target, other
    near = closeness * abs(their - edges) <= edges if edges else abs(their - edges) <= 5
    return closeness * abs(others - nodes) <= nodes and near


@pytest.mark.parametrize(
    ("one", "other", "closeness", "joined"),
    [
        ((100, 50), (110, 50), 10, True),
        ((100, 50), (111, 50), 10, True),  # 110 - 99: the other's tenth is 11
        ((100, 50), (112, 50), 10, False),
        ((10, 50), (11, 50), 10, True),
        ((9, 50), (10, 50), 10, True),
        ((8, 50), (9, 50), 10, False),
        ((10, 50), (10, 55), 10, True),
        ((10, 50), (10, 56), 10, False),
        ((10, 9), (10, 10), 10, True),
        ((10, 8), (10, 9), 10, False),
        ((10, 0), (10, 5), 10, True),
        ((10, 0), (10, 6), 10, False),
        ((3, 0), (3, 3), 10, True),
        ((10, 50), (12, 60), 5, True),
        ((10, 50), (13, 50), 5, False),
        ((5, 5), (6, 6), 5, True),
        ((4, 5), (5, 5), 5, True),
        ((3, 5), (4, 5), 5, False),
        ((20, 50), (22, 44), 10, False),  # each is near in one number only
    ],
)
@pytest.mark.parametrize("candidates", ["exact", "window"])
def test_bounds_are_inclusive_and_relative_to_the_target(
    one: Size, other: Size, closeness: int, joined: bool, candidates: Any
) -> None:
    recipe = resolve_graphs(candidates=candidates, closeness=closeness)
    for sizes in ([one, other], [other, one]):
        assert set(_pairs(_described(sizes, recipe))) == ({(0, 1)} if joined else set())


sizes = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 40)), min_size=1, max_size=40)


@given(sizes, st.integers(1, 12))
def test_exact_candidates_are_pairs_that_either_member_accepts(sizes: list[Size], closeness: int) -> None:
    found = _pairs(_described(sizes, resolve_graphs(closeness=closeness)))
    ids = range(len(sizes))
    assert set(found) == {
        (a, b)
        for a in ids
        for b in ids
        if a < b and (_accepts(sizes[a], sizes[b], closeness) or _accepts(sizes[b], sizes[a], closeness))
    }


def _window(sizes: Sequence[Size], order: Sequence[int], closeness: int, most: int = 70) -> set[tuple[int, int]]:
    """The published scan, step by step, of graphs in this order."""
    found = set()
    for place, target in enumerate(order):

        def scan(others: Sequence[int], target: int = target) -> list[int]:
            kept: list[int] = []
            for other in others:
                if closeness * abs(sizes[other][0] - sizes[target][0]) > sizes[target][0]:
                    break
                if _accepts(sizes[target], sizes[other], closeness) and len(kept) < most:
                    kept.append(other)
            return kept

        both = scan(order[:place][::-1])[::-1] + scan(order[place + 1 :])
        surplus = max(len(both) - most, 0)
        found |= {(min(target, other), max(target, other)) for other in both[surplus // 2 :][:most]}
    return found


crowds = st.lists(st.tuples(st.integers(18, 24), st.integers(18, 24)), min_size=1, max_size=220)


@given(crowds, st.sampled_from(["paper", "rc"]), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_window_equals_the_slow_reference(sizes: list[Size], preset: str, random: Any) -> None:
    recipe = resolve_graphs(preset)
    tie = random.sample(range(10**6), len(sizes))
    ranks = tie if preset == "paper" else range(len(sizes))
    order = sorted(range(len(sizes)), key=lambda item: (sizes[item][0], ranks[item]))
    found = _pairs(_described(sizes, recipe, tie))
    assert set(found) == _window(sizes, order, {"paper": 10, "rc": 5}[preset])


def test_target_has_at_most_seventy_candidates_without_itself() -> None:
    recipe = resolve_graphs("paper")
    target, candidate = _described([(20, 20)] * 300, recipe).window.candidates(0, 300)
    assert set(Counter(target.tolist()).values()) == {70}
    assert (target != candidate).all()
    assert len(_pairs(_described([(20, 20)] * 300, resolve_graphs()))) == 300 * 299 // 2


@pytest.fixture(scope="module")
def crowd() -> list[Structure]:
    """600 graphs of like sizes, three tasks of the exact join."""
    graphs = [nx.gnm_random_graph(15 + seed % 5, 20 + seed % 3, seed=seed) for seed in range(600)]
    return [Structure.read(json.dumps({"num_nodes": len(g), "edges": list(map(list, g.edges))})) for g in graphs]


def _of(structures: Sequence[Structure], recipe: GraphRecipe) -> GraphDescriptors:
    digests = b"".join(content_digest(structure.text, 0) for structure in structures)
    return GraphDescriptors(
        recipe=recipe,
        features=Features.from_structures(structures, recipe),
        nodes=np.array([structure.nodes for structure in structures], np.int32),
        edges=np.array([len(structure.edges) for structure in structures], np.int32),
        tie=np.frombuffer(digests, "<u8")[::2].copy(),
        structures=() if recipe.kernel == "wl" else [structure.text for structure in structures],
    )


@pytest.mark.parametrize("labels", ["degree", "index"])
@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_exact_edges_equal_brute_force(
    crowd: list[Structure], grakel: Any, slow_pairs: Any, labels: Any, threshold: float
) -> None:
    some = [*crowd[:150], Structure.read('{"num_nodes": 17, "edges": []}')]
    contents = [json.loads(structure.text) for structure in some]
    found = _pairs(_of(some, resolve_graphs(labels=labels, threshold=threshold)))
    exact = grakel(contents, labels, 3)
    near = slow_pairs(contents)
    expected = {pair for pair in near if exact[pair] > 0 and exact[pair] >= threshold}
    assert set(found) == expected
    assert max(abs(similarity - exact[pair]) for pair, similarity in found.items()) < 1e-9
    assert len(expected) > (10 if labels == "index" else 300)


def test_threshold_0_keeps_all_similarities_above_0(content: Callable[..., Any]) -> None:
    """Degrees 2 alone, and degrees 0 alone, have nothing in common."""
    ring, empty = content(nx.cycle_graph(5)), content(nx.empty_graph(5))
    chord = {"num_nodes": 5, "edges": [[0, 1], [1, 2], [2, 3], [3, 4]]}
    structures = [Structure.read(json.dumps(one)) for one in (ring, empty, chord)]
    found = _pairs(_of(structures, resolve_graphs(closeness=1)))
    assert set(found) == {(0, 2)}
    assert 0 < found[0, 2] < 1


@pytest.mark.parametrize("recipe", [resolve_graphs(), resolve_graphs(kernel="grakel", threshold=0.5)])
def test_edges_do_not_depend_on_threads(crowd: list[Structure], recipe: GraphRecipe) -> None:
    blocks = {threads: list(_of(crowd, recipe).pairs(0, threads, _ignored)) for threads in (1, 2, 4)}
    assert len(blocks[1]) == 3
    for other in (2, 4):
        for mine, theirs in zip(blocks[1], blocks[other], strict=True):
            assert all(
                np.array_equal(getattr(mine, name), getattr(theirs, name)) for name in ("left", "right", "similarity")
            )


def test_tasks_can_be_taken_up_where_they_were_left(crowd: list[Structure]) -> None:
    descriptors = _of(crowd, resolve_graphs())
    whole, rest = (list(descriptors.pairs(begin, 2, _ignored)) for begin in (0, 1))
    assert [len(block) for block in rest] == [len(block) for block in whole[1:]]
    assert np.array_equal(rest[-1].left, whole[-1].left)
    assert list(descriptors.pairs(3, 2, _ignored)) == []


@pytest.mark.parametrize("candidates", ["exact", "window"])
@pytest.mark.parametrize("older", [0, 1, 590])
def test_pairs_with_a_newer_graph_equal_those_of_the_whole_join(
    crowd: list[Structure], candidates: Any, older: int
) -> None:
    recipe = resolve_graphs(candidates=candidates, threshold=0.3)
    descriptors = _of(crowd[:older], recipe).concatenate(_of(crowd[older:], recipe)) if older else _of(crowd, recipe)
    done: list[int] = []
    found = Pairs.concatenate(list(descriptors.new_pairs(older, 0, 2, done.append)))
    every = Pairs.concatenate(list(_of(crowd, recipe).pairs(0, 2, _ignored)))
    expected = every.take(every.right >= older)
    for name in ("left", "right", "similarity"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert np.array_equal(descriptors.similarities(found.left, found.right), found.similarity)
    assert sum(done) == 600


def test_an_index_holds_the_features_that_it_is_of(crowd: list[Structure]) -> None:
    features = _of(crowd, resolve_graphs()).features
    back = SubtreeIndex.from_features(features).features
    for name in ("indptr", "subtree", "count"):
        assert np.array_equal(getattr(back, name), getattr(features, name))


@pytest.mark.parametrize("candidates", ["exact", "window"])
def test_progress_counts_each_graph_once(crowd: list[Structure], candidates: Any) -> None:
    done: list[int] = []
    list(_of(crowd, resolve_graphs(candidates=candidates)).pairs(0, 2, done.append))
    assert sum(done) == 600


def test_what_was_found_before_is_only_used_again_for_the_same_graphs() -> None:
    """A killed join goes on where it was if `content` is the same: kernels that read structures must see them in it."""
    texts = [
        '{"num_nodes": 4, "edges": [[0, 1], [1, 2], [2, 3]]}',
        '{"num_nodes": 4, "edges": [[0, 1], [0, 2], [0, 3]]}',
    ]
    recipe = resolve_graphs(kernel="grakel-shortest-path", labels="uniform", iterations=0)
    path, star = (
        [bytes(memoryview(part)) for part in _of([Structure.read(text)] * 2, recipe).content] for text in texts
    )
    assert path != star


def _classes(seed: int) -> tuple[list[Structure], np.ndarray]:
    """900 graphs of one size in the order of their three classes, of which they tell nothing."""
    graphs = [nx.gnm_random_graph(12, 14, seed=seed * 1000 + number) for number in range(900)]
    texts = [json.dumps({"num_nodes": 12, "edges": [list(edge) for edge in graph.edges]}) for graph in graphs]
    return [Structure.read(text) for text in texts], np.repeat([0, 1, 2], 300)


def _share(pairs: Found, classes: np.ndarray) -> float:
    """Of the candidate pairs those within a class."""
    a, b = np.array(list(pairs)).T
    return float((classes[a] == classes[b]).mean())


def _renamed(pairs: Found, order: np.ndarray) -> Found:
    """Pairs of a shuffled collection by their numbers in the ordered one."""
    return {(min(order[a], order[b]), max(order[a], order[b])): s for (a, b), s in pairs.items()}


def test_ties_do_not_follow_the_order_of_the_file() -> None:
    """Files are ordered by class: candidates that follow their order would tell the class."""
    structures, classes = _classes(0)
    order = np.random.default_rng(0).permutation(len(structures))
    shuffled = [structures[place] for place in order]
    share = {}
    for preset in ("paper", "rc"):
        recipe = resolve_graphs(preset, labels="degree")
        ordered, mixed = _pairs(_of(structures, recipe)), _pairs(_of(shuffled, recipe))
        share[preset] = _share(ordered, classes), _share(mixed, classes[order])
        assert (_renamed(mixed, order) == ordered) == (preset == "paper")
    chance = 299 / 899
    assert share["paper"][0] == share["paper"][1] == pytest.approx(chance, abs=0.02)
    assert share["rc"][0] > 0.85  # 70 in a row are hardly ever of two classes
    assert share["rc"][1] == pytest.approx(chance, abs=0.02)
