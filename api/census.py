"""What a running application holds, counted whenever Prometheus asks."""

from collections.abc import Iterator
from contextlib import suppress

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from graphkin.api.state import State
from graphkin.protocol.errors import StoreError


class Census(Collector):
    """Generations, positive sets, exports and queues of a `State`."""

    def __init__(self, state: State) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        generations = [opened.generation for opened in self._state["library"].in_use()]
        yield _gauge("generations_open", "Generations that the server holds open.", len(generations))
        held = sum(generation.file_bytes for generation in generations)
        yield _gauge("generations_open_bytes", "Size of their files; 0 where the store keeps none.", held)
        positives = self._state["positives"]
        yield _counter("positive_sets_hits", "Requests for positive sets that were there.", positives.hits)
        yield _counter("positive_sets_misses", "Requests for positive sets that had to be drawn.", positives.misses)
        with suppress(StoreError):  # the other figures say what they say all the same
            yield _gauge("positive_sets_bytes", "Size of the positive-set cache on the disk.", positives.bytes)
        yield _gauge("exports_bytes", "Size of the export files that are kept.", self._state["exports"].size)
        yield from self._queues()

    def _queues(self) -> Iterator[Metric]:
        working = GaugeMetricFamily("graphkin_queue_working", "Requests worked on, by class.", labels=["work"])
        waiting = GaugeMetricFamily("graphkin_queue_waiting", "Requests that wait, by class.", labels=["work"])
        refused = CounterMetricFamily(
            "graphkin_queue_refused", "Requests told to come back, by class.", labels=["work"]
        )
        for name, queue in self._state["queues"].items():
            working.add_metric([name], queue.working)
            waiting.add_metric([name], queue.waiting)
            refused.add_metric([name], queue.refused)
        yield from (working, waiting, refused)


def _gauge(name: str, said: str, value: float) -> Metric:
    return GaugeMetricFamily(f"graphkin_{name}", said, value=value)


def _counter(name: str, said: str, value: float) -> Metric:
    return CounterMetricFamily(f"graphkin_{name}", said, value=value)
