"""An open generation with its sampler, its operations, and its items as cached JSON."""

import threading
import weakref
from collections.abc import Callable, Iterable

from pydantic_core import to_json

from graphkin.api.generations.preparation import SamplerPreparation
from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.ports import Ports
from graphkin.collection.selection import Selector
from graphkin.store.base import Generation
from graphkin.store.sampling.base import Engine, Sampler

_MAX_CACHED_BYTES = 32 * 2**20  # maximum size of the cached JSON of a generation's items

OpenPorts = Callable[[Callable[[], Sampler], Generation, Selector], Ports]
"""Type of `PortFactory.ports`, which opens the ports of a collection."""


class OpenGeneration:
    """One open generation. It is closed when this object is garbage-collected.

    Attributes:
        generation: The generation.
        collection: Operations on the generation.
        last_scrub: Monotonic time of the last complete check of the generation's files; None before the first check.
    """

    def __init__(self, generation: Generation, engine: Engine, open_ports: OpenPorts) -> None:
        self.generation = generation
        self._preparation = SamplerPreparation(generation, engine)
        sampler = self._preparation.sampler
        self.collection = OpenCollection(generation, lambda *arguments: open_ports(sampler, *arguments))
        self.last_scrub: float | None = None
        self._lock = threading.Lock()
        self._cached_texts: dict[int, bytes] = {}
        self._cached_bytes = 0
        weakref.finalize(self, generation.close)

    def require_ready(self) -> None:
        """Check that the sampler, if it has been opened, is ready. If not, prepare it in the background.

        Raises:
            StoreBusy: The sampler is being prepared.
            GraphkinError: The last preparation of the sampler failed.
        """
        self._preparation.require()

    def encode_items(self, ids: Iterable[int]) -> list[bytes]:
        """Return items as JSON objects, in the order of `ids`.

        Raises:
            NotFound: An id does not exist.
        """
        ids = list(ids)
        texts_by_id = self._cached_texts
        texts = [texts_by_id.get(id) for id in ids]
        missing = [id for id, text in zip(ids, texts, strict=True) if text is None]
        if missing:
            new_texts = {item["id"]: to_json(item) for item in self.generation.items(missing)}
            self._cache(new_texts)
            return [new_texts[id] if text is None else text for id, text in zip(ids, texts, strict=True)]
        return [text for text in texts if text is not None]

    def _cache(self, texts: dict[int, bytes]) -> None:
        with self._lock:
            new = {id: text for id, text in texts.items() if id not in self._cached_texts}
            self._cached_texts.update(new)
            self._cached_bytes += sum(map(len, new.values()))
            while self._cached_bytes > _MAX_CACHED_BYTES:
                self._cached_bytes -= len(self._cached_texts.pop(next(iter(self._cached_texts))))
