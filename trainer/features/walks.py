"""Subgraphs around nodes by random walks with restart (Tong et al., 2006; Qiu et al., 2020: GCC; docs/method.md).

Draws come from a counter-based generator: its key is that of the call and the node, its counter begins with the turn.
So a subgraph follows from these alone, whatever it is drawn together with.
"""

from math import e
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.network import Network, Nodes
from graphkin.trainer.features.surroundings import surroundings
from graphkin.trainer.strategy import Walks

_BLOCK = 128  # subgraphs that are drawn together: of 256 nodes each they have 4 million pairs


class Visited(NamedTuple):
    """The nodes of n subgraphs, one subgraph after the other: counts (n,), nodes (sum of counts,)."""

    counts: NDArray[np.int64]
    nodes: Nodes


def drawn_surroundings(
    network: Network, nodes: NDArray[Any], turns: NDArray[Any], walks: Walks, key: tuple[int, ...], identity: str = ""
) -> Corpus:
    """The subgraphs around nodes (n,) of the network, as features: item i is the one of turn turns[i] of nodes[i].

    It is induced on what `visited` gives; the same key, node and turn give the same subgraph.
    """
    blocks = [slice(start, start + _BLOCK) for start in range(0, max(len(nodes), 1), _BLOCK)]
    parts = [induced(network, visited(network, nodes[at], turns[at], walks, key)) for at in blocks]
    return Corpus.concatenate(identity, parts)


def visited(network: Network, nodes: NDArray[Any], turns: NDArray[Any], walks: Walks, key: tuple[int, ...]) -> Visited:
    """What the walks from nodes (n,) visit, in the order of first visits, walk by walk: the node itself is the first,
    and none comes after `max_nodes` of them.

    A node takes max(fewest, round(degree · e / (e - 1) / restart)) walks, none if it is isolated. Each of them ends
    before a step with probability `restart`, and else goes on to any of the neighbours.
    """
    nodes, degree = nodes.astype(np.int64), network.degree[nodes]
    counts = np.maximum(walks.fewest, np.rint(degree * (e / (e - 1)) / walks.restart).astype(np.int64))
    counts[degree == 0] = 0
    length, choice = _draws(nodes, turns.astype(np.int64), counts, walks.restart, key)
    walk_owner = np.repeat(np.arange(len(nodes)), counts)
    visits = _walk(network, nodes[walk_owner], length, choice)
    owner = np.concatenate([np.arange(len(nodes)), np.repeat(walk_owner, length)])
    order = np.argsort(owner, kind="stable")  # a node before its visits
    owner, visits = owner[order], np.concatenate([nodes, visits])[order]
    first = np.sort(np.unique(owner * network.size + visits, return_index=True)[1])
    owner, visits = owner[first], visits[first]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    kept = place < walks.max_nodes
    return Visited(np.bincount(owner[kept], minlength=len(nodes)), visits[kept])


def induced(network: Network, subgraphs: Visited) -> Corpus:
    """The subgraphs that nodes of the network induce, each around the first of them."""
    counts, nodes = subgraphs
    owner = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(nodes)) - (np.cumsum(counts) - counts)[owner]
    later = counts[owner] - 1 - place
    low = np.repeat(np.arange(len(nodes)), later)
    high = low + 1 + np.arange(len(low)) - np.repeat(np.cumsum(later) - later, later)
    joined = network.joins(nodes[low], nodes[high])
    low, high = low[joined], high[joined]
    edge_counts = np.bincount(owner[low], minlength=len(counts))
    edges = np.stack([place[low], place[high]], axis=1)
    return surroundings("", counts, edge_counts, edges, np.zeros(len(counts), np.int64))


def _draws(
    nodes: Nodes, turns: NDArray[np.int64], counts: NDArray[np.int64], restart: float, key: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The steps that each walk takes, and a number in [0, 1) for each step: node by node, walk by walk.

    P(length >= l) = (1 - restart)^l.
    """
    word = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
    lengths, choices = [np.empty(0, np.int64)], [np.empty(0)]
    for node, turn, count in zip(nodes.tolist(), turns.tolist(), counts.tolist(), strict=True):
        own, counter = np.array([word, node], np.uint64), np.array([0, 0, 0, turn], np.uint64)
        random = np.random.Generator(np.random.Philox(key=own, counter=counter))
        length = (np.log1p(-random.random(count)) / np.log1p(-restart)).astype(np.int64)
        lengths.append(length)
        choices.append(random.random(int(length.sum())))
    return np.concatenate(lengths), np.concatenate(choices)


def _walk(network: Network, start: Nodes, length: NDArray[np.int64], choice: NDArray[np.float64]) -> Nodes:
    """(sum of length,): the nodes that walks step on, walk by walk; all take their next step at the same time."""
    visited = np.empty(len(choice), np.int64)
    offset = np.cumsum(length) - length
    going, step = np.flatnonzero(length), 0
    here = start[going]
    while len(going):
        at = offset[going] + step
        visited[at] = here = network.neighbor(here, choice[at])
        step += 1
        on = length[going] > step
        going, here = going[on], here[on]
    return visited
