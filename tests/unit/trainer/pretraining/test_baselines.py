"""Edge_Pred, Infomax and Context_Pred against slow references: loops, NetworkX, torch's own cross-entropy."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.encoders import ConvolutionalEncoder, GraphSAGE
from graphkin.trainer.pretraining.baselines import baseline
from graphkin.trainer.pretraining.config import Context, Model, Task
from graphkin.trainer.pretraining.context import ContextPrediction, Rings, distances
from graphkin.trainer.pretraining.infomax import Infomax
from graphkin.trainer.pretraining.objective import Draw, Objective, Step
from graphkin.trainer.pretraining.pairs import unbonded_pairs
from graphkin.trainer.strategy import ENCODERS

SIZES = [5, 9, 12, 30, 7, 1, 22, 14, 14, 8, 3, 17, 25, 6, 11, 19]
IDS = np.array([3, 8, 1, 14, 5, 12, 6, 10], np.int32)
CONTEXTS = [Context(), Context(2, 1, 3, 1), Context(3, 0, 1, 2), Context(4, 2, 4, 2)]
TASKS = [Task("edge-pred"), Task("infomax"), *(Task("context-pred", context) for context in CONTEXTS)]


@pytest.fixture(scope="module")
def corpus(random_corpus: Callable[..., Corpus]) -> Corpus:
    return random_corpus(SIZES, extra=1, seed=4)


@pytest.fixture(scope="module")
def many(corpus: Corpus) -> Assembler:
    return Assembler(corpus)


def draw(ids: np.ndarray = IDS) -> Draw:
    return Draw(ids, np.empty((len(ids), 0), np.int32), np.empty(0, np.int32))


def objective(task: Task, encoder: str = "gin") -> Objective:
    torch.manual_seed(0)
    return baseline(Model(encoder, layers=2, width=12), task).double()


def losses(made: Objective, many: Assembler, ids: np.ndarray = IDS, seed: int = 9) -> dict[str, Tensor]:
    return made(Step.from_draw(draw(ids), many), torch.Generator().manual_seed(seed))


def graphs_of(batch: Batch) -> list[nx.Graph]:
    """Their atoms numbered as in the batch, with types, and bonds with their codes."""
    made = []
    for graph in range(batch.graphs):
        one = nx.Graph()
        for atom in range(int(batch.atom_ptr[graph]), int(batch.atom_ptr[graph + 1])):
            one.add_node(atom, features=(int(batch.atom_type[atom]), int(batch.chirality[atom])))
        made.append(one)
    for source, target, bond in zip(*batch.edge_index.tolist(), batch.bond.tolist(), strict=True):
        made[int(batch.graph[source])].add_edge(source, target, bond=bond)
    return made


def judged(positives: list[Tensor], negatives: list[Tensor]) -> dict[str, Tensor]:
    told = {}
    for name, scores, target in (("positives", positives, 1.0), ("negatives", negatives, 0.0)):
        logits = torch.stack(scores)
        told[name] = F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))
    return {**told, "loss": told["positives"] + told["negatives"]}


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert value.dtype == torch.float64
        torch.testing.assert_close(found[name], value, rtol=0, atol=1e-9, msg=name)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_edges_are_told_from_pairs_without_one(many: Assembler, encoder: str) -> None:
    made = objective(Task("edge-pred"), encoder)
    batch = many.batch(IDS)
    atoms = made.encoder(batch)
    positives = [atoms[one] @ atoms[other] for graph in graphs_of(batch) for one, other in graph.edges]
    drawn = unbonded_pairs(batch, torch.Generator().manual_seed(9)).T.tolist()
    negatives = [atoms[one] @ atoms[other] for one, other in drawn]
    assert len(negatives) == len(positives) - 1  # the graph of three atoms and two bonds has no other pairs
    assert_same(losses(made, many), judged(positives, negatives))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_atoms_are_told_by_their_graphs_summary(many: Assembler, encoder: str) -> None:
    made = objective(Task("infomax"), encoder)
    assert isinstance(made, Infomax)
    batch = many.batch(IDS)
    atoms, graphs, weight = made.encoder(batch), graphs_of(batch), made.bilinear.weight
    summaries = [torch.sigmoid(torch.stack([atoms[atom] for atom in graph]).mean(0)) for graph in graphs]
    positives, negatives = [], []
    for place, graph in enumerate(graphs):
        for atom in graph:
            positives.append(atoms[atom] @ (weight @ summaries[place]))
            negatives.append(atoms[atom] @ (weight @ summaries[(place + 1) % len(graphs)]))
    assert_same(losses(made, many), judged(positives, negatives))


def test_the_bilinear_weight_begins_uniform() -> None:
    torch.manual_seed(0)
    made = Infomax(Model(layers=1, width=300))
    weight = made.bilinear.weight.detach().numpy() * 300**0.5
    assert weight.shape == (300, 300)
    assert -1 <= weight.min() < -0.999 < 0.999 < weight.max() <= 1
    np.testing.assert_allclose(np.histogram(weight, 10, (-1, 1))[0], 9000, rtol=0.05)
    assert made.bilinear.bias is None


def encoded(encoder: Encoder, graphs: list[nx.Graph]) -> list[dict[int, Tensor]]:
    """The vectors of the atoms of graphs, of which each is made anew, all in one batch."""
    places = [{atom: place for place, atom in enumerate(sorted(graph))} for graph in graphs]
    atoms = [graph.nodes[atom]["features"] for graph in graphs for atom in sorted(graph)]
    bonds = [
        (place[one], place[other], bond)
        for graph, place in zip(graphs, places, strict=True)
        for one, other, bond in graph.edges(data="bond")
    ]
    corpus = Corpus.from_bonds(
        "subgraphs",
        np.array([len(graph) for graph in graphs]),
        np.array([graph.number_of_edges() for graph in graphs]),
        np.array(atoms),
        np.array(bonds, np.int64).reshape(-1, 3),
    )
    rows = iter(encoder(Assembler(corpus).batch(np.arange(len(graphs)))))
    return [{atom: next(rows) for atom in sorted(graph)} for graph in graphs]


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("seed", [1, 2])
def test_contexts_are_told_by_their_centres(many: Assembler, encoder: str, context: Context, seed: int) -> None:
    """Subgraphs by NetworkX, as sets of atoms by distance; each one a graph that is featurised and encoded anew."""
    made = objective(Task("context-pred", context), encoder)
    assert isinstance(made, ContextPrediction)
    assert isinstance(made.context_encoder, ConvolutionalEncoder)
    assert len(made.context_encoder.convolutions) == context.layers
    substructures, contexts, centres, overlaps = [], [], [], []
    uniform = torch.rand(len(IDS), dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).tolist()
    for graph, number in zip(graphs_of(many.batch(IDS)), uniform, strict=True):
        centre = sorted(graph)[int(number * len(graph))]
        ball, inner, outer = (
            {*nx.single_source_shortest_path_length(graph, centre, cutoff)}
            for cutoff in (context.hops, context.inner, context.outer)
        )
        ring = inner ^ outer
        if ring & ball:
            centres.append(centre)
            overlaps.append(sorted(ring & ball))
            substructures.append(graph.subgraph(ball))
            contexts.append(graph.subgraph(ring))
    assert len(centres) >= 2
    vectors = [rows[centre] for rows, centre in zip(encoded(made.encoder, substructures), centres, strict=True)]
    means = [
        torch.stack([rows[atom] for atom in overlap]).mean(0)
        for rows, overlap in zip(encoded(made.context_encoder, contexts), overlaps, strict=True)
    ]
    positives = [vector @ mean for vector, mean in zip(vectors, means, strict=True)]
    negatives = [vector @ means[(place + 1) % len(means)] for place, vector in enumerate(vectors)]
    assert_same(losses(made, many, seed=seed), judged(positives, negatives))


def test_distances_are_those_of_networkx(many: Assembler) -> None:
    batch = many.batch(IDS)
    graphs = graphs_of(batch)
    centres = [sorted(graph)[len(graph) // 3] for graph in graphs]
    found = distances(batch, torch.tensor(centres), 4).tolist()
    for graph, centre in zip(graphs, centres, strict=True):
        lengths = nx.single_source_shortest_path_length(graph, centre)
        assert {atom: found[atom] for atom in graph} == {atom: min(lengths[atom], 5) for atom in graph}
    assert {0, 1, 4, 5} <= {*found}


def test_parts_of_a_molecule_are_out_of_reach() -> None:
    salt = Assembler(featurize(["CC[Na].CCl"], "salt")).batch(np.array([0]))
    assert distances(salt, torch.tensor([1]), 3).tolist() == [1, 0, 1, 4, 4]


def test_centres_are_uniform_and_without_context_left_out(corpus: Corpus, many: Assembler) -> None:
    ids = np.repeat(np.array([1, 5]), 3000)
    batch = many.batch(ids)
    rings = Rings.from_batch(batch, Context(2, 1, 3), torch.rand(6000, dtype=torch.float64))
    assert bool(rings.has_context[:3000].all())
    assert not rings.has_context[3000:].any()  # one atom alone
    counts = np.bincount(rings.centers.numpy() % 9, minlength=9)
    np.testing.assert_allclose(counts, 3000 / 9, rtol=0.2)
    assert not (rings.overlap & ~(rings.substructure & rings.context)).any()


@pytest.mark.parametrize("ids", [[5, 10, 5], [5, 10, 3, 0]])
def test_of_fewer_than_two_contexts_nothing_is_told(many: Assembler, ids: list[int]) -> None:
    """Molecules of one atom and of three, and then one that is large enough: loss 0, gradients 0, nothing moves."""
    made = objective(Task("context-pred", Context()))
    before = {name: value.clone() for name, value in made.state_dict().items()}
    told = losses(made, many, np.array(ids, np.int32), seed=1)
    assert {name: value.item() for name, value in told.items()} == {"positives": 0, "negatives": 0, "loss": 0}
    told["loss"].backward()
    assert all(each.grad is not None and not each.grad.any() for each in made.trainable_parameters().values())
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_the_gradient_reaches_everything(many: Assembler, task: Task) -> None:
    """But for rows of tables that no atom has, and what batch normalisation takes out."""
    made = objective(task)
    losses(made, many)["loss"].backward()
    assert made.trainable_parameters().keys() == {name for name, _ in made.named_parameters()}
    parts = {name.split(".")[0] for name in made.trainable_parameters()}
    more = {"edge-pred": set(), "infomax": {"bilinear"}, "context-pred": {"context_encoder"}}[task.name]
    assert parts == {"encoder"} | more
    still = [name for name, each in made.named_parameters() if each.grad is None or not each.grad.abs().max() > 1e-9]
    assert all("mlp.2.bias" in name for name in still)


@pytest.mark.parametrize("task", TASKS[:3], ids=str)
def test_the_gradient_is_that_of_finite_differences(many: Assembler, task: Task) -> None:
    made = objective(task)
    losses(made, many)["loss"].backward()
    weight = next(each for name, each in made.named_parameters() if name == "encoder.convolutions.1.mlp.0.weight")
    assert weight.grad is not None
    with torch.no_grad():
        direction, ends = weight.grad / weight.grad.norm(), []
        for sign in (1, -1):
            weight.add_(direction, alpha=sign * 1e-6)
            ends.append(losses(made, many)["loss"])
            weight.sub_(direction, alpha=sign * 1e-6)
    torch.testing.assert_close((ends[0] - ends[1]) / 2e-6, weight.grad.norm(), rtol=1e-4, atol=0)


def test_logits_are_float32_or_wider(many: Assembler) -> None:
    for task in TASKS[:3]:
        made = objective(task).float()
        full = losses(made, many)
        with torch.autocast("cpu", torch.bfloat16):
            half = losses(made, many)
        assert all(value.dtype == torch.float32 for value in half.values())
        assert half["loss"].item() == pytest.approx(full["loss"].item(), rel=0.1)
        assert half["loss"] != full["loss"]


def test_graphs_without_bonds_have_nothing_to_tell() -> None:
    nothing = np.empty((0, 2), np.int64)
    dots = Assembler(Corpus.from_edges("dots", np.array([3, 2]), np.zeros(2, np.int64), nothing))
    told = losses(objective(Task("edge-pred")), dots, np.arange(2, dtype=np.int32))
    assert told["loss"].item() == 0
    told["loss"].backward()


def test_the_encoder_of_contexts_has_its_own_depth_and_the_same_kind() -> None:
    made = objective(TASKS[2], "sage")
    assert isinstance(made, ContextPrediction)
    assert isinstance(made.context_encoder, ConvolutionalEncoder)
    assert [type(each) for each in made.context_encoder.convolutions] == [GraphSAGE] * 3
