"""Recipes of graphs, and their presets."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from graphkin.similarity.recipe import Recipe, override_preset, validate_recipe

WEISFEILER_LEHMAN = ("wl", "grakel")
"""The kernels that compute Weisfeiler-Lehman similarities: the built-in one and the one of GraKeL."""


class StructureRecipe(Recipe):
    """The settings that the recipes of graphs and of nodes have in common (docs/concepts/method.md).

    At threshold 0, every pair with a similarity above 0 is an edge.

    Attributes:
        centered: Whether each graph is the subgraph around one node, its center. If so, the JSON text of a graph
            states which node is the center.
        labels: Initial node labels.
        iterations: Number of Weisfeiler-Lehman refinements of the labels.
        closeness: Size limit of the candidate rule. A graph is a candidate for a target graph with V nodes and E
            edges if it has V ± V / `closeness` nodes and E ± E / `closeness` edges (`GraphDescriptors.window`).
        kernel: The graph kernel.
    """

    centered: ClassVar[bool] = False

    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    labels: str
    iterations: Annotated[int, Field(ge=0, le=20)] = 3
    closeness: Annotated[int, Field(ge=1, le=100)] = 10
    kernel: str

    @property
    def is_weighted(self) -> bool:
        """Whether nodes count by their weights in the text of a graph. If not, each node counts once."""
        return False

    @property
    def compared_attributes(self) -> Sequence[str]:
        """The attributes of nodes that the text of a graph must contain: "labels", "weights", both or none."""
        labels = ["labels"] if self.labels in ("given", "log-degree") else []
        return [*labels, "weights"] if self.is_weighted else labels


class GraphRecipe(StructureRecipe):
    """Settings for comparing graphs. Kernels whose names start with "grakel" require GraKeL.

    The initial label of a node is its degree, the same for all nodes ("uniform"), the number of the node ("index"), or
    its label in the input ("given").
    """

    labels: Literal["degree", "uniform", "index", "given"] = "degree"
    kernel: Literal["wl", "grakel", "grakel-shortest-path", "grakel-graphlet"] = "wl"


_PAPER = {"candidates": "window", "top_k": 0}

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PAPER,
    "rc": {**_PAPER, "ties": "index", "labels": "index", "closeness": 5},
}
"""Settings that differ from the defaults, by preset: those of the paper, and of its released code ("rc")."""


def resolve_graphs(preset: str = "default", **explicit: Any) -> GraphRecipe:
    """Return the recipe of a preset, overridden by every option that is not None.

    Raises:
        InvalidInput: The preset does not exist, or a value is invalid.
    """
    return validate_recipe(GraphRecipe, override_preset(PRESETS, preset, explicit))
