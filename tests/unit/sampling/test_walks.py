import math
from collections import Counter, defaultdict
from itertools import pairwise, permutations, product

import numpy as np
import pytest

from graphkin.protocol.policy import Policy
from graphkin.store.sampling import philox, transitions, walks
from graphkin.store.sampling.snapshot import SnapshotSampler

NODES = 5
COPIES = 20_000


def trail_law(matrix, anchor, length, p=1.0, q=1.0, p_end=0.0, restart=0.0):
    """Return the exact distribution of one walk, as a tuple of visited vertices, with -1 after its end.

    It follows the definition of node2vec. A walk has no previous vertex at its start and after a restart.
    """
    law: dict[tuple[tuple[int, ...], int | None], float] = {((), None): 1.0}
    for step in range(length):
        longer: defaultdict[tuple[tuple[int, ...], int | None], float] = defaultdict(float)
        for (trail, previous), chance in law.items():
            if trail and trail[-1] < 0:
                longer[(*trail, -1), None] += chance
                continue
            if step > 0 and p_end:
                longer[(*trail, -1), None] += chance * p_end
                chance *= 1 - p_end
            if step > 0 and restart:
                longer[(*trail, anchor), None] += chance * restart
                chance *= 1 - restart
            here = trail[-1] if trail else anchor
            weights = matrix[here].copy()
            if previous is not None:
                near = matrix[previous] > 0
                weights *= np.where(near, 1.0, 1 / q)
                weights[previous] = matrix[here, previous] / p
            for there in np.flatnonzero(weights):
                longer[(*trail, int(there)), here] += chance * weights[there] / weights.sum()
        law = longer
    trails: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for (trail, _), chance in law.items():
        trails[trail] += chance
    return trails


def visit_law(trails, anchor, number):
    """Return the exact distribution of the visits in `number` walks, as sorted (vertex, count) pairs."""
    law: defaultdict[tuple[tuple[int, int], ...], float] = defaultdict(float)
    for several in product(trails.items(), repeat=number):
        visits = Counter(vertex for trail, _ in several for vertex in trail if vertex not in (-1, anchor))
        law[tuple(sorted(visits.items()))] += math.prod(chance for _, chance in several)
    return law


def positive_law(visits_law, rank, k):
    """Return the exact distribution of k positives, by the definition of each ranking."""
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for visits, chance in visits_law.items():
        counts = dict(visits)
        if rank == "top":
            orders = [o for o in permutations(counts) if all(counts[a] >= counts[b] for a, b in pairwise(o))]
            for order in orders:
                law[tuple(order[slot % len(order)] for slot in range(k))] += chance / len(orders)
        else:
            weight = {vertex: count if rank == "count" else math.exp(count) for vertex, count in counts.items()}
            for several in product(counts, repeat=k):
                law[several] += chance * math.prod(weight[vertex] / sum(weight.values()) for vertex in several)
    return law


@pytest.fixture(scope="module")
def toys(graph_of, toy):
    return SnapshotSampler(graph_of(NODES, toy, COPIES), "toys")


def sample(sampler, anchor, **parameters):
    anchors = np.arange(anchor, NODES * COPIES, NODES, dtype=np.int32)
    return sampler.positives(anchors, Policy.from_name("random_walk", **parameters), 0, 0)


def sample_walks(graph, anchor, number, **parameters):
    """Return (number, length) walks from one anchor, many more than a policy allows."""
    walk = walks.from_policy(Policy.from_name("random_walk", **parameters))._replace(walks=number)
    trails = np.empty((number, walk.length), np.int32)
    walks.take_walks(transitions.from_graph(graph), anchor, np.uint64(2026), walk, trails)
    return trails


