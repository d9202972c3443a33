"""Progress of pre-training: a progress bar on a terminal, and lines of text elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NoReturn

import click
from tqdm.auto import tqdm

from graphkin.cli.output import is_quiet

if TYPE_CHECKING:
    from graphkin.trainer.pretraining.metrics_log import Listener, Report

_BAR_FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
_LINE_INTERVAL = 10.0  # seconds between two lines


@contextmanager
def training_progress() -> "Iterator[Listener]":
    """Yield a listener for the reports of `pretrain`.

    If standard error is a terminal, the listener shows a progress bar. Otherwise it prints a line every ten seconds and
    one at the end. With --quiet it prints nothing.
    """
    if is_quiet():
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        yield _training_lines()
        return
    with ExitStack() as stack:
        bar: tqdm[NoReturn] | None = None

        def update(report: "Report") -> None:
            nonlocal bar
            if bar is None:
                first = int(report.records[0]["step"]) - 1
                bar = stack.enter_context(
                    tqdm(total=report.of, initial=first, desc="training", file=sys.stderr, bar_format=_BAR_FORMAT)
                )
            bar.set_postfix_str(_summary(report), refresh=False)
            bar.update(len(report.records))

        yield update


def _training_lines() -> "Listener":
    next_line_at = 0.0

    def write(report: "Report") -> None:
        nonlocal next_line_at
        step = int(report.records[-1]["step"])
        if time.monotonic() >= next_line_at or step == report.of:
            click.echo(f"step {step:,} of {report.of:,}: {_summary(report)}", err=True)
            next_line_at = time.monotonic() + _LINE_INTERVAL

    return write


def _summary(report: "Report") -> str:
    last = report.records[-1]
    speed = f"{report.embeddings_per_second:,.0f} embeddings/s"
    return f"loss {last['loss']:.4f}, lr {last['lr']:.1e}, {speed}, waiting {last['wait_share']:.1%}"
