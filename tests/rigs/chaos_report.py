"""The Markdown report of `tests.rigs.chaos`."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Round:
    """One fault and its consequences.

    Attributes:
        fault: Name of the fault.
        met: Whether the fault hit its target; a command may have ended before it was killed.
        recovered: Seconds from the fault, or from the removal of its cause, until everything works; None if it does
            not.
        asked: Number of responses that were compared with the expected ones.
        lost: Acknowledged data that is missing.
        wrong: Responses, data and weights that differ from those without the fault.
        failed: Requests that got neither a correct response nor a request to retry.
    """

    fault: str
    met: bool = True
    recovered: float | None = None
    asked: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        late = [] if self.recovered is not None else ["it did not recover"]
        return [f"{self.fault}: {each}" for each in (*late, *self.lost, *self.wrong, *self.failed)]


@dataclass
class Chaos:
    """A campaign. `how` lists faults that this machine allows only in one way, or not at all."""

    seed: int
    seconds: float
    how: list[str]
    rounds: list[Round]

    @property
    def problems(self) -> list[str]:
        return [problem for each in self.rounds for problem in each.problems]


def report(chaos: Chaos) -> str:
    return "\n".join(_lines(chaos))


def _lines(chaos: Chaos) -> Iterator[str]:
    yield f"{len(chaos.rounds)} rounds of seed {chaos.seed} in {chaos.seconds:,.0f} s."
    yield from chaos.how
    yield ""
    yield "| fault | rounds | met it | recovered, median | longest | replies compared | lost | wrong | failed |"
    yield "|---|---|---|---|---|---|---|---|---|"
    faults = {each.fault: [] for each in chaos.rounds} | {"all": chaos.rounds}  # type: dict[str, list[Round]]
    for each in chaos.rounds:
        faults[each.fault].append(each)
    for fault, rounds in faults.items():
        yield _row(fault, rounds)
    yield ""
    counted = Counter(chaos.problems)
    yield f"Problems: {counted.total()}."
    yield from (f"- {number} times: {problem}" for problem, number in counted.most_common(20))


def _row(fault: str, rounds: list[Round]) -> str:
    seconds = [each.recovered for each in rounds if each.recovered is not None]
    times = [f"{np.median(seconds):.1f} s", f"{max(seconds):.1f} s"] if seconds else ["", ""]
    counts = [sum(len(getattr(each, what)) for each in rounds) for what in ("lost", "wrong", "failed")]
    asked = sum(each.asked for each in rounds)
    met = sum(each.met for each in rounds)
    return f"| {fault} | {len(rounds)} | {met} | {' | '.join(times)} | {asked:,} | {' | '.join(map(str, counts))} |"
