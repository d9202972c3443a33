"""Recipes of nodes."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from graphkin.protocol.values import MAX_SEED
from graphkin.similarity.graphs.recipe import StructureRecipe
from graphkin.similarity.recipe import validate_recipe


class NodeRecipe(StructureRecipe):
    """Settings for comparing the nodes of a network (docs/concepts/method.md; §4.2 and A.2 of the paper).

    The kernel "wl" compares the subgraphs around two nodes by the Weisfeiler-Lehman kernel. The subgraph around a node
    consists of the nodes that random walks from the node visit, and of the edges between them.

    The kernel "proximity" computes 1 / (1 + d), where d is the distance of two nodes in edges. The subgraphs are stored
    as well, for display.

    Attributes:
        restart: Probability that a walk ends, at each step.
        walks: Number of walks from each node; "paper" for max(64, round(degree · e / (e - 1) / restart)).
        max_nodes: Maximum number of nodes of a subgraph. The walks stop when they have visited so many nodes.
        seed: Seed of the walks.
        radius: Largest distance of two similar nodes, for the kernel "proximity".
    """

    centered: ClassVar[bool] = True

    labels: Literal["degree", "uniform", "centre"] = "degree"
    kernel: Literal["wl", "proximity"] = "wl"
    restart: Annotated[float, Field(ge=0.01, lt=1)] = 0.8
    walks: Literal["paper"] | Annotated[int, Field(ge=1, le=1_000_000)] = "paper"
    max_nodes: Annotated[int, Field(ge=2, le=10_000)] = 256
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    radius: Annotated[int, Field(ge=1, le=10)] = 2

    @model_validator(mode="after")
    def _check_candidates(self) -> Self:
        if self.kernel == "proximity" and self.candidates != "exact":
            raise ValueError("candidates exact with the kernel proximity, which compares all nodes within the radius")
        return self


def resolve_nodes(**explicit: Any) -> NodeRecipe:
    """Return the default recipe, overridden by every option that is not None.

    Raises:
        InvalidInput: A value is invalid.
    """
    return validate_recipe(NodeRecipe, {key: value for key, value in explicit.items() if value is not None})
