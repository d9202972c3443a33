"""Finished parts of a long measurement on disk, so that a command that was killed goes on with the next part."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def finished(path: Path, make: Callable[[], Cell]) -> Cell:
    """What the JSON file holds; where there is none yet, what `make` returns, which is written to it whole."""
    if path.exists():
        found: Cell = json.loads(path.read_text())
        return found
    made = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".partial")
    draft.write_text(json.dumps(made, indent=1))
    draft.rename(path)
    print(f"finished {path}", flush=True)
    return made
