"""Recipes of nodes."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from graphkin.protocol.values import MAX_SEED
from graphkin.similarity.graphs.recipe import StructureRecipe
from graphkin.similarity.recipe import validated


class NodeRecipe(StructureRecipe):
    """How nodes of a big graph are compared (docs/method.md; §4.2 and A.2 of the paper).

    wl         by the subgraphs that random walks with restart find around them, as graphs are. A node takes `walks`
               walks, by default ("paper") m = max(64, round(degree · e / (e - 1) / restart)), each of which ends before
               a step with probability `restart`; the subgraph is induced on the first `max_nodes` nodes they visit.
    proximity  1 / (1 + d) where d, at most `radius`, is the distance of two nodes. The subgraphs are kept to be seen.
    """

    centred: ClassVar[bool] = True

    labels: Literal["degree", "uniform", "centre"] = "degree"
    kernel: Literal["wl", "proximity"] = "wl"
    restart: Annotated[float, Field(ge=0.01, lt=1)] = 0.8
    walks: Literal["paper"] | Annotated[int, Field(ge=1, le=1_000_000)] = "paper"
    max_nodes: Annotated[int, Field(ge=2, le=10_000)] = 256
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    radius: Annotated[int, Field(ge=1, le=10)] = 2

    @model_validator(mode="after")
    def _reach(self) -> Self:
        if self.kernel == "proximity" and self.candidates != "exact":
            raise ValueError("proximity has no window: all nodes within the radius are compared")
        return self


def resolve_nodes(**explicit: Any) -> NodeRecipe:
    """The defaults with every option that is not None put over them. Raises `InvalidInput`."""
    return validated(NodeRecipe, {key: value for key, value in explicit.items() if value is not None})
