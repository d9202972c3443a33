"""Who runs the tasks of a command."""

from contextlib import AbstractContextManager
from os import cpu_count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphkin.ingest.runners.base import Runner


def runner(engine: str, workers: int | None, master: str | None, *preload: str) -> "AbstractContextManager[Runner]":
    """Of --engine tasks or spark. preload: modules that tasks need, which processes of this machine import once."""
    if engine == "spark":
        from graphkin.ingest.runners.spark import session

        return session(master)
    from graphkin.ingest.runners.processes import Processes

    return Processes(workers or cpu_count() or 1, *preload)
