"""Runs of `graphkin pretrain`, killed repeatedly at steps and at file operations of checkpoints, and resumed."""

import json
import os
import signal
import subprocess
import time

import pytest

from graphkin.store import open_store
from tests.faults.conftest import COMMAND
from tests.integration.conftest import publish_molecules

KILLS = 3  # kills of one run
RUNS = {
    "hgc-fo": ("--strategy", "hgc-fo", "--encoder", "gcn"),
    "adam": ("--strategy", "adam", "--encoder", "gin"),
    "hgc-adam-fo": ("--strategy", "hgc-adam-fo", "--encoder", "sage"),
    "rdm": ("--strategy", "rdm", "--encoder", "gin"),
}
MOLECULES, STEPS, CHECKPOINT = 300, 60, 4
WEIGHTS = ("model.safetensors", "optimizer.safetensors")


@pytest.fixture(scope="module")
def url(nci_file, serve, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretraining")
    with open_store(folder / "store", create=True) as opened:
        publish_molecules(opened, "nci", nci_file.read_text().splitlines()[:MOLECULES], folder)
    with serve(folder / "store") as url:
        yield url


@pytest.fixture(scope="module")
def pretrain(url):
    """Return a function that starts the command, with run and cache in `folder`.

    It uses one thread, because the last bits depend on the number of threads.
    """

    def start(folder, strategy, plan=None):
        place = ["--api", url, "--collection", "nci", "--cache-dir", folder / "cache", "--output", folder / "run"]
        steps = ["--batch-size", "8", "--max-steps", str(STEPS), "--checkpoint-steps", str(CHECKPOINT)]
        return subprocess.Popen(
            [COMMAND, "pretrain", *place, *RUNS[strategy], *steps, "--resume"],
            stdout=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(plan.environment if plan else {})},
        )

    return start


def steps_done(folder):
    """Return the number of steps in metrics.jsonl, which a checkpoint updates."""
    metrics = folder / "run" / "metrics.jsonl"
    return metrics.read_bytes().count(b"\n") if metrics.exists() else 0


def records(folder):
    lines = map(json.loads, (folder / "run" / "metrics.jsonl").read_text().splitlines())
    return [{name: value for name, value in line.items() if name != "wait_share"} for line in lines]


@pytest.fixture(scope="module", params=RUNS)
def undisturbed_run(request, pretrain, saboteur, tmp_path_factory):
    """Return an undisturbed run: its strategy, folder and number of file operations."""
    folder = tmp_path_factory.mktemp("whole")
    plan = saboteur.plan(folder / "run")
    with pretrain(folder, request.param, plan) as process:
        pass
    assert process.returncode == 0
    return request.param, folder, len(plan.operations())


@pytest.mark.parametrize("at", ["steps", "file operations"])
def test_killed_run_resumes_to_the_same_weights(at, undisturbed_run, pretrain, saboteur, part, tmp_path):
    strategy, undisturbed, operations = undisturbed_run
    kills = part("pre-training")
    for random in kills.attempts(f"pretraining {strategy} {at}", KILLS):
        steps_before = steps_done(tmp_path)
        plan = None
        if at == "file operations":
            plan = saboteur.plan(tmp_path / "run", at=random.randint(1, operations // KILLS))
        with pretrain(tmp_path, strategy, plan) as process:
            if at == "steps":
                until = steps_before + random.randint(1, STEPS // (KILLS + 1))
                while steps_done(tmp_path) < until and process.poll() is None:
                    time.sleep(0.001)
                process.kill()
        if process.returncode == -signal.SIGKILL:
            kills.landed[f"at {at}"] += 1
        else:
            kills.late += 1
    with pretrain(tmp_path, strategy) as process:
        pass
    assert process.returncode == 0
    last = f"step-{STEPS:09}"
    for name in WEIGHTS:
        if (tmp_path / "run" / last / name).read_bytes() != (undisturbed / "run" / last / name).read_bytes():
            kills.diverging.append(f"{strategy}, killed at {at}: {name}")
    if records(tmp_path) != records(undisturbed):
        kills.diverging.append(f"{strategy}, killed at {at}: metrics.jsonl")
    names, expected = ({path.name for path in (each / "run").iterdir()} for each in (tmp_path, undisturbed))
    kills.diverging += [f"{strategy}, killed at {at}: {name}" for name in names ^ expected]
    assert not kills.diverging
