"""Progress on a terminal: a bar with rate and time left. Elsewhere one plain line a stage."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from tqdm import tqdm

from ingest.progress import Progress


class _Bars(Progress):
    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        with tqdm(total=total, desc=name, unit=unit or "it", unit_scale=True, file=sys.stderr, leave=True) as bar:
            yield bar.update


class _Lines(Progress):
    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        begin = time.perf_counter()
        yield lambda _: None
        size = "" if total is None else f" {total:,} {unit}"
        click.echo(f"{name}:{size} {time.perf_counter() - begin:.1f} s", err=True)


def terminal_progress() -> Progress:
    """Bars if standard error is a terminal, else lines."""
    return _Bars() if sys.stderr.isatty() else _Lines()
