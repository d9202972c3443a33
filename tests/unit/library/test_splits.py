"""Splits of fingerprints, checked against brute force and NetworkX."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkin.library.leakage import leaking_pairs
from graphkin.library.splits import Splitter
from graphkin.protocol.errors import InvalidInput


def similarities(left, right):
    """Return the Tanimoto similarities of packed fingerprints, (n, m), computed from single bits."""
    one, other = (np.unpackbits(words.view(np.uint8), axis=1).astype(np.int64) for words in (left, right))
    shared = one @ other.T
    either = one.sum(axis=1)[:, None] + other.sum(axis=1)[None, :] - shared
    return shared / np.maximum(either, 1)


def series(rng, count, flips=3):
    """Return `count` packed fingerprints of 64 bits: random ones, and copies of earlier ones with a few other bits."""
    rows = np.zeros((count, 64), np.uint8)
    for row in range(count):
        rows[row] = rows[rng.integers(row)] if row and rng.random() < 0.7 else rng.random(64) < 0.3
        rows[row, rng.integers(64, size=rng.integers(flips + 1))] ^= 1
    return np.packbits(rows, axis=1, bitorder="little").view(np.uint64)


def graph_of(words, threshold):
    """Return the similarity graph of the fingerprints, in NetworkX."""
    graph = nx.from_numpy_array(np.triu(similarities(words, words) >= threshold, 1))
    graph.add_nodes_from(range(len(words)))
    return graph


def fewest_discarded(graph, test_count):
    """Return the smallest number of neighbors of `test_count` nodes, by trying all sets of nodes."""
    sets = combinations(graph, test_count)
    return min(len({other for node in nodes for other in graph[node]}.difference(nodes)) for nodes in sets)


cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "count": st.integers(2, 40),
        "threshold": st.sampled_from([0.2, 0.4, 0.5, 0.6, 2 / 3, 0.8, 1.0]),
        "flips": st.integers(0, 12),
    }
)


@settings(deadline=None, max_examples=300)
@given(case=cases, share=st.floats(0.05, 0.7), method=st.sampled_from(["components", "min-discard"]), data=st.data())
def test_no_similar_pair_crosses_a_split(case, share, method, data):
    words = series(np.random.default_rng(case["seed"]), case["count"], case["flips"])
    classes = data.draw(st.none() | st.lists(st.sampled_from("abc"), min_size=len(words), max_size=len(words)))
    try:
        split = Splitter(words, case["threshold"], case["seed"], 1).split(share, method, classes)
    except InvalidInput:
        largest = max(map(len, nx.connected_components(graph_of(words, case["threshold"]))))
        assert largest > len(words) - np.ceil(share * len(words)) or method == "min-discard" or share * len(words) < 1
        return
    train, test = split
    assert len(train)
    assert len(test)
    assert sorted([*train, *test, *split.discarded]) == [*range(len(words))]
    assert (similarities(words[train], words[test]) < case["threshold"]).all()
    assert not next(leaking_pairs(words[train], words[test], case["threshold"], 1))
    if method == "components":
        assert not len(split.discarded)
    else:
        near = similarities(words[split.discarded], words[test]) >= case["threshold"]
        assert near.any(axis=1).all()


@settings(deadline=None, max_examples=30)
@given(case=cases, folds=st.integers(2, 6), method=st.sampled_from(["components", "min-discard"]))
def test_no_similar_pair_crosses_folds(case, folds, method):
    words = series(np.random.default_rng(case["seed"]), case["count"], case["flips"])
    splitter = Splitter(words, case["threshold"], case["seed"], 1)
    try:
        fold = splitter.folds(folds, method)
    except InvalidInput:
        components = [*nx.connected_components(graph_of(words, case["threshold"]))]
        largest = max(map(len, components))
        assert folds > len(words) or len(components) < folds or largest > len(words) - len(words) // folds
        return
    is_similar = similarities(words, words) >= case["threshold"]
    assert {*fold.tolist()} == {*range(folds)}
    if method == "components":
        assert not is_similar[fold[:, None] != fold[None, :]].any()
    for number in range(folds):
        training = splitter.training(fold, number)
        assert not is_similar[training][:, fold == number].any()
        expected = (fold != number) & ~is_similar[:, fold == number].any(axis=1)
        np.testing.assert_array_equal(training, expected)


def test_components_are_those_of_networkx():
    words = series(np.random.default_rng(1), 300, flips=8)
    components = Splitter(words, 0.6, seed=4, threads=2).components
    graph = graph_of(words, 0.6)
    ours = {frozenset(components.order[components.label == label].tolist()) for label in components.label}
    assert ours == {frozenset(each) for each in nx.connected_components(graph)}
    assert components.pairs == graph.number_of_edges()
    assert components.degrees.tolist() == [graph.degree(item) for item in components.order]


def test_min_discard_is_close_to_the_optimum_of_small_sets():
    differences = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        words = series(rng, int(rng.integers(6, 14)), flips=10)
        count = int(rng.integers(1, len(words) // 2 + 1))
        graph = graph_of(words, 0.5)
        optimum = fewest_discarded(graph, count)
        if optimum == len(words) - count:
            with pytest.raises(InvalidInput, match="leaves no training items"):
                Splitter(words, 0.5, seed, 1).split(count, "min-discard")
            continue
        split = Splitter(words, 0.5, seed, 1).split(count, "min-discard")
        assert len(split.test) == count
        assert split.report["lower_bound"] <= optimum <= len(split.discarded)
        differences.append(len(split.discarded) - optimum)
    assert len(differences) > 40
    assert np.mean(differences) < 0.1


@pytest.mark.parametrize("method", ["components", "min-discard"])
def test_split_depends_on_fingerprints_and_seed_alone(method):
    rng = np.random.default_rng(3)
    words = np.unique(series(rng, 400, flips=10), axis=0)
    order = rng.permutation(len(words))
    threshold = 0.7 if method == "components" else 0.4
    first = Splitter(words, threshold, 5, 1).split(0.25, method)
    second = Splitter(words[order], threshold, 5, 2).split(0.25, method)
    for name in ("train", "test", "discarded"):
        assert {*getattr(first, name).tolist()} == {*order[getattr(second, name)].tolist()}
    other = Splitter(words, threshold, 6, 1).split(0.25, method)
    assert first.test.tolist() != other.test.tolist()
    assert len(first.discarded) == 0 if method == "components" else len(first.discarded) > 0


@pytest.mark.parametrize("method", ["components", "min-discard"])
def test_stratified_split_keeps_the_share_of_each_class(method):
    words = np.arange(1, 1001, dtype=np.uint64)[:, None] << np.uint64(20)
    classes = np.where(np.arange(1000) % 10 == 0, "rare", "common")
    split = Splitter(words, 1.0, 0, 1).split(0.2, method, classes)
    numbers = {each["class"]: (each["train"], each["test"], each["discarded"]) for each in split.report["classes"]}
    assert numbers == {"rare": (80, 20, 0), "common": (720, 180, 0)}
    assert (classes[split.test] == "rare").sum() == 20


def test_component_larger_than_the_training_set_is_refused_with_its_size():
    words = np.full((10, 1), 7, np.uint64)
    words[:2] = 1 << 40
    with pytest.raises(InvalidInput, match="larger than the training set") as error:
        Splitter(words, 0.6, 0, 1).split(0.3)
    assert error.value.given.startswith("8 of 10 items")
    assert "min-discard" in str(error.value)
    split = Splitter(words, 0.6, 0, 1).split(0.2)
    assert split.test.tolist() == [0, 1]


def test_split_without_training_items_is_refused():
    with pytest.raises(InvalidInput, match="leaves no training items"):
        Splitter(np.full((5, 1), 7, np.uint64), 0.6, 0, 1).split(2, "min-discard")


def test_smallest_component_is_the_test_set_if_none_fits():
    words = np.array([[1], [1], [1], [2], [2]], np.uint64)
    split = Splitter(words, 1.0, 0, 1).split(1)
    assert split.test.tolist() == [3, 4]
    assert split.report["requested_test"] == 1


@pytest.mark.parametrize("size", [0, 1.0, 0.0, 10, -0.5, 1.5, float("nan"), "0.2", 0.95])
def test_size_of_the_test_set_out_of_range_is_refused(size):
    with pytest.raises(InvalidInput, match="invalid size of the test set"):
        Splitter(series(np.random.default_rng(0), 10), 0.5, 0, 1).split(size)


@pytest.mark.parametrize("threshold", [0, -1, 1.01, float("nan")])
def test_threshold_out_of_range_is_refused(threshold):
    with pytest.raises(InvalidInput, match="invalid threshold"):
        Splitter(np.ones((3, 1), np.uint64), threshold, 0, 1)


def test_wrong_arguments_are_refused():
    splitter = Splitter(series(np.random.default_rng(0), 10), 0.9, 0, 1)
    with pytest.raises(InvalidInput, match="invalid method"):
        splitter.split(0.2, "random")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="invalid number of classes"):
        splitter.split(0.2, classes=["a"])
    with pytest.raises(InvalidInput, match="invalid number of folds"):
        splitter.folds(11)
    with pytest.raises(InvalidInput, match="invalid number of folds"):
        splitter.folds(2.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="invalid pair of sets"):
        leaking_pairs(np.ones((1, 1), np.uint64), np.ones((1, 2), np.uint64), 0.5, 1)
