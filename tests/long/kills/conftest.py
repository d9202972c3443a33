"""The kill campaign: 200 SIGKILLs at seeded moments, with a check for lost, wrong and different data after each.

KILLS_SEED=N (default 0) selects another campaign, and `-k` a part of it: every test is a block of a few kills with its
own random numbers. The table at the end counts kills of living processes. A late kill is repeated and does not count.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from graphkin.protocol.errors import NotFound
from tests.faults.conftest import State, baseline, forks, graphkin, molecule_files, read_back, saboteur
from tests.integration.conftest import serve_apart

__all__ = ["baseline", "forks", "graphkin", "molecule_files", "read_back", "saboteur", "serve_apart"]

SEED = os.environ.get("KILLS_SEED", "0")


@dataclass
class Part:
    """Results of one part of the campaign.

    Attributes:
        landed: Kills by stage.
        late: Kills of processes that had ended.
        lost: Published generations that were missing, damaged or different.
        wrong: Edges that were missing, superfluous or of another similarity.
        diverging: Results after the restart that differ from those of an undisturbed process.
    """

    landed: Counter[str] = field(default_factory=Counter)
    late: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    diverging: list[str] = field(default_factory=list)

    def attempts(self, seed: str, kills: int) -> Iterator[Random]:
        """Yield random numbers for each attempt until `kills` have landed, then check that no problem was recorded."""
        until = self.landed.total() + kills
        for attempt in range(3 * kills):
            yield Random(f"{SEED} {seed} {attempt}")
            if self.landed.total() == until:
                break
        assert self.landed.total() == until, f"{self.late} kills came too late"
        assert not (self.lost + self.wrong + self.diverging)

    @property
    def counts(self) -> tuple[int, ...]:
        return (self.landed.total(), self.late, len(self.lost), len(self.wrong), len(self.diverging))

    def row(self, name: str) -> str:
        stages = ", ".join(f"{stage} {number}" for stage, number in self.landed.items())
        return f"| {name} | {' | '.join(map(str, self.counts))} | {stages} |"


_PARTS = pytest.StashKey[dict[str, Part]]()


@pytest.fixture(scope="session")
def part(pytestconfig: pytest.Config) -> Callable[[str], Part]:
    """Return a function that returns the part of a name."""
    parts = pytestconfig.stash.setdefault(_PARTS, {})
    return lambda name: parts.setdefault(name, Part())


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    parts = config.stash.get(_PARTS, {})
    if not parts:
        return
    terminalreporter.section(f"kills, seed {SEED}")
    columns = ("", "kills", "too late", "generations lost", "wrong edges", "diverging", "stages")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    lines += [each.row(name) for name, each in parts.items()]
    sums = (sum(counts) for counts in zip(*(each.counts for each in parts.values()), strict=True))
    terminalreporter.write_line("\n".join([*lines, f"| all | {' | '.join(map(str, sums))} | |"]))


@pytest.fixture(scope="session")
def published(read_back: Callable[[Path], State | None]) -> Callable[[Path], State | None]:
    """Return `read_back`, extended to return None if there is no store yet."""

    def read(folder: Path) -> State | None:
        try:
            return read_back(folder)
        except NotFound:
            return None

    return read


@pytest.fixture(scope="session")
def keep(published: Callable[[Path], State | None]) -> Callable[..., None]:
    """Return `keep(part, store, expected, where)`, which checks the published state of a store.

    The state must equal `expected`, or one of its elements if it is a tuple. Missing, damaged and different data is
    recorded as lost.
    """

    def check(part: Part, store: Path, expected: State | tuple[State | None, ...] | None, where: str) -> None:
        try:
            state = published(store)
        except Exception as error:  # a damaged store may raise any exception
            part.lost.append(f"{where}: {error!r}")
            return
        if state not in (expected if isinstance(expected, tuple) else (expected,)):
            part.lost.append(f"{where}: {state and state.generations}")

    return check


@pytest.fixture(scope="session")
def tree() -> Callable[[Path], set[str]]:
    """Return a function that lists the contents of a folder by relative path."""
    return lambda folder: {str(path.relative_to(folder)) for path in folder.rglob("*")}
