"""Loading the next epoch while the current one is used."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Generic, TypeVar

from graphkin.protocol.errors import Closed

T = TypeVar("T")

_FAREWELL = 5.0  # seconds that `close` gives a thread to end


class Prefetch(Generic[T]):
    """What `load(epoch)` returns, loaded one epoch ahead in a background thread, up to epoch `last`.

    What goes wrong in the background is raised by the `get` that asks for that epoch; asked again, it is tried again.
    """

    def __init__(self, load: Callable[[int], T], last: int | None = None) -> None:
        self._load = load
        self._last = last
        self._lock = threading.Lock()
        self._closed = False
        self._futures: dict[int, Future[T]] = {}
        self._threads: list[threading.Thread] = []

    def get(self, epoch: int) -> T:
        """What was loaded, or will be; then the epoch after it is begun, and all others are forgotten.

        Raises what `load` raises, and `Closed` once this is closed, even to who is waiting already.
        """
        future = self.begin(epoch)
        try:
            loaded = future.result()
        finally:
            with self._lock:
                self._futures = {other: each for other, each in self._futures.items() if other == epoch + 1}
        if self._last is None or epoch < self._last:
            self.begin(epoch + 1)
        return loaded

    def begin(self, epoch: int) -> Future[T]:
        """Load it in the background, unless that has been begun. Raises `Closed`."""
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
        with suppress(InvalidStateError):  # it was closed meanwhile
            try:
                future.set_result(self._load(epoch))
            except Exception as error:
                future.set_exception(error)

    def close(self) -> None:
        """Whoever waits gets `Closed`. Does not wait for a `load` that cannot be ended."""
        with self._lock:
            self._closed = True
            futures, self._futures = self._futures, {}
        for epoch, future in futures.items():
            with suppress(InvalidStateError):  # it is done
                future.set_exception(Closed("this source of epochs was closed", given=epoch))
        for thread in self._threads:
            thread.join(_FAREWELL)
