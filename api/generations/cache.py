"""Cache of open generations and of the store's catalog."""

import threading
from contextlib import suppress

from cachetools import LRUCache, TTLCache

from graphkin.api.generations.damage import Damages
from graphkin.api.generations.open_generation import Opened, OpenPorts
from graphkin.protocol.errors import Damage, NotFound, StoreDamaged
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Collection, Generation, Store
from graphkin.store.sampling.base import Engine

_OPEN = 8  # open generations
_MANIFESTS = 1024
_FRESH = 0.4  # seconds for which a catalog entry is current; a publish is visible within a second


class Library:
    """LRU cache of open generations by collection and id. Thread-safe."""

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
        """Return a cached generation without waiting or asking the store, None where that is not possible."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            listed = self._listed.get(collection)
            opened = None if listed is None else self._opened.get((collection, _named(generation, listed)))
            return None if opened is None or opened.generation.damage is not None else opened
        finally:
            self._lock.release()

    def get(self, collection: str, generation: str | None = None) -> Opened:
        """Return a generation of a collection, opened if it is not cached.

        The store is read without holding the lock, so a slow store does not block requests for cached generations.

        Args:
            collection: Name of the collection.
            generation: Id of the generation; None for the current one.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: The generation was deleted.
            StoreDamaged: The generation is known to be damaged.
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
            if error.damage.generation is not None:  # Otherwise the catalog is damaged.
                self._damages.note(collection, self.store.manifest(collection, generation), error.damage)
            raise

    def damage(self, collection: str, generation: str) -> Damage | None:
        """Return the known damage of a generation, None if none is known.

        Raises:
            NotFound: The damaged generation no longer exists.
            Deleted: The damaged generation was deleted.
        """
        for opened in self.in_use():
            found = opened.generation.damage
            if found is not None:
                self._let_go(opened, found)
        return self._damages.of(collection, generation)

    def _let_go(self, opened: Opened, damage: Damage) -> None:
        """Remove a damaged generation from the cache and record its damage. It closes when the last request is done."""
        manifest, key = opened.generation.manifest, (opened.generation.collection, opened.generation.id)
        with self._lock:
            held = self._opened.pop(key, None)
        if held is not None:
            self._damages.note(key[0], manifest, damage)

    def in_use(self) -> list[Opened]:
        """Return the generations that are open now."""
        with self._lock:
            return list(self._opened.values())

    def listed(self, collection: str, generation: str | None = None) -> Collection:
        """Return the catalog entry of a collection, cached for `_FRESH` seconds.

        Args:
            collection: Name of the collection.
            generation: Id used only to distinguish `Deleted` from `NotFound` if the collection no longer exists.

        Raises:
            NotFound: There is no such collection.
            Deleted: The generation was deleted.
        """
        with self._lock:
            listed = self._listed.get(collection)
        return self._list(collection, generation) if listed is None else listed

    def require_ready(self) -> None:
        """Check that the store responds and that the samplers of open generations are ready.

        Raises:
            StoreError: The store does not respond, or a sampler is still being prepared.
        """
        self.store.collections()
        self.store.require_engine(self.engine)
        for opened in self.in_use():
            if opened.generation.damage is None:
                opened.require_ready()

    def damages(self) -> list[Damage]:
        """Return the known damage of all generations.

        Raises:
            StoreError: The store does not respond.
        """
        known = []
        for listed in self.store.collections():
            for generation in listed.generations:
                with suppress(NotFound):  # It was deleted meanwhile.
                    known.append(self.damage(listed.name, generation))
        return [damage for damage in known if damage is not None]

    def overview(self) -> list[tuple[Collection, Manifest, Damage | None]]:
        """Return every collection with the manifest and the known damage of its current generation."""
        found = []
        for listed in self.store.collections():
            self._forget(listed.name, listed.generations)
            with suppress(NotFound):  # It was deleted meanwhile.
                manifest = self._manifest(listed.name, listed.current)
                found.append((listed, manifest, self.damage(listed.name, listed.current)))
        return found

    def overview_of(self, collection: str, generation: str | None = None) -> tuple[Collection, Manifest, Damage | None]:
        """Return the catalog entry, manifest and known damage of one generation.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: The generation was deleted.
        """
        listed = self.listed(collection, generation)
        named = _named(generation, listed)
        if named not in listed.generations:
            self.store.manifest(collection, named)  # Raises either `Deleted` or `NotFound`.
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
        """Read the catalog entry again, and drop everything cached for generations that it no longer lists."""
        try:
            listed = self.store.collection(collection)
        except NotFound:
            self._forget(collection, ())
            if generation is not None:
                self.store.manifest(collection, generation)  # Raises `Deleted` if the generation existed.
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
        """Drop all generations. Those that requests still use close when the requests end."""
        with self._lock:
            self._opened.clear()


def _named(generation: str | None, listed: Collection) -> str:
    return listed.current if generation is None else generation
