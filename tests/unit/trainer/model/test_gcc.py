"""The published encoder of nodes against dense arithmetic, written from the definition; the pooling of vectors."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.preprocessing import normalize
from torch import Tensor

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.gcc import GccEncoder
from graphkin.trainer.model.inputs import NodeFeatures
from graphkin.trainer.model.pooling import POOLINGS, pool
from graphkin.trainer.pretraining.config import Model, Nodes, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder


@pytest.fixture(scope="module")
def batch(random_corpus: Callable[..., Corpus]) -> Batch:
    corpus = random_corpus([5, 1, 40, 12, 7], extra=6)
    return Assembler(corpus.around(np.array([4, 0, 39, 3, 0]), laplacian_eigenvectors(corpus))).batch(
        np.array([2, 4, 1, 0, 2, 3])
    )


def encoder(degree_width: int) -> GccEncoder:
    torch.manual_seed(3)
    made = make_encoder(Model("gin-gcc", layers=3, width=8, nodes=Nodes(20, degree_width, 5))).double()
    assert isinstance(made, GccEncoder)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter)  # away from the zeros and ones that hide mistakes
    return made


def reference(model: GccEncoder, batch: Batch) -> tuple[Tensor, Tensor]:
    """Vectors of nodes and graphs in training mode, without dropout."""
    named = dict(model.named_parameters())
    assert batch.eigenvectors is not None
    assert batch.centre is not None

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ named[f"{name}.weight"].T + named[f"{name}.bias"]

    def rectified_norm(x: Tensor, name: str) -> Tensor:
        x = (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + 1e-5)
        return (x * named[f"{name}.weight"] + named[f"{name}.bias"]).clamp_min(0)

    adjacency = torch.eye(batch.atoms, dtype=torch.float64)
    adjacency[batch.edge_index[1], batch.edge_index[0]] = 1
    columns = [torch.from_numpy(normalize(batch.eigenvectors[:, :20].double().numpy()))]
    if "features.degree.weight" in named:
        columns.append(named["features.degree.weight"][(adjacency.sum(1) - 1).long().clamp_max(5)])
    layers = [torch.cat([*columns, batch.centre[:, None].double()], dim=1)]
    for layer in range(3):
        place = f"convolutions.{layer}"
        hidden = rectified_norm(linear(adjacency @ layers[-1], f"{place}.hidden"), f"{place}.norms.0")
        x = rectified_norm(linear(hidden, f"{place}.linear"), f"{place}.norms.1")
        layers.append(rectified_norm(x, f"{place}.norms.2"))
    membership = torch.nn.functional.one_hot(batch.graph, batch.graphs).double().T
    parts = [linear(membership @ x, f"readouts.{layer}") for layer, x in enumerate(layers)]
    return layers[-1], torch.stack(parts).sum(0)


@pytest.mark.parametrize("degree_width", [0, 4])
def test_vectors_and_gradients_are_those_of_the_dense_reference(batch: Batch, degree_width: int) -> None:
    model = encoder(degree_width)
    nodes, graphs = reference(model, batch)
    torch.testing.assert_close(model(batch), nodes, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model.graphs(batch), graphs, rtol=1e-5, atol=1e-5)
    weights = torch.randn(graphs.shape, dtype=torch.float64)
    results = [
        torch.autograd.grad((vectors / 100).sin().mul(weights).sum(), list(model.parameters()))
        for vectors in (model.graphs(batch), graphs)
    ]
    for gradient, expected in zip(*results, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-4)


def test_published_encoder_has_its_number_of_parameters() -> None:
    """33 inputs, four convolutions of width 64 with three normalizations each, and five linear readouts."""
    model = Model.from_kind("node", "gin-gcc")
    made = make_encoder(model)
    assert made.width == 64
    convolutions = (33 * 64 + 64) + 3 * (64 * 64 + 64) + 4 * (64 * 64 + 64) + 4 * 3 * 2 * 64
    readouts = (33 * 64 + 64) + 4 * (64 * 64 + 64)
    assert sum(each.numel() for each in made.parameters()) == convolutions + readouts == 51_648
    assert not [name for name, _ in made.named_parameters() if "degree" in name]


def test_rows_of_eigenvectors_have_length_one(batch: Batch) -> None:
    assert batch.eigenvectors is not None
    features = NodeFeatures(32, 0, 1, has_unit_rows=True)(batch)
    assert features.shape == (batch.atoms, 33)
    np.testing.assert_allclose(features[:, :32], normalize(batch.eigenvectors.numpy()), atol=1e-6)
    np.testing.assert_array_equal(features[:, 32], batch.centre)


def test_presets_that_follow_the_authors_have_their_encoder() -> None:
    for preset in ("paper", "rc"):
        for strategy in ("hgc-fo", "hgc-ho", "gcc"):
            assert PretrainConfig.from_strategy(strategy, preset, kind="node").model == Model(
                "gin-gcc", layers=4, width=64, nodes=Nodes(32, 0, 512)
            )
    assert PretrainConfig.from_strategy("hgc-fo", kind="node").model.encoder == "gin"
    assert PretrainConfig.from_strategy("hgc-fo", "paper", kind="graph").model.encoder == "gin"


@pytest.mark.parametrize("kind", ["molecule", "graph"])
def test_only_nodes_have_the_encoder(kind: str) -> None:
    with pytest.raises(InvalidInput, match="gin-gcc is for nodes of big graphs"):
        Model.from_kind(kind, "gin-gcc")


@pytest.mark.parametrize("name", ["gin", "gin-gcc"])
def test_vectors_of_graphs_are_pooled(batch: Batch, name: str) -> None:
    made = make_encoder(Model.from_kind("node", name)).eval()
    assert batch.centre is not None
    atoms = made(batch).detach()
    graphs = range(batch.graphs)
    expected = {
        "mean": torch.stack([atoms[batch.graph == graph].mean(0) for graph in graphs]),
        "sum": torch.stack([atoms[batch.graph == graph].sum(0) for graph in graphs]),
        "center": torch.stack([atoms[(batch.graph == graph) & batch.centre].squeeze(0) for graph in graphs]),
        "readout": made.graphs(batch).detach(),
    }
    assert (name == "gin") == torch.allclose(expected["readout"], expected["mean"], atol=1e-5)
    for pooling in POOLINGS:
        torch.testing.assert_close(pool(made, batch, pooling).detach(), expected[pooling], rtol=1e-4, atol=1e-4)


def test_graphs_without_a_center_have_no_center_vector(random_corpus: Callable[..., Corpus]) -> None:
    batch = Assembler(random_corpus([5, 4])).batch(np.array([0, 1]))
    with pytest.raises(Conflict, match="surround no node"):
        pool(make_encoder(Model(layers=1, width=8)), batch, "center")
