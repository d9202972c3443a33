"""Worker processes that ignore ctrl-C and end with their parent process."""

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
    """A process pool whose processes ignore ctrl-C.

    A terminal sends ctrl-C to all processes, but only the parent process handles it. The worker processes are started
    by a thread that blocks the signal, and inherit the block. So no process is left half started if the main thread is
    interrupted.
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


def end_with_parent(*connections: connection.Connection) -> None:
    """End this worker process when its parent ends, or when the other end of a connection is closed."""
    Thread(target=_wait_and_exit, args=(parent_process(), *connections), daemon=True).start()


def _wait_and_exit(parent: Any, *connections: connection.Connection) -> None:
    connection.wait([parent.sentinel, *connections])
    os._exit(1)
