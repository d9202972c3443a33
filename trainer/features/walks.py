"""Subgraphs around nodes by random walks with restart (Tong et al., 2006; Qiu et al., 2020; docs/concepts/method.md).

Random numbers come from a counter-based generator, whose key combines the call's key and the node and whose counter
starts at the turn. A subgraph therefore depends on these alone, not on what else is sampled with it.
"""

from math import e
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.network import Network, Nodes
from graphkin.trainer.features.surroundings import surroundings
from graphkin.trainer.strategy import Walks

_BLOCK = 128  # subgraphs sampled together: with 256 nodes each they have 4 million pairs of nodes


class Visits(NamedTuple):
    """The nodes of n subgraphs, subgraph by subgraph: counts (n,), nodes (sum of counts,)."""

    counts: NDArray[np.int64]
    nodes: Nodes


def sample_surroundings(
    network: Network, nodes: NDArray[Any], turns: NDArray[Any], walks: Walks, key: tuple[int, ...], identity: str = ""
) -> Corpus:
    """Return the features of subgraphs around nodes (n,) of the network; item i is sample turns[i] of nodes[i].

    A subgraph is induced on the nodes that `visit_nodes` returns. The same key, node and turn give the same subgraph.
    """
    blocks = [slice(start, start + _BLOCK) for start in range(0, max(len(nodes), 1), _BLOCK)]
    parts = [induce(network, visit_nodes(network, nodes[at], turns[at], walks, key)) for at in blocks]
    return Corpus.concatenate(identity, parts)


def visit_nodes(
    network: Network, nodes: NDArray[Any], turns: NDArray[Any], walks: Walks, key: tuple[int, ...]
) -> Visits:
    """Return the nodes that the walks from nodes (n,) visit, in the order of first visits, walk by walk.

    The start node comes first, and at most `max_nodes` nodes are kept. A walk ends before a step with probability
    `restart`; otherwise it steps to a uniformly chosen neighbor. Walks start until they have made
    max(fewest, round(degree · e / (e - 1) / restart)) visits together, and the last walk is cut off at that number
    (GCC; method.md C). With the unit `walks`, this is the number of walks instead. An isolated node has no walks.
    """
    nodes, degree = nodes.astype(np.int64), network.degree[nodes]
    amounts = np.maximum(walks.fewest, np.rint(degree * (e / (e - 1)) / walks.restart).astype(np.int64))
    amounts[degree == 0] = 0
    counts, length, choice = _sample_steps(nodes, turns.astype(np.int64), amounts, walks, key)
    walk_owner = np.repeat(np.arange(len(nodes)), counts)
    visits = _walk(network, nodes[walk_owner], length, choice)
    owner = np.concatenate([np.arange(len(nodes)), np.repeat(walk_owner, length)])
    order = np.argsort(owner, kind="stable")  # the stable sort keeps a start node before its visits
    owner, visits = owner[order], np.concatenate([nodes, visits])[order]
    first = np.sort(np.unique(owner * network.size + visits, return_index=True)[1])
    owner, visits = owner[first], visits[first]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    is_kept = place < walks.max_nodes
    return Visits(np.bincount(owner[is_kept], minlength=len(nodes)), visits[is_kept])


def induce(network: Network, subgraphs: Visits) -> Corpus:
    """Return the subgraphs that the visited nodes induce, each around its first node."""
    counts, nodes = subgraphs
    owner = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(nodes)) - (np.cumsum(counts) - counts)[owner]
    later = counts[owner] - 1 - place
    low = np.repeat(np.arange(len(nodes)), later)
    high = low + 1 + np.arange(len(low)) - np.repeat(np.cumsum(later) - later, later)
    is_edge = network.joins(nodes[low], nodes[high])
    low, high = low[is_edge], high[is_edge]
    edge_counts = np.bincount(owner[low], minlength=len(counts))
    edges = np.stack([place[low], place[high]], axis=1)
    return surroundings("", counts, edge_counts, edges, np.zeros(len(counts), np.int64))


def _sample_steps(
    nodes: Nodes, turns: NDArray[np.int64], amounts: NDArray[np.int64], walks: Walks, key: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of walks of each node, the length of each walk, and a number in [0, 1) for each step.

    Lengths and steps are ordered node by node, walk by walk. P(length >= l) = (1 - restart)^l. If the visits are fixed,
    walks without a step are left out: P(length >= l) = (1 - restart)^(l - 1) for l >= 1.

    Args:
        nodes: (n,) The nodes.
        turns: (n,) Number of the sample of each node.
        amounts: (n,) Number of visits or walks of each node.
        walks: Settings of the walks.
        key: Key of the random numbers.
    """
    word = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
    counts, lengths, choices = np.empty(len(nodes), np.int64), [np.empty(0, np.int64)], [np.empty(0)]
    for row, (node, turn, amount) in enumerate(zip(nodes.tolist(), turns.tolist(), amounts.tolist(), strict=True)):
        key_words, counter = np.array([word, node], np.uint64), np.array([0, 0, 0, turn], np.uint64)
        random = np.random.Generator(np.random.Philox(key=key_words, counter=counter))
        length = (np.log1p(-random.random(amount)) / np.log1p(-walks.restart)).astype(np.int64)
        if walks.unit == "visits":
            length = _cut(length + 1, amount)
        counts[row] = len(length)
        lengths.append(length)
        choices.append(random.random(int(length.sum())))
    return counts, np.concatenate(lengths), np.concatenate(choices)


def _cut(length: NDArray[np.int64], visits: int) -> NDArray[np.int64]:
    """Return the lengths of the first walks that make exactly `visits` steps, of which the last walk is cut off."""
    before = np.cumsum(length) - length
    starts = before < visits
    return np.minimum(length, visits - before)[starts]


def _walk(network: Network, start: Nodes, length: NDArray[np.int64], choice: NDArray[np.float64]) -> Nodes:
    """Return the nodes that walks step on, (sum of length,), walk by walk. All walks take their next step together."""
    nodes = np.empty(len(choice), np.int64)
    offset = np.cumsum(length) - length
    active, step = np.flatnonzero(length), 0
    position = start[active]
    while len(active):
        at = offset[active] + step
        nodes[at] = position = network.neighbor(position, choice[at])
        step += 1
        continues = length[active] > step
        active, position = active[continues], position[continues]
    return nodes
