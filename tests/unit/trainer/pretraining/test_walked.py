"""Batches of subgraphs that are drawn when they are asked for."""

import networkx as nx
import numpy as np
import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.features.network import Network
from graphkin.trainer.features.walks import sample_surroundings
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.walked import WalkedGraphs
from graphkin.trainer.strategy import Walks

NETWORK = Network.from_edges(np.array(nx.barabasi_albert_graph(60, 3, seed=0).edges), 60)


def same(one: Batch, other: Batch) -> bool:
    return all(np.array_equal(getattr(one, name), value) for name, value in vars(other).items())


def test_each_time_a_node_comes_it_has_another_subgraph() -> None:
    graphs = WalkedGraphs(NETWORK, Walks(), seed=4)
    ids, turns = np.array([3, 9, 3, 50, 9, 3], np.int32), np.array([0, 0, 1, 0, 1, 2])
    corpus = sample_surroundings(NETWORK, ids, turns, Walks(), (4, 7))
    batch = graphs.batch(ids, epoch=7)
    assert same(batch, Assembler(corpus).batch(np.arange(6)))
    assert same(batch, graphs.batch(ids, epoch=7))
    assert not same(batch, graphs.batch(ids, epoch=8))
    assert not same(batch, WalkedGraphs(NETWORK, Walks(), seed=5).batch(ids, epoch=7))


def test_both_of_a_pair_are_of_the_same_node_and_epoch() -> None:
    config = PretrainConfig.from_strategy("gcc", kind="node", batch_size=7, seed=4)
    plan = Plan(config, 5, Epoch(np.empty((60, 0), np.int32), np.empty((0, 0), np.int32)))
    draw = plan.draw(2)
    assert (len(draw.anchors), draw.epoch, plan.steps) == (7, 5, 9)
    np.testing.assert_array_equal(draw.positives[:, 0], draw.anchors)
    batch = WalkedGraphs(NETWORK, Walks(), seed=4).batch(draw.ids(), draw.epoch)
    pairs = [sample_surroundings(NETWORK, draw.anchors, np.full(7, turn), Walks(), (4, 5)) for turn in (0, 1)]
    assert same(batch.first(7), Assembler(pairs[0]).batch(np.arange(7)))
    assert same(batch.rest(7), Assembler(pairs[1]).batch(np.arange(7)))


@pytest.mark.parametrize("ids", [[], [-1], [0, 60]])
def test_nodes_that_are_none_are_refused(ids: list[int]) -> None:
    with pytest.raises(InvalidInput, match="0 to 59"):
        WalkedGraphs(NETWORK, Walks(), seed=0).batch(np.array(ids, np.int64))
