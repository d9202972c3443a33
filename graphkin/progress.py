"""Progress on a terminal or in a notebook: a bar with rate and time left. Elsewhere one plain line a stage, or none."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NoReturn

import click
from tqdm.auto import tqdm

from graphkin.ingest.progress import Progress

if TYPE_CHECKING:
    from graphkin.trainer.pretraining.metrics_log import Listener, Report

_TRAINING = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
_LINE_EVERY = 10.0  # seconds


class _Bars(Progress):
    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        with tqdm(total=total, desc=name, unit=unit or "it", unit_scale=True, file=sys.stderr, leave=True) as bar:
            yield bar.update

    def note(self, text: str) -> None:
        tqdm.write(text, file=sys.stderr)


class _Lines(Progress):
    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        begin = time.perf_counter()
        yield lambda _: None
        size = "" if total is None else f" {total:,} {unit}"
        click.echo(f"{name}:{size} {time.perf_counter() - begin:.1f} s", err=True)

    def note(self, text: str) -> None:
        click.echo(text, err=True)


def terminal_progress() -> Progress:
    """Bars if standard error is a terminal, else lines."""
    return _Bars() if sys.stderr.isatty() else _Lines()


def library_progress() -> Progress:
    """Bars in a notebook or if standard error is a terminal; programs are told nothing."""
    return _Bars() if _in_notebook() or sys.stderr.isatty() else Progress()


def _in_notebook() -> bool:
    interactive = sys.modules.get("IPython")
    return interactive is not None and hasattr(interactive.get_ipython(), "kernel")


@contextmanager
def training_progress() -> "Iterator[Listener]":
    """What `pretrain` reports: a bar if standard error is a terminal, else a line every ten seconds and at the end."""
    if not sys.stderr.isatty():
        yield _training_lines()
        return
    with ExitStack() as stack:
        bar: tqdm[NoReturn] | None = None

        def update(report: "Report") -> None:
            nonlocal bar
            if bar is None:
                begun = int(report.records[0]["step"]) - 1
                bar = stack.enter_context(
                    tqdm(total=report.of, initial=begun, desc="training", file=sys.stderr, bar_format=_TRAINING)
                )
            bar.set_postfix_str(_summary(report), refresh=False)
            bar.update(len(report.records))

        yield update


def _training_lines() -> "Listener":
    due = 0.0

    def write(report: "Report") -> None:
        nonlocal due
        step = int(report.records[-1]["step"])
        if time.monotonic() >= due or step == report.of:
            click.echo(f"step {step:,} of {report.of:,}: {_summary(report)}", err=True)
            due = time.monotonic() + _LINE_EVERY

    return write


def _summary(report: "Report") -> str:
    last = report.records[-1]
    speed = f"{report.embeddings_per_second:,.0f} embeddings/s"
    return f"loss {last['loss']:.4f}, lr {last['lr']:.1e}, {speed}, waiting {last['wait_share']:.1%}"
