"""From what a report was made, and by which command it is made again."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from graphkin.store.base import Generation


@dataclass(frozen=True)
class Origin:
    """`graphkin` is the version that made the report. There is no date: the same command gives the same bytes."""

    collection: str
    generation: str
    kind: str
    items: int
    edges: int
    recipe: Mapping[str, Any]
    command: str
    graphkin: str

    @classmethod
    def of(cls, generation: Generation, command: str) -> "Origin":
        manifest = generation.manifest
        return cls(
            collection=generation.collection,
            generation=generation.id,
            kind=manifest.kind,
            items=generation.size,
            edges=manifest.edges,
            recipe=manifest.recipe,
            command=command,
            graphkin=version("graphkin"),
        )
