"""Samples of the gds sampler follow the exact distributions (docs/concepts/positives.md), which are enumerated."""

import math
from collections import Counter, defaultdict
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from graphkin.protocol.policy import Policy

NODES = 6
# Significance level. It keeps false alarms rare: there are some fifty tests, and each projection may renumber its
# nodes.
SIGNIFICANCE = 1e-5


@pytest.fixture(scope="module")
def sampler(toy_copies):
    return toy_copies.sampler("gds")


@pytest.fixture(scope="module")
def weights(toy):
    matrix = np.zeros((NODES, NODES))
    for (source, target), similarity in toy.items():
        matrix[source, target] = matrix[target, source] = np.float32(similarity)
    return matrix


@pytest.fixture(scope="module")
def sample_by_vertex(sampler, toy_copies):
    """Return sample_by_vertex(policy, vertices, epoch=0), which returns the positives of each vertex in every copy."""

    def sample(policy, vertices, epoch=0):
        anchors = np.arange(toy_copies.size, dtype=np.int32).reshape(-1, NODES)[:, vertices]
        sets = sampler.positives(anchors.ravel(), policy, 7, epoch)
        positives = sets.positives.reshape(*anchors.shape, policy.k) % NODES
        visits = sets.visits.reshape(positives.shape)
        return {vertex: (positives[:, n], visits[:, n]) for n, vertex in enumerate(vertices)}

    return sample


def assert_follows(outcomes, law):
    """Check observed tuples against their exact probabilities by a chi-square test."""
    assert sum(law.values()) == pytest.approx(1)
    counts = Counter(map(tuple, np.asarray(outcomes).tolist()))
    assert set(counts) <= {outcome for outcome, chance in law.items() if chance > 0}
    expected = np.array(list(law.values())) * counts.total()
    observed = np.array([counts[outcome] for outcome in law], dtype=float)
    observed, expected = pool_rare(observed, expected)
    assert len(expected) == 1 or stats.chisquare(observed, expected).pvalue > SIGNIFICANCE


def pool_rare(observed, expected):
    """Return both arrays with all cells of an expectation below 5 merged into one."""
    rare = expected < 5
    observed, expected = (np.append(part[~rare], part[rare].sum()) for part in (observed, expected))
    return observed[expected > 0], expected[expected > 0]


def walk_law(weights, anchor, length, p=1.0, q=1.0, p_end=0.0):
    """Return the exact probabilities of a node2vec walk, by the tuple of vertices that it visits."""
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for trail in product(range(NODES), repeat=length):
        chance, previous, current = 1.0, None, anchor
        for step, target in enumerate(trail):
            row = weights[current].copy()
            if previous is not None:
                row *= np.where(weights[previous] > 0, 1.0, 1 / q)
                row[previous] = weights[current, previous] / p
            chance *= row[target] / row.sum()
            if chance == 0:
                break
            # The probability is counted for a single one of the trails that differ after the end of the walk.
            if step + 1 < length and not any(trail[step + 1 :]):
                law[trail[: step + 1]] += chance * p_end
            chance *= 1 - p_end if step + 1 < length else 1
            previous, current = current, target
        law[trail] += chance
    return {trail: chance for trail, chance in law.items() if chance > 0}


def visit_law(walks, anchor, number):
    """Return the exact probabilities of the numbers of visits by vertex in `number` walks, without the anchor."""
    law = {(0,) * NODES: 1.0}
    for _ in range(number):
        longer: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for (before, chance), (trail, walk_chance) in product(law.items(), walks.items()):
            visits = Counter(trail)
            counts = tuple(n + visits[vertex] * (vertex != anchor) for vertex, n in enumerate(before))
            longer[counts] += chance * walk_chance
        law = longer
    return law


def visits_of(positives, visits):
    """Return the number of visits of each vertex, of shape (B, 6), from positives that include every visited vertex."""
    counts = np.zeros((len(positives), NODES), int)
    for slot in range(positives.shape[1]):
        counts[np.arange(len(positives)), positives[:, slot]] += visits[:, slot]
    return counts


