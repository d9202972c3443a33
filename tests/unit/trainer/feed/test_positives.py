"""Positives from elsewhere: what changes, what does not, and what they are drawn from."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.positives import ControlPositives, require_same_items
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.strategy import POSITIVES, Positives, Sampling

SIZE = 400


class Ring:
    """Items in a circle, linked with those up to `reach` away. Every tenth item from `offset` on is isolated."""

    def __init__(self, reach: int, offset: int) -> None:
        self._reach, self._offset = reach, offset

    def epoch(self, epoch: int) -> Epoch:
        items = np.arange(SIZE)
        steps = np.random.default_rng((epoch, self._reach)).integers(1, self._reach + 1, (SIZE, 3))
        positives = ((items[:, None] + steps) % SIZE).astype(np.int32)
        positives[self._offset :: 10] = -1
        return Epoch(positives, np.random.default_rng(epoch).integers(SIZE, size=(7, 255), dtype=np.int32))


RING, WIDE = Ring(3, 0), Ring(50, 5)


class Controls:
    """Epochs of the ring whose positives are replaced. The second collection is the wide ring."""

    def __init__(self, corpus: Corpus, positives: Positives, seed: int = 3) -> None:
        draws = Sampling.from_strategy("hgc-fo", kind="graph", batch_size=64, seed=seed, positives=positives)
        self._controls = ControlPositives(draws, lambda: corpus, has_second=True)

    def epoch(self, epoch: int) -> Epoch:
        return self._controls.replace(RING.epoch(epoch), epoch, WIDE.epoch(epoch).positives)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Trees of 10 to 40 nodes."""
    rng = np.random.default_rng(5)
    nodes = rng.integers(10, 41, SIZE)
    edges = [np.stack([rng.integers(0, np.arange(1, n)), np.arange(1, n)], axis=1) for n in nodes]
    return Corpus.from_edges("trees", nodes, nodes - 1, np.concatenate(edges))


def test_only_the_ids_of_positives_differ(corpus: Corpus) -> None:
    """Anchors, batches, steps, negatives and the options of the run are the same, whatever the source."""
    plans, configs = {}, {}
    for name in POSITIVES:
        configs[name] = PretrainConfig.from_strategy("hgc-fo", kind="graph", batch_size=64, seed=3, positives=name)
        plans[name] = [Plan(configs[name], epoch, Controls(corpus, name).epoch(epoch)) for epoch in (0, 1)]
    exact = plans.pop("exact")
    for name, other in plans.items():
        plain = replace(configs[name].draws, positives="exact", views=None)
        assert replace(configs[name], draws=plain) == configs["exact"]
        for epoch in (0, 1):
            assert other[epoch].steps == exact[epoch].steps == 5
            own, others = ([plan.draw(step) for step in range(5)] for plan in (exact[epoch], other[epoch]))
            for one, another in zip(own, others, strict=True):
                np.testing.assert_array_equal(one.anchors, another.anchors)
                np.testing.assert_array_equal(one.negatives, another.negatives)
                assert one.positives.shape == another.positives.shape
                assert (one.positives != another.positives).any()


def test_anchors_are_linked_in_both(corpus: Corpus) -> None:
    isolated = np.zeros(SIZE, bool)
    isolated[::10] = isolated[5::10] = True
    for name in POSITIVES:
        positives = Controls(corpus, name).epoch(2).positives
        np.testing.assert_array_equal((positives == -1).all(1), isolated)
        np.testing.assert_array_equal((positives == -1).any(1), isolated)
        assert positives.dtype == np.int32


def test_the_window_gives_its_own(corpus: Corpus) -> None:
    drawn = Controls(corpus, "window").epoch(4).positives
    linked = drawn[:, 0] >= 0
    np.testing.assert_array_equal(drawn[linked], WIDE.epoch(4).positives[linked])


