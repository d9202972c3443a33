"""What the pipelines of both kinds are tested with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from graphkin.ingest.progress import Progress


@dataclass
class Recorder(Progress):
    """Remembers each stage, its total and how far it got; raises in the stage it shall fail in."""

    failing: str = ""
    stages: list[tuple[str, int | None, str, int]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        done: list[int] = []
        yield done.append
        self.stages.append((name, total, unit, sum(done)))
        if name == self.failing:
            raise KeyboardInterrupt


@pytest.fixture(scope="session")
def recorder() -> type[Recorder]:
    return Recorder
