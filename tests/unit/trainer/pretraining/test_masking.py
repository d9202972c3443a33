"""Masks against the definitions of docs/reference/training.md, and their frequencies against exact enumeration."""

from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np
import pytest
import torch
from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.pretraining.masking import Masking, choose, log_weights, masking_loss, uniform

SIZES = [1, 7, 20, 33, 40, 14, 2]


@pytest.fixture(scope="module")
def batch(random_corpus: Callable[..., Corpus]) -> Batch:
    return Assembler(random_corpus(SIZES)).batch(np.arange(len(SIZES)))


def never(_: Batch) -> Tensor:
    raise AssertionError("uniform masking asks for no predictions")


def predictions(batch: Batch) -> Tensor:
    """Logits that depend on which atoms are masked, near and far."""
    masked = (batch.atom_type == 119).double()
    near = torch.zeros(batch.atoms, dtype=torch.float64).index_add_(0, batch.edge_index[1], masked[batch.edge_index[0]])
    types = torch.arange(119, dtype=torch.float64)
    return torch.sin(types * (1 + near[:, None]) + torch.arange(batch.atoms)[:, None]) * (3 + masked.sum())


@pytest.mark.parametrize("times", [1, 2, 3, 5, 7, 40])
@pytest.mark.parametrize("score", ["softmax", "one_minus_ce", "kl"])
def test_the_whole_budget_is_masked(batch: Batch, generator: torch.Generator, times: int, score: str) -> None:
    """H7: distinct atoms, ⌊0.15 N⌋ + 1 of the batch, or of every graph."""
    whole = choose(Masking(times=times, score=score), batch, predictions, generator)  # type: ignore[arg-type]
    assert int(whole.sum()) == 15 * sum(SIZES) // 100 + 1
    graphwise = Masking(times=times, score=score, unit="per_graph")  # type: ignore[arg-type]
    mask = choose(graphwise, batch, predictions, generator)
    counts = torch.bincount(batch.graph[mask], minlength=len(SIZES))
    assert counts.tolist() == [15 * size // 100 + 1 for size in SIZES]


def test_budgets_are_exact_where_floats_are_not() -> None:
    atoms = torch.arange(1, 3000)
    assert Masking(ratio=0.29).budget(atoms).tolist() == [29 * n // 100 + 1 for n in range(1, 3000)]
    assert any(int(0.29 * n) != 29 * n // 100 for n in range(1, 3000))


@pytest.mark.parametrize(
    ("atoms", "times", "expected"),
    [(117, 5, [3, 3, 3, 3, 3, 3]), (27, 5, [1, 1, 1, 1, 1]), (27, 7, [5]), (100, 3, [5, 5, 5, 1])],
)
def test_steps_of_a_batch_divide_its_atoms_evenly(atoms: int, times: int, expected: list[int]) -> None:
    """⌊M / T⌋ each, the remainder in one step more; all at once if that is 0."""
    assert [int(count) for count in Masking(times=times).steps(torch.tensor([atoms]))] == expected


def test_steps_of_each_graph_divide_its_atoms_evenly() -> None:
    """α_t = ⌊M / T⌋ + [t ≤ M mod T]."""
    steps = list(Masking(times=3, unit="per_graph").steps(torch.tensor([1, 20, 33, 47])))
    assert torch.stack(steps).T.tolist() == [[1, 0, 0], [2, 1, 1], [2, 2, 1], [3, 3, 2]]


def test_one_step_is_uniform_masking(batch: Batch) -> None:
    draws = [
        choose(masking, batch, predict, torch.Generator().manual_seed(3))
        for masking, predict in [
            (Masking(times=1), never),
            (Masking(times=1, score="kl"), predictions),
            (Masking(times=500), never),
        ]
    ]
    assert torch.equal(draws[0], draws[1])
    assert torch.equal(draws[0], draws[2])  # the budget is less than T: one uniform step


def test_uniform_masks_are_uniform(batch: Batch, generator: torch.Generator) -> None:
    """RdM: of every graph ⌊0.15 n⌋ + 1 atoms, each as likely as the next (5 standard errors)."""
    runs = 2000
    hits = torch.stack([choose(uniform(), batch, never, generator) for _ in range(runs)]).double().sum(0)
    for graph, size in enumerate(SIZES):
        share = (15 * size // 100 + 1) / size
        error = 5 * np.sqrt(runs * share * (1 - share)) + 1e-9
        assert (hits[batch.graph == graph] - runs * share).abs().max() <= error


def successive(weights: list[float], count: int) -> np.ndarray:
    """The exact probability of each item to be among `count` drawn one after the other, by enumeration."""
    chosen = np.zeros(len(weights))
    for order in permutations(range(len(weights)), count):
        left, probability = sum(weights), 1.0
        for item in order:
            probability *= weights[item] / left
            left -= weights[item]
        chosen[list(order)] += probability
    return chosen


def test_later_steps_draw_in_proportion_to_the_score(generator: torch.Generator) -> None:
    """Six atoms, one masked at first; three of the others by successive sampling with p ∝ exp(-c / 0.07)."""
    six = Corpus.from_bonds("x", np.array([6]), np.array([0]), np.zeros((6, 2), np.int64), np.zeros((0, 3), np.int64))
    batch = Assembler(six).batch(np.array([0]))

    def logits(fall: float) -> Tensor:
        """Confident predictions of type 0, less so atom by atom as `fall` grows."""
        made = torch.zeros(6, 119, dtype=torch.float64)
        made[:, 0] = 9 - fall * torch.arange(6)
        return made

    def predict(batch: Batch) -> Tensor:
        return logits(0.4 * float((batch.atom_type == 119).any()))

    masking = Masking(ratio=0.55, times=2, unit="batch")  # budget 4: two and two
    disturbance = -(logits(0).softmax(1) * logits(0.4).log_softmax(1)).sum(1)
    weights = torch.exp(-disturbance / 0.07)
    assert weights.max() > 2 * weights.min()

    runs = 4_000
    hits = np.zeros(6)
    for _ in range(runs):
        hits += choose(masking, batch, predict, generator).numpy()
    expected = np.zeros(6)
    for first in permutations(range(6), 2):  # the uniform step
        rest = [item for item in range(6) if item not in first]
        chances = successive([float(weights[item]) for item in rest], 2)
        expected[list(first)] += 1 / 30
        expected[rest] += chances / 30
    np.testing.assert_allclose(hits / runs, expected, atol=5 * np.sqrt(0.25 / runs))


def test_scores_are_those_of_the_paper_and_of_the_code() -> None:
    random = torch.Generator().manual_seed(1)
    before = torch.rand(9, 119, generator=random, dtype=torch.float64).mul(6).softmax(1)
    now = torch.rand(9, 119, generator=random, dtype=torch.float64).mul(6).softmax(1)
    disturbance = torch.stack([-(p * q.log()).sum() for p, q in zip(before, now, strict=True)])
    assert disturbance.min() > 1  # 1 - c would be negative

    authors = disturbance.max() + disturbance.min() - disturbance
    ours = log_weights(Masking(), before, now)
    torch.testing.assert_close(ours.softmax(0), (authors / 0.07).softmax(0))
    paper = log_weights(Masking(score="one_minus_ce"), before, now)
    torch.testing.assert_close(paper.exp(), torch.full_like(paper, 1e-6))
    divergence = torch.stack([(p * (p / q).log()).sum() for p, q in zip(before, now, strict=True)])
    torch.testing.assert_close(log_weights(Masking(score="kl"), before, now), -divergence / 0.07)
    sure = torch.eye(119, dtype=torch.float64)[:9]
    torch.testing.assert_close(log_weights(Masking(score="one_minus_ce"), sure, sure).exp(), torch.ones(9).double())


def test_scores_are_finite_where_predictions_are_certain() -> None:
    sure, other = torch.eye(119)[:9], torch.eye(119)[9:18]
    for score in ("softmax", "one_minus_ce", "kl"):
        assert log_weights(Masking(score=score), sure, other).isfinite().all()


def test_each_step_compares_with_the_step_before(batch: Batch, generator: torch.Generator) -> None:
    """T + 1 forwards with a remainder: on no mask at all, then on the masks so far, each containing the last."""
    seen: list[Tensor] = []

    def predict(batch: Batch) -> Tensor:
        seen.append(batch.atom_type == 119)
        return predictions(batch)

    masking = Masking(times=4)  # 117 atoms, budget 18: four, four, four, four and two
    mask = choose(masking, batch, predict, generator)
    assert [int(each.sum()) for each in seen] == [0, 4, 8, 12, 16]
    assert all(bool((later | ~earlier).all()) for earlier, later in zip(seen, [*seen[1:], mask], strict=True))


def test_undisturbed_atoms_are_chosen(generator: torch.Generator) -> None:
    """Predictions that change near masked atoms only: masks keep away from each other."""
    length = 300
    bonds = np.stack([np.arange(length - 1), np.arange(1, length), np.zeros(length - 1, np.int64)], axis=1)
    atoms = np.zeros((length, 2), np.int64)
    path = Assembler(Corpus.from_bonds("x", np.array([length]), np.array([length - 1]), atoms, bonds))
    batch = path.batch(np.array([0]))

    def predict(batch: Batch) -> Tensor:
        masked = (batch.atom_type == 119).double()
        near = masked.clone().index_add_(0, batch.edge_index[1], masked[batch.edge_index[0]])
        logits = torch.zeros(batch.atoms, 119, dtype=torch.float64)
        logits[:, 0] = 12 - 6 * near.clamp_max(1)
        return logits

    def joined(masking: Masking) -> int:
        """Bonds between masked atoms, in 20 draws."""
        ends = batch.edge_index
        masks: Iterator[Tensor] = (choose(masking, batch, predict, generator) for _ in range(20))
        return sum(int((mask[ends[0]] & mask[ends[1]]).sum()) for mask in masks)

    assert joined(Masking(times=40)) < joined(Masking(times=1)) / 2


def test_loss_over_all_or_masked_atoms() -> None:
    random = torch.Generator().manual_seed(1)
    logits, types = torch.randn(6, 119, generator=random), torch.tensor([5, 6, 7, 5, 5, 118])
    mask = torch.tensor([True, False, False, True, False, False])
    each = [-logits[atom].log_softmax(0)[types[atom]] for atom in range(6)]
    torch.testing.assert_close(masking_loss(logits, types, mask, "all"), sum(each) / 6)
    torch.testing.assert_close(masking_loss(logits, types, mask, "masked"), (each[0] + each[3]) / 2)


@pytest.mark.parametrize("options", [{"ratio": 0.0}, {"ratio": 1.0}, {"times": 0}, {"temperature": 0.0}])
def test_impossible_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        Masking(**options)  # type: ignore[arg-type]
