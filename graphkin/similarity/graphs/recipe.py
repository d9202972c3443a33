"""Recipes of graphs, and their presets."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from graphkin.similarity.recipe import Recipe, override_preset, validate_recipe

WEISFEILER_LEHMAN = ("wl", "grakel")
"""The kernels that compute Weisfeiler-Lehman similarities: the built-in one and the one of GraKeL."""


class StructureRecipe(Recipe):
    """The settings that the recipes of graphs and of nodes have in common (docs/method.md).

    At threshold 0, every pair with a similarity above 0 is an edge.

    Attributes:
        centered: Whether each graph is the subgraph around a node, its center, which its text names.
        labels: Initial node labels.
        iterations: Number of refinements of the labels.
        closeness: Bound of the candidate rule. A graph is a candidate of a target if its numbers of nodes and of edges
            each differ from those of the target by at most the share 1 / `closeness`.
        kernel: The graph kernel.
    """

    centered: ClassVar[bool] = False

    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    labels: str
    iterations: Annotated[int, Field(ge=0, le=20)] = 3
    closeness: Annotated[int, Field(ge=1, le=100)] = 10
    kernel: str


class GraphRecipe(StructureRecipe):
    """Settings for comparing graphs. Kernels whose names start with "grakel" require GraKeL."""

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
