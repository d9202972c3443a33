"""What encoders are told of nodes, by hand; batches of surroundings."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from graphkin.protocol.errors import Conflict
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.encoders import ConvolutionalEncoder
from graphkin.trainer.model.inputs import AtomInputs, NodeInputs


@pytest.fixture(scope="module")
def around(random_corpus: Callable[..., Corpus]) -> Corpus:
    corpus = random_corpus([5, 1, 40, 12, 7], extra=6)
    return corpus.around(np.array([4, 0, 39, 3, 0]), laplacian_eigenvectors(corpus))


IDS = [2, 4, 1, 0, 2, 3]


@pytest.fixture(scope="module")
def batch(around: Corpus) -> Batch:
    return Assembler(around).batch(np.array(IDS))


def test_a_batch_has_eigenvectors_and_centres(around: Corpus, batch: Batch) -> None:
    assert around.eigenvectors is not None
    assert around.centre is not None
    assert batch.eigenvectors is not None
    assert batch.centre is not None
    rows = [np.arange(around.atom_offsets[id], around.atom_offsets[id + 1]) for id in IDS]
    np.testing.assert_array_equal(batch.eigenvectors, around.eigenvectors[np.concatenate(rows)])
    begins = batch.atom_ptr[:-1].tolist()
    expected = [begin + around.centre[id] for begin, id in zip(begins, IDS, strict=True)]
    assert batch.centre.nonzero().squeeze(1).tolist() == expected


@pytest.mark.parametrize("centred", [True, False])
def test_parts_of_a_batch_equal_batches_of_their_own(around: Corpus, centred: bool) -> None:
    columns = {
        name: column for name, column in around.columns.items() if centred or name not in ("centre", "eigenvectors")
    }
    assembler = Assembler(Corpus("x", **columns))
    whole = assembler.batch(np.array(IDS))
    for count in (1, 3, 5):
        for part, ids in ((whole.first(count), IDS[:count]), (whole.rest(count), IDS[count:])):
            alone = assembler.batch(np.array(ids))
            assert vars(part).keys() == vars(alone).keys()
            for name, value in vars(alone).items():
                if value is None:
                    assert getattr(part, name) is None
                else:
                    np.testing.assert_array_equal(getattr(part, name), value)
            assert (part.graphs, part.atoms) == (alone.graphs, alone.atoms)


def test_inputs_of_nodes_by_hand(batch: Batch) -> None:
    """Row by row: eigenvectors, the vector of the degree, the flag; then one linear layer."""
    inputs = NodeInputs(8, eigenvectors=20, degree_width=3, max_degree=4).double()
    assert batch.eigenvectors is not None
    assert batch.centre is not None
    assert inputs.degree is not None
    degree = torch.bincount(batch.edge_index[1], minlength=batch.atoms)
    assert degree.max() > 4
    expected = [
        inputs.linear.weight
        @ torch.cat(
            [
                batch.eigenvectors[node, :20].double(),
                inputs.degree.weight[min(int(degree[node]), 4)],
                torch.tensor([float(batch.centre[node])], dtype=torch.float64),
            ]
        )
        + inputs.linear.bias
        for node in range(batch.atoms)
    ]
    torch.testing.assert_close(inputs(batch), torch.stack(expected), rtol=0, atol=1e-12)


def test_published_node_encoder_has_its_number_of_parameters() -> None:
    """Five layers of width 64 on 32 eigenvectors, 16 numbers for one of 513 degrees, and a flag."""
    made = ConvolutionalEncoder("gin", 5, 64, inputs=NodeInputs(64, 32, 16, 512))
    layer = (6 + 3) * 64 + (64 * 128 + 128) + (128 * 64 + 64) + 2 * 64
    assert sum(each.numel() for each in made.parameters()) == 513 * 16 + (49 * 64 + 64) + 5 * layer
    assert made.width == 64


def test_moving_the_centre_changes_the_output(batch: Batch, around: Corpus) -> None:
    torch.manual_seed(0)
    made = ConvolutionalEncoder("gin", 2, 8, inputs=NodeInputs(8, 32, 4, 16)).eval()
    assert around.eigenvectors is not None
    moved = Corpus("x", **{**around.columns, "centre": np.zeros(5, np.uint8)})
    vectors, others = made.graphs(batch), made.graphs(Assembler(moved).batch(np.array(IDS)))
    same = [bool(torch.allclose(*pair, atol=1e-6)) for pair in zip(vectors, others, strict=True)]
    assert same == [id in (1, 4) for id in IDS]


def test_graphs_without_a_centre_are_refused(random_corpus: Callable[..., Corpus]) -> None:
    batch = Assembler(random_corpus([5, 4])).batch(np.array([0, 1]))
    with pytest.raises(Conflict, match="trained on nodes of a network"):
        NodeInputs(8, 32, 4, 16)(batch)
    assert AtomInputs(8)(batch).shape == (9, 8)