@pytest.mark.parametrize("anchor", range(NODES))
def test_steps_of_1e5_walks_follow_the_powers_of_p(graph_of, toy, transitions_of, follows, anchor):
    matrix = transitions_of(NODES, toy)
    trails = sample_walks(graph_of(NODES, toy), anchor, 100_000)
    follows(trails[:, :1], {(vertex,): matrix[anchor, vertex] for vertex in range(NODES)})
    follows(trails[:, 1:], {(vertex,): (matrix @ matrix)[anchor, vertex] for vertex in range(NODES)})
    follows(trails, trail_law(matrix, anchor, 2))


@pytest.mark.parametrize("p_end", [0.2, 0.6])
def test_walk_ends_with_probability_p_end_after_each_step(graph_of, toy, transitions_of, follows, p_end):
    trails = sample_walks(graph_of(NODES, toy), 0, 50_000, length=4, p_end=p_end)
    follows(trails, trail_law(transitions_of(NODES, toy), 0, 4, p_end=p_end))
    lengths = (trails >= 0).sum(axis=1)
    geometric = {(steps,): p_end * (1 - p_end) ** (steps - 1) for steps in (1, 2, 3)}
    follows(lengths[:, np.newaxis], {**geometric, (4,): (1 - p_end) ** 3})


@pytest.mark.parametrize("restart", [0.2, 0.6])
@pytest.mark.parametrize("anchor", [0, 4])
def test_walks_with_restart_follow_the_powers_of_their_matrix(graph_of, toy, transitions_of, follows, anchor, restart):
    """Tong et al. (2006): after the first step the walk moves by (1 - c) P + c 1 eᵀ, with e of the anchor."""
    matrix, length = transitions_of(NODES, toy), 6
    back = np.zeros_like(matrix)
    back[:, anchor] = 1
    trails = sample_walks(graph_of(NODES, toy), anchor, 50_000, length=length, restart=restart)
    for step in range(length):
        powers = matrix @ np.linalg.matrix_power((1 - restart) * matrix + restart * back, step)
        follows(trails[:, step : step + 1], {(vertex,): powers[anchor, vertex] for vertex in range(NODES)})


@pytest.mark.parametrize(("p", "q", "p_end"), [(1, 1, 0), (0.25, 4, 0), (2, 0.5, 0.3)])
def test_restarted_walks_forget_their_previous_vertex(graph_of, toy, transitions_of, follows, p, q, p_end):
    """The step after a restart is not biased by the vertex before it. A walk ends before it restarts."""
    matrix = transitions_of(NODES, toy)
    for anchor in (0, 2):
        trails = sample_walks(graph_of(NODES, toy), anchor, 40_000, length=4, p=p, q=q, p_end=p_end, restart=0.4)
        follows(trails, trail_law(matrix, anchor, 4, p, q, p_end, restart=0.4))


@pytest.mark.parametrize(
    ("p", "q", "p_end"),
    [
        (0.25, 4, 0),
        (4, 0.25, 0),
        (1, 0.5, 0.3),
        (2, 1, 0),
        (1e-3, 1e3, 0),
        (1e6, 1e-6, 0),
        (1, 1e-6, 0),
        (1e300, 1e-300, 0),
    ],
)
def test_biased_walks_follow_node2vec(graph_of, toy, transitions_of, follows, p, q, p_end):
    matrix = transitions_of(NODES, toy)
    for anchor in (0, 2):
        trails = sample_walks(graph_of(NODES, toy), anchor, 40_000, length=3, p=p, q=q, p_end=p_end)
        follows(trails, trail_law(matrix, anchor, 3, p, q, p_end))


def test_q_does_not_matter_in_a_clique(graph_of, transitions_of, follows):
    clique = {(i, j): 0.4 + 0.1 * j for i in range(5) for j in range(i + 1, 5)}
    trails = sample_walks(graph_of(5, clique), 0, 40_000, length=2, p=3, q=1e-12)
    follows(trails, trail_law(transitions_of(5, clique), 0, 2, 3, 1e-12))


