"""The Markdown report of `tests.rigs.soak`."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.machine import Memory
from tests.rigs.load_report import columns, row
from tests.rigs.users import Record

_CLASSES = ("instant", "search", "drawing", "trainer")
_SHOWN = 12  # rows of server states


class State(NamedTuple):
    """Memory and descriptors of the server and its children, at a time in seconds since the start."""

    seconds: float
    memory: Memory
    descriptors: int


@dataclass
class Soak:
    """Results of a soak test.

    Attributes:
        seconds: Duration.
        counted: Seconds at the end whose requests are in `log`.
        server: Processor seconds of the server.
        log: The counted requests.
        states: States of the server.
        writes: Commands of the writer with their seconds.
        failed: Errors of the writer, lost data, and failures before `log` starts.
    """

    seconds: float
    counted: float
    server: float
    log: list[Record]
    states: list[State]
    writes: list[tuple[str, float]]
    failed: list[str]


def failures(soak: Soak) -> list[str]:
    """Return all failures."""
    return [*soak.failed, *failed_of(soak.log)]


def failed_of(log: list[Record]) -> list[str]:
    return [record.said or record.kind for record in log if record.outcome == "failed"]


def report(soak: Soak) -> str:
    return "\n".join(_lines(soak))


def _lines(soak: Soak) -> Iterator[str]:
    minutes, last = soak.seconds / 60, soak.counted / 60
    yield f"{minutes:.0f} minutes, of which the last {last:.0f} are counted; the server took {soak.server:.0f} s."
    yield ""
    yield from columns()
    for name in _CLASSES:
        if records := [record for record in soak.log if record.name == name]:
            yield row(name, records, soak.counted)
    yield ""
    yield "| command | times | median | longest |"
    yield "|---|---|---|---|"
    for name in dict.fromkeys(name for name, _ in soak.writes):
        taken = [seconds for each, seconds in soak.writes if each == name]
        yield f"| {name} | {len(taken)} | {np.median(taken):.1f} s | {max(taken):.1f} s |"
    yield ""
    yield "| minute | resident | anonymous | descriptors |"
    yield "|---|---|---|---|"
    for at in np.unique(np.linspace(0, len(soak.states) - 1, _SHOWN).round().astype(int)):
        seconds, memory, descriptors = soak.states[at]
        sizes = f"{memory.resident / 1e6:,.0f} MB | {memory.anonymous / 1e6:,.0f} MB"
        yield f"| {seconds / 60:.1f} | {sizes} | {descriptors} |"
    yield ""
    yield _growth(soak.states, soak.seconds - soak.counted)
    counted = Counter(failures(soak))
    yield f"Failed: {counted.total()}."
    yield from (f"- {number} times: {said}" for said, number in counted.most_common(5))


def _growth(states: list[State], settled: float) -> str:
    """Compare the maxima before and in the last third, ignoring the first `settled` seconds."""
    last = 2 / 3 * states[-1].seconds
    middle = [each for each in states if settled <= each.seconds < last]
    late = [each for each in states if each.seconds >= last]
    memory = [max(each.memory.anonymous for each in part) for part in (middle, late)]
    descriptors = [max(each.descriptors for each in part) for part in (middle, late)]
    return (
        f"Highest before the last third, and in it: {memory[0] / 1e6:,.0f} and {memory[1] / 1e6:,.0f} MB that are no "
        f"file's, {descriptors[0]} and {descriptors[1]} descriptors."
    )
