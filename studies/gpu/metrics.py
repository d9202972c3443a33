"""Metrics of a training run, thinned to limit the size of returned files."""

import json
from pathlib import Path

_POINTS = 200


def thin_metrics(path: Path, last: int) -> list[str]:
    """Return at most 200 lines of a metrics.jsonl for steps up to `last`, and the line of `last`.

    The lines are those of every step, every second, every fourth, ... step. Continuing a run from thinned metrics
    leaves the same lines as thinning all of its metrics.
    """
    interval = 1
    while last // interval > _POINTS:
        interval *= 2
    lines = path.read_text().splitlines() if path.exists() else []
    steps = [json.loads(line)["step"] for line in lines]
    return [
        line for line, step in zip(lines, steps, strict=True) if step <= last and (step % interval == 0 or step == last)
    ]
