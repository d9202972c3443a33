"""Background loading of the next epoch while the current epoch is used."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Generic, TypeVar

from graphkin.protocol.errors import Closed

T = TypeVar("T")

_JOIN_SECONDS = 5.0  # maximum time that `close` waits for a thread to end


class Prefetch(Generic[T]):
    """Loads epochs in background threads, one epoch ahead.

    An error in the background is raised by `get` for the same epoch. The next `get` loads the epoch again.

    Args:
        load: Returns the result for an epoch.
        last: Last epoch to load ahead; None for no limit.
    """

    def __init__(self, load: Callable[[int], T], last: int | None = None) -> None:
        self._load = load
        self._last = last
        self._lock = threading.Lock()
        self._closed = False
        self._futures: dict[int, Future[T]] = {}
        self._threads: list[threading.Thread] = []

    def get(self, epoch: int) -> T:
        """Return the result for an epoch, start to load the next epoch, and drop the results of all other epochs.

        Raises:
            Closed: The source was closed before or during the call.
            Exception: The error of `load`.
        """
        future = self.start(epoch)
        try:
            result = future.result()
        finally:
            with self._lock:
                self._futures = {other: each for other, each in self._futures.items() if other == epoch + 1}
        if self._last is None or epoch < self._last:
            self.start(epoch + 1)
        return result

    def start(self, epoch: int) -> Future[T]:
        """Start to load an epoch in the background, unless it is already loading or loaded.

        Raises:
            Closed: The source is closed.
        """
        with self._lock:
            if self._closed:
                raise Closed("this source of epochs is closed", given=epoch, hint="open the source of epochs again")
            if epoch not in self._futures:
                future = self._futures[epoch] = Future()
                thread = threading.Thread(target=self._run, args=(epoch, future), name="prefetch", daemon=True)
                self._threads = [*(each for each in self._threads if each.is_alive()), thread]
                thread.start()
            return self._futures[epoch]

    def _run(self, epoch: int, future: Future[T]) -> None:
        with suppress(InvalidStateError):  # `close` may have completed the future.
            try:
                future.set_result(self._load(epoch))
            except Exception as error:
                future.set_exception(error)

    def close(self) -> None:
        """Make pending calls of `get` raise `Closed`, and wait at most `_JOIN_SECONDS` for each thread to end."""
        with self._lock:
            self._closed = True
            futures, self._futures = self._futures, {}
        for epoch, future in futures.items():
            with suppress(InvalidStateError):  # The thread may have completed the future.
                future.set_exception(
                    Closed("this source of epochs was closed", given=epoch, hint="open the source of epochs again")
                )
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
