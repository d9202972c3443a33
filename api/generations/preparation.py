"""Making a sampler ready in the background: whoever routes requests by /readyz sends none before it is."""

import threading

from graphkin.protocol.errors import GraphkinError, StoreBusy
from graphkin.store.sampling.base import Sampler


class Preparation:
    """Of one sampler, as often as it has ceased to be ready. Safe to share between threads."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failure: GraphkinError | None = None

    def require(self) -> None:
        """Raises `StoreBusy` while the sampler is being prepared, and once what that raised; then it is tried again."""
        if self._sampler.ready():
            return
        with self._lock:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="preparation", daemon=True)
                self._thread.start()
        raise StoreBusy("the graph is being projected again, after a restart of the server")

    def _run(self) -> None:
        try:
            self._sampler.prepare()
        except GraphkinError as failure:
            self._failure = failure
