"""Loading the next epoch while the current one is used."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Generic, TypeVar

from graphkin.protocol.errors import Closed

T = TypeVar("T")

_FAREWELL = 5.0  # seconds that `close` waits for a thread to end


class Prefetch(Generic[T]):
    """Results of `load(epoch)`, loaded one epoch ahead in a background thread, up to epoch `last`.

    An error in the background is raised by the `get` of that epoch. The next `get` loads the epoch again.
    """

    def __init__(self, load: Callable[[int], T], last: int | None = None) -> None:
        self._load = load
        self._last = last
        self._lock = threading.Lock()
        self._closed = False
        self._futures: dict[int, Future[T]] = {}
        self._threads: list[threading.Thread] = []

    def get(self, epoch: int) -> T:
        """Return the result of an epoch, start to load the next one, and forget all others.

        Raises the errors of `load`.

        Raises:
            Closed: The source was closed before or during the call.
        """
        future = self.begin(epoch)
        try:
            result = future.result()
        finally:
            with self._lock:
                self._futures = {other: each for other, each in self._futures.items() if other == epoch + 1}
        if self._last is None or epoch < self._last:
            self.begin(epoch + 1)
        return result

    def begin(self, epoch: int) -> Future[T]:
        """Start to load an epoch in the background, unless it is loading or loaded.

        Raises:
            Closed: The source is closed.
        """
        with self._lock:
            if self._closed:
                raise Closed("this source of epochs is closed", given=epoch)
            if epoch not in self._futures:
                future = self._futures[epoch] = Future()
                thread = threading.Thread(target=self._run, args=(epoch, future), name="prefetch", daemon=True)
                self._threads = [*(each for each in self._threads if each.is_alive()), thread]
                thread.start()
            return self._futures[epoch]

    def _run(self, epoch: int, future: Future[T]) -> None:
        with suppress(InvalidStateError):  # `close` has already completed the future
            try:
                future.set_result(self._load(epoch))
            except Exception as error:
                future.set_exception(error)

    def close(self) -> None:
        """Make pending calls of `get` raise `Closed`. A `load` that does not end in time is not waited for."""
        with self._lock:
            self._closed = True
            futures, self._futures = self._futures, {}
        for epoch, future in futures.items():
            with suppress(InvalidStateError):  # the load has completed
                future.set_exception(Closed("this source of epochs was closed", given=epoch))
        for thread in self._threads:
            thread.join(_FAREWELL)
