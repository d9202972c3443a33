"""An open generation with everything that the server computes once for it."""

import threading
import weakref
from collections.abc import Callable, Iterable

from pydantic_core import to_json

from graphkin.api.generations.preparation import Preparation
from graphkin.collection.opened import OpenCollection
from graphkin.collection.ports import Ports
from graphkin.collection.selection import Selections
from graphkin.store.base import Generation
from graphkin.store.sampling.base import Engine, Sampler

_TEXTS = 32 * 2**20  # bytes of a generation's items that are cached as JSON

OpenPorts = Callable[[Callable[[], Sampler], Generation, Selections], Ports]
"""Type of `Workers.ports`, which opens the ports of a collection."""


class Opened:
    """One open generation. It closes when the last reference to this object is gone.

    Attributes:
        generation: The generation.
        collection: Operations on the generation.
        scrubbed: Monotonic time of the last complete check of its files; None before the first one.
    """

    def __init__(self, generation: Generation, engine: Engine, open_ports: OpenPorts) -> None:
        self.generation = generation
        self._preparation = Preparation(generation, engine)
        sampler = self._preparation.sampler
        self.collection = OpenCollection(generation, lambda *opened: open_ports(sampler, *opened))
        self.scrubbed: float | None = None
        self._lock = threading.Lock()
        self._texts: dict[int, bytes] = {}
        self._texts_size = 0
        weakref.finalize(self, generation.close)

    def require_ready(self) -> None:
        """Check that the sampler, if one was opened, is ready; prepare it in the background otherwise.

        Raises:
            StoreBusy: The sampler is not ready.
        """
        self._preparation.require()

    def item_texts(self, ids: Iterable[int]) -> list[bytes]:
        """Return items as JSON, in the order of `ids`.

        Raises:
            NotFound: An id does not exist.
        """
        wanted = list(ids)
        cached = self._texts
        texts = [cached.get(id) for id in wanted]
        missing = [id for id, text in zip(wanted, texts, strict=True) if text is None]
        if missing:
            read = {item["id"]: to_json(item) for item in self.generation.items(missing)}
            self._cache(read)
            return [read[id] if text is None else text for id, text in zip(wanted, texts, strict=True)]
        return [text for text in texts if text is not None]

    def _cache(self, texts: dict[int, bytes]) -> None:
        with self._lock:
            new = {id: text for id, text in texts.items() if id not in self._texts}
            self._texts.update(new)
            self._texts_size += sum(map(len, new.values()))
            while self._texts_size > _TEXTS:
                self._texts_size -= len(self._texts.pop(next(iter(self._texts))))
