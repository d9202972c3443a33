"""State of a running application, from startup to shutdown."""

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, closing, nullcontext
from typing import TypedDict, cast

from anyio import CapacityLimiter
from starlette.requests import Request

from graphkin.api.depictor import Depictor
from graphkin.api.exports import Exports
from graphkin.api.generations.cache import GenerationCache
from graphkin.api.generations.damage import Scrubber
from graphkin.api.generations.patterns import PatternMatches
from graphkin.api.generations.results import BackgroundResults
from graphkin.api.http.access import AccessControl
from graphkin.api.http.quotas import Quotas
from graphkin.api.jobs import Jobs
from graphkin.api.ports import PortFactory
from graphkin.api.previews import MEMORY as PREVIEW_MEMORY
from graphkin.api.previews import Previews
from graphkin.api.reports import Reports
from graphkin.api.settings import Settings
from graphkin.api.work.classes import CLASSES, MAX_RUNNING, Queue
from graphkin.api.work.fragments import MoleculeCutter
from graphkin.api.work.pool import Pool, new_fork_server
from graphkin.api.work.structures import MEMORY, StructureReader
from graphkin.api.work.substructures import SubstructureMatcher
from graphkin.api.work.warmup import Warmup
from graphkin.runtime.workers.fork_server import ForkServer
from graphkin.store import open_store
from graphkin.store.positives import PositiveCache

_log = logging.getLogger(__name__)

_MATCHERS = 2  # worker processes that match substructures
_IDLE_SECONDS = 20.0  # time after which idle workers for exports and patterns are stopped, because they are rarely used


class State(TypedDict):
    """Objects that all requests share. They are created by `open_state`."""

    access_control: AccessControl
    generations: GenerationCache
    positives: PositiveCache
    structures: StructureReader
    substructures: SubstructureMatcher
    depictor: Depictor
    exports: Exports
    queues: dict[str, Queue]
    threads: CapacityLimiter
    quotas: Quotas
    warmup: Warmup
    scrubber: Scrubber
    reports: Reports
    jobs: Jobs
    previews: Previews


@asynccontextmanager
async def open_state(settings: Settings, shared_fork_server: ForkServer | None = None) -> AsyncIterator[State]:
    """Open the store, the caches and the worker pools while the block runs.

    Args:
        settings: Settings of the server.
        shared_fork_server: Fork server to use, which stays open afterwards. By default, a new one is started.

    Raises:
        StoreError: The store or a cache cannot be opened, or its server lacks the sampling engine.
        InvalidInput: The store does not support the sampling engine.
    """
    folder, max_bytes = settings.cache_dir / "positives", settings.cache_bytes
    with (
        open_store(settings.store, allow_missing=True) as store,
        closing(PositiveCache(folder, max_bytes, setting="GRAPHKIN_CACHE_BYTES")) as positives,
        closing(Quotas(settings.cache_dir / "quotas")) as quotas,
        closing(BackgroundResults()) as results,
        closing(Jobs(settings)) as jobs,
        closing(new_fork_server()) if shared_fork_server is None else nullcontext(shared_fork_server) as fork_server,
    ):
        store.require_engine(settings.sampler)
        if note := store.engine_note(settings.sampler):
            _log.warning("%s", note)
        location, files = str(settings.store), settings.cache_dir / "exports"
        async with (
            Pool(fork_server, 2, niceness=2, memory=MEMORY) as readers,
            Pool(fork_server, 2, niceness=5, memory=MEMORY) as drawers,
            Pool(fork_server, 2, niceness=10, memory=MEMORY) as comparers,
            Pool(fork_server, 2, niceness=10, memory=MEMORY, idle=_IDLE_SECONDS) as pattern_readers,
            Pool(fork_server, _MATCHERS, niceness=10, memory=MEMORY) as matchers,
            Pool(fork_server, 2, niceness=10, idle=_IDLE_SECONDS) as exporters,
            Pool(fork_server, 2, niceness=5, memory=PREVIEW_MEMORY, idle=_IDLE_SECONDS) as previewers,
            aclosing(
                PatternMatches(substructures := SubstructureMatcher(pattern_readers, matchers, location, _MATCHERS))
            ) as patterns,
        ):
            structures, depictor = StructureReader(readers), Depictor(drawers, comparers)
            port_factory = PortFactory(structures, patterns, results, depictor, MoleculeCutter(comparers))
            with (
                closing(
                    Exports(exporters, location, files, settings.export_bytes, setting="GRAPHKIN_EXPORT_BYTES")
                ) as exports,
                closing(GenerationCache(store, settings.sampler, port_factory.ports)) as generations,
                closing(Scrubber(generations.open_generations, settings.scrub_hours * 3600)) as scrubber,
            ):
                yield State(
                    access_control=AccessControl(store.keys()),
                    generations=generations,
                    positives=positives,
                    structures=structures,
                    substructures=substructures,
                    depictor=depictor,
                    exports=exports,
                    quotas=quotas,
                    queues={name: Queue(name) for name in CLASSES},
                    threads=CapacityLimiter(MAX_RUNNING + CLASSES["substructure"].max_waiting),
                    warmup=Warmup(readers),
                    scrubber=scrubber,
                    reports=Reports(settings.reports),
                    jobs=jobs,
                    previews=Previews(previewers),
                )


def state_of(request: Request) -> State:
    """Return the state of the application that serves a request."""
    return cast(State, request.scope["state"])
