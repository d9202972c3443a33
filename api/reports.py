"""Reports of `python -m studies.report`, read from the folder in the settings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from graphkin.protocol.errors import NotFound

_MAX_BYTES = 8 * 2**20  # bytes; larger files are ignored


class Report(BaseModel):
    """Fields of the file NAME.json of a report, except its measurements."""

    report: Annotated[str, Field(pattern="^[a-z0-9-]{1,50}$")]
    title: str
    generation: str
    command: str
    seeds: list[int]
    notes: list[str]

    def summary(self) -> dict[str, Any]:
        """Return the fields of a `protocol.replies.ReportSummary`."""
        return {"name": self.report, **self.model_dump(exclude={"report", "generation"})}


@dataclass(frozen=True)
class Reports:
    """Reports in a folder and its direct subfolders.

    Every call reads the folder, so reports that are written while the server runs become visible.

    Attributes:
        folder: The folder; None for no reports.
    """

    folder: Path | None

    def for_generation(self, generation: str) -> list[Report]:
        """Return the reports of a generation, sorted by name.

        If several reports have the same name, only the first by path is returned. Files that are not reports are
        ignored.
        """
        reports = {each.report: each for _, each in reversed(self._read_all()) if each.generation == generation}
        return sorted(reports.values(), key=lambda each: each.report)

    def read_svg(self, generation: str, name: str) -> bytes:
        """Return the charts of a report as SVG.

        Raises:
            NotFound: The generation has no such report.
        """
        for path, each in self._read_all():
            svg = path.with_suffix(".svg")
            if (each.generation, each.report) == (generation, name) and _is_readable(svg):
                return svg.read_bytes()
        raise NotFound(
            "this generation has no report of this name",
            given=name,
            expected=", ".join(each.report for each in self.for_generation(generation))
            or "no name: the generation has no reports",
            hint="`python -m studies.report`, in a clone of the repository, writes reports; `graphkin "
            "serve --reports DIR` shows the reports in a folder",
        )

    def _read_all(self) -> list[tuple[Path, Report]]:
        if self.folder is None:
            return []
        paths = sorted(path for pattern in ("*.json", "*/*.json") for path in self.folder.glob(pattern))
        return [(path, report) for path in paths if (report := _read_report(path)) is not None]


def _read_report(path: Path) -> Report | None:
    try:
        return Report.model_validate_json(path.read_bytes()) if _is_readable(path) else None
    except (OSError, ValidationError):
        return None


def _is_readable(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= _MAX_BYTES
