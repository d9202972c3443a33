"""The command `graphkin pretrain` with a real server."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graphkin.cli.training_progress import training_progress
from graphkin.store import open_store
from graphkin.trainer.feed.offline import OfflineSource
from graphkin.trainer.model.device import computes_bf16
from graphkin.trainer.pretraining.checkpoint import Run, newest_checkpoint, read_model, read_run
from graphkin.trainer.pretraining.metrics_log import Report
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import LEARNED_BY, Sampling, Strategy
from tests.until import until

SHORT = ("--strategy", "hgc-fo", "--encoder", "gcn", "--batch-size", 8, "--max-steps", 3)


@pytest.fixture
def pretrain(graphkin: Any, url: str, tmp_path: Path) -> Any:
    """Return a function that trains, by default from the shared server into a folder `run`."""

    def call(*options: object, api: str = url, collection: str = "nci", output: Path = tmp_path / "run") -> Any:
        place = ("--api", api, "--collection", collection, "--cache-dir", tmp_path / "cache", "--output", output)
        return graphkin("pretrain", *place, *options)

    return call


@pytest.fixture
def offline_folder(graphkin: Any, url: str, tmp_path: Path) -> Path:
    """Return a folder with two epochs of hgc-fo."""
    folder = tmp_path / "fetched"
    place = ("--api", url, "--collection", "nci", "--cache-dir", tmp_path / "cache", "--output", folder)
    assert graphkin("fetch", *place, "--strategy", "hgc-fo", "--epochs", 2, "--batch-size", 8).code == 0
    return folder


def records(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("strategy", LEARNED_BY["molecule"])
def test_every_strategy_trains(pretrain: Any, tmp_path: Path, strategy: Strategy) -> None:
    run = tmp_path / "run"
    outcome = pretrain(*SHORT, "--strategy", strategy, "--seed", 3, "--preset", "rc")
    assert (outcome.code, outcome.out) == (0, f"{run / 'step-000000003'}: done\n")
    assert "featurizing 400 items" in outcome.err
    assert "step 3 of 3: loss " in outcome.err
    lines = records(run)
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert all({"step", "loss", "lr", "wait_share"} <= line.keys() for line in lines)
    checkpoint = load_encoder(run)
    config = checkpoint.config
    assert config is not None
    assert (checkpoint.encoder.width, config.strategy, config.preset, config.draws.seed) == (300, strategy, "rc", 3)
    assert {file.name for file in run.iterdir()} - {".lock"} == {
        "run.json",
        "metrics.jsonl",
        "step-000000003",
        "tensorboard",
    }


def test_options_reach_the_configuration(pretrain: Any, tmp_path: Path) -> None:
    options = ("--strategy", "hgc-ho", "--encoder", "sage", "--batch-size", 10, "--limit", 20, "--epochs", 2)
    outcome = pretrain(*options, "--mask-neighbors", "--bf16", "--preset", "paper", "--seed", 5)
    assert outcome.code == 0
    assert ("has no bf16 arithmetic" in outcome.err) is not computes_bf16(torch.device("cpu"))
    config = load_encoder(tmp_path / "run").config
    assert config is not None
    assert (config.model.encoder, config.draws.batch_size, config.limit, config.epochs) == ("sage", 10, 20, 2)
    assert config.contrast is not None
    assert (config.contrast.mask_neighbors, config.bf16, config.preset, config.draws.seed) == (True, True, "paper", 5)
    assert [line["step"] for line in records(tmp_path / "run")] == [1, 2, 3, 4]  # 20 anchors in batches of 10, twice.


def test_more_steps_than_epochs_extend_the_schedule(pretrain: Any, tmp_path: Path) -> None:
    outcome = pretrain(*SHORT, "--limit", 16, "--epochs", 1, "--max-steps", 11)
    assert outcome.code == 0
    rates = [line["lr"] for line in records(tmp_path / "run")]
    assert len(rates) == 11
    assert (rates[0], rates[1], rates[10]) == (0, 1e-3, 0)


def test_resume_starts_a_new_run_and_keeps_a_finished_one(pretrain: Any, tmp_path: Path) -> None:
    """The script of a job may therefore always pass --resume."""
    assert pretrain(*SHORT, "--resume").code == 0
    before = files(tmp_path / "run")
    outcome = pretrain(*SHORT, "--resume")
    assert (outcome.code, outcome.out) == (0, f"{tmp_path / 'run' / 'step-000000003'}: done\n")
    assert files(tmp_path / "run") == before


def test_resume_with_other_options_is_refused_by_name(pretrain: Any, tmp_path: Path) -> None:
    assert pretrain(*SHORT).code == 0
    before = files(tmp_path / "run")
    repeated = pretrain(*SHORT)
    assert (repeated.code, "--resume" in repeated.err) == (2, True)
    outcome = pretrain(*SHORT, "--resume", "--batch-size", 9, "--max-steps", 4)
    assert outcome.code == 2
    assert "other options: config.draws.batch_size, config.max_steps" in outcome.err
    assert "config.draws.batch_size 9, config.max_steps 4" in outcome.err
    assert files(tmp_path / "run") == before


def test_ctrl_c_explains_how_to_continue(pretrain: Any, url: str, tmp_path: Path) -> None:
    """The continued run equals an uninterrupted one."""
    options = [str(each) for each in (*SHORT, "--max-steps", 60, "--checkpoint-steps", 4)]
    place = ["--api", url, "--collection", "nci", "--cache-dir", str(tmp_path / "cache"), "--output", "parts"]
    command = [sys.executable, "-m", "graphkin", "pretrain", *place, *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as process:
        assert process.stderr
        first = next(line for line in process.stderr if line.startswith("step"))
        until(lambda: newest_checkpoint(tmp_path / "parts"))
        process.send_signal(signal.SIGINT)
        messages = process.stderr.read().splitlines()
    assert "of 60: loss" in first
    assert process.returncode == 130
    newest = newest_checkpoint(tmp_path / "parts")
    assert newest is not None
    assert messages[-3:] == [f"stopped; --resume continues from {newest.relative_to(tmp_path)}", "", "interrupted"]
    assert pretrain(*options, output=tmp_path / "whole").code == 0
    assert pretrain(*options, "--resume", output=tmp_path / "parts").code == 0
    for name in ("model.safetensors", "optimizer.safetensors"):
        whole, parts = (tmp_path / run / "step-000000060" / name for run in ("whole", "parts"))
        assert whole.read_bytes() == parts.read_bytes()
    expected, repeated = ([{**line, "wait_share": 0} for line in records(tmp_path / run)] for run in ("whole", "parts"))
    assert expected == repeated


def test_run_keeps_its_generation(
    pretrain: Any, serve: Any, own_store: Path, publish: Callable[[Path, int], str], tmp_path: Path
) -> None:
    with serve(own_store) as url:
        assert pretrain(*SHORT, api=url).code == 0
        generation_id = read_run(tmp_path / "run")["generation"]["id"]
        publish(own_store, 80)
        while pretrain(*SHORT, "--resume", api=url, output=tmp_path / "new").code == 0:
            if read_run(tmp_path / "new")["generation"]["id"] != generation_id:
                break  # The server caches its catalog for a moment.
            shutil.rmtree(tmp_path / "new")
        assert pretrain(*SHORT, "--resume", api=url).code == 0
        with open_store(own_store) as store:
            store.delete("nci", generation_id)
        outcome = pretrain(*SHORT, "--resume", api=url)
        while outcome.code == 0:
            outcome = pretrain(*SHORT, "--resume", api=url)
    assert outcome.code == 3
    assert "deleted" in outcome.err


@pytest.mark.parametrize(
    ("options", "arguments", "code", "message"),
    [
        ({"api": "http://127.0.0.1:9"}, (), 4, "graphkin serve"),
        ({"api": "localhost:8000"}, (), 2, "not the URL of a graphkin server"),
        ({"collection": "nobody"}, (), 3, "no collection 'nobody'"),
        ({}, ("--generation", "0" * 64), 3, "has no generation with this id"),
        ({}, ("--offline", "fetched"), 2, "or --offline without"),
        ({}, ("--strategy", "magic"), 2, "expected: hgc-fo, "),
        ({}, ("--batch-size", 1), 2, "--batch-size"),
        ({}, ("--strategy", "adam", "--mask-neighbors"), 2, "a strategy with hgc"),
    ],
)
def test_error_is_explained_and_leaves_nothing(
    pretrain: Any, tmp_path: Path, options: dict[str, Any], arguments: tuple[str, ...], code: int, message: str
) -> None:
    outcome = pretrain(*SHORT, *arguments, **options)
    assert outcome.code == code
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "place", [(), ("--api", "http://x"), ("--collection", "c"), ("--offline", "x", "--generation", "g")]
)
def test_missing_or_incomplete_source_is_refused(graphkin: Any, place: tuple[str, ...]) -> None:
    outcome = graphkin("pretrain", *place, *SHORT, "--output", "run")
    assert outcome.code == 2
    assert "either --api and --collection, or --offline without" in outcome.err


@pytest.mark.parametrize(
    ("collection", "strategy", "message"),
    [("dots", "hgc-fo", "no encoder can be trained on items of this kind"), ("many", "hgc-adam-fo", "nothing to mask")],
)
def test_unsuitable_kinds_of_items_are_refused(pretrain: Any, collection: str, strategy: str, message: str) -> None:
    outcome = pretrain(*SHORT, "--strategy", strategy, collection=collection)
    assert (outcome.code, message in outcome.err) == (2, True)


def test_cuda_without_a_gpu_is_refused(pretrain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    outcome = pretrain(*SHORT, "--device", "cuda")
    assert (outcome.code, "PyTorch finds no NVIDIA GPU" in outcome.err) == (2, True)


@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_folder_that_is_no_run_is_not_changed(pretrain: Any, tmp_path: Path, resume: tuple[str, ...]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("data")
    outcome = pretrain(*SHORT, *resume)
    assert (outcome.code, "precious" in outcome.err) == (2, True)
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["precious"]
    outcome = pretrain(*SHORT, *resume, output=tmp_path / "run" / "precious")
    assert (outcome.code, "cannot write the run" in outcome.err) == (2, True)


def undo_last_step(folder: Path, **changes: Any) -> None:
    """Remove the last step, and change its checkpoint."""
    run = Run(folder, {**read_run(folder)}, resume=True)
    checkpoint = run.newest()
    assert checkpoint is not None
    kept_bytes = len(b"".join(run.metrics.read_bytes().splitlines(keepends=True)[:2]))
    run.save(replace(checkpoint, steps=2, metrics_bytes=kept_bytes, **changes))


def test_corrupt_checkpoint_is_refused(pretrain: Any, tmp_path: Path) -> None:
    assert pretrain(*SHORT).code == 0
    undo_last_step(tmp_path / "run")
    file = tmp_path / "run" / "step-000000002" / "optimizer.safetensors"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 16
    file.write_bytes(content)
    before = files(tmp_path / "run")
    outcome = pretrain(*SHORT, "--resume")
    assert outcome.code == 4
    assert "optimizer.safetensors differs from its checksum" in outcome.err
    assert files(tmp_path / "run") == before


def test_nan_loss_ends_the_run_and_keeps_the_last_checkpoint(pretrain: Any, tmp_path: Path) -> None:
    assert pretrain(*SHORT).code == 0
    weights = {name: torch.full_like(each, torch.nan) for name, each in read_model(tmp_path / "run").items()
               if each.is_floating_point()}  # fmt: skip
    undo_last_step(tmp_path / "run", model={**read_model(tmp_path / "run"), **weights})
    outcome = pretrain(*SHORT, "--resume")
    assert outcome.code == 1
    assert "the loss is not finite\n  given: nan at step 3" in outcome.err
    assert newest_checkpoint(tmp_path / "run") == tmp_path / "run" / "step-000000002"
    assert len(records(tmp_path / "run")) == 2


def test_corrupt_cache_is_computed_again(pretrain: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert pretrain(*SHORT).code == 0
    arrays = [*(tmp_path / "cache").rglob("*.npy")]
    assert {"atom_type.npy", "pairs.npy", "positives.npy"} <= {array.name for array in arrays}
    for array in arrays:
        array.write_bytes(array.read_bytes()[:-1] + b"\xff")
    assert pretrain(*SHORT, output=tmp_path / "again").code == 0
    assert "removing a damaged entry of" in caplog.text
    first, second = (tmp_path / run / "step-000000003" / "model.safetensors" for run in ("run", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_unsuitable_offline_folders_are_refused(graphkin: Any, offline_folder: Path, tmp_path: Path) -> None:
    def refusal(*options: object, folder: Path = offline_folder) -> tuple[int, str]:
        outcome = graphkin("pretrain", "--offline", folder, *SHORT, "--output", tmp_path / "run", *options)
        assert "Traceback" not in outcome.err
        assert not [*(tmp_path / "run").glob("step-*")]
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        return outcome.code, outcome.err

    for options, code, message in [
        (("--seed", 1), 2, "fetched for other settings"),
        (("--batch-size", 400, "--max-steps", 3), 2, "this epoch was not fetched"),  # Three epochs of one step.
        (("--mask-neighbors",), 2, "has no edges"),
    ]:
        arguments = refusal(*options)
        assert (arguments[0], message in arguments[1]) == (code, True)
    nowhere = refusal(folder=tmp_path / "nowhere")
    assert (nowhere[0], "not written by `graphkin fetch`" in nowhere[1]) == (3, True)
    (offline_folder / "corpus.npz").write_bytes((offline_folder / "corpus.npz").read_bytes()[:-100])
    damaged = refusal()
    assert (damaged[0], "corpus.npz is damaged" in damaged[1]) == (4, True)


def test_settings_reach_the_samples_and_the_run(graphkin: Any, url: str, tmp_path: Path) -> None:
    """A sweep uses a file from --show-config, an option that overrides it, and --set, which overrides both."""
    strategy = ("--strategy", "hgc-ho", "--encoder", "gcn")
    config_outcome = graphkin("pretrain", *strategy, "--batch-size", 8, "--seed", 5, "--show-config", "--set", "k=2")
    assert config_outcome.code == 0
    (tmp_path / "sweep.toml").write_text(config_outcome.out)
    settings = ("--config", tmp_path / "sweep.toml", "--negatives", 20, "--set", "policy.name=second_order")
    place = ("--api", url, "--collection", "nci", "--cache-dir", tmp_path / "cache")
    fetch_outcome = graphkin("fetch", *place, *strategy, *settings, "--epochs", 1, "--output", tmp_path / "fetched")
    assert fetch_outcome.code == 0
    draws = json.loads((tmp_path / "fetched" / "manifest.json").read_text())["offline"]["draws"]
    assert (draws["policy"]["name"], draws["policy"]["k"], draws["policy"]["length"]) == ("second_order", 2, 4)
    assert (draws["negatives"], draws["batch_size"], draws["seed"]) == (20, 8, 5)
    with OfflineSource(tmp_path / "fetched", Sampling.from_json(draws), last=0) as source:
        assert [each.shape for each in source.epoch(0)] == [(400, 2), (50, 20)]

    train = ("pretrain", "--offline", tmp_path / "fetched", *strategy, *settings, "--max-steps", 2)
    second = graphkin(*train, "--set", "k=3", "--output", tmp_path / "other")
    assert (second.code, "fetched for other settings" in second.err) == (2, True)
    repeated = graphkin(*train, "--set", "temperature=0.2", "--output", tmp_path / "run")
    assert repeated.code == 0
    message = read_run(tmp_path / "run")["config"]
    assert (message["draws"], message["contrast"]["temperature"], message["max_steps"]) == (draws, 0.2, 2)
    resumed = graphkin(*train, "--resume", "--output", tmp_path / "run")
    assert (resumed.code, "other options: config.contrast.temperature" in resumed.err) == (2, True)


def test_too_few_linked_items_for_the_negatives_are_refused(
    pretrain: Any, url: str, own_store: Path, serve: Any
) -> None:
    """The error comes before sampling and featurization, and gives the number of linked items and a hint."""
    with open_store(own_store) as store, store.open("nci") as generation:
        linked_items = int((np.diff(generation.graph().indptr) > 0).sum())
    assert 8 < linked_items < 60
    options = ("--strategy", "hgc-ho", "--encoder", "gcn", "--batch-size", 8, "--max-steps", 1)
    with serve(own_store) as small:
        outcome = pretrain(*options, api=small)
        assert (outcome.code, f"at most {linked_items} negatives" in outcome.err, "--negatives" in outcome.err) == (
            2,
            True,
            True,
        )
        assert "featurizing" not in outcome.err
        assert pretrain(*options, "--negatives", linked_items, api=small).code == 0


def test_masking_offline_needs_no_epochs(graphkin: Any, url: str, tmp_path: Path) -> None:
    place = ("--api", url, "--collection", "nci", "--cache-dir", tmp_path / "cache", "--output", tmp_path / "fetched")
    assert graphkin("fetch", *place, "--strategy", "rdm", "--epochs", 0).code == 0
    options = (*SHORT, "--strategy", "rdm", "--limit", 8, "--output", tmp_path / "run")
    assert graphkin("pretrain", "--offline", tmp_path / "fetched", *options).code == 0  # Three epochs of one step.
    assert len(records(tmp_path / "run")) == 3


def test_terminal_shows_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (25, 110))
    with os.fdopen(slave, "w") as terminal, os.fdopen(master, "rb", buffering=0) as screen:
        monkeypatch.setattr(sys, "stderr", terminal)
        with training_progress() as report:
            record = {"step": 41.0, "loss": 2.5, "lr": 1e-3, "wait_share": 0.012}
            report(Report([record, {**record, "step": 42}], 50, 1234.5))
        terminal.write("end")
        terminal.flush()
        config_outcome = b""
        while not config_outcome.endswith(b"end"):
            config_outcome += screen.read(65_536)
    *_, last, _ = filter(None, config_outcome.decode().replace("\r", "\n").split("\n"))
    assert last.startswith("training:  84%")
    assert "42/50" in last
    assert "loss 2.5000, lr 1.0e-03, 1,234 embeddings/s, waiting 1.2%" in last
