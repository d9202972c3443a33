"""Recipes of nodes, and their presets."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.protocol.values import MAX_SEED
from graphkin.similarity.graphs.recipe import StructureRecipe
from graphkin.similarity.recipe import override_preset, validate_recipe


class NodeRecipe(StructureRecipe):
    """Settings for comparing the nodes of a network (docs/concepts/method.md; §4.2 and A.2 of the paper).

    The kernel "wl" compares the subgraphs around two nodes by the Weisfeiler-Lehman kernel. The subgraph around a node
    consists of nodes near it, and of the edges between them.

    The kernel "proximity" computes 1 / (1 + d), where d is the distance of two nodes in edges. The subgraphs are stored
    as well, for display.

    Attributes:
        subgraph: How the nodes of a subgraph are found: "ppr" takes those with the highest personalized PageRank,
            "walks" those that random walks visit.
        weights: How much a node of a subgraph counts: "visits" for its share of the PageRank or of the visits, "none"
            for 1.
        labels: Initial node labels: "log-degree", the binary logarithm of the degree in the network; "degree", the
            degree in the subgraph; "uniform", the same for all nodes; or "centre", whether a node is the center.
        restart: Probability that a walk ends, at each step.
        max_nodes: Maximum number of nodes of a subgraph. Random walks stop when they have visited this many nodes.
        tolerance: Largest PageRank that is not passed on, per degree.
        min_visits: Mean number of visits that a node of a subgraph needs, if as many walks start at the center as in
            the authors' code (`pagerank.PageRankSettings`), for "ppr"; 0 for no such condition.
        walks: Number of walks from each node, for "walks"; "paper" for as many as make
            max(256, round(degree · e / (e - 1) / restart)) steps.
        seed: Seed of the walks.
        radius: Largest distance of two similar nodes, for the kernel "proximity".
        closeness: As in `StructureRecipe`, and 0 for no size limit.
    """

    centered: ClassVar[bool] = True

    schema_version: Literal[2] = 2  # type: ignore[assignment]
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    subgraph: Literal["ppr", "walks"] = "ppr"
    weights: Literal["visits", "none"] = "visits"
    labels: Literal["log-degree", "degree", "uniform", "centre"] = "log-degree"
    iterations: Annotated[int, Field(ge=0, le=20)] = 1
    closeness: Annotated[int, Field(ge=0, le=100)] = 0
    kernel: Literal["wl", "proximity"] = "wl"
    restart: Annotated[float, Field(ge=0.01, lt=1)] = 0.8
    max_nodes: Annotated[int, Field(ge=2, le=10_000)] = 64
    tolerance: Annotated[float, Field(ge=1e-9, le=0.1)] = 1e-4
    min_visits: Annotated[float, Field(ge=0)] = 0
    walks: Literal["paper"] | Annotated[int, Field(ge=1, le=1_000_000)] = "paper"
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    radius: Annotated[int, Field(ge=1, le=10)] = 2

    @property
    def is_weighted(self) -> bool:
        return self.weights == "visits"

    @model_validator(mode="after")
    def _check_candidates(self) -> Self:
        if self.kernel == "proximity" and self.candidates != "exact":
            raise ValueError("candidates exact with the kernel proximity, which compares all nodes within the radius")
        return self


PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "weights": "none",
        "labels": "degree",
        "iterations": 3,
        "max_nodes": 256,
        "tolerance": 1e-5,
        "min_visits": 1,
        "candidates": "window",
        "closeness": 10,
        "threshold": 0.0,
        "top_k": 0,
    },
}
"""Settings that differ from the defaults, by preset."""

_WALKS = {"max_nodes": 256}
_PROXIMITY = {"threshold": 0.0}
"""Other defaults of all presets, for subgraphs of walks and for the kernel proximity."""
_VERSION_1 = {"schema_version": 2, "subgraph": "walks", "weights": "none", "tolerance": 1e-4, "min_visits": 0}


def resolve_nodes(preset: str = "default", **explicit: Any) -> NodeRecipe:
    """Return the recipe of a preset, overridden by every option that is not None.

    Raises:
        InvalidInput: The preset does not exist, a value is invalid, or options do not fit together.
    """
    options = {key: value for key, value in explicit.items() if value is not None}
    if options.get("subgraph", "ppr") == "ppr" and (unused := [*options.keys() & {"walks", "seed"}]):
        name = min(unused)
        raise InvalidInput(
            f"{parameter(f'--{name}')} does not apply to subgraphs by PageRank, which take no random walks",
            given=f"{name} {options[name]}",
            expected="subgraph walks with walks or seed",
            hint=f"add {parameter('--subgraph', 'walks')}, or leave {parameter(f'--{name}')} out",
        )
    defaults = {
        **(_WALKS if options.get("subgraph") == "walks" else {}),
        **(_PROXIMITY if options.get("kernel") == "proximity" else {}),
    }
    return validate_recipe(NodeRecipe, override_preset(PRESETS, preset, {**defaults, **options}))


def upgrade(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the stored values of a recipe in the current format.

    Version 1 had only subgraphs of random walks, whose nodes all counted the same.
    """
    return {**values, **_VERSION_1} if values.get("schema_version") == 1 else values
