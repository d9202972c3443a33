"""Recipes of graphs and their presets."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from graphkin.similarity.recipe import Recipe, combined, validated

WEISFEILER_LEHMAN = ("wl", "grakel")
"""Kernels with the same numbers."""


class StructureRecipe(Recipe):
    """How structures without attributes are compared: initial node labels, refinements and kernel (docs/method.md).

    Two are candidates if their numbers of nodes and of edges differ by at most 1 / `closeness` of one's. At threshold 0
    every pair with any similarity counts. `centred`: each is the surroundings of a node, and says of which.
    """

    centred: ClassVar[bool] = False

    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    labels: str
    iterations: Annotated[int, Field(ge=0, le=20)] = 3
    closeness: Annotated[int, Field(ge=1, le=100)] = 10
    kernel: str


class GraphRecipe(StructureRecipe):
    """That of graphs. The kernels of GraKeL need it installed."""

    labels: Literal["degree", "uniform", "index", "given"] = "degree"
    kernel: Literal["wl", "grakel", "grakel-shortest-path", "grakel-graphlet"] = "wl"


_PUBLISHED = {"candidates": "window", "top_k": 0}

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PUBLISHED,
    "rc": {**_PUBLISHED, "ties": "index", "labels": "index", "closeness": 5},
}


def resolve_graphs(preset: str = "default", **explicit: Any) -> GraphRecipe:
    """The preset's recipe with every option that is not None put over it. Raises `InvalidInput`."""
    return validated(GraphRecipe, combined(PRESETS, preset, explicit))
