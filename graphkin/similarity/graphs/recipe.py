"""Recipes of graphs, and their presets."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from graphkin.similarity.recipe import Recipe, override_preset, validate_recipe

WEISFEILER_LEHMAN = ("wl", "grakel")
"""Kernels that compute the same similarities."""


class StructureRecipe(Recipe):
    """Settings for comparing graphs without attributes: node labels, refinements and kernel (docs/method.md).

    Two graphs are candidates if their numbers of nodes and of edges each differ by at most 1 / `closeness` of the
    target's. At threshold 0, every pair with similarity above 0 is an edge. If `centred` is true, each graph is the
    subgraph around a node, and its text names that node.
    """

    centred: ClassVar[bool] = False

    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    labels: str
    iterations: Annotated[int, Field(ge=0, le=20)] = 3
    closeness: Annotated[int, Field(ge=1, le=100)] = 10
    kernel: str


class GraphRecipe(StructureRecipe):
    """Settings for comparing graphs. The kernels of GraKeL require it to be installed."""

    labels: Literal["degree", "uniform", "index", "given"] = "degree"
    kernel: Literal["wl", "grakel", "grakel-shortest-path", "grakel-graphlet"] = "wl"


_PUBLISHED = {"candidates": "window", "top_k": 0}

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PUBLISHED,
    "rc": {**_PUBLISHED, "ties": "index", "labels": "index", "closeness": 5},
}


def resolve_graphs(preset: str = "default", **explicit: Any) -> GraphRecipe:
    """Return the recipe of a preset, overridden by every option that is not None.

    Raises:
        InvalidInput: The preset does not exist, or a value is invalid.
    """
    return validate_recipe(GraphRecipe, override_preset(PRESETS, preset, explicit))
