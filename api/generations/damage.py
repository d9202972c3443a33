"""Known damage of generations, and the background check of their files."""

import logging
import threading
from collections.abc import Callable, Sequence
from time import monotonic

from graphkin.api.generations.open_generation import OpenGeneration
from graphkin.protocol.errors import Damage, StoreError
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Store

_INTERVAL = 0.5  # seconds between looks for generations whose check is due

_log = logging.getLogger(__name__)


class DamageRegistry:
    """Known damage by collection and generation. Thread-safe.

    An entry is valid only as long as the manifest stays the same. A generation that was deleted and ingested again is
    considered intact.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, str], tuple[Manifest, Damage]] = {}

    def add(self, collection: str, manifest: Manifest, damage: Damage) -> None:
        _log.error(
            "generation %s of %r is damaged: %s: %s", manifest.generation, collection, damage.file, damage.problem
        )
        with self._lock:
            self._entries[collection, manifest.generation] = (manifest, damage)

    def get(self, collection: str, generation: str) -> Damage | None:
        """Return the damage of a generation; None if there is no known damage.

        Raises:
            NotFound: The damaged generation no longer exists.
            Deleted: The damaged generation was deleted.
        """
        with self._lock:
            entry = self._entries.get((collection, generation))
        if entry is None:
            return None
        manifest, damage = entry
        if self._store.manifest(collection, generation) == manifest:
            return damage
        self.forget(collection, lambda other: other == generation)
        return None

    def forget(self, collection: str, matches: Callable[[str], bool]) -> None:
        """Remove the entries of a collection whose generation id satisfies `matches`."""
        with self._lock:
            for key in [key for key in self._entries if key[0] == collection and matches(key[1])]:
                del self._entries[key]


class Scrubber:
    """Background thread that checks the files of open generations.

    A generation is checked soon after it is opened, and then every `period` seconds. The thread reads one file at a
    time and pauses after each file for as long as the check took.
    """

    def __init__(self, open_generations: Callable[[], Sequence[OpenGeneration]], period: float) -> None:
        self._open_generations = open_generations
        self._period = period
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scrub", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop after the current file, and wait for the thread to end."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL):
            for open_generation in self._open_generations():
                last = open_generation.last_scrub
                is_due = last is None or monotonic() - last >= self._period
                if is_due and not self._stop.is_set():
                    self._check(open_generation)

    def _check(self, open_generation: OpenGeneration) -> None:
        begin = monotonic()
        try:
            for _ in open_generation.generation.scrub(again=open_generation.last_scrub is not None):
                if self._stop.wait(monotonic() - begin):
                    return
                begin = monotonic()
        except StoreError as error:  # This is no damage. For example, too many files are open.
            _log.warning("checking a generation failed: %s", error)
        open_generation.last_scrub = monotonic()
