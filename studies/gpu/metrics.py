"""Metrics of a training run, thinned to limit the size of returned files."""

import json
from pathlib import Path

_POINTS = 200


def thin_metrics(path: Path, last: int) -> list[str]:
    """Return at most 200 lines of a metrics.jsonl for steps up to `last`, and the line of `last`.

    The lines are those of every step, every second, every fourth, ... step, or of the next step that has a line.
    Continuing a run from thinned metrics leaves the same lines as thinning all of its metrics.
    """
    interval = 1
    while last // interval > _POINTS:
        interval *= 2
    lines = path.read_text().splitlines() if path.exists() else []
    kept_lines, intervals = [], 0
    for line in lines:
        step = json.loads(line)["step"]
        if step <= last and (step // interval > intervals or step == last):
            kept_lines.append(line)
            intervals = step // interval
    return kept_lines
