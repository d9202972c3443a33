"""Runners for the tasks of a command: processes on this machine, or Spark."""

from contextlib import AbstractContextManager
from os import cpu_count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphkin.ingest.runners.base import Runner


def open_runner(
    engine: str, workers: int | None, master: str | None, *preload: str
) -> "AbstractContextManager[Runner]":
    """Return the runner for --engine tasks or --engine spark.

    Args:
        engine: "tasks" or "spark".
        workers: Number of worker processes of the engine "tasks". The default is the number of cores.
        master: URL of the Spark master, for the engine "spark".
        *preload: Modules that the worker processes of the engine "tasks" share: they are imported once.
    """
    if engine == "spark":
        from graphkin.ingest.runners.spark import session

        return session(master)
    from graphkin.ingest.runners.processes import Processes

    return Processes(workers or cpu_count() or 1, *preload)
