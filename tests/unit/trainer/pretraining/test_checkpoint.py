"""Runs on disk: what is whole, what is refused."""

from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.pretraining.checkpoint import Checkpoint, Run, newest_checkpoint, read_model, read_run
from graphkin.trainer.pretraining.config import Model

OPTIONS = {"config": {"epochs": 3, "betas": (0.9, 0.999)}, "generation": {"id": "abc"}}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run", OPTIONS, resume=False)


def checkpoint(steps: int) -> Checkpoint:
    return Checkpoint(steps, 10, 7 * steps, {"w": torch.full((2,), float(steps))}, {"m": torch.tensor(float(steps))})


def test_the_newest_checkpoint_is_found_and_older_ones_are_gone(run: Run, tmp_path: Path) -> None:
    assert run.newest() is None
    for steps in (9, 10, 100_000):
        run.save(checkpoint(steps))
    found = Run(tmp_path / "run", OPTIONS, resume=True).newest()
    assert found is not None
    assert (found.steps, found.epoch_steps, found.metrics_bytes) == (100_000, 10, 700_000)
    assert torch.equal(found.model["w"], torch.full((2,), 100_000.0))
    assert torch.equal(found.optimizer["m"], torch.tensor(100_000.0))
    assert torch.equal(read_model(run.folder)["w"], found.model["w"])
    assert [*run.folder.glob("step-*")] == [newest_checkpoint(run.folder)]


def test_half_written_folder_of_a_killed_process_is_not_a_checkpoint(run: Run) -> None:
    run.save(checkpoint(5))
    (run.folder / "step-000000009.partial").mkdir()
    found = run.newest()
    assert found is not None
    assert found.steps == 5
    run.save(checkpoint(9))
    assert [each.name for each in run.folder.glob("step-*")] == ["step-000000009"]


def test_run_is_neither_overwritten_nor_continued_with_other_options(tmp_path: Path) -> None:
    Run(tmp_path, OPTIONS, resume=False)
    with pytest.raises(InvalidInput, match="--resume"):
        Run(tmp_path, OPTIONS, resume=False)
    changed = {"config": {"epochs": 3, "betas": (0.9, 0.99), "limit": 5}, "generation": {"id": "abc"}}
    with pytest.raises(InvalidInput, match=r"other options: config.betas, config.limit\n") as refused:
        Run(tmp_path, changed, resume=True)
    assert refused.value.given == "config.betas [0.9, 0.99], config.limit 5"
    assert refused.value.expected == "config.betas [0.9, 0.999], config.limit None"
    Run(tmp_path, OPTIONS, resume=True)


def test_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    for resume in (False, True):
        with pytest.raises(InvalidInput, match=r"thesis\.tex"):
            Run(tmp_path, OPTIONS, resume)
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_run_killed_while_it_was_created_is_created_again(tmp_path: Path) -> None:
    (tmp_path / "run.partial").write_bytes(b'{"form')
    assert Run(tmp_path, OPTIONS, resume=True).newest() is None
    assert read_run(tmp_path)["generation"] == OPTIONS["generation"]


def test_two_do_not_write_one_run(run: Run) -> None:
    """A process may outlive the torchrun that was killed and is started again."""
    with run.claimed(), pytest.raises(InvalidInput, match="another process"), run.claimed():
        pass
    with run.claimed():
        assert run.newest() is None


def test_failed_write_is_reported_and_the_older_checkpoint_remains(run: Run) -> None:
    with pytest.raises(InvalidInput, match="cannot write the run"):
        Run(run.folder / "run.json", OPTIONS, resume=False)
    run.save(checkpoint(5))
    (run.folder / "step-000000009.partial").touch()  # a file where there is to be a folder
    with pytest.raises(InvalidInput, match="cannot write the run"):
        run.save(checkpoint(9))
    found = run.newest()
    assert found is not None
    assert found.steps == 5


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.json"])
def test_damage_is_noticed(run: Run, name: str) -> None:
    """Every byte counts: one digit of state.json more or less would train some steps twice."""
    run.save(checkpoint(5))
    file = run.folder / "step-000000005" / name
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(Damaged, match="damaged"):
            run.newest()
    file.unlink()
    with pytest.raises(Damaged, match="damaged"):
        run.newest()


def test_folders_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no training run"):
        read_run(tmp_path)
    Run(tmp_path / "run", OPTIONS, resume=False)
    with pytest.raises(NotFound, match="no checkpoint yet"):
        read_model(tmp_path / "run")
    for content in (b'{"format": 99}', b"[]", b"{", b"\xff"):
        (tmp_path / "run" / "run.json").write_bytes(content)
        with pytest.raises(Damaged, match=r"run\.json"):
            read_run(tmp_path / "run")
    with pytest.raises(NotFound, match="no training run"):
        read_run(tmp_path / "run" / "run.json")


def test_folder_of_a_finetuned_encoder_is_opened_again_without_new_options(tmp_path: Path) -> None:
    """Options of the model that did not exist have their defaults, and any other value is another option."""
    model = asdict(Model("gcn", layers=2, width=8))
    old = {name: value for name, value in model.items() if name not in ("features", "attributes")}
    Run(tmp_path, {"config": None, "model": old, "finetuned": {}}, resume=False)
    Run(tmp_path, {"config": None, "model": model, "finetuned": {}}, resume=True)
    with pytest.raises(InvalidInput, match=r"other options: model\.features"):
        Run(tmp_path, {"config": None, "model": {**model, "features": "rich"}, "finetuned": {}}, resume=True)
