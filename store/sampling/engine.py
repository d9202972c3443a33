"""Which engine draws: `snapshot` in this process, or `gds` on the Neo4j server."""

from contextlib import suppress
from typing import Literal

from graphkin.protocol.errors import InvalidInput
from graphkin.store.base import Generation, Store
from graphkin.store.sampling.base import Sampler
from graphkin.store.sampling.snapshot import SnapshotSampler

Engine = Literal["snapshot", "gds"]


def require_engine(store: Store, engine: Engine) -> None:
    """Raises `InvalidInput` for `gds` over a store that is no Neo4j server, `StoreError` where the server lacks GDS."""
    if engine == "snapshot":
        return
    with suppress(ModuleNotFoundError):  # without the neo4j extra no store is one of Neo4j's
        from graphkin.store.neo4j.store import Neo4jStore

        if isinstance(store, Neo4jStore):
            store.require_gds()
            return
    raise _not_neo4j()


def sampler_of(generation: Generation, engine: Engine = "snapshot", threads: int | None = None) -> Sampler:
    """A sampler over a generation. `snapshot` reads its graph here and now, for `threads` threads (default: all cores).

    Raises `InvalidInput` for `gds` over a store that is no Neo4j server.
    """
    if engine == "gds":
        with suppress(ModuleNotFoundError):
            from graphkin.store.neo4j.gds import GdsSampler
            from graphkin.store.neo4j.generation import Neo4jGeneration

            if isinstance(generation, Neo4jGeneration):
                return GdsSampler(generation)
        raise _not_neo4j()
    return SnapshotSampler(generation.graph(), generation.id, threads)


def _not_neo4j() -> InvalidInput:
    return InvalidInput(
        "the gds sampler needs a Neo4j store",
        given="an embedded store",
        expected="a store at a neo4j:// or bolt:// URL",
        hint="use the snapshot sampler for an embedded store",
    )
