"""Names of the parts of a lake, each of which ends with the run that wrote it."""

import re
from pathlib import Path

_RUN = re.compile(r"-[0-9a-f]{16}(?=\.)")


def plain(name: str) -> str:
    """The name of a part without its run."""
    return _RUN.sub("", name)


def part(lake: Path, name: str) -> Path:
    """The only part with this plain name."""
    stem, _, suffix = name.rpartition(".")
    (found,) = lake.glob(f"{stem}-*.{suffix}")
    return found
