"""Tasks are done in order and once, also by several processes, and a task that fails twice is left out."""

import fcntl
from pathlib import Path

import pytest

from studies.evidence.tasks import Task, run_tasks, summary


def task(folder: Path, name: str, log: list[str], *needs: str, fails: int = 0) -> Task:
    """Return a task that logs its name, and fails as often as `fails`."""

    def make() -> None:
        log.append(name)
        if log.count(name) <= fails:
            raise ValueError(f"{name} went wrong")
        (folder / name).touch()

    return Task(name, folder / name, make, tuple(folder / each for each in needs))


def test_tasks_wait_for_their_needs(tmp_path: Path) -> None:
    log: list[str] = []
    tasks = [task(tmp_path, "scores", log, "encoder"), task(tmp_path, "other", log), task(tmp_path, "encoder", log)]
    run_tasks(lambda: tasks, tmp_path / "locks")
    assert log == ["other", "encoder", "scores"]
    run_tasks(lambda: tasks, tmp_path / "locks")
    assert len(log) == 3
    assert [*summary(tasks)] == ["3 of 3 tasks are done"]


@pytest.mark.parametrize(("fails", "attempts", "is_done"), [(1, 2, True), (2, 2, False)])
def test_failed_task_is_attempted_once_more(tmp_path: Path, fails: int, attempts: int, is_done: bool) -> None:
    log: list[str] = []
    tasks = [task(tmp_path, "encoder", log, fails=fails), task(tmp_path, "scores", log, "encoder")]
    run_tasks(lambda: tasks, tmp_path / "locks")
    assert log.count("encoder") == attempts
    assert (tmp_path / "scores").exists() == is_done
    assert tasks[0].failure.exists() != is_done
    if not is_done:
        assert "encoder went wrong" in tasks[0].failure.read_text()
        assert any(line.startswith("failed: encoder") for line in summary(tasks))
        assert "left, or in another process: scores" in summary(tasks)


def test_task_of_another_process_is_left_to_it(tmp_path: Path) -> None:
    log: list[str] = []
    tasks = [task(tmp_path, "small/one", log), task(tmp_path, "two", log)]
    (tmp_path / "small").mkdir()
    (tmp_path / "locks").mkdir()
    with (tmp_path / "locks" / "small_one.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        run_tasks(lambda: tasks, tmp_path / "locks")
        assert log == ["two"]
    run_tasks(lambda: tasks, tmp_path / "locks")
    assert log == ["two", "small/one"]


def test_interrupted_task_is_not_a_failure(tmp_path: Path) -> None:
    def make() -> None:
        raise KeyboardInterrupt

    stopped = Task("encoder", tmp_path / "encoder", make)
    with pytest.raises(KeyboardInterrupt):
        run_tasks(lambda: [stopped], tmp_path / "locks")
    assert stopped.is_startable
