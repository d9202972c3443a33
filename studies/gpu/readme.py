"""Table of jobs, and the page `studies/gpu/README.md` that shows it.

    python -m studies.gpu.readme

`make docs` writes the page, and `tests/unit/studies` compares it.
"""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import NamedTuple

from studies.gpu.jobs import JOBS, Job
from studies.gpu.results import RESULTS, read_results
from studies.gpu.setting import Piece, Setting

PAGE = Path(__file__).with_name("README.md")

MARK = "<!-- From here on made by `make docs`. -->\n"


class State(NamedTuple):
    """Progress of a job: finished units, all units, cards, and the date of the newest cell."""

    job: Job
    done: int
    of: int
    cards: Sequence[str]
    date: str

    @property
    def missing(self) -> int:
        return self.of - self.done


def state(job: Job, results: Path = RESULTS) -> State:
    """Return the progress of a job, judged by the kept cells."""
    setting = Setting(results, "cuda", 1, 0)
    cells = read_results(job.name, results)
    pieces = job.program().pieces(setting)
    units = {piece.unit for piece in pieces}
    incomplete = {piece.unit for piece in pieces if not _is_done(piece, cells.keys())}
    cards = sorted({str(cell["card"]) for cell in cells.values()})
    dates = sorted(str(cell["date"]) for cell in cells.values())
    return State(job, len(units - incomplete), len(units), cards, dates[-1] if dates else "")


def table(results: Path = RESULTS) -> str:
    """Return the jobs as a Markdown table."""
    rows = ["| job | it gives | minutes on a card, expected | done | card | date |", "|---|---|---|---|---|---|"]
    for job in JOBS.values():
        progress = state(job, results)
        done = f"{progress.done} of {progress.of}"
        cards = ", ".join(progress.cards)
        rows.append(f"| `{job.name}` | {job.gives} | {job.minutes} | {done} | {cards} | {progress.date} |")
    return "".join(f"{row}\n" for row in rows)


def page() -> str:
    """Return the page: its hand-written text up to the mark, followed by the table."""
    text, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return f"{text}{MARK}\n{table()}"


def _is_done(piece: Piece, done: Set[tuple[str, str]]) -> bool:
    return all((piece.unit, part) in done for part in piece.parts)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
