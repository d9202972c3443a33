"""Reports that `python -m studies.report` wrote: the files of a folder that the settings name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from graphkin.protocol.errors import NotFound

_LARGEST = 8 * 2**20  # bytes of a file that is looked into


class Report(BaseModel):
    """What NAME.json says of the report NAME; of what it measured nothing is read."""

    report: Annotated[str, Field(pattern="^[a-z0-9-]{1,50}$")]
    title: str
    generation: str
    command: str
    seeds: list[int]
    notes: list[str]

    def summary(self) -> dict[str, Any]:
        """As `protocol.replies.ReportSummary` has it."""
        return {"name": self.report, **self.model_dump(exclude={"report", "generation"})}


@dataclass(frozen=True)
class Reports:
    """Those in a folder, and in the folders in it; none without a folder. It is read anew each time, so what is written
    while the server runs is found."""

    folder: Path | None

    def of(self, generation: str) -> list[Report]:
        """By name; of several of one name the first by path. Files that are no reports are passed over."""
        found = {each.report: each for _, each in reversed(self._all()) if each.generation == generation}
        return sorted(found.values(), key=lambda each: each.report)

    def picture(self, generation: str, name: str) -> bytes:
        """The SVG of a report. Raises `NotFound`."""
        for path, each in self._all():
            svg = path.with_suffix(".svg")
            if (each.generation, each.report) == (generation, name) and _readable(svg):
                return svg.read_bytes()
        raise NotFound(
            "no such report of this generation",
            given=name,
            expected=", ".join(each.report for each in self.of(generation)) or "none: there are no reports of it",
            hint="`python -m studies.report`, in a clone of the repository, makes reports, and "
            "`graphkin serve --reports DIR` shows those in a folder",
        )

    def _all(self) -> list[tuple[Path, Report]]:
        if self.folder is None:
            return []
        paths = sorted(path for pattern in ("*.json", "*/*.json") for path in self.folder.glob(pattern))
        return [(path, read) for path in paths if (read := _read(path)) is not None]


def _read(path: Path) -> Report | None:
    try:
        return Report.model_validate_json(path.read_bytes()) if _readable(path) else None
    except (OSError, ValidationError):
        return None


def _readable(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= _LARGEST
