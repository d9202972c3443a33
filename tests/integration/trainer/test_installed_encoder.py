"""An encoder from an installed package (tests/toy_encoder): it trains, resumes, embeds and fine-tunes."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.memory import MemorySource
from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.downstream.finetune import Classifier, FinetuneOptions, InitialEncoder
from graphkin.trainer.encoder_registry import BUILT_IN
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.feed.offline import write_offline
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.model.batch import Assembler, Shape
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrain import pretrain
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.pretraining.trainer import make_objective
from graphkin.trainer.strategy import LEARNED_BY, Sampling, Strategy

ROOT = Path(__file__).parents[3]
SIZE = 24


class StopRun(Exception):
    """Ends a run at this point."""


class InterruptedSource(MemorySource):
    """Raises an error at the second epoch."""

    def epoch(self, epoch: int) -> Epoch:
        if epoch == 1:
            raise StopRun
        return super().epoch(epoch)


def config_of(strategy: Strategy, encoder: str) -> PretrainConfig:
    model = Model(encoder, layers=2, width=8, dropout=0.2)
    config = PretrainConfig.from_strategy(strategy, model=model, batch_size=8, seed=3, max_steps=7)
    return replace(config, draws=replace(config.draws, negatives=min(config.draws.negatives, 5)))


def epochs_of(draws: Sampling) -> list[Epoch]:
    random = np.random.default_rng(5)
    slots = draws.policy.k if draws.policy else 0
    positives = (np.arange(SIZE)[:, None] + random.integers(1, 4, (SIZE, slots))) % SIZE
    batches = draws.batches(SIZE)
    negatives = np.array([random.choice(SIZE, draws.negatives, replace=False) for _ in range(batches)], np.int32)
    return [Epoch(positives.astype(np.int32), negatives.reshape(batches, draws.negatives))] * 3


@pytest.fixture(scope="module")
def corpus(random_corpus: Callable[..., Corpus]) -> Corpus:
    return random_corpus(np.random.default_rng(0).integers(3, 12, size=SIZE).tolist())


@pytest.fixture
def run(gated: str, corpus: Corpus, tmp_path: Path) -> Path:
    """Return the folder of a finished run of the installed encoder."""
    config = config_of("hgc-fo", gated)
    pretrain(config, MemorySource(corpus, config.draws, epochs_of(config.draws)), tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("strategy", LEARNED_BY["molecule"])
def test_every_strategy_trains_an_installed_encoder(
    gated: str, corpus: Corpus, tmp_path: Path, strategy: Strategy
) -> None:
    """The weights of the readout change only in strategies that read graphs out."""
    config = config_of(strategy, gated)
    torch.manual_seed(config.draws.seed)
    before = make_objective(config).encoder.state_dict()
    pretrain(config, MemorySource(corpus, config.draws, epochs_of(config.draws)), tmp_path)
    after = load_encoder(tmp_path).encoder.state_dict()
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    reads_out = config.contrast is not None
    assert ({"layers.0.weight", "inputs.atom_type.weight"} <= changed, "gate.weight" in changed) == (True, reads_out)


@pytest.mark.parametrize("strategy", ["hgc-fo", "adam"])
def test_killed_run_continues_with_the_identical_result(
    gated: str, corpus: Corpus, tmp_path: Path, strategy: Strategy
) -> None:
    config = config_of(strategy, gated)
    epochs = epochs_of(config.draws)
    pretrain(config, MemorySource(corpus, config.draws, epochs), tmp_path / "whole", checkpoint_steps=100)
    interrupted = InterruptedSource(corpus, config.draws, epochs)
    with pytest.raises(StopRun):
        pretrain(config, interrupted, tmp_path / "parts", checkpoint_steps=2)
    assert [each.name for each in (tmp_path / "parts").glob("step-*")] == ["step-000000002"]
    pretrain(config, MemorySource(corpus, config.draws, epochs), tmp_path / "parts", resume=True, checkpoint_steps=2)
    for name in ("model.safetensors", "optimizer.safetensors"):
        whole, parts = (tmp_path / run / "step-000000007" / name for run in ("whole", "parts"))
        assert whole.read_bytes() == parts.read_bytes()


def test_run_records_the_package_and_gin_runs_record_none(run: Path, corpus: Corpus, tmp_path: Path) -> None:
    description = json.loads((run / "run.json").read_text())
    assert description["config"]["model"]["encoder"] == "gated"
    assert description["package"] == {"distribution": "gated", "version": "1.0"}
    config = config_of("hgc-fo", "gin")
    pretrain(config, MemorySource(corpus, config.draws, epochs_of(config.draws)), tmp_path / "gin")
    assert "package" not in json.loads((tmp_path / "gin" / "run.json").read_text())


def test_embeddings_are_the_readout_of_the_encoder(run: Path, corpus: Corpus) -> None:
    """The expected vector is the mean of the atoms weighted by their gates, scaled to length 1."""
    encoder = load_encoder(run).encoder
    vectors = embed(encoder, corpus)
    batch = Assembler(corpus).batch(np.arange(SIZE))
    with torch.no_grad():
        atoms = encoder(batch)
        gates = encoder.get_submodule("gate")(atoms).sigmoid()
    for graph in range(SIZE):
        rows = batch.graph == graph
        expected = (gates[rows] * atoms[rows]).sum(0) / gates[rows].sum()
        np.testing.assert_allclose(vectors[graph], expected / expected.norm(), atol=1e-5)


def test_checkpoint_without_its_package_says_what_to_install(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(InvalidInput, match="the encoder of this model is not installed") as raised:
        load_encoder(run)
    assert raised.value.hint == "install the package: pip install gated==1.0"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("gate", "did you mean gated?"), ("gjn", "did you mean gin?"), ("transformer", "install the pack")],
)
def test_unknown_encoder_names_the_known_ones(gated: str, name: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match="there is no encoder of this name") as raised:
        Model(name)
    assert raised.value.expected == f"{', '.join(BUILT_IN)}; from installed packages: {gated}"
    assert str(raised.value.hint).startswith(hint)


def test_padding_changes_no_row_of_an_encoder_that_can_be_captured(gated: str, corpus: Corpus) -> None:
    encoder = make_encoder(Model(gated, layers=2, width=8)).train()
    assert encoder.can_capture
    assembler, ids = Assembler(corpus), np.arange(5)
    batch = assembler.batch(ids)
    padded = assembler.padded_batch(torch.from_numpy(ids), Shape.holding(batch.atoms, len(batch.bond)), torch.tensor(0))
    assert padded.atoms > batch.atoms
    torch.testing.assert_close(encoder.graphs(padded), encoder.graphs(batch), atol=1e-5, rtol=1e-4)


def test_fine_tuning_sets_dropout_and_takes_the_readout(run: Path, corpus: Corpus) -> None:
    start = InitialEncoder.from_checkpoint(run)
    assert start.pooling == "readout"
    assert InitialEncoder(Model(layers=1, width=4)).pooling == "mean"
    classifier = Classifier(start.encoder(), 3, FinetuneOptions(dropout=0.7, pooling="readout")).eval()
    assert classifier.encoder.get_submodule("dropout").p == 0.7
    batch = Assembler(corpus).batch(np.arange(4))
    torch.testing.assert_close(classifier(batch), classifier.head(classifier.encoder.graphs(batch)))


def test_commands_pretrain_embed_finetune_and_predict(
    graphkin: Any, gated: str, nci_smiles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smiles = nci_smiles[:SIZE]
    draws = Sampling.from_strategy("hgc-fo", batch_size=8)
    (tmp_path / "data").mkdir()
    source = MemorySource(featurize(smiles, "nci"), draws, epochs_of(draws))
    write_offline(source, 2, tmp_path / "data", lambda _: None)
    train = ("--offline", tmp_path / "data", "--strategy", "hgc-fo", "--batch-size", 8, "--max-steps", 4)
    small = ("--set", "layers=2", "--set", "width=8")
    outcome = graphkin("pretrain", *train, "--encoder", gated, *small, "--output", tmp_path / "run")
    assert outcome.code == 0, outcome.err
    (tmp_path / "smiles.smi").write_text("\n".join(smiles) + "\n")
    embedded = graphkin(
        "embed", "--input", tmp_path / "smiles.smi", "--checkpoint", tmp_path / "run", "--output", tmp_path / "e.npy"
    )
    assert embedded.code == 0, embedded.err
    expected = embed(load_encoder(tmp_path / "run").encoder, featurize(smiles, "nci"))
    np.testing.assert_array_equal(np.load(tmp_path / "e.npy"), expected)
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("smiles", "nitrogen"), *((each, int("n" in each.lower())) for each in nci_smiles[:90])]
        )
    labels = ("--csv", tmp_path / "labels.csv", "--targets", "nitrogen", "--epochs", 1, "--seeds", "0")
    for start in (("--checkpoint", tmp_path / "run"), ("--checkpoint", "none", "--encoder", gated)):
        output, model = tmp_path / f"{start[1] == 'none'}.json", tmp_path / f"model-{start[1] == 'none'}"
        outcome = graphkin("finetune", *labels, *start, "--save-model", model, "--output", output)
        assert outcome.code == 0, outcome.err
        document = json.loads(output.read_text())
        assert (document["options"]["pooling"], document["setting"]["package"]["version"]) == ("readout", "1.0")
        predictions = tmp_path / "predictions.csv"
        predict = ("--input", tmp_path / "smiles.smi", "--model", model, "--output", predictions)
        outcome = graphkin("predict", *predict)
        assert outcome.code == 0, outcome.err
        assert len(predictions.read_text().splitlines()) == SIZE + 1
        assert json.loads((model / "model.json").read_text())["package"] == {"distribution": gated, "version": "1.0"}
    with monkeypatch.context() as uninstalled:
        uninstalled.setattr(sys, "path", [each for each in sys.path if not each.endswith("toy_encoder")])
        outcome = graphkin("predict", *predict)
        assert outcome.code == 2
        assert "the encoder of this model is not installed" in outcome.err
        assert "pip install gated==1.0" in outcome.err
    outcome = graphkin("pretrain", *train, "--encoder", "gatde", "--output", tmp_path / "other")
    assert (outcome.code, "did you mean gated?" in outcome.err) == (2, True)


def test_help_and_validation_import_no_package(gated: str) -> None:
    """The name is found in the metadata. Neither the package nor torch is imported for --help."""
    script = f"""
import sys
from graphkin.cli import run
assert run(["pretrain", "--help"]) == 0
assert not {{"gated", "torch"}} & sys.modules.keys()
from graphkin.trainer.encoder_registry import require_encoder
require_encoder("{gated}")
assert not {{"gated", "torch"}} & sys.modules.keys()
"""
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


def test_name_of_two_packages_is_refused(gated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "other-2.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
    (metadata / "entry_points.txt").write_text(f"[graphkin.encoders]\n{gated} = other:Other\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InvalidInput, match="several packages provide an encoder of this name") as caught:
        make_encoder(Model(gated))
    assert caught.value.given == "gated, of gated 1.0 and other 2.0"
    assert caught.value.hint == "uninstall one of them: pip uninstall other"


def test_page_for_developers_shows_this_encoder() -> None:
    page = (ROOT / "docs" / "develop" / "extending.md").read_text()
    code = (ROOT / "tests" / "toy_encoder" / "gated.py").read_text()
    assert f"```python\n# gated.py\n{code}```\n" in page
