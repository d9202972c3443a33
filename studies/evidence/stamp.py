"""Origin of a cell: command, commit, device, date and software versions."""

import platform
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

from studies.cells import Cell, Stopwatch
from studies.gpu.payload import commit
from studies.gpu.setting import card

_PACKAGES = ("torch", "numpy", "scikit-learn", "rdkit")


def stamped(command: str, facts: Cell, measure: Callable[[], Cell], device: str = "cpu") -> Cell:
    """Measure a cell, and return it with these facts, its origin, and its times."""
    stopwatch = Stopwatch()
    values = measure()
    return {**facts, **_origin(command, device), **stopwatch.read(), **values}


def _origin(command: str, device: str) -> Cell:
    return {
        "command": command,
        "commit": checkout(),
        "date": datetime.now(UTC).date().isoformat(),
        "device": processor() if device == "cpu" else card(device),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
    }


@cache
def checkout() -> str:
    """Return the commit of the checkout at the first call, which is that of the running code."""
    return commit()


@cache
def processor() -> str:
    """Return the name of the processor."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
