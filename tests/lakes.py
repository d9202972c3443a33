"""Names of the part files of a lake. Each name ends with the identifier of the run that wrote the file."""

import re
from pathlib import Path

_RUN = re.compile(r"-[0-9a-f]{16}(?=\.)")


def plain(name: str) -> str:
    """Return the name of a part file without the identifier of its run."""
    return _RUN.sub("", name)


def part(lake: Path, name: str) -> Path:
    """Return the only part file with this name, which is given without the identifier of a run."""
    stem, _, suffix = name.rpartition(".")
    (path,) = lake.glob(f"{stem}-*.{suffix}")
    return path
