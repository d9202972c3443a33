"""Progress bars with rate and remaining time on a terminal or in a notebook, and plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from tqdm.auto import tqdm

from graphkin.ingest.progress import Progress, duration

_DELAY = 2  # seconds after which the library shows a bar: most stages of small data end before


class _Bars(Progress):
    def __init__(self, delay: float = 0) -> None:
        self._delay = delay

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        with tqdm(
            total=total, desc=name, unit=unit or "it", unit_scale=True, file=sys.stderr, leave=True, delay=self._delay
        ) as bar:
            yield bar.update

    def note(self, text: str) -> None:
        tqdm.write(text, file=sys.stderr)


class _Lines(Progress):
    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        begin = time.perf_counter()
        yield lambda _: None
        size = "" if total is None else f" {total:,} {unit}"
        click.echo(f"{name}:{size} {duration(time.perf_counter() - begin)}", err=True)

    def note(self, text: str) -> None:
        click.echo(text, err=True)


def terminal_progress() -> Progress:
    """Return progress bars if standard error is a terminal, else one line per stage."""
    return _Bars() if sys.stderr.isatty() else _Lines()


def library_progress(delay: float = _DELAY) -> Progress:
    """Return progress bars in a notebook or if standard error is a terminal, else no reports.

    Args:
        delay: Seconds after which a bar appears. No bar appears for a shorter stage.
    """
    return _Bars(delay) if _in_notebook() or sys.stderr.isatty() else Progress()


def _in_notebook() -> bool:
    interactive = sys.modules.get("IPython")
    return interactive is not None and hasattr(interactive.get_ipython(), "kernel")
