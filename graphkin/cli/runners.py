"""Runners for the tasks of a command."""

from contextlib import AbstractContextManager
from os import cpu_count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphkin.ingest.runners.base import Runner


def runner(engine: str, workers: int | None, master: str | None, *preload: str) -> "AbstractContextManager[Runner]":
    """Return the runner of --engine tasks or --engine spark.

    Args:
        engine: `tasks` or `spark`.
        workers: Number of worker processes on this machine. The default is the number of cores.
        master: URL of the Spark master.
        preload: Modules that the fork server imports once for all worker processes of this machine.
    """
    if engine == "spark":
        from graphkin.ingest.runners.spark import session

        return session(master)
    from graphkin.ingest.runners.processes import Processes

    return Processes(workers or cpu_count() or 1, *preload)
