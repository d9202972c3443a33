"""Which engine draws: `snapshot` in this process, or `gds` on the Neo4j server."""

from contextlib import suppress
from typing import Literal

from store.base import Generation
from store.errors import InvalidInput
from store.sampling.base import Sampler
from store.sampling.snapshot import SnapshotSampler

Engine = Literal["snapshot", "gds"]


def sampler_of(generation: Generation, engine: Engine = "snapshot", threads: int | None = None) -> Sampler:
    """A sampler over a generation. `snapshot` reads its graph here and now, for `threads` threads (default: all cores).

    Raises `InvalidInput` for `gds` over a store that is no Neo4j server.
    """
    if engine == "gds":
        return _on_the_server(generation)
    return SnapshotSampler(generation.graph(), generation.id, threads)


def _on_the_server(generation: Generation) -> Sampler:
    with suppress(ModuleNotFoundError):  # without the neo4j extra no generation is one of Neo4j's
        from store.neo4j.gds import GdsSampler
        from store.neo4j.generation import Neo4jGeneration

        if isinstance(generation, Neo4jGeneration):
            return GdsSampler(generation)
    raise InvalidInput(
        "the gds sampler needs a Neo4j store",
        given=generation.collection,
        expected="a store at a neo4j:// or bolt:// URL",
        hint="use the snapshot sampler for an embedded store",
    )
