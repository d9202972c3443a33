"""T17 as it is measured: null where masks are uniform, and signed where they are not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.spread import Distances, Kept, Run, difference, distances, measure, table, trained, uniform_like
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.masking import Masking
from graphkin.trainer.pretraining.pretrain import Trainer

CHAINS = 40


@pytest.fixture(scope="module")
def chains() -> Corpus:
    return featurize(["C" * 20] * CHAINS, "chains")


def masked_at(corpus: Corpus, places: list[int], step: int = 0) -> Distances:
    batch = Assembler(corpus).batch(np.arange(CHAINS))
    mask = torch.zeros(CHAINS, 20, dtype=torch.bool)
    mask[:, places] = True
    return distances(step, batch.masked(mask.view(-1)), np.arange(CHAINS), torch.Generator().manual_seed(0))


def test_uniform_masks_with_the_counts_of_another(random_corpus: Callable[..., Corpus]) -> None:
    sizes = [1, 7, 20, 33, 40, 14, 2]
    batch = Assembler(random_corpus(sizes)).batch(np.arange(len(sizes)))
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(batch.atoms, generator=generator) < 0.15
    other = uniform_like(mask, batch, generator)
    counts = [torch.bincount(batch.graph[each], minlength=len(sizes)).tolist() for each in (mask, other)]
    assert counts[0] == counts[1]
    assert not torch.equal(mask, other)


def test_clustered_masks_are_nearer_than_uniform_ones(chains: Corpus) -> None:
    found = masked_at(chains, [4, 5, 6])
    assert found.adaptive.tolist() == [1.0] * 3 * CHAINS
    assert found.molecule.tolist() == np.repeat(np.arange(CHAINS), 3).tolist()
    told = difference([found], CHAINS)
    assert told.mean == pytest.approx(1 - float(found.uniform.nanmean()))
    assert told.mean < -10 * told.error < 0


def test_spread_masks_are_further(chains: Corpus) -> None:
    found = masked_at(chains, [0, 10, 19])
    told = difference([found], CHAINS)
    assert float(found.adaptive.mean()) == pytest.approx((10 + 9 + 9) / 3)
    assert told.mean > 10 * told.error > 0


def test_lone_masked_atoms_do_not_count(chains: Corpus) -> None:
    assert masked_at(chains, [7]).adaptive.isnan().all()


def test_bins_of_steps(chains: Corpus) -> None:
    """The second seed clusters before step 400 and spreads from there on; the first always has its masks 5 apart."""
    steady = masked_at(chains, [0, 5], 399), masked_at(chains, [0, 5], 400)
    turning = masked_at(chains, [4, 5], 399), masked_at(chains, [0, 19], 400)
    runs = [
        Run(Masking(), seed, CHAINS, Distances(*map(torch.cat, zip(*parts, strict=True))), {})
        for seed, parts in ((1, turning), (0, steady))
    ]
    head, _, *rows = ([*map(str.strip, row.split("|"))] for row in table(runs, [400, 2400]).splitlines())
    assert head[4:8] == ["steps", "AdaM", "uniform", "difference"]
    assert head[8:10] == ["seed 0", "seed 1"]
    assert [row[4:6] for row in rows] == [["0 to 400", "3.0000"], ["400 to 2,400", "12.0000"]]
    for row, (first, second) in zip(rows, zip(steady, turning, strict=True), strict=True):
        assert row[7:10] == [str(difference(parts, CHAINS)) for parts in ([first, second], [first], [second])]


def test_one_step_is_uniform_masking(nci_smiles: list[str], tmp_path: Path) -> None:
    """A null: with T = 1 AdaM chooses uniformly, and what differs is noise. Its error fits the noise, too."""
    corpus = featurize([each for each in nci_smiles[:200] if "." not in each][:128], "nci")
    run = measure(Masking(times=1), 0, corpus, 2, tmp_path / "kept.pt", bf16=False, device="cpu")
    told = difference([run.distances], corpus.size)
    assert abs(told.mean) < 3 * told.error
    assert 0 < told.error < 0.5
    assert run.distances.step.unique().tolist() == [0, 1]


def test_a_run_that_was_killed_goes_on(chains: Corpus, tmp_path: Path) -> None:
    """As if it had been killed after its first epoch; what comes out is what an uninterrupted run gives."""
    expected = measure(Masking(times=2), 1, chains, 3, tmp_path / "whole.pt", bf16=False, device="cpu")
    config = replace(PretrainConfig.of("adam", max_steps=3, seed=1), masking=Masking(times=2))
    trainer = Trainer(config, Assembler(chains, "cpu"))
    next(trained(config, chains, trainer, Kept(tmp_path / "killed.pt", trainer), 3))
    found = measure(Masking(times=2), 1, chains, 3, tmp_path / "killed.pt", bf16=False, device="cpu")
    for ours, theirs in zip(found.distances, expected.distances, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert found.distances.step.unique().tolist() == [0, 1, 2]
    assert found.spent["seconds"] > 0
