"""Request counts and latencies for Prometheus, by route template: a label never holds what a client made up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import perf_counter, process_time

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

from graphkin.api.gate.exchange import Exchange

_METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)  # seconds
_PULSE = 0.05  # seconds


class Metrics:
    """The registry of one application."""

    def __init__(self) -> None:
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
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.search_seconds = Histogram(
            "graphkin_search_seconds",
            "Time that the search itself takes, of a structure that was read, once it is its turn.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._lag = Histogram(
            "graphkin_event_loop_lag_seconds",
            "How long the process's own work kept its event loop waiting: how much later than asked it went on, or the "
            f"processor time used meanwhile, whichever is less; every {_PULSE} s.",
            buckets=_BUCKETS,
            registry=self.registry,
        )

    @asynccontextmanager
    async def feeling_pulse(self) -> AsyncIterator[None]:
        """Measure the event loop's lag meanwhile."""
        task = asyncio.create_task(self._feel_pulse())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _feel_pulse(self) -> None:
        while True:
            begin, used = perf_counter(), process_time()
            await asyncio.sleep(_PULSE)
            late = perf_counter() - begin - _PULSE
            self._lag.observe(max(0.0, min(late, process_time() - used)))

    def observe(self, exchange: Exchange) -> None:
        labels = exchange.method if exchange.method in _METHODS else "other", exchange.route, exchange.status
        if (series := self._series.get(labels)) is None:
            series = self._series[labels] = self._requests.labels(*labels), self._seconds.labels(*labels[:2])
        requests, seconds = series
        requests.inc()
        seconds.observe(exchange.seconds)
