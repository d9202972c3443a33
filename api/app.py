"""The ASGI application: its routes, middleware and error handlers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import anyio.to_thread
from fastapi import FastAPI
from starlette.middleware import Middleware

from graphkin.api.context import NotModified, on_not_modified
from graphkin.api.http import openapi, reference
from graphkin.api.http.compression import CompressionMiddleware
from graphkin.api.http.cors import cors_middleware
from graphkin.api.http.errors import HANDLERS, UnexpectedErrorMiddleware
from graphkin.api.http.exchange import ExchangeMiddleware
from graphkin.api.http.head import HeadMiddleware
from graphkin.api.http.log import AccessLog
from graphkin.api.http.metrics import Metrics, SharedMetricsFiles
from graphkin.api.http.traces import Traces
from graphkin.api.routes import (
    batch,
    cliffs,
    clusters,
    collections,
    comparison,
    components,
    depiction,
    descriptors,
    epochs,
    exports,
    graph,
    health,
    items,
    jobs,
    layout,
    lineage,
    matched_pairs,
    mcs,
    negatives,
    neighbors,
    page,
    pick,
    positives,
    query,
    ranked_clusters,
    rejections,
    reports,
    rgroups,
    scaffolds,
    search,
    structure,
    uploads,
)
from graphkin.api.settings import Settings
from graphkin.api.state import State, open_state
from graphkin.api.state_metrics import StateMetrics
from graphkin.runtime.workers.fork_server import ForkServer, import_pandas

_ROUTE_MODULES = (
    neighbors,
    positives,
    search,
    items,
    query,
    collections,
    epochs,
    negatives,
    batch,
    graph,
    components,
    clusters,
    lineage,
    mcs,
    matched_pairs,
    cliffs,
    scaffolds,
    layout,
    ranked_clusters,
    comparison,
    rgroups,
    pick,
    depiction,
    structure,
    descriptors,
    exports,
    rejections,
    reports,
    uploads,
    jobs,
    health,
    page,
)
"""Modules with routes. Paths are matched in this order, so the most frequently requested routes come first."""


_THREADS = 16
"""Number of threads of the default thread pool. More threads would take memory and only wait for each other."""


def create_app(
    settings: Settings, fork_server: ForkServer | None = None, shared_metrics: SharedMetricsFiles | None = None
) -> FastAPI:
    """Create the ASGI application. It opens its `State` at startup and closes it at shutdown.

    Args:
        settings: Settings of the server.
        fork_server: Fork server to share with other applications. It is not closed at shutdown. By default the
            application starts its own.
        shared_metrics: Metrics files to share with other server processes; None for a single process.

    Raises:
        InvalidInput: The access log cannot be written, or the extra `telemetry` is not installed.
    """

    metrics = Metrics(shared_metrics)
    log = None if settings.access_log is None else AccessLog(settings.access_log)
    traces = Traces() if settings.telemetry else None
    listeners = [metrics.observe, *([] if log is None else [log.write])]

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[State]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        import_pandas()  # The import would hold up the event loop later.
        async with open_state(settings, fork_server) as state, state["warmup"].running():
            metrics.add_updater(StateMetrics(state, metrics.registry).update)
            state["scrubber"].start()
            try:
                async with metrics.measure_lag():
                    yield state
            finally:
                for resource in (log, traces):
                    if resource is not None:
                        await asyncio.to_thread(resource.close)

    app = FastAPI(
        title="graphkin",  # Clients recognize a server by this title.
        summary="The REST API of a similarity store for molecules and graphs",
        description=reference.INTRODUCTION,
        openapi_tags=[{"name": name, "description": description} for name, description in reference.TAGS.items()],
        version=version("graphkin"),
        lifespan=lifespan,
        routes=[route for module in _ROUTE_MODULES for route in module.router.routes],
        redirect_slashes=False,
        # FastAPI's telemetry would record queries, which contain structures.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        openapi_url=None,  # FastAPI would write the document in the event loop, for every request.
        docs_url=None,  # The web page serves /docs. FastAPI's documentation page would load scripts from other hosts.
        redoc_url=None,
        middleware=[
            *([] if traces is None else [traces.middleware]),
            Middleware(ExchangeMiddleware, listeners=listeners, origins=settings.cors_origins),
            *cors_middleware(settings.cors_origins),
            Middleware(HeadMiddleware, allowed_hosts=settings.allowed_hosts, upload_bytes=settings.upload_bytes),
            Middleware(CompressionMiddleware),
            Middleware(UnexpectedErrorMiddleware),
        ],
        exception_handlers={**HANDLERS, NotModified: on_not_modified},
    )
    app.state.metrics = metrics
    openapi.complete_schema(app)
    return app