def test_the_shuffled_keep_the_sets_but_nobody_its_own(corpus: Corpus) -> None:
    first, second = (Controls(corpus, "shuffled").epoch(epoch).positives for epoch in (0, 1))
    own = Controls(corpus, "exact").epoch(0).positives
    linked = np.flatnonzero(own[:, 0] >= 0)
    assert sorted(map(tuple, first[linked].tolist())) == sorted(map(tuple, own[linked].tolist()))
    again = Controls(corpus, "exact").epoch(1).positives
    giver = {tuple(row): anchor for anchor, row in zip(linked.tolist(), own[linked].tolist(), strict=True)}
    unique = [anchor for anchor in linked.tolist() if (own == own[anchor]).all(1).sum() == 1]
    given = {anchor: giver[tuple(first[anchor].tolist())] for anchor in linked.tolist()}
    kept = [anchor for anchor in linked.tolist() if given[anchor] in unique]
    assert len(kept) > SIZE / 2
    assert all(given[anchor] != anchor for anchor in kept)
    assert all(second[anchor].tolist() == again[given[anchor]].tolist() for anchor in kept)  # the same in every epoch
    assert (Controls(corpus, "shuffled", seed=4).epoch(0).positives != first).any()


def test_the_size_matched_are_drawn_evenly_from_all_others_alike(corpus: Corpus) -> None:
    matched = Controls(corpus, "size-matched")
    drawn = np.concatenate([matched.epoch(epoch).positives for epoch in range(400)], axis=1)
    nodes, edges = corpus.atoms, corpus.atoms - 1
    for anchor in (1, 2, 203):
        alike = (10 * abs(nodes - nodes[anchor]) <= nodes[anchor]) & (10 * abs(edges - edges[anchor]) <= edges[anchor])
        alike[anchor] = False
        seen = np.bincount(drawn[anchor], minlength=SIZE)
        assert set(np.flatnonzero(seen)) <= set(np.flatnonzero(alike))
        assert chisquare(seen[alike]).pvalue > 1e-3
    assert (matched.epoch(1).positives != matched.epoch(2).positives).any()
    np.testing.assert_array_equal(matched.epoch(1).positives, Controls(corpus, "size-matched").epoch(1).positives)


def test_who_has_no_like_is_its_own(corpus: Corpus) -> None:
    nodes = np.full(SIZE, 20)
    nodes[1] = 300
    path = [np.stack([np.arange(n - 1), np.arange(1, n)], axis=1) for n in nodes]
    lone = Corpus.from_edges("paths", nodes, nodes - 1, np.concatenate(path))
    positives = Controls(lone, "size-matched").epoch(0).positives
    assert positives[1].tolist() == [1, 1, 1]
    others = np.setdiff1d(np.flatnonzero(positives[:, 0] >= 0), [1])
    assert not (positives[others] == others[:, None]).any()
    assert not (positives[others] == 1).any()


def test_the_augmented_are_the_anchor(corpus: Corpus) -> None:
    positives = Controls(corpus, "augmented").epoch(0).positives
    linked = np.flatnonzero(positives[:, 0] >= 0)
    np.testing.assert_array_equal(positives[linked], np.repeat(linked[:, None], 3, axis=1))


def test_exact_positives_of_one_collection_are_unchanged(corpus: Corpus) -> None:
    draws = Sampling.from_strategy("hgc-fo", kind="graph")
    samples = RING.epoch(0)
    assert ControlPositives(draws, lambda: corpus, has_second=False).replace(samples, 0) is samples


def test_window_needs_a_second_collection(corpus: Corpus) -> None:
    draws = Sampling.from_strategy("hgc-fo", kind="graph", positives="window")
    with pytest.raises(InvalidInput, match="--beside NAME"):
        ControlPositives(draws, lambda: corpus, has_second=False)


def test_second_collection_needs_the_same_items(corpus: Corpus) -> None:
    nodes = corpus.atoms[::-1].copy()
    path = [np.stack([np.arange(n - 1), np.arange(1, n)], axis=1) for n in nodes]
    other = Corpus.from_edges("other", nodes, nodes - 1, np.concatenate(path))
    require_same_items("trees", corpus, "again", Corpus("again", **corpus.columns))
    with pytest.raises(Conflict, match=r"(?s)do not hold the same items.*trees and other"):
        require_same_items("trees", corpus, "other", other)
