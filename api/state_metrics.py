"""Metrics of the state of a running application, updated at every scrape."""

import threading
from collections import Counter as tally  # noqa: N813 - the other one is Prometheus'
from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Gauge

from graphkin.api.state import State
from graphkin.protocol.errors import StoreError


class StateMetrics:
    """Updates metrics of open generations, positive sets, exports and queues from a `State`.

    With several server processes, each process has its own metrics, and they are summed. The size of the positive-set
    cache is not summed, because the processes share one folder.
    """

    def __init__(self, state: State, registry: CollectorRegistry) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._totals: dict[Counter, float] = {}
        self._damaged_collections: set[str] = set()  # collections that have been damaged at any time

        def gauge(name: str, help: str, *labels: str, mode: str = "livesum") -> Gauge:
            return Gauge(f"graphkin_{name}", help, labels, registry=registry, multiprocess_mode=mode)  # type: ignore[arg-type]

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"graphkin_{name}", help, labels, registry=registry)

        self._generations = gauge("generations_open", "Generations that the server holds open.")
        self._generation_bytes = gauge("generations_open_bytes", "Size of their files; 0 where the store keeps none.")
        self._damaged_generations = gauge(
            "damaged_generations", "Generations that are known to be damaged.", "collection", mode="livemax"
        )
        self._hits = counter("positive_sets_hits", "Requests for positive sets that were there.")
        self._misses = counter("positive_sets_misses", "Requests for positive sets that had to be drawn.")
        self._sampled = counter("positive_sets_built", "Positive sets drawn here, of all anchors.")
        self._positive_bytes = gauge(
            "positive_sets_bytes", "Size of the positive-set cache on the disk.", mode="livemax"
        )
        self._export_bytes = gauge("exports_bytes", "Size of the export files that are kept.")
        self._working = gauge("queue_working", "Requests worked on, by class.", "work")
        self._waiting = gauge("queue_waiting", "Requests that wait, by class.", "work")
        self._refused = counter("queue_refused", "Requests told to come back, by class.", "work")

    def update(self) -> None:
        """Update all metrics."""
        with self._lock:
            self._update()

    def _update(self) -> None:
        generations = [opened.generation for opened in self._state["generations"].open_generations()]
        self._generations.set(len(generations))
        self._generation_bytes.set(sum(generation.file_bytes for generation in generations))
        self._count_damages()
        positives = self._state["positives"]
        self._increase_to(self._hits, positives.hits)
        self._increase_to(self._misses, positives.misses)
        self._increase_to(self._sampled, positives.built)
        with suppress(StoreError):  # The other metrics are still valid.
            self._positive_bytes.set(positives.bytes)
        self._export_bytes.set(self._state["exports"].size)
        for name, queue in self._state["queues"].items():
            self._working.labels(name).set(queue.working)
            self._waiting.labels(name).set(queue.waiting)
            self._increase_to(self._refused.labels(name), queue.refused)

    def _count_damages(self) -> None:
        with suppress(StoreError):
            damaged = tally(damage.collection for damage in self._state["generations"].damages() if damage.collection)
            self._damaged_collections |= damaged.keys()
            for collection in self._damaged_collections:
                self._damaged_generations.labels(collection).set(damaged[collection])

    def _increase_to(self, counter: Counter, total: float) -> None:
        """Increase a counter by the difference since the last call.

        The counter may continue that of a process that has ended, so it is never set.
        """
        counter.inc(total - self._totals.get(counter, 0))
        self._totals[counter] = total