@pytest.mark.parametrize("rank", ["top", "count", "exp"])
@pytest.mark.parametrize(("length", "number", "p_end"), [(2, 1, 0), (2, 2, 0), (1, 3, 0), (2, 2, 0.3)])
def test_rankings_follow_their_definitions(toys, toy, transitions_of, follows, rank, length, number, p_end):
    trails = trail_law(transitions_of(NODES, toy), 0, length, p_end=p_end)
    visits = visit_law({trail: chance for trail, chance in trails.items() if chance}, 0, number)
    positives = sample(toys, 0, rank=rank, length=length, walks=number, p_end=p_end, k=2).positives
    follows(positives % NODES, positive_law(visits, rank, 2))


def test_one_walk_of_one_step_samples_one_neighbor(toys, toy, transitions_of, follows):
    positives = sample(toys, 2, walks=1, length=1, k=1).positives % NODES
    follows(positives, {(vertex,): chance for vertex, chance in enumerate(transitions_of(NODES, toy)[2])})


@pytest.mark.parametrize("rank", ["top", "count", "exp"])
def test_visits_count_all_walks_and_not_the_anchor(random_graph, rank):
    policy = Policy.from_name("random_walk", walks=40, length=8, rank=rank, k=12, p_end=0.1, restart=0.2)
    anchors = np.arange(50, dtype=np.int32)
    sets = SnapshotSampler(random_graph, "g").positives(anchors, policy, 3, 4)
    key = philox.replay_key(3, "g", policy.canonical(), 4)
    trails = np.empty((40, 8), np.int32)
    for row, anchor in enumerate(anchors.tolist()):
        walks.take_walks(transitions.from_graph(random_graph), anchor, key, walks.from_policy(policy), trails)
        counts = Counter(vertex for vertex in trails.ravel().tolist() if vertex not in (-1, anchor))
        assert [counts[vertex] for vertex in sets.positives[row].tolist()] == sets.visits[row].tolist()
        if rank == "top":
            ranked = sorted(counts.values(), reverse=True)
            assert len(ranked) >= 12
            assert sets.visits[row].tolist() == ranked[:12]
            assert len(set(sets.positives[row])) == 12


def test_exp_ranking_of_many_visits_does_not_overflow(graph_of):
    sampler = SnapshotSampler(graph_of(3, {(0, 1): 1.0, (0, 2): 0.01}), "g")
    sets = sampler.positives(np.zeros(1, np.int32), Policy.from_name("random_walk", walks=256, length=32, k=64), 0, 0)
    assert (sets.positives == 1).all()
    assert sets.visits[0, 0] > 3500


def test_short_ranking_cycles_or_is_padded_with_the_anchor(graph_of):
    sampler = SnapshotSampler(graph_of(4, {(0, 1): 1.0, (0, 2): 0.5}), "g")
    anchor = np.zeros(1, np.int32)
    cycled = sampler.positives(anchor, Policy.from_name("random_walk", walks=50, length=1, rank="top", k=5), 0, 0)
    assert cycled.positives.tolist() == [[1, 2, 1, 2, 1]]
    assert cycled.visits[0, :2].sum() == 50
    assert cycled.visits[0].tolist() == [*cycled.visits[0, :2], *cycled.visits[0, :2], cycled.visits[0, 0]]
    padded = sampler.positives(
        anchor, Policy.from_name("random_walk", walks=50, length=1, rank="top", k=5, pad="self"), 0, 0
    )
    assert padded.positives.tolist() == [[1, 2, 0, 0, 0]]
    assert padded.visits[0].tolist() == [*padded.visits[0, :2], 0, 0, 0]


def test_ties_are_broken_at_random(graph_of, follows):
    even = SnapshotSampler(graph_of(3, {(0, 1): 0.5, (0, 2): 0.5}, 10_000), "even")
    anchors = np.arange(0, 30_000, 3, dtype=np.int32)
    sets = even.positives(anchors, Policy.from_name("random_walk", walks=2, length=1, rank="top", k=2), 0, 0)
    tied = sets.positives[sets.visits[:, 0] == 1] % 3
    assert len(tied) > 4500
    follows(tied, {(1, 2): 0.5, (2, 1): 0.5})
