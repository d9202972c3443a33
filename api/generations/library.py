"""The generations a server holds open, the most recently used of those that the store lists."""

import threading
from contextlib import suppress

from cachetools import LRUCache, TTLCache

from graphkin.api.generations.damage import Damages
from graphkin.api.generations.opened import Opened, OpenPorts
from graphkin.protocol.errors import Damage, NotFound, StoreDamaged
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Collection, Generation, Store
from graphkin.store.sampling.base import Engine

_OPEN = 8  # generations
_MANIFESTS = 1024
_FRESH = 0.4  # seconds for which the catalogue is believed; a publish is seen within a second


class Library:
    """Generations by collection and id, the most recently used of them open. Safe to share between threads."""

    def __init__(self, store: Store, engine: Engine, open_ports: OpenPorts) -> None:
        self.store = store
        self.engine = engine
        self._open_ports = open_ports
        self._lock = threading.Lock()
        self._listed: TTLCache[str, Collection] = TTLCache(1024, _FRESH)
        self._opened: LRUCache[tuple[str, str], Opened] = LRUCache(_OPEN)
        self._manifests: LRUCache[tuple[str, str], Manifest] = LRUCache(_MANIFESTS)
        self._damages = Damages(store)

    def at_hand(self, collection: str, generation: str | None) -> Opened | None:
        """As `get`, but only what needs neither the store nor waiting; else None."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            listed = self._listed.get(collection)
            opened = None if listed is None else self._opened.get((collection, _named(generation, listed)))
            return None if opened is None or opened.generation.damage is not None else opened
        finally:
            self._lock.release()

    def get(self, collection: str, generation: str | None = None) -> Opened:
        """The current generation or the one named. Raises `NotFound`, `Deleted` for one that was deleted, and
        `StoreDamaged` for one that is known to be damaged, whoever found out.

        The store is asked without holding the lock: where it is away, nobody waits for another's answer.
        """
        key = (collection, _named(generation, self.listed(collection, generation)))
        damage = self.damage(*key)
        if damage is not None:
            raise StoreDamaged(damage)
        with self._lock:
            opened = self._opened.get(key)
        if opened is None:
            opened = Opened(self._open(*key), self.engine, self._open_ports)
            with self._lock:
                opened = self._opened.setdefault(key, opened)
        return opened

    def _open(self, collection: str, generation: str) -> Generation:
        try:
            return self.store.open(collection, generation)
        except StoreDamaged as error:
            if error.damage.generation is not None:  # else it is the catalogue
                self._damages.note(collection, self.store.manifest(collection, generation), error.damage)
            raise

    def damage(self, collection: str, generation: str) -> Damage | None:
        """What is known to be wrong with a generation. Raises `NotFound` and `Deleted` if it is gone meanwhile."""
        for opened in self.in_use():
            found = opened.generation.damage
            if found is not None:
                self._let_go(opened, found)
        return self._damages.of(collection, generation)

    def _let_go(self, opened: Opened, damage: Damage) -> None:
        """Close what is damaged, once nobody reads it, and remember that it is."""
        manifest, key = opened.generation.manifest, (opened.generation.collection, opened.generation.id)
        with self._lock:
            held = self._opened.pop(key, None)
        if held is not None:
            self._damages.note(key[0], manifest, damage)

    def in_use(self) -> list[Opened]:
        """The generations that are open now."""
        with self._lock:
            return list(self._opened.values())

    def listed(self, collection: str, generation: str | None = None) -> Collection:
        """What the catalogue says of a collection, as `get` believes it.

        Raises as `get` does; `generation` only tells `Deleted` from `NotFound` where the collection is gone.
        """
        with self._lock:
            listed = self._listed.get(collection)
        return self._list(collection, generation) if listed is None else listed

    def require_ready(self) -> None:
        """Raises `StoreError` unless the store answers, and positives of the generations in use come at once."""
        self.store.collections()
        self.store.require_engine(self.engine)
        for opened in self.in_use():
            if opened.generation.damage is None:
                opened.require_ready()

    def damages(self) -> list[Damage]:
        """The known damage of all generations. Raises `StoreError` where the store does not answer."""
        known = []
        for listed in self.store.collections():
            for generation in listed.generations:
                with suppress(NotFound):  # deleted meanwhile
                    known.append(self.damage(listed.name, generation))
        return [damage for damage in known if damage is not None]

    def overview(self) -> list[tuple[Collection, Manifest, Damage | None]]:
        """Every collection with the manifest of its current generation, and what is known to be wrong with that."""
        found = []
        for listed in self.store.collections():
            self._forget(listed.name, listed.generations)
            with suppress(NotFound):  # deleted meanwhile
                manifest = self._manifest(listed.name, listed.current)
                found.append((listed, manifest, self.damage(listed.name, listed.current)))
        return found

    def overview_of(self, collection: str, generation: str | None = None) -> tuple[Collection, Manifest, Damage | None]:
        """As `overview`, of one generation, also where it is damaged. Raises `NotFound` and `Deleted`."""
        listed = self.listed(collection, generation)
        named = _named(generation, listed)
        if named not in listed.generations:
            self.store.manifest(collection, named)  # says which
        return listed, self._manifest(collection, named), self.damage(collection, named)

    def _manifest(self, collection: str, generation: str) -> Manifest:
        key = (collection, generation)
        with self._lock:
            manifest = self._manifests.get(key)
        if manifest is None:
            manifest = self.store.manifest(*key)
            with self._lock:
                self._manifests[key] = manifest
        return manifest

    def _list(self, collection: str, generation: str | None) -> Collection:
        """Read the catalogue again, and let go of what it no longer lists."""
        try:
            listed = self.store.collection(collection)
        except NotFound:
            self._forget(collection, ())
            if generation is not None:
                self.store.manifest(collection, generation)  # says `Deleted` where that is so
            raise
        self._forget(collection, listed.generations)
        with self._lock:
            self._listed[collection] = listed
        return listed

    def _forget(self, collection: str, living: tuple[str, ...]) -> None:
        self._damages.forget(collection, lambda generation: generation not in living)
        with self._lock:
            for held in (self._opened, self._manifests):
                for key in [key for key in held if key[0] == collection and key[1] not in living]:
                    del held[key]

    def close(self) -> None:
        """Let go of everything; what requests still hold closes when they end."""
        with self._lock:
            self._opened.clear()


def _named(generation: str | None, listed: Collection) -> str:
    return listed.current if generation is None else generation
