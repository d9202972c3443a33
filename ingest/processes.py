"""Worker processes that ctrl-C does not reach."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import connection, parent_process
from threading import Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Workers(ProcessPoolExecutor):
    """Worker processes that ignore ctrl-C, which a terminal sends to all processes; their parent handles it.

    A thread that blocks the signal starts them. They inherit the block, and no process stays half started when the main
    thread is interrupted.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._starter = ThreadPoolExecutor(
            1, initializer=signal.pthread_sigmask, initargs=(signal.SIG_BLOCK, {signal.SIGINT})
        )

    def submit(self, task: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> Future[T]:
        return self._starter.submit(super().submit, task, *arguments, **options).result()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._starter.shutdown()
        super().shutdown(wait, cancel_futures=cancel_futures)


def end_with_parent(*more: connection.Connection) -> None:
    """End this worker process as soon as its parent is killed or one of the connections is closed at the other end."""
    Thread(target=_end_with, args=(parent_process(), *more), daemon=True).start()


def _end_with(parent: Any, *more: connection.Connection) -> None:
    connection.wait([parent.sentinel, *more])
    os._exit(1)
