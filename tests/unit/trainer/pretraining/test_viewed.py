"""Batches of graphs and of damaged copies of them."""

import numpy as np
import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.features.altered import augment
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.pretraining.viewed import ViewedGraphs
from graphkin.trainer.strategy import Views


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return featurize(["CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "O=S(=O)(N)c1ccccc1"] * 20, "few")


def same(one: Batch, other: Batch) -> bool:
    return all(np.array_equal(getattr(one, name), value) for name, value in vars(other).items() if value is not None)


IDS = np.array([3, 9, 3, 50, 9, 3], np.int32)


def test_first_comes_the_graph_itself_then_copies(corpus: Corpus) -> None:
    views = Views(("drop-nodes",), ratio=0.25)
    batch = ViewedGraphs(corpus, views, seed=4).batch(IDS, epoch=7)
    counts = np.where([0, 0, 1, 0, 1, 1], (corpus.atoms[IDS] * 0.25).astype(int), 0)
    copies = augment(corpus, IDS, np.array([0, 0, 1, 0, 1, 2]), "drop-nodes", counts, (4, 7))
    assert same(batch, Assembler(copies.corpus()).batch(np.arange(6)))
    own = Assembler(corpus).batch(IDS)
    sizes = np.diff(batch.atom_ptr)
    assert sizes.tolist() == (np.diff(own.atom_ptr) - counts).tolist()


def test_copies_follow_from_seed_epoch_and_graph(corpus: Corpus) -> None:
    graphs = ViewedGraphs(corpus, Views(anchors=True), seed=4)
    batch = graphs.batch(IDS, epoch=7)
    assert same(batch, graphs.batch(IDS, epoch=7))
    assert not same(batch, graphs.batch(IDS, epoch=8))
    assert not same(batch, ViewedGraphs(corpus, Views(anchors=True), seed=5).batch(IDS, epoch=7))
    alone = graphs.batch(IDS[3:4], epoch=7)
    assert alone.atom_type.tolist() == batch.atom_type[batch.graph == 3].tolist()


def test_every_operation_has_its_share(corpus: Corpus) -> None:
    """Nodes dropped leave four fifths, walks of 64 steps that mostly go back a handful; edges dropped leave all."""
    views = Views(("drop-edges", "walk"), ratio=0.2, anchors=True)
    ids = np.arange(60)
    sizes = np.concatenate(
        [np.diff(ViewedGraphs(corpus, views, seed).batch(ids).atom_ptr) / corpus.atoms for seed in range(20)]
    )
    assert 0.45 < (sizes == 1).mean() < 0.55
    edges = np.concatenate(
        [ViewedGraphs(corpus, Views(("drop-edges",), 0.2, True), seed).batch(ids).edge_ends[-1:] for seed in range(3)]
    )
    assert (edges == (corpus.edges - 2 * (corpus.edges // 2 * 0.2).astype(int)).sum()).all()


@pytest.mark.parametrize("ids", [[], [-1], [0, 60]])
def test_graphs_that_are_none_are_refused(corpus: Corpus, ids: list[int]) -> None:
    with pytest.raises(InvalidInput, match="0 to 59"):
        ViewedGraphs(corpus, Views(), seed=0).batch(np.array(ids, np.int64))
