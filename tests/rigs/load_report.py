"""The Markdown report of `tests.rigs.load`."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.machine import Memory
from tests.rigs.mix import SHARES
from tests.rigs.users import Outcome, Record

_CLASSES = ("alone", "beside heavy", *SHARES)
_COUNTED: tuple[Outcome, ...] = ("refused", "abandoned", "unfinished", "failed")


@dataclass
class Phase:
    """One phase of the load test.

    Attributes:
        seconds: Wall clock time.
        server: Processor seconds of the server and its children.
        users: Processor seconds of the users.
        highest: Maximum memory of the server and its children.
        log: The requests.
    """

    seconds: float
    server: float
    users: float
    highest: Memory
    log: list[Record]


@dataclass
class Results:
    """The phases, and the server's memory before all of them and some time after the load."""

    alone: Phase
    load: Phase
    beside: Phase
    start: Memory
    after: Memory


def report(results: Results) -> str:
    return "\n".join(_lines(results))


def _lines(results: Results) -> Iterator[str]:
    yield "Load:"
    yield ""
    yield from _table(results.load)
    yield row("all", results.load.log, results.load.seconds)
    yield ""
    yield "One user who asks for cheap things, alone and beside heavy ones:"
    yield ""
    yield from _table(results.alone, results.beside)
    yield ""
    yield "| | start | highest | after |"
    yield "|---|---|---|---|"
    highest = max(results.load.highest, results.after)
    for field in Memory._fields:
        values = (getattr(each, field) for each in (results.start, highest, results.after))
        yield f"| memory, {field} | {' | '.join(f'{each / 1e6:,.0f} MB' for each in values)} |"
    yield ""
    yield "| processor seconds | wall clock | server | users |"
    yield "|---|---|---|---|"
    for name, phase in (("alone", results.alone), ("load", results.load), ("beside heavy", results.beside)):
        yield f"| {name} | {phase.seconds:.0f} | {phase.server:.1f} | {phase.users:.1f} |"
    failures = Counter(
        record.said for phase in (results.alone, results.load, results.beside) for record in phase.log if record.said
    )
    for said, number in failures.most_common(5):
        yield ""
        yield f"{number} failed: {said}"


def _table(*phases: Phase) -> Iterator[str]:
    """Yield a table with a row for each class of each phase."""
    yield from columns()
    for phase in phases:
        for name in _CLASSES:
            if records := [record for record in phase.log if record.name == name]:
                yield row(name, records, phase.seconds)


def columns() -> Iterator[str]:
    """Yield the head of a table of `row`s."""
    titles = ("answered/s", "median", "90 %", "99 %", "longest", "first byte, 99 %", *_COUNTED)
    yield f"| | {' | '.join(titles)} |"
    yield "|---" * (len(titles) + 1) + "|"


def row(name: str, records: list[Record], seconds: float) -> str:
    """Return a table row with the outcomes and latencies of requests."""
    outcomes = Counter(record.outcome for record in records)
    cells = [f"{outcomes['answered'] / seconds:.1f}"]
    waited = [record for record in records if record.outcome in ("answered", "unfinished")]
    if waited:
        last = np.percentile([record.last for record in waited], [50, 90, 99, 100])
        first = np.percentile([record.first for record in waited], 99)
        cells += [_milliseconds(each) for each in (*last, first)]
    else:
        cells += [""] * 5
    cells += [str(outcomes[each]) for each in _COUNTED]
    return f"| {name} | {' | '.join(cells)} |"


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.{1 if seconds < 0.01 else 0}f} ms"
