"""Metrics of the state of a running application, updated at every scrape."""

import threading
from collections import Counter as tally  # noqa: N813 - `Counter` is the class of prometheus_client
from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Gauge

from graphkin.api.state import State
from graphkin.protocol.errors import StoreError


class StateMetrics:
    """Updates metrics of open generations, positive sets, exports and queues from a `State`.

    If there are several server processes, each has its own metrics, and their sum is reported. The size of the
    positive-set cache is reported once, because the processes share one folder.
    """

    def __init__(self, state: State, registry: CollectorRegistry) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._totals: dict[Counter, float] = {}
        self._damaged_collections: set[str] = set()  # including collections that have been repaired

        def gauge(name: str, help: str, *labels: str, mode: str = "livesum") -> Gauge:
            return Gauge(f"graphkin_{name}", help, labels, registry=registry, multiprocess_mode=mode)  # type: ignore[arg-type]

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"graphkin_{name}", help, labels, registry=registry)

        self._generations = gauge("generations_open", "Generations that the server holds open.")
        self._generation_bytes = gauge("generations_open_bytes", "Size of the files of open generations.")
        self._damaged_generations = gauge(
            "damaged_generations", "Generations with known damage.", "collection", mode="livemax"
        )
        self._hits = counter("positive_sets_hits", "Requests for positive sets in the cache.")
        self._misses = counter("positive_sets_misses", "Requests for positive sets not in the cache.")
        self._sampled = counter("positive_sets_built", "Epochs of positive sets sampled by this server.")
        self._positive_bytes = gauge(
            "positive_sets_bytes", "Size of the positive-set cache on the disk.", mode="livemax"
        )
        self._export_bytes = gauge("exports_bytes", "Size of the cached export files.")
        self._working = gauge("queue_working", "Requests in progress, by class of work.", "work")
        self._waiting = gauge("queue_waiting", "Requests that wait for a slot, by class of work.", "work")
        self._refused = counter("queue_refused", "Requests refused with status 503, by class of work.", "work")

    def update(self) -> None:
        """Update all metrics."""
        with self._lock:
            self._update()

    def _update(self) -> None:
        generations = [each.generation for each in self._state["generations"].open_generations()]
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
        """Increase a counter by the increase of `total` since the last call.

        The counter may continue the counter of an earlier process, so it cannot be set to `total`.
        """
        counter.inc(total - self._totals.get(counter, 0))
        self._totals[counter] = total
