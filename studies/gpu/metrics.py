"""Metrics of a training run, thinned so that they fit into what travels."""

import json
from pathlib import Path

_POINTS = 200


def thinned(path: Path, last: int) -> list[str]:
    """Return some lines of a metrics.jsonl, of steps up to `last`: of every step, every second, fourth, eighth... one,
    so that there are at most 200, and of the last.

    What is left of a run that went on from thinned metrics is what would have been left of all of them.
    """
    every = 1
    while last // every > _POINTS:
        every *= 2
    lines = path.read_text().splitlines() if path.exists() else []
    steps = [json.loads(line)["step"] for line in lines]
    return [
        line for line, step in zip(lines, steps, strict=True) if step <= last and (step % every == 0 or step == last)
    ]
