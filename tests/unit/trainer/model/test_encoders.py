"""Encoders against adjacency-matrix arithmetic, written from their definitions with dense tensors only."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.feature_sets import FEATURE_SETS
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.encoder import graph_mean
from graphkin.trainer.model.encoders import ConvolutionalEncoder
from graphkin.trainer.model.norm import frozen_statistics
from graphkin.trainer.strategy import ENCODERS
from graphkin.trainer.strategy import Encoder as Kind

SIZES = [1, 2, 5, 9, 30, 17, 1, 24]


@pytest.fixture(scope="module")
def batch(random_corpus: Callable[..., Corpus]) -> Batch:
    return Assembler(random_corpus(SIZES, extra=3)).batch(np.array([4, 0, 5, 2, 2, 7, 1, 6, 3]))


def encoder(kind: Kind, dropout: float = 0.0, features: str = "hu") -> ConvolutionalEncoder:
    torch.manual_seed(5)
    made = ConvolutionalEncoder(kind, layers=3, width=8, dropout=dropout, features=features).double()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter)  # away from the zeros and ones that hide mistakes
    return made


def atom_vectors(table: Tensor, codes: Tensor) -> Tensor:
    """The sum of a row for each of the five details; the first row of each is that of unknown values."""
    details = FEATURE_SETS["rich"].atoms
    assert details is not None
    total = torch.zeros(len(codes), table.shape[1], dtype=table.dtype)
    for atom, values in enumerate(details.values()[codes]):
        first = 0
        for value, size in zip(values.tolist(), details.sizes.values(), strict=True):
            total[atom] = total[atom] + table[first + value + 1]
            first += size + 1
    return total


def bond_vectors(table: Tensor, codes: Tensor) -> Tensor:
    """The sum of a row for each of the three details of pairs of atoms, (N, N, D); 0 for pairs without known ones."""
    details = FEATURE_SETS["rich"].bonds
    assert details is not None
    total = torch.zeros(*codes.shape, table.shape[1], dtype=table.dtype)
    for pair in codes.nonzero().tolist():
        first = 0
        for value, size in zip(details.values()[int(codes[tuple(pair)])].tolist(), details.sizes.values(), strict=True):
            total[tuple(pair)] = total[tuple(pair)] + table[first + value]
            first += size
    return total


def reference(model: ConvolutionalEncoder, kind: Kind, batch: Batch) -> tuple[Tensor, Tensor]:
    """Atom and graph vectors in training mode, dropout 0."""
    named = dict(model.named_parameters())
    atoms = batch.atoms
    bond = torch.full((atoms, atoms), -1)
    bond[batch.edge_index[1], batch.edge_index[0]] = batch.bond
    adjacency = (bond >= 0).double() + torch.eye(atoms, dtype=torch.float64)
    degree = adjacency.sum(1)
    x = named["inputs.atom_type.weight"][batch.atom_type] + named["inputs.chirality.weight"][batch.chirality]
    bond_details = torch.zeros_like(bond)
    if batch.atom_details is not None and batch.bond_details is not None:
        x = x + atom_vectors(named["inputs.details.weight"], batch.atom_details)
        bond_details[batch.edge_index[1], batch.edge_index[0]] = batch.bond_details
    for layer in range(3):
        types = named[f"convolutions.{layer}.bond_type.weight"]
        directions = named[f"convolutions.{layer}.bond_direction.weight"]
        vectors = torch.zeros(atoms, atoms, 8, dtype=torch.float64)  # e[v, u]
        for code in range(12):
            vectors = vectors + (bond == code)[:, :, None] * (types[code // 3] + directions[code % 3])
        if batch.bond_details is not None:
            vectors = vectors + bond_vectors(named[f"convolutions.{layer}.bond_details.weight"], bond_details)
        vectors = vectors + torch.eye(atoms)[:, :, None] * (types[4] + directions[0])

        def linear(x: Tensor, name: str, layer: int = layer) -> Tensor:
            return x @ named[f"convolutions.{layer}.{name}.weight"].T + named[f"convolutions.{layer}.{name}.bias"]

        if kind == "gin":
            x = adjacency @ x + (adjacency[:, :, None] * vectors).sum(1)
            x = linear(linear(x, "mlp.0").clamp_min(0), "mlp.2")
        elif kind == "gcn":
            weight = adjacency / torch.sqrt(degree[:, None] * degree[None, :])
            x = weight @ linear(x, "linear") + (weight[:, :, None] * vectors).sum(1)
        else:
            weight = adjacency / degree[:, None]
            x = weight @ linear(x, "linear") + (weight[:, :, None] * vectors).sum(1)
            x = x / x.square().sum(1, keepdim=True).sqrt()
        x = (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + 1e-5)
        x = x * named[f"norms.{layer}.weight"] + named[f"norms.{layer}.bias"]
        if layer < 2:
            x = x.clamp_min(0)
    return x, torch.stack([x[batch.graph == graph].mean(0) for graph in range(batch.graphs)])


@pytest.mark.parametrize("features", ["hu", "rich"])
@pytest.mark.parametrize("kind", ENCODERS)
def test_vectors_and_gradients_are_those_of_the_dense_reference(kind: Kind, features: str, batch: Batch) -> None:
    if features == "rich":
        random = torch.Generator().manual_seed(3)
        atoms, bonds = (
            torch.randint(codes, (count,), generator=random)
            for codes, count in ((3565, batch.atoms), (33, len(batch.bond)))
        )
        batch = replace(batch, atom_details=atoms * (torch.arange(batch.atoms) % 4 > 0), bond_details=bonds)
    model = encoder(kind, features=features)
    atoms = model(batch)
    graphs = graph_mean(atoms, batch)
    dense_atoms, dense_graphs = reference(model, kind, batch)
    torch.testing.assert_close(atoms, dense_atoms, rtol=0, atol=1e-10)
    torch.testing.assert_close(graphs, dense_graphs, rtol=0, atol=1e-10)
    weights = torch.randn(graphs.shape, dtype=torch.float64)
    ours = torch.autograd.grad((graphs.sin() * weights).sum(), list(model.parameters()))
    theirs = torch.autograd.grad((dense_graphs.sin() * weights).sum(), list(model.parameters()))
    largest = max(float(gradient.abs().max()) for gradient in theirs)
    for ours_of_one, theirs_of_one in zip(ours, theirs, strict=True):
        torch.testing.assert_close(ours_of_one, theirs_of_one, rtol=0, atol=1e-10 * largest)


@pytest.mark.parametrize(("kind", "parameters"), [("gin", 1_857_900), ("gcn", 504_900), ("sage", 504_900)])
def test_each_encoder_has_its_number_of_parameters(kind: Kind, parameters: int) -> None:
    assert sum(parameter.numel() for parameter in ConvolutionalEncoder(kind).parameters()) == parameters


@pytest.mark.parametrize("kind", ENCODERS)
def test_a_graph_is_encoded_alike_in_every_company_and_numbering(kind: Kind) -> None:
    """In evaluation mode; numbering is that of the atoms."""
    path = np.array([[0, 1, 0], [1, 2, 3], [2, 3, 6]])
    atoms = np.array([[5, 0], [6, 1], [7, 0], [5, 2]])
    moved = np.array([2, 0, 3, 1])
    renumbered = np.column_stack([moved[path[:, :2]], path[:, 2]])
    both = Corpus.from_bonds(
        "x",
        np.array([4, 4]),
        np.array([3, 3]),
        np.concatenate([atoms, atoms[np.argsort(moved)]]),
        np.concatenate([path, renumbered]),
    )
    model = encoder(kind).eval()
    vectors = model.graphs(Assembler(both).batch(np.array([0, 1, 0])))
    torch.testing.assert_close(vectors[0], vectors[1], rtol=1e-12, atol=1e-12)
    alone = model.graphs(Assembler(both).batch(np.array([0])))
    torch.testing.assert_close(vectors[2:], alone, rtol=1e-12, atol=1e-12)


def test_attribute_less_graphs_are_encoded_by_their_shape() -> None:
    triangle, path = np.array([[0, 1, 0], [1, 2, 0], [0, 2, 0]]), np.array([[0, 1, 0], [1, 2, 0]])
    shapes = Corpus.from_bonds(
        "x", np.array([3, 3]), np.array([3, 2]), np.tile([119, 0], (6, 1)), np.concatenate([triangle, path])
    )
    vectors = encoder("gin").eval().graphs(Assembler(shapes).batch(np.array([0, 1])))
    assert not torch.allclose(vectors[0], vectors[1])


def test_dropout_only_while_training(batch: Batch) -> None:
    model = encoder("gin", dropout=0.5)
    assert not torch.equal(model(batch), model(batch))
    model.eval()
    assert torch.equal(model(batch), model(batch))


def test_frozen_statistics_stay_and_still_normalise_by_the_batch(batch: Batch) -> None:
    model = encoder("gin")
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    with frozen_statistics(model):
        frozen = model(batch)
    assert all(torch.equal(buffer, before[name]) for name, buffer in model.named_buffers())
    assert torch.equal(frozen, model(batch))
    assert any(not torch.equal(buffer, before[name]) for name, buffer in model.named_buffers())