def visited_policy(**parameters):
    """Return a policy whose positives are all visited vertices, padded with the anchor."""
    return Policy.from_name("random_walk", rank="top", k=5, pad="self", **parameters)


def means_follow(visits, number, law):
    """Return whether the mean visits per walk agree with the exact mean and covariance. Each row has `number` walks."""
    walks = number * len(visits)
    vectors, chances = np.array(list(law), dtype=float), np.array(list(law.values()))
    mean = chances @ vectors
    covariance = (vectors - mean).T @ ((vectors - mean) * chances[:, np.newaxis])
    difference = visits.sum(axis=0) / walks - mean
    freedom = np.linalg.matrix_rank(covariance)
    if freedom == 0:
        return np.allclose(difference, 0)
    statistic = walks * difference @ np.linalg.pinv(covariance, hermitian=True) @ difference
    return stats.chi2.sf(statistic, freedom) > SIGNIFICANCE


def successive(weights, k):
    """Return the exact probabilities of k ordered samples without replacement, or of fewer if there are fewer
    neighbors.
    """
    law = {}
    for order in permutations(np.flatnonzero(weights).tolist(), min(k, int(np.count_nonzero(weights)))):
        remaining, law[order] = weights.sum(), 1.0
        for neighbor in order:
            law[order] *= weights[neighbor] / remaining
            remaining -= weights[neighbor]
    return law


def test_first_order_samples_are_proportional_to_similarity(sample_by_vertex, weights):
    samples = sample_by_vertex(Policy.from_name("first_order", k=40), range(5))
    assert sum(positives.size for positives, _ in samples.values()) >= 200_000
    for vertex, (positives, _) in samples.items():
        degree = int(np.count_nonzero(weights[vertex]))
        assert_follows(positives[:, :degree], successive(weights[vertex], degree))
        assert_follows(positives[:, degree:].reshape(-1, 1), successive(weights[vertex], 1))


def test_some_neighbors_follow_successive_sampling(sample_by_vertex, weights):
    epochs = [sample_by_vertex(Policy.from_name("first_order", k=2), [2], epoch)[2][0] for epoch in range(4)]
    assert_follows(np.concatenate(epochs), successive(weights[2], 2))


@pytest.mark.parametrize("pad", ["resample", "self"])
def test_short_row_has_all_neighbors_and_is_padded(sample_by_vertex, weights, pad):
    positives, _ = sample_by_vertex(Policy.from_name("first_order", k=4, pad=pad), [0])[0]
    share = weights[0] / weights[0].sum()
    assert_follows(positives[:, :2], {(1, 2): share[1], (2, 1): share[2]})
    pads = {0: 1.0} if pad == "self" else {1: share[1], 2: share[2]}
    assert_follows(positives[:, 2:], {(one, two): pads[one] * pads[two] for one, two in product(pads, repeat=2)})


@pytest.mark.parametrize("length", [1, 2])
def test_walks_follow_the_powers_of_the_transition_matrix(sample_by_vertex, weights, length):
    samples = sample_by_vertex(visited_policy(walks=40, length=length), range(5))
    assert 40 * sum(len(visits) for _, visits in samples.values()) >= 200_000
    for vertex, sets in samples.items():
        assert means_follow(visits_of(*sets), 40, visit_law(walk_law(weights, vertex, length), vertex, 1))


@pytest.mark.parametrize(("p", "q"), [(0.25, 4), (4, 0.25), (2, 1), (1, 0.5), (16, 4)])
def test_biased_walks_follow_node2vec(sample_by_vertex, weights, p, q):
    single_walks, many_walks = (
        sample_by_vertex(visited_policy(walks=n, length=3, p=p, q=q), [0, 2, 3]) for n in (1, 30)
    )
    for vertex in single_walks:
        law = visit_law(walk_law(weights, vertex, 3, p, q), vertex, 1)
        assert_follows(visits_of(*single_walks[vertex]), law)
        assert means_follow(visits_of(*many_walks[vertex]), 30, law)


