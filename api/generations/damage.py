"""What is known to be damaged."""

import logging
import threading
from collections.abc import Callable, Sequence
from time import monotonic

from graphkin.api.generations.opened import Opened
from graphkin.protocol.errors import Damage, StoreError
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Store

_LOOK = 0.5  # seconds between looks for generations that are due

_log = logging.getLogger(__name__)


class Damages:
    """By collection and generation, for as long as what is published is what was found damaged: a generation that was
    deleted and ingested again is another. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[Manifest, Damage]] = {}

    def note(self, collection: str, manifest: Manifest, damage: Damage) -> None:
        _log.error(
            "generation %s of %r is damaged: %s: %s", manifest.generation, collection, damage.file, damage.problem
        )
        with self._lock:
            self._known[collection, manifest.generation] = (manifest, damage)

    def of(self, collection: str, generation: str) -> Damage | None:
        """Raises `NotFound` and `Deleted` for a damaged generation that is gone."""
        with self._lock:
            known = self._known.get((collection, generation))
        if known is None:
            return None
        manifest, damage = known
        if self._store.manifest(collection, generation) == manifest:
            return damage
        self.forget(collection, lambda found: found == generation)
        return None

    def forget(self, collection: str, which: Callable[[str], bool]) -> None:
        """Those of a collection whose generation is one of these."""
        with self._lock:
            for key in [key for key in self._known if key[0] == collection and which(key[1])]:
                del self._known[key]


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
