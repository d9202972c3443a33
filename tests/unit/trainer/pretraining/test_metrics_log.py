"""metrics.jsonl: the steps that have a line, and files of continued runs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from graphkin.trainer.errors import Diverged
from graphkin.trainer.pretraining.metrics_log import MetricsLog, Report, Update


def updates(steps: int, after: int = 0) -> Iterator[Update]:
    """Yield the steps of a run of this many steps, without its first `after` ones."""
    for step in range(after + 1, steps + 1):
        losses = {"hgc": torch.tensor(1 / step), "loss": torch.tensor(1 / step)}
        yield Update(step, steps, 100, losses, step * 1e-6, 8, 0.25)


def write(path: Path, steps: int, *, keep: int = 0, after: int = 0, until: int | None = None) -> int:
    """Write the steps from `after` + 1 to `until`, and return the length of the file."""
    with MetricsLog(path, keep) as log:
        for update in updates(until or steps, after):
            log.add(update._replace(of=steps))
        return log.flush()


def line(step: int) -> bytes:
    loss = torch.tensor(1 / step).item()
    return json.dumps({"step": step, "hgc": loss, "loss": loss, "lr": step * 1e-6, "wait_share": 0.25}).encode()


def test_short_run_has_a_line_for_every_step(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", 10_000)
    assert (tmp_path / "metrics.jsonl").read_bytes().splitlines() == [line(step) for step in range(1, 10_001)]


def test_long_run_has_lines_for_the_first_steps_every_50th_step_and_the_last(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", 10_177)
    steps = [*range(1, 10_001), 10_001, 10_051, 10_101, 10_151, 10_177]
    assert (tmp_path / "metrics.jsonl").read_bytes().splitlines() == [line(step) for step in steps]


@pytest.mark.parametrize("checkpoint", [9_950, 10_000, 10_001, 10_030, 10_119])
def test_continued_run_writes_the_file_of_an_uninterrupted_one(tmp_path: Path, checkpoint: int) -> None:
    """The run is killed 60 steps after a checkpoint and continues from it. Both files begin with step 9,901."""
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    write(whole, 10_200, after=9_900)
    keep = write(parts, 10_200, after=9_900, until=checkpoint)
    write(parts, 10_200, keep=keep, after=checkpoint, until=checkpoint + 60)
    write(parts, 10_200, keep=keep, after=checkpoint)
    assert parts.read_bytes() == whole.read_bytes()


def test_listeners_get_every_step(tmp_path: Path) -> None:
    reports: list[Report] = []
    with MetricsLog(tmp_path / "metrics.jsonl", 0, reports.append) as log:
        for update in updates(10_060, after=9_900):
            log.add(update)
    steps = [record["step"] for report in reports for record in report.records]
    assert steps == list(range(9_901, 10_061))


def test_loss_of_a_step_without_a_line_is_checked(tmp_path: Path) -> None:
    diverged = Update(10_020, 20_000, 100, {"loss": torch.tensor(torch.nan)}, 1e-3, 8, 0.0)
    with pytest.raises(Diverged, match="not finite"), MetricsLog(tmp_path / "metrics.jsonl", 0) as log:
        log.add(diverged)
    assert (tmp_path / "metrics.jsonl").read_bytes() == b""
