"""Cache of open generations, manifests and catalog entries."""

import threading
from contextlib import suppress

from cachetools import LRUCache, TTLCache

from graphkin.api.generations.damage import DamageRegistry
from graphkin.api.generations.open_generation import OpenGeneration, OpenPorts
from graphkin.protocol.errors import Damage, GraphkinError, NotFound, StoreDamaged
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Collection, Generation, Store
from graphkin.store.sampling.base import Engine

_MAX_OPEN = 8
_MAX_MANIFESTS = 1024
_FRESH_SECONDS = 0.2  # lifetime of a cached catalog entry; a new generation must be visible within a second


class GenerationCache:
    """LRU cache of open generations by collection and id. Thread-safe."""

    def __init__(self, store: Store, engine: Engine, open_ports: OpenPorts) -> None:
        self.store = store
        self.engine = engine
        self._open_ports = open_ports
        self._lock = threading.Lock()
        self._catalog: TTLCache[str, Collection] = TTLCache(1024, _FRESH_SECONDS)
        self._open_generations: LRUCache[tuple[str, str], OpenGeneration] = LRUCache(_MAX_OPEN)
        self._manifests: LRUCache[tuple[str, str], Manifest] = LRUCache(_MAX_MANIFESTS)
        self._damage_registry = DamageRegistry(store)

    def get_cached(self, collection: str, generation: str | None) -> OpenGeneration | None:
        """Return a cached generation without waiting for a lock and without reading the store.

        Returns:
            The open generation; None if it is not cached or is damaged, or if another thread holds the lock.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            entry = self._catalog.get(collection)
            if entry is None:
                return None
            cached = self._open_generations.get((collection, _resolve_id(generation, entry)))
            return None if cached is None or cached.generation.damage is not None else cached
        finally:
            self._lock.release()

    def get(self, collection: str, generation: str | None = None) -> OpenGeneration:
        """Return a generation of a collection, opened if it is not cached.

        The lock is not held while the store is read, so a slow store does not block requests for cached generations.

        Args:
            collection: Name of the collection.
            generation: Id of the generation; None for the current one.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: The generation was deleted.
            StoreDamaged: The generation is known to be damaged.
        """
        key = (collection, _resolve_id(generation, self.catalog_entry(collection, generation)))
        damage = self.damage(*key)
        if damage is not None:
            raise StoreDamaged(damage)
        with self._lock:
            open_generation = self._open_generations.get(key)
        if open_generation is None:
            open_generation = OpenGeneration(self._open(*key), self.engine, self._open_ports)
            with self._lock:
                open_generation = self._open_generations.setdefault(key, open_generation)
        return open_generation

    def _open(self, collection: str, generation: str) -> Generation:
        try:
            return self.store.open(collection, generation)
        except StoreDamaged as error:
            if error.damage.generation is not None:  # Otherwise the catalog is damaged.
                self._damage_registry.add(collection, self.store.manifest(collection, generation), error.damage)
            raise

    def damage(self, collection: str, generation: str) -> Damage | None:
        """Return the known damage of a generation; None if there is none.

        Raises:
            NotFound: The damaged generation no longer exists.
            Deleted: The damaged generation was deleted.
        """
        for open_generation in self.open_generations():
            damage = open_generation.generation.damage
            if damage is not None:
                self._drop_damaged(open_generation, damage)
        return self._damage_registry.get(collection, generation)

    def _drop_damaged(self, open_generation: OpenGeneration, damage: Damage) -> None:
        """Remove a damaged generation from the cache, and record its damage.

        The generation is closed after the last request that uses it.
        """
        generation = open_generation.generation
        manifest, key = generation.manifest, (generation.collection, generation.id)
        with self._lock:
            dropped = self._open_generations.pop(key, None)
        if dropped is not None:
            self._damage_registry.add(key[0], manifest, damage)

    def open_generations(self) -> list[OpenGeneration]:
        """Return the generations that are open now."""
        with self._lock:
            return list(self._open_generations.values())

    def catalog_entry(self, collection: str, generation: str | None = None) -> Collection:
        """Return the catalog entry of a collection, cached for `_FRESH_SECONDS` seconds.

        Args:
            collection: Name of the collection.
            generation: Requested generation. If the collection no longer exists, the id decides between `Deleted` and
                `NotFound`.

        Raises:
            NotFound: There is no such collection.
            Deleted: The generation was deleted.
        """
        with self._lock:
            entry = self._catalog.get(collection)
        return self._refresh(collection, generation) if entry is None else entry

    def require_ready(self) -> None:
        """Check that the store responds and that the sampler of an open generation is ready.

        One generation whose sampler cannot be prepared must not keep the server from serving the other ones.

        Raises:
            StoreError: The store does not respond, or every sampler is still being prepared.
        """
        self.store.collections()
        self.store.require_engine(self.engine)
        intact = [each for each in self.open_generations() if each.generation.damage is None]
        failures = []
        for open_generation in intact:
            try:
                open_generation.require_ready()
            except GraphkinError as failure:
                failures.append(failure)
        if failures and len(failures) == len(intact):
            raise failures[0]

    def damages(self) -> list[Damage]:
        """Return the known damage of all generations.

        Raises:
            StoreError: The store does not respond.
        """
        damages = []
        for entry in self.store.collections():
            for generation in entry.generations:
                with suppress(NotFound):  # The generation was deleted meanwhile.
                    damages.append(self.damage(entry.name, generation))
        return [damage for damage in damages if damage is not None]

    def overview(self) -> list[tuple[Collection, Manifest, Damage | None]]:
        """Return every collection with the manifest and the known damage of its current generation."""
        rows = []
        for entry in self.store.collections():
            self._drop_missing(entry.name, entry.generations)
            with suppress(NotFound):  # The collection was deleted meanwhile.
                manifest = self._manifest(entry.name, entry.current)
                rows.append((entry, manifest, self.damage(entry.name, entry.current)))
        return rows

    def overview_of(self, collection: str, generation: str | None = None) -> tuple[Collection, Manifest, Damage | None]:
        """Return the catalog entry, manifest and known damage of one generation.

        Raises:
            NotFound: There is no such collection or generation.
            Deleted: The generation was deleted.
        """
        entry = self.catalog_entry(collection, generation)
        id = _resolve_id(generation, entry)
        if id not in entry.generations:
            self.store.manifest(collection, id)  # Raises either `Deleted` or `NotFound`.
        return entry, self._manifest(collection, id), self.damage(collection, id)

    def _manifest(self, collection: str, generation: str) -> Manifest:
        key = (collection, generation)
        with self._lock:
            manifest = self._manifests.get(key)
        if manifest is None:
            manifest = self.store.manifest(*key)
            with self._lock:
                self._manifests[key] = manifest
        return manifest

    def _refresh(self, collection: str, generation: str | None) -> Collection:
        """Read a catalog entry, and drop everything cached for generations that it no longer lists."""
        try:
            entry = self.store.collection(collection)
        except NotFound:
            self._drop_missing(collection, ())
            if generation is not None:
                self.store.manifest(collection, generation)  # Raises `Deleted` if the generation existed.
            raise
        self._drop_missing(collection, entry.generations)
        with self._lock:
            self._catalog[collection] = entry
        return entry

    def _drop_missing(self, collection: str, ids: tuple[str, ...]) -> None:
        """Drop everything cached for generations of a collection other than `ids`."""
        self._damage_registry.forget(collection, lambda generation: generation not in ids)
        with self._lock:
            for cached in (self._open_generations, self._manifests):
                for key in [key for key in cached if key[0] == collection and key[1] not in ids]:
                    del cached[key]

    def close(self) -> None:
        """Drop all generations. A generation that requests still use is closed when these requests end."""
        with self._lock:
            self._open_generations.clear()


def _resolve_id(generation: str | None, entry: Collection) -> str:
    return entry.current if generation is None else generation
