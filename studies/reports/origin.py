"""Origin of a report: its generation, and the command that makes it again."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from graphkin.store.base import Generation


@dataclass(frozen=True)
class Origin:
    """Origin of a report. It has no date, so the same command gives the same bytes.

    `graphkin` is the version that made the report.
    """

    collection: str
    generation: str
    kind: str
    items: int
    edges: int
    recipe: Mapping[str, Any]
    command: str
    graphkin: str

    @classmethod
    def from_generation(cls, generation: Generation, command: str) -> "Origin":
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
