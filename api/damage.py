"""What is known to be damaged."""

import logging
import threading
from collections.abc import Callable

from graphkin.protocol.errors import Damage
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Store

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
