"""T17 as it is measured: null where masks are uniform, and signed where they are not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.spread import Distances, Kept, distances, measure, summary, table, trained, uniform_like
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


def masked_at(corpus: Corpus, places: list[int]) -> Distances:
    batch = Assembler(corpus).batch(np.arange(CHAINS))
    mask = torch.zeros(CHAINS, 20, dtype=torch.bool)
    mask[:, places] = True
    return distances(batch.masked(mask.view(-1)), np.arange(CHAINS), torch.Generator().manual_seed(0))


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
    told = summary(found, CHAINS)
    assert told["difference"] == pytest.approx(1 - told["uniform"])
    assert told["difference"] < -10 * told["error"] < 0


def test_spread_masks_are_further(chains: Corpus) -> None:
    told = summary(masked_at(chains, [0, 10, 19]), CHAINS)
    assert told["adaptive"] == pytest.approx((10 + 9 + 9) / 3)
    assert told["difference"] > 10 * told["error"] > 0


def test_lone_masked_atoms_do_not_count(chains: Corpus) -> None:
    assert masked_at(chains, [7]).adaptive.isnan().all()


def test_one_step_is_uniform_masking(nci_smiles: list[str], tmp_path: Path) -> None:
    """A null: with T = 1 AdaM chooses uniformly, and what differs is noise. Its error fits the noise, too."""
    corpus = featurize([each for each in nci_smiles[:200] if "." not in each][:128], "nci")
    cell = measure(Masking(times=1), corpus, 2, tmp_path / "kept.pt", bf16=False, device="cpu")
    assert abs(cell["all"]["difference"]) < 3 * cell["all"]["error"]
    assert 0 < cell["all"]["error"] < 0.5
    assert len(cell["epochs"]) == len(cell["losses"]) == 2
    assert cell["first"] == cell["all"]
    assert "| 1 | all |" in table([cell])


def test_a_cell_that_was_killed_goes_on(chains: Corpus, tmp_path: Path) -> None:
    """As if it had been killed after its first epoch; what comes out is what an uninterrupted run gives."""
    expected = measure(Masking(times=2), chains, 3, tmp_path / "whole.pt", bf16=False, device="cpu")
    config = replace(PretrainConfig.of("adam", epochs=3), masking=Masking(times=2))
    trainer = Trainer(config, Assembler(chains, "cpu"))
    next(trained(config, chains, trainer, Kept(tmp_path / "killed.pt", trainer)))
    found = measure(Masking(times=2), chains, 3, tmp_path / "killed.pt", bf16=False, device="cpu")
    assert found["epochs"] == expected["epochs"]
    assert found["losses"] == expected["losses"]
