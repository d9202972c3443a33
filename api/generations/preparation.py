"""The sampler of a generation, prepared in the background: /readyz keeps requests away until it is ready."""

import threading

from graphkin.protocol.errors import GraphkinError, StoreBusy
from graphkin.store.base import Generation
from graphkin.store.sampling.base import Engine, Sampler


class Preparation:
    """Opens one sampler, and prepares it again each time it has ceased to be ready. Safe to share between threads."""

    def __init__(self, generation: Generation, engine: Engine) -> None:
        self._generation = generation
        self._engine = engine
        self._lock = threading.Lock()
        self._sampler: Sampler | None = None
        self._thread: threading.Thread | None = None
        self._failure: GraphkinError | None = None

    def sampler(self) -> Sampler:
        """Return the sampler, opened by the first call."""
        with self._lock:
            if self._sampler is None:
                self._sampler = self._generation.sampler(self._engine)
            return self._sampler

    def require(self) -> None:
        """Raise `StoreBusy` while an open sampler is being prepared.

        Raises the error of a failed preparation once; the next call prepares the sampler again.
        """
        sampler = self._sampler
        if sampler is None or sampler.ready():
            return
        with self._lock:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, args=(sampler,), name="preparation", daemon=True)
                self._thread.start()
        raise StoreBusy("the graph is being projected again, after a restart of the server")

    def _run(self, sampler: Sampler) -> None:
        try:
            sampler.prepare()
        except GraphkinError as failure:
            self._failure = failure
