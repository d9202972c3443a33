"""The thread that looks for damage in what no request has touched."""

import logging
import threading
from collections.abc import Callable, Sequence
from time import monotonic

from graphkin.api.library import Opened
from graphkin.protocol.errors import StoreError

_LOOK = 0.5  # seconds between looks for generations that are due

_log = logging.getLogger(__name__)


class Scrub:
    """Has every file checked of the generations that are open: soon after they were opened, and again every `period`
    seconds. One thread, one file at a time, which then rests for as long as that took."""

    def __init__(self, in_use: Callable[[], Sequence[Opened]], period: float) -> None:
        self._in_use = in_use
        self._period = period
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scrub", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End it after the file that is being read."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_LOOK):
            for opened in self._in_use():
                due = opened.scrubbed is None or monotonic() - opened.scrubbed >= self._period
                if due and not self._end.is_set():
                    self._check(opened)

    def _check(self, opened: Opened) -> None:
        before = monotonic()
        try:
            for _ in opened.generation.scrub(again=opened.scrubbed is not None):
                if self._end.wait(monotonic() - before):
                    return
                before = monotonic()
        except StoreError as error:  # not of this file: too many are open, say
            _log.warning("checking a generation failed: %s", error)
        opened.scrubbed = monotonic()
