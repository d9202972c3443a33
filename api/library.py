"""The generations a server holds open, and what it computes once for each."""

import threading
import weakref
from collections.abc import Iterable
from contextlib import suppress

import numpy as np
from cachetools import LRUCache, TTLCache
from pydantic_core import to_json

from graphkin.api.damage import Damages
from graphkin.api.preparation import Preparation
from graphkin.protocol.errors import Damage, NotFound, StoreDamaged
from graphkin.protocol.manifest import Manifest
from graphkin.similarity.kind import Kind, Search
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Collection, Generation, Store, rounded
from graphkin.store.components import Components
from graphkin.store.sampling.base import Engine, Sampler

_OPEN = 8  # generations
_MANIFESTS = 1024
_THRESHOLDS = 4  # of a generation whose components are remembered: 12 bytes an item each
_FRESH = 0.4  # seconds for which the catalogue is believed; a publish is seen within a second
_TEXTS = 32 * 2**20  # bytes of a generation's items that are remembered as JSON


class Opened:
    """One generation, open for as long as somebody holds this object."""

    def __init__(self, generation: Generation, engine: Engine) -> None:
        self.generation = generation
        self.scrubbed: float | None = None  # when all its files were last checked, by the monotonic clock
        self._engine = engine
        self._lock = threading.Lock()
        self._sampler: Sampler | None = None
        self._preparation: Preparation | None = None
        self._search: Search | None = None
        self._components: LRUCache[np.float32, Components] = LRUCache(_THRESHOLDS)
        self._texts: dict[int, bytes] = {}
        self._texts_size = 0
        weakref.finalize(self, generation.close)

    @property
    def kind(self) -> Kind[Recipe]:
        """What is peculiar to its items."""
        return kind_of(self.generation)

    def sampler(self) -> Sampler:
        with self._lock:
            if self._sampler is None:
                self._sampler = self.generation.sampler(self._engine)
                self._preparation = Preparation(self._sampler)
            return self._sampler

    def require_ready(self) -> None:
        """Raises `StoreBusy` while positives, once asked for, would have to wait; they are prepared meanwhile."""
        preparation = self._preparation
        if preparation is not None:
            preparation.require()

    def search(self) -> Search:
        """Raises `Conflict` where this collection cannot be searched."""
        with self._lock:
            if self._search is None:
                self._search = self.kind.search(self.generation)
            return self._search

    def components(self, min_similarity: float | None) -> Components:
        """The components at a threshold; those of a few thresholds are remembered."""
        threshold = rounded(min_similarity)
        with self._lock:
            found = self._components.get(threshold)
        if found is None:
            found = Components.at(self.generation.graph(), self.generation.forest(), threshold)
            with self._lock:
                self._components[threshold] = found
        return found

    def item_texts(self, ids: Iterable[int]) -> list[bytes]:
        """The items as JSON, in the order asked for. Raises `NotFound` naming an id."""
        wanted = list(ids)
        known = self._texts
        texts = [known.get(id) for id in wanted]
        missing = [id for id, text in zip(wanted, texts, strict=True) if text is None]
        if missing:
            read = {item["id"]: to_json(item) for item in self.generation.items(missing)}
            self._remember(read)
            return [read[id] if text is None else text for id, text in zip(wanted, texts, strict=True)]
        return [text for text in texts if text is not None]

    def _remember(self, texts: dict[int, bytes]) -> None:
        with self._lock:
            new = {id: text for id, text in texts.items() if id not in self._texts}
            self._texts.update(new)
            self._texts_size += sum(map(len, new.values()))
            while self._texts_size > _TEXTS:
                self._texts_size -= len(self._texts.pop(next(iter(self._texts))))


class Library:
    """Generations by collection and id, the most recently used of them open. Safe to share between threads."""

    def __init__(self, store: Store, engine: Engine = "snapshot") -> None:
        self.store = store
        self._engine = engine
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
            opened = Opened(self._open(*key), self._engine)
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

    def require_ready(self) -> list[Damage]:
        """Raises `StoreError` unless the store answers, no collection's current generation is known to be damaged, and
        positives of the generations in use come at once. Gives what is known of the other generations."""
        others = []
        for listed in self.store.collections():
            for generation in listed.generations:
                with suppress(NotFound):  # deleted meanwhile
                    damage = self.damage(listed.name, generation)
                    if damage is not None and generation == listed.current:
                        raise StoreDamaged(damage)
                    others += [] if damage is None else [damage]
        self.store.require_engine(self._engine)
        for opened in self.in_use():
            opened.require_ready()
        return others

    def overview(self) -> list[tuple[Collection, Manifest, Damage | None]]:
        """Every collection with the manifest of its current generation, and what is known to be wrong with that."""
        found = []
        for listed in self.store.collections():
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
            for key in [key for key in self._opened if key[0] == collection and key[1] not in living]:
                del self._opened[key]

    def close(self) -> None:
        """Let go of everything; what requests still hold closes when they end."""
        with self._lock:
            self._opened.clear()


def _named(generation: str | None, listed: Collection) -> str:
    return listed.current if generation is None else generation
