"""A generation that is open, and what is computed once for it."""

import threading
import weakref
from collections.abc import Callable, Iterable

import numpy as np
from cachetools import LRUCache
from pydantic_core import to_json

from graphkin.api.generations.preparation import Preparation
from graphkin.collection.cliffs import Cliffs, cliffs
from graphkin.collection.selection import Selected, Selections
from graphkin.protocol.requests import CliffsQuery
from graphkin.protocol.values import MAX_CLIFFS
from graphkin.similarity.kind import Kind, Search
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation, rounded
from graphkin.store.components import Components
from graphkin.store.sampling.base import Engine, Sampler

_THRESHOLDS = 4  # of a generation whose components are remembered: 12 bytes an item each
_RANKINGS = 8  # of cliffs that are remembered: at most 2 MB each
_TEXTS = 32 * 2**20  # bytes of a generation's items that are remembered as JSON


class Opened:
    """One generation, open for as long as somebody holds this object."""

    def __init__(self, generation: Generation, engine: Engine) -> None:
        self.generation = generation
        self.selections = Selections(generation)
        self.scrubbed: float | None = None  # when all its files were last checked, by the monotonic clock
        self._engine = engine
        self._lock = threading.Lock()
        self._sampler: Sampler | None = None
        self._preparation: Preparation | None = None
        self._search: Search | None = None
        self._components: LRUCache[np.float32, Components] = LRUCache(_THRESHOLDS)
        self._cliffs: LRUCache[str, Cliffs] = LRUCache(_RANKINGS)
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

    def cliffs(self, query: CliffsQuery, chosen: Callable[[], Selected] | None) -> Cliffs:
        """All cliffs that pages lead to, whichever page is asked for, among what is `chosen`, by default all items; a
        few rankings are remembered. Raises as `similarity.cliffs.cliffs` does."""
        asked = query.model_dump_json(exclude={"generation", "cursor", "limit"})
        with self._lock:
            found = self._cliffs.get(asked)
        if found is None:
            among = None if chosen is None else chosen().ids
            found = cliffs(self.generation, query, MAX_CLIFFS, among)
            with self._lock:
                self._cliffs[asked] = found
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
