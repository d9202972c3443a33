"""Background preparation of a generation's sampler.

A sampler of the `gds` engine has a projection of the graph in the memory of the Neo4j server. A restart of that server
loses the projection, so the graph has to be projected again. Until then, /readyz reports that the server is not ready.
"""

import threading

from graphkin.protocol.errors import GraphkinError, StoreBusy
from graphkin.store.base import Generation
from graphkin.store.sampling.base import Engine, Sampler


class SamplerPreparation:
    """Opens the sampler of a generation, and prepares it again whenever it is no longer ready. Thread-safe."""

    def __init__(self, generation: Generation, engine: Engine) -> None:
        self._generation = generation
        self._engine = engine
        self._lock = threading.Lock()
        self._sampler: Sampler | None = None
        self._thread: threading.Thread | None = None
        self._failure: GraphkinError | None = None

    def sampler(self) -> Sampler:
        """Return the sampler. The first call opens it."""
        with self._lock:
            if self._sampler is None:
                self._sampler = self._generation.sampler(self._engine)
            return self._sampler

    def require(self) -> None:
        """Check that the sampler, if it has been opened, is ready. If not, prepare it in the background.

        Raises:
            StoreBusy: The sampler is being prepared.
            GraphkinError: The last preparation failed. The error is raised once, and the next call starts another
                preparation.
        """
        sampler = self._sampler
        if sampler is None or sampler.is_ready():
            return
        with self._lock:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, args=(sampler,), name="preparation", daemon=True)
                self._thread.start()
        raise StoreBusy(
            "the graph is being loaded into Neo4j Graph Data Science, after a restart of a server",
            hint="try again in 1 s",
        )

    def _run(self, sampler: Sampler) -> None:
        try:
            sampler.prepare()
        except GraphkinError as failure:
            self._failure = failure
