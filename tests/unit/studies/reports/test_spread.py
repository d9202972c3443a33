"""The measure of T17: null for uniform masks, and signed for others."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import networkx
import numpy as np
import pytest
import torch

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.masking import Masking
from graphkin.trainer.pretraining.trainer import Trainer
from studies.reports.clusters import clustered_mean
from studies.reports.spread import (
    Distances,
    RunState,
    distances,
    epochs,
    masked_distance,
    measure,
    uniform_like,
)

CHAINS = 40


@pytest.fixture(scope="module")
def chains() -> Corpus:
    return featurize(["C" * 20] * CHAINS, "chains")


def masked_at(corpus: Corpus, places: list[int]) -> Distances:
    batch = Assembler(corpus).batch(np.arange(CHAINS))
    mask = torch.zeros(CHAINS, 20, dtype=torch.bool)
    mask[:, places] = True
    ids = np.arange(CHAINS, dtype=np.int32)
    return distances(0, batch.masked(mask.view(-1)), ids, torch.Generator().manual_seed(0))


def difference(measured: Distances) -> tuple[float, float]:
    """Return the mean of AdaM's distances minus uniform ones, and its standard error."""
    mean, error = clustered_mean(measured.adaptive - measured.uniform, measured.molecule)
    assert mean is not None
    assert error is not None
    return mean, error


def masking(steps: int, times: int, seed: int = 0) -> PretrainConfig:
    return replace(PretrainConfig.from_strategy("adam", max_steps=steps, seed=seed), masking=Masking(times=times))


@pytest.mark.parametrize("seed", range(5))
def test_masked_distances_are_the_shortest_paths_of_networkx(random_corpus: Callable[..., Corpus], seed: int) -> None:
    sizes = [1, 3, 12, 25, 40, 40, 18]
    batch = Assembler(random_corpus(sizes, extra=seed, seed=seed)).batch(np.arange(len(sizes)))
    mask = torch.rand(batch.atoms, generator=torch.Generator().manual_seed(seed)) < 0.15
    graph = networkx.Graph()
    graph.add_nodes_from(range(batch.atoms))
    graph.add_edges_from(batch.edge_index.T.tolist())
    masked = set(mask.nonzero().flatten().tolist())
    expected = np.full(batch.atoms, np.nan)
    for atom in masked:
        lengths = networkx.single_source_shortest_path_length(graph, atom)
        others = [length for other, length in lengths.items() if other in masked and other != atom]
        if others:
            expected[atom] = min(others)
    np.testing.assert_array_equal(masked_distance(batch, mask).numpy(), expected)
    assert np.isfinite(expected).sum() > 5


def test_masked_atoms_of_fragments_do_not_reach_each_other(assembler: Assembler, smiles: tuple[str, ...]) -> None:
    salt = assembler.batch(np.array([smiles.index("[Na+].[Cl-]")]))
    assert masked_distance(salt, torch.tensor([True, True])).isnan().all()
    assert masked_distance(salt, torch.tensor([False, False])).isnan().all()


def test_uniform_masks_have_the_counts_of_the_original(random_corpus: Callable[..., Corpus]) -> None:
    sizes = [1, 7, 20, 33, 40, 14, 2]
    batch = Assembler(random_corpus(sizes)).batch(np.arange(len(sizes)))
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(batch.atoms, generator=generator) < 0.15
    other = uniform_like(mask, batch, generator)
    counts = [torch.bincount(batch.graph[atoms], minlength=len(sizes)).tolist() for atoms in (mask, other)]
    assert counts[0] == counts[1]
    assert not torch.equal(mask, other)


def test_clustered_masks_are_nearer_than_uniform_ones(chains: Corpus) -> None:
    measured = masked_at(chains, [4, 5, 6])
    assert measured.adaptive.tolist() == [1.0] * 3 * CHAINS
    assert measured.molecule.tolist() == np.repeat(np.arange(CHAINS), 3).tolist()
    mean, error = difference(measured)
    assert mean == pytest.approx(1 - np.nanmean(measured.uniform))
    assert mean < -10 * error < 0


def test_spread_masks_are_farther_than_uniform_ones(chains: Corpus) -> None:
    measured = masked_at(chains, [0, 10, 19])
    mean, error = difference(measured)
    assert measured.adaptive.mean() == pytest.approx((10 + 9 + 9) / 3)
    assert mean > 10 * error > 0


def test_lone_masked_atoms_do_not_count(chains: Corpus) -> None:
    assert np.isnan(masked_at(chains, [7]).adaptive).all()


def test_one_step_is_uniform_masking(nci_smiles: list[str]) -> None:
    """Null test: with T = 1 AdaM masks uniformly, and differences are noise that fits the error."""
    corpus = featurize([text for text in nci_smiles[:200] if "." not in text][:128], "nci")
    measured = measure(masking(2, times=1), corpus, None, "cpu", lambda _: None)
    mean, error = difference(measured)
    assert abs(mean) < 3 * error
    assert 0 < error < 0.5
    assert np.unique(measured.step).tolist() == [0, 1]


def test_killed_run_resumes_with_the_same_result(chains: Corpus, tmp_path: Path) -> None:
    """The run stops after its first epoch. The result equals that of an uninterrupted run."""
    config, advances = masking(3, times=2, seed=1), list[int]()
    expected = measure(config, chains, tmp_path / "whole.pt", "cpu", lambda _: None)
    trainer = Trainer(config, Assembler(chains, "cpu"))
    next(epochs(config, chains, trainer, RunState(tmp_path / "killed.pt", trainer)))
    measured = measure(config, chains, tmp_path / "killed.pt", "cpu", advances.append)
    for ours, theirs in zip(measured, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert np.unique(measured.step).tolist() == [0, 1, 2]
    assert advances == [1, 1, 1]