@pytest.mark.parametrize(("p_end", "p"), [(0.2, 1), (0.6, 1), (0.3, 2)])
def test_walk_ends_with_probability_p_end_after_each_step(sample_by_vertex, weights, p_end, p):
    single_walks, many_walks = (
        sample_by_vertex(visited_policy(walks=n, length=4, p=p, p_end=p_end), [0, 4]) for n in (1, 30)
    )
    for vertex in single_walks:
        law = visit_law(walk_law(weights, vertex, 4, p, p_end=p_end), vertex, 1)
        assert_follows(visits_of(*single_walks[vertex]), law)
        assert means_follow(visits_of(*many_walks[vertex]), 30, law)


@pytest.mark.parametrize("rank", ["top", "count", "exp"])
def test_rankings_follow_their_definitions(sample_by_vertex, weights, rank):
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for visits, chance in visit_law(walk_law(weights, 0, 2), 0, 2).items():
        counts = {vertex: n for vertex, n in enumerate(visits) if n}
        if rank == "top":
            counts = {vertex: n for vertex, n in counts.items() if n == max(visits)}
        weigh = math.exp if rank == "exp" else float
        total = sum(weigh(n) for n in counts.values())
        for vertex, n in counts.items():
            law[(vertex,)] += chance * weigh(n) / total
    policy = Policy.from_name("random_walk", rank=rank, walks=2, length=2, k=1)
    assert_follows(np.concatenate([sample_by_vertex(policy, [0], epoch)[0][0] for epoch in range(5)]), law)


def test_epochs_seeds_and_consecutive_items_are_independent(sampler, toy_copies, weights):
    policy = Policy.from_name("first_order", k=1)
    share = {int(vertex): weights[2, vertex] / weights[2].sum() for vertex in np.flatnonzero(weights[2])}
    law = {(one, two): share[one] * share[two] for one, two in product(share, repeat=2)}
    anchors = np.arange(2, toy_copies.size, NODES, dtype=np.int32)
    first = sampler.positives(anchors, policy, 1, 0).positives % NODES
    for seed, epoch in ((1, 1), (2, 0)):
        assert_follows(np.hstack([first, sampler.positives(anchors, policy, seed, epoch).positives % NODES]), law)
    assert_follows(first.reshape(-1, 2), law)


def test_both_hops_follow_their_distribution_on_a_bipartite_graph(publish):
    """In a bipartite graph, the first hop of a walk ends on the other side, and the second one on the side of the
    anchor.
    """
    side, number = 400, 256
    random = np.random.default_rng(3)
    pairs = {(int(a), int(b) + side) for a, b in random.integers(0, side, (1600, 2))}
    similar = dict(zip(sorted(pairs), random.uniform(0.4, 1, len(pairs)).astype(np.float32).tolist(), strict=True))
    sampler = publish("bipartite", 2 * side, similar).sampler("gds")
    step = np.zeros((2 * side, 2 * side))
    for (source, target), similarity in similar.items():
        step[source, target] = step[target, source] = similarity
    connected = np.flatnonzero(step.any(axis=1))
    step[connected] /= step[connected].sum(axis=1, keepdims=True)
    policy = Policy.from_name("random_walk", rank="top", pad="self", walks=number, length=2, k=64)
    sets = sampler.positives(np.arange(2 * side, dtype=np.int32), policy, 5, 0)
    assert np.array_equal(np.flatnonzero(~sets.isolated), connected)
    assert number * len(connected) > 200_000
    assert (sets.visits[:, -1] == 0).all()  # No visited vertex is omitted.
    for hop, law in ((0, step), (1, step @ step)):
        statistic, freedom = 0.0, 0
        for anchor in connected:
            same_side = (sets.positives[anchor] < side) == (anchor < side)
            visits = np.bincount(
                sets.positives[anchor], sets.visits[anchor] * (same_side == bool(hop)), minlength=2 * side
            )
            visits[anchor] = number - visits.sum()  # Walks that returned to the anchor.
            assert not visits[law[anchor] == 0].any()
            observed, expected = pool_rare(visits, number * law[anchor])
            statistic += ((observed - expected) ** 2 / expected).sum()
            freedom += len(expected) - 1
        assert stats.chi2.sf(statistic, freedom) > SIGNIFICANCE
        assert stats.chi2.cdf(statistic, freedom) > SIGNIFICANCE
