"""Tasks that are done in order, each once, by any number of processes that share a disk."""

import fcntl
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ATTEMPTS = 2


@dataclass(frozen=True)
class Task:
    """A task, which is done when its output exists.

    Attributes:
        name: unique name, also that of its lock.
        output: file that `make` writes at its end, in one step.
        make: does the task.
        needs: files that must exist before.
    """

    name: str
    output: Path
    make: Callable[[], object]
    needs: tuple[Path, ...] = ()

    @property
    def failure(self) -> Path:
        """File with the error if all attempts failed. Without it, the task is attempted again."""
        return self.output.with_suffix(".failed")

    @property
    def is_startable(self) -> bool:
        is_open = not self.output.exists() and not self.failure.exists()
        return is_open and all(each.exists() for each in self.needs)


def run_tasks(list_tasks: Callable[[], Sequence[Task]], locks: Path) -> Sequence[Task]:
    """Do the first task that can be started, again and again, until there is none, and return all tasks.

    Tasks are listed again at the end, because results may lead to more. Tasks that another process is doing are left to
    it. After an error a task is attempted once more, and its second error is kept in a file (the plan's rule for failed
    runs).
    """
    locks.mkdir(parents=True, exist_ok=True)
    tasks = list_tasks()
    while True:
        while any(_attempt(task, locks) for task in tasks):
            pass
        known_names = {task.name for task in tasks}
        tasks = list_tasks()
        if known_names.issuperset(task.name for task in tasks):
            return tasks


def _attempt(task: Task, locks: Path) -> bool:
    """Do the task, and return whether there was something to do."""
    if not task.is_startable:
        return False
    with _lock(locks / f"{task.name.replace('/', '_')}.lock") as is_mine:
        if not is_mine or not task.is_startable:
            return False
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                task.make()
            except Exception:
                traceback.print_exc()
                if attempt == _ATTEMPTS:
                    task.failure.parent.mkdir(parents=True, exist_ok=True)
                    task.failure.write_text(traceback.format_exc())
            else:
                break
        return True


@contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Hold an exclusive lock, and yield whether it was free. A killed process loses it."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def summary(tasks: Sequence[Task]) -> Iterator[str]:
    """Yield lines on the state of the tasks: the number of finished ones, failures, and what is left."""
    yield f"{sum(task.output.exists() for task in tasks)} of {len(tasks)} tasks are done"
    yield from (f"failed: {task.name}, see {task.failure}" for task in tasks if task.failure.exists())
    left = [task.name for task in tasks if not task.output.exists() and not task.failure.exists()]
    if left:
        yield f"left, or in another process: {', '.join(left)}"
