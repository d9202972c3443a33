"""Draws of the gds engine against exact distributions (docs/method.md), by enumeration."""

import math
from collections import Counter, defaultdict
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from graphkin.protocol.policy import Policy

NODES = 6
CERTAIN = 1e-5  # some fifty tests, and a new projection may number its nodes otherwise: keep false alarms rare


@pytest.fixture(scope="module")
def sampler(toys):
    return toys.sampler("gds")


@pytest.fixture(scope="module")
def weights(toy):
    matrix = np.zeros((NODES, NODES))
    for (source, target), similarity in toy.items():
        matrix[source, target] = matrix[target, source] = np.float32(similarity)
    return matrix


@pytest.fixture(scope="module")
def drawn(sampler, toys):
    """drawn(policy, vertices, epoch=0): by vertex, its positive sets in every copy of the toy graph."""

    def draw(policy, vertices, epoch=0):
        anchors = np.arange(toys.size, dtype=np.int32).reshape(-1, NODES)[:, vertices]
        sets = sampler.positives(anchors.ravel(), policy, 7, epoch)
        positives = sets.positives.reshape(*anchors.shape, policy.k) % NODES
        visits = sets.visits.reshape(positives.shape)
        return {vertex: (positives[:, n], visits[:, n]) for n, vertex in enumerate(vertices)}

    return draw


def follow(outcomes, law):
    """Chi-square of observed tuples against their exact probabilities."""
    assert sum(law.values()) == pytest.approx(1)
    seen = Counter(map(tuple, np.asarray(outcomes).tolist()))
    assert set(seen) <= {outcome for outcome, chance in law.items() if chance > 0}
    expected = np.array(list(law.values())) * seen.total()
    observed = np.array([seen[outcome] for outcome in law], dtype=float)
    observed, expected = pooled(observed, expected)
    assert len(expected) == 1 or stats.chisquare(observed, expected).pvalue > CERTAIN


def pooled(observed, expected):
    """Both with the cells in which less than 5 are expected made one."""
    rare = expected < 5
    observed, expected = (np.append(part[~rare], part[rare].sum()) for part in (observed, expected))
    return observed[expected > 0], expected[expected > 0]


def walk_law(weights, anchor, length, p=1.0, q=1.0, p_end=0.0):
    """The exact law of one walk as the tuple of vertices it visits: node2vec by its definition."""
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for trail in product(range(NODES), repeat=length):
        chance, previous, here = 1.0, None, anchor
        for step, there in enumerate(trail):
            row = weights[here].copy()
            if previous is not None:
                row *= np.where(weights[previous] > 0, 1.0, 1 / q)
                row[previous] = weights[here, previous] / p
            chance *= row[there] / row.sum()
            if chance == 0:
                break
            if step + 1 < length and not any(trail[step + 1 :]):  # counted once, for the one trail that goes on so
                law[trail[: step + 1]] += chance * p_end
            chance *= 1 - p_end if step + 1 < length else 1
            previous, here = here, there
        law[trail] += chance
    return {trail: chance for trail, chance in law.items() if chance > 0}


def visit_law(walks, anchor, number):
    """The exact law of the visits of `number` walks, counted by vertex, the anchor's own left out."""
    law = {(0,) * NODES: 1.0}
    for _ in range(number):
        longer: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for (before, chance), (trail, other) in product(law.items(), walks.items()):
            visits = Counter(trail)
            counts = tuple(n + visits[vertex] * (vertex != anchor) for vertex, n in enumerate(before))
            longer[counts] += chance * other
        law = longer
    return law


def visits_of(positives, visits):
    """(B, 6) how often each vertex was visited, from positives that hold all that was."""
    counts = np.zeros((len(positives), NODES), int)
    for slot in range(positives.shape[1]):
        counts[np.arange(len(positives)), positives[:, slot]] += visits[:, slot]
    return counts


def everything(**parameters):
    """A policy whose positives are all visited vertices, padded with the anchor."""
    return Policy.from_name("random_walk", rank="top", k=5, pad="self", **parameters)


def means_agree(visits, number, law):
    """Chi-square of the mean visits per walk, `number` walks a row, against their exact mean and covariance."""
    walks = number * len(visits)
    vectors, chances = np.array(list(law), dtype=float), np.array(list(law.values()))
    mean = chances @ vectors
    covariance = (vectors - mean).T @ ((vectors - mean) * chances[:, np.newaxis])
    difference = visits.sum(axis=0) / walks - mean
    freedom = np.linalg.matrix_rank(covariance)
    if freedom == 0:
        return np.allclose(difference, 0)
    statistic = walks * difference @ np.linalg.pinv(covariance, hermitian=True) @ difference
    return stats.chi2.sf(statistic, freedom) > CERTAIN


def successive(weights, k):
    """The exact law of k draws without replacement, in drawn order; fewer where there are fewer neighbours."""
    law = {}
    for order in permutations(np.flatnonzero(weights).tolist(), min(k, int(np.count_nonzero(weights)))):
        left, law[order] = weights.sum(), 1.0
        for chosen in order:
            law[order] *= weights[chosen] / left
            left -= weights[chosen]
    return law


