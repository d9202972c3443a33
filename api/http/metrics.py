"""Prometheus metrics of requests.

Requests are labeled by the path template of their route. No label holds a text of a client, so the number of series is
bounded.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, values
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from graphkin.api.http.connection import CloseReason
from graphkin.api.http.exchange import Exchange

_METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)  # seconds
_LAG_INTERVAL = 0.05  # seconds between measurements of the event loop's lag
_UPDATE_INTERVAL = 1.0  # seconds between updates of shared metrics


@dataclass(frozen=True)
class SharedMetricsFiles:
    """Metrics files that the processes of one server share.

    Each process has a number and writes its own files. A process that replaces another one has the same number, and
    continues its counters.

    Attributes:
        folder: Folder of the files.
        number: Number of this process.
    """

    folder: Path
    number: int

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that prometheus_client needs in the process."""
        return {"PROMETHEUS_MULTIPROC_DIR": str(self.folder)}

    @property
    def _pid_file(self) -> Path:
        return self.folder / f"{self.number}.pid"

    def record_start(self, pid: int) -> None:
        """Record the process id of the process."""
        self._pid_file.write_text(str(pid))

    def record_end(self) -> None:
        """Record that the process has ended. Its gauges are dropped, and its counters stay."""
        self._pid_file.unlink(missing_ok=True)
        mark_process_dead(self.number, self.folder)  # type: ignore[no-untyped-call]

    def activate(self) -> None:
        """Store all metrics that the calling process creates from now on in the shared files."""
        values.ValueClass = values.MultiProcessValue(lambda: self.number)  # type: ignore[no-untyped-call]

    def merged_registry(self) -> CollectorRegistry:
        """Return a registry with the merged metrics of all processes."""
        registry = CollectorRegistry()
        MultiProcessCollector(registry, self.folder)  # type: ignore[no-untyped-call]
        registry.register(_ProcessesCollector(self.folder))
        return registry


class Metrics:
    """Metrics of one application, and of the other server processes if they share files.

    Args:
        shared: Files that the server processes share; None for a single process.
    """

    def __init__(self, shared: SharedMetricsFiles | None = None) -> None:
        if shared is not None:
            shared.activate()
        self._shared = shared
        self._updaters: list[Callable[[], None]] = []
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "graphkin_http_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "graphkin_http_request_seconds",
            "Time from the request's headers to the end of the reply.",
            ["method", "route"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._closed = Counter(
            "graphkin_connections_closed",
            "Connections that the server closed because a deadline (head, body, reply) or the limit was exceeded.",
            ["reason"],
            registry=self.registry,
        )
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.search_seconds = Histogram(
            "graphkin_search_seconds",
            "Time of a search, without the time to read the structure and to wait for a slot.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._lag = Histogram(
            "graphkin_event_loop_lag_seconds",
            "Delay of the event loop by the process's own work: the delay of a timer, or the processor time used "
            f"meanwhile if that is less; measured every {_LAG_INTERVAL} s.",
            buckets=_BUCKETS,
            registry=self.registry,
        )

    def add_updater(self, updater: Callable[[], None]) -> None:
        """Register a function that updates metrics.

        The function is called at every scrape and, if metrics are shared, every second.
        """
        self._updaters.append(updater)

    def count_closed(self, reason: CloseReason) -> None:
        """Count a connection that the server closed."""
        self._closed.labels(reason).inc()

    def current_registry(self) -> CollectorRegistry:
        """Update the metrics, and return a registry with the metrics of all processes."""
        self._update()
        return self.registry if self._shared is None else self._shared.merged_registry()

    def _update(self) -> None:
        for updater in self._updaters:
            updater()

    @asynccontextmanager
    async def measure_lag(self) -> AsyncIterator[None]:
        """Measure the event loop's lag while the block runs."""
        tasks = [asyncio.create_task(self._observe_lag())]
        if self._shared is not None:
            tasks.append(asyncio.create_task(self._keep_updating()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    async def _observe_lag(self) -> None:
        while True:
            begin, processor = perf_counter(), process_time()
            await asyncio.sleep(_LAG_INTERVAL)
            delay = perf_counter() - begin - _LAG_INTERVAL
            self._lag.observe(max(0.0, min(delay, process_time() - processor)))

    async def _keep_updating(self) -> None:
        while True:
            await asyncio.to_thread(self._update)
            await asyncio.sleep(_UPDATE_INTERVAL)

    def observe(self, exchange: Exchange) -> None:
        """Count a request and its duration."""
        labels = exchange.method if exchange.method in _METHODS else "other", exchange.route, exchange.status
        if (series := self._series.get(labels)) is None:
            series = self._series[labels] = self._requests.labels(*labels), self._seconds.labels(*labels[:2])
        requests, seconds = series
        requests.inc()
        seconds.observe(exchange.seconds)


class _ProcessesCollector(Collector):
    """Collector of the memory, processor time and open files of each server process, labeled by its number."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        merged: dict[str, Metric] = {}
        for file in sorted(self._folder.glob("*.pid")):
            for family in self._collect_process(file):
                target = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    target.add_sample(sample.name, {"worker": file.stem}, sample.value)
        yield from merged.values()

    def _collect_process(self, file: Path) -> list[Metric]:
        try:
            pid = int(file.read_text())
        except (OSError, ValueError):  # The process is just starting or ending.
            return []
        return list(ProcessCollector(pid=lambda: pid, registry=None).collect())
