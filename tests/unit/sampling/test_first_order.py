from itertools import pairwise

import numpy as np
import pytest

from graphkin.protocol.policy import Policy
from graphkin.store.sampling.snapshot import SnapshotSampler

STAR = {(0, 1): 0.5, (0, 2): 0.3, (0, 3): 0.1, (0, 4): 0.1}
SHARES = {1: 0.5, 2: 0.3, 3: 0.1, 4: 0.1}
COPIES = 20_000


@pytest.fixture(scope="module")
def stars(graph_of):
    return SnapshotSampler(graph_of(5, STAR, COPIES), "stars")


def sample(sampler, anchor, **parameters):
    """Return the (COPIES, k) positives of one vertex in each copy of the star, as vertices of the first copy."""
    anchors = np.arange(anchor, 5 * COPIES, 5, dtype=np.int32)
    return sampler.positives(anchors, Policy.from_name("first_order", **parameters), 0, 0).positives % 5


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_samples_follow_successive_sampling(stars, follows, successive, k):
    follows(sample(stars, 0, k=k), successive(SHARES, k))


def test_three_samples_have_the_shares_of_method_i(stars):
    _, counts = np.unique(sample(stars, 0, k=3), return_counts=True)
    assert counts / (3 * COPIES) == pytest.approx([0.32, 0.30, 0.19, 0.19], abs=0.01)


def test_epochs_and_seeds_are_independent(graph_of, follows, successive):
    sampler = SnapshotSampler(graph_of(5, STAR), "star")
    anchor = np.zeros(1, np.int32)
    policy = Policy.from_name("first_order", k=2)
    epochs = [sampler.positives(anchor, policy, 0, epoch).positives[0] for epoch in range(3000)]
    seeds = [sampler.positives(anchor, policy, seed, 0).positives[0] for seed in range(3000)]
    law = successive(SHARES, 2)
    follows(epochs, law)
    follows(seeds, law)
    pairs = {(*first, *second): law[first] * law[second] for first in law for second in law}
    follows([(*before, *after) for before, after in pairwise(epochs)], pairs)


def test_short_row_is_sampled_completely_and_then_resampled(stars, follows, successive):
    positives = sample(stars, 0, k=6)
    follows(positives[:, :4], successive(SHARES, 4))
    follows(positives[:, 4:], {(i, j): SHARES[i] * SHARES[j] for i in SHARES for j in SHARES})


def test_short_row_may_be_padded_with_the_anchor(stars, follows, successive):
    positives = sample(stars, 0, k=6, pad="self")
    follows(positives[:, :4], successive(SHARES, 4))
    assert (positives[:, 4:] == 0).all()
    assert (sample(stars, 2, k=3, pad="self") == [0, 2, 2]).all()


def test_row_of_more_than_k_neighbors_has_no_repeats(random_graph):
    policy = Policy.from_name("first_order", k=20)
    full = np.flatnonzero(random_graph.degrees() >= 20).astype(np.int32)
    sets = SnapshotSampler(random_graph, "g").positives(full, policy, 0, 0)
    for anchor, row in zip(full, sets.positives, strict=True):
        neighbors = random_graph.indices[random_graph.indptr[anchor] : random_graph.indptr[anchor + 1]]
        assert len(set(row)) == 20
        assert set(row) <= set(neighbors)
    assert not sets.visits.any()