def test_200000_first_order_draws_are_proportional_to_similarity(drawn, weights):
    taken = drawn(Policy.from_name("first_order", k=40), range(5))
    assert sum(positives.size for positives, _ in taken.values()) >= 200_000
    for vertex, (positives, _) in taken.items():
        degree = int(np.count_nonzero(weights[vertex]))
        follow(positives[:, :degree], successive(weights[vertex], degree))
        follow(positives[:, degree:].reshape(-1, 1), successive(weights[vertex], 1))


def test_fewer_than_all_neighbours_follow_successive_sampling(drawn, weights):
    epochs = [drawn(Policy.from_name("first_order", k=2), [2], epoch)[2][0] for epoch in range(4)]
    follow(np.concatenate(epochs), successive(weights[2], 2))


@pytest.mark.parametrize("pad", ["resample", "self"])
def test_a_short_row_comes_whole_and_is_padded(drawn, weights, pad):
    positives, _ = drawn(Policy.from_name("first_order", k=4, pad=pad), [0])[0]
    share = weights[0] / weights[0].sum()
    follow(positives[:, :2], {(1, 2): share[1], (2, 1): share[2]})
    pads = {0: 1.0} if pad == "self" else {1: share[1], 2: share[2]}
    follow(positives[:, 2:], {(one, two): pads[one] * pads[two] for one, two in product(pads, repeat=2)})


@pytest.mark.parametrize("length", [1, 2])
def test_200000_walks_visit_as_often_as_the_powers_of_p_say(drawn, weights, length):
    taken = drawn(everything(walks=40, length=length), range(5))
    assert 40 * sum(len(visits) for _, visits in taken.values()) >= 200_000
    for vertex, sets in taken.items():
        assert means_agree(visits_of(*sets), 40, visit_law(walk_law(weights, vertex, length), vertex, 1))


@pytest.mark.parametrize(("p", "q"), [(0.25, 4), (4, 0.25), (2, 1), (1, 0.5), (16, 4)])
def test_biased_walks_follow_node2vec(drawn, weights, p, q):
    once, often = (drawn(everything(walks=n, length=3, p=p, q=q), [0, 2, 3]) for n in (1, 30))
    for vertex in once:
        law = visit_law(walk_law(weights, vertex, 3, p, q), vertex, 1)
        follow(visits_of(*once[vertex]), law)
        assert means_agree(visits_of(*often[vertex]), 30, law)


@pytest.mark.parametrize(("p_end", "p"), [(0.2, 1), (0.6, 1), (0.3, 2)])
def test_a_walk_ends_with_probability_p_end_after_each_step(drawn, weights, p_end, p):
    once, often = (drawn(everything(walks=n, length=4, p=p, p_end=p_end), [0, 4]) for n in (1, 30))
    for vertex in once:
        law = visit_law(walk_law(weights, vertex, 4, p, p_end=p_end), vertex, 1)
        follow(visits_of(*once[vertex]), law)
        assert means_agree(visits_of(*often[vertex]), 30, law)


@pytest.mark.parametrize("rank", ["top", "count", "exp"])
def test_rankings_follow_their_definitions(drawn, weights, rank):
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
    follow(np.concatenate([drawn(policy, [0], epoch)[0][0] for epoch in range(5)]), law)


def test_epochs_seeds_and_neighbouring_items_are_independent(sampler, toys, weights):
    policy = Policy.from_name("first_order", k=1)
    share = {int(vertex): weights[2, vertex] / weights[2].sum() for vertex in np.flatnonzero(weights[2])}
    law = {(one, two): share[one] * share[two] for one, two in product(share, repeat=2)}
    anchors = np.arange(2, toys.size, NODES, dtype=np.int32)
    first = sampler.positives(anchors, policy, 1, 0).positives % NODES
    for seed, epoch in ((1, 1), (2, 0)):
        follow(np.hstack([first, sampler.positives(anchors, policy, seed, epoch).positives % NODES]), law)
    follow(first.reshape(-1, 2), law)


def test_both_hops_of_200000_walks_on_a_random_graph(publish):
    """In a bipartite graph the first hop of a walk of two ends on the other side and the second on the anchor's."""
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
    assert (sets.visits[:, -1] == 0).all()  # nothing visited is left out
    for hop, law in ((0, step), (1, step @ step)):
        statistic, freedom = 0.0, 0
        for anchor in connected:
            same_side = (sets.positives[anchor] < side) == (anchor < side)
            visits = np.bincount(
                sets.positives[anchor], sets.visits[anchor] * (same_side == bool(hop)), minlength=2 * side
            )
            visits[anchor] = number - visits.sum()  # walks that returned
            assert not visits[law[anchor] == 0].any()
            observed, expected = pooled(visits, number * law[anchor])
            statistic += ((observed - expected) ** 2 / expected).sum()
            freedom += len(expected) - 1
        assert stats.chi2.sf(statistic, freedom) > CERTAIN
        assert stats.chi2.cdf(statistic, freedom) > CERTAIN
