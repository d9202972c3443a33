"""Pre-training strategies, and the settings by which they sample from the similarity graph."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import ceil, isfinite
from typing import Any, Literal, get_args

from graphkin.protocol.errors import require
from graphkin.protocol.values import (
    MAX_LENGTH,
    MAX_POSITIVES,
    MAX_SEED,
    MAX_SHARED,
    MAX_WALKS,
    Pad,
    PolicyName,
    Rank,
)
from graphkin.trainer.errors import SETTINGS_HINT

Strategy = Literal[
    "hgc-fo",
    "hgc-ho",
    "adam",
    "rdm",
    "hgc-adam-fo",
    "hgc-adam-ho",
    "gcc",
    "edge-pred",
    "infomax",
    "context-pred",
    "graphcl",
    "c-subgraph",
]
Preset = Literal["default", "paper", "rc"]
Encoder = Literal["gin", "gcn", "sage"]
Positives = Literal["exact", "window", "shuffled", "size-matched", "augmented"]
WalkUnit = Literal["visits", "walks"]
Operation = Literal["drop-nodes", "drop-edges", "subgraph", "subgraph-published", "walk"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
_TASKS: tuple[Strategy, ...] = ("edge-pred", "infomax", "context-pred")
BASELINES: tuple[Strategy, ...] = (*_TASKS, "graphcl", "c-subgraph")
LEARNED_BY: Mapping[str, tuple[Strategy, ...]] = {
    "molecule": ("hgc-fo", "hgc-ho", "adam", "rdm", "hgc-adam-fo", "hgc-adam-ho", *BASELINES),
    "graph": ("hgc-fo", "hgc-ho", *BASELINES),
    "node": ("hgc-fo", "hgc-ho", "gcc"),
}
"""The strategies that can train on each kind of items.

Masking requires atoms, GCC requires the big graph of the nodes, and the other baselines require whole graphs.
"""
PRESETS: tuple[Preset, ...] = ("default", "paper", "rc")
POSITIVES: tuple[Positives, ...] = ("exact", "window", "shuffled", "size-matched", "augmented")
ENCODERS: tuple[Encoder, ...] = ("gin", "gcn", "sage")
"""Encoders for all kinds of items."""
NODE_ENCODERS = ("gin-gcc",)
"""Encoders for nodes of big graphs only."""


@dataclass(frozen=True)
class Policy:
    """Sampling policy of positives, with the API's parameters (paper, sections 4.2 and 4.3; method.md B).

    Attributes:
        name: `first_order`, `random_walk` or `second_order`.
        k: Positives per anchor.
        length: Edges per walk.
        walks: Walks per anchor.
        p: node2vec's return parameter; 1 leaves the walk unbiased.
        q: node2vec's in-out parameter; 1 leaves the walk unbiased.
        p_end: Probability that a walk ends after a step, in [0, 1).
        restart: Probability that a walk returns to the anchor, in [0, 1).
        rank: Selection of positives by their number of visits: `top`, `count` or `exp`.
        pad: Padding of short lists: `resample`, or `self` for the anchor.
    """

    name: PolicyName
    k: int
    length: int = 2
    walks: int = 5
    p: float = 1.0
    q: float = 1.0
    p_end: float = 0.0
    restart: float = 0.0
    rank: Rank = "exp"
    pad: Pad = "resample"

    def __post_init__(self) -> None:
        for quantity, value, maximum in (
            ("number of positives", self.k, MAX_POSITIVES),
            ("length of a walk", self.length, MAX_LENGTH),
            ("number of walks", self.walks, MAX_WALKS),
        ):
            require(1 <= value <= maximum, quantity, value, f"1 to {maximum}", hint=SETTINGS_HINT)
        for bias in (self.p, self.q):
            require(bias > 0 and isfinite(bias), "bias of a walk", bias, "above 0, and finite", hint=SETTINGS_HINT)
        for chance in (self.p_end, self.restart):
            require(
                0 <= chance < 1,
                "probability that a walk ends or restarts",
                chance,
                "0 or more and below 1",
                hint=SETTINGS_HINT,
            )

    def parameters(self) -> dict[str, Any]:
        """Return all parameters except the name."""
        return {parameter: value for parameter, value in asdict(self).items() if parameter != "name"}


@dataclass(frozen=True)
class Walks:
    """Random walks with restart that sample the subgraph around a node of a big graph (docs/concepts/method.md).

    Attributes:
        restart: Probability that a walk ends before a step, in (0, 1).
        fewest: Minimum number of visits or walks. A node has round(degree · e / (e - 1) / restart) of them if that is
            more.
        max_nodes: Maximum number of nodes of the subgraph, which is induced on the start node and the first nodes
            visited.
        unit: The quantity that `fewest` counts: `visits`, the steps of all walks together, as in GCC; or `walks`, the
            number of walks, of which most make no step at a restart probability of 0.8. Runs from before 0.2 count
            walks.
    """

    restart: float = 0.8
    fewest: int = 256
    max_nodes: int = 256
    unit: WalkUnit = "visits"

    def __post_init__(self) -> None:
        require(
            0 < self.restart < 1,
            "probability that a walk ends",
            self.restart,
            "above 0 and below 1",
            hint=SETTINGS_HINT,
        )
        require(self.fewest >= 1, "number of visits or walks", self.fewest, "1 or more", hint=SETTINGS_HINT)
        require(self.max_nodes >= 1, "number of nodes", self.max_nodes, "1 or more", hint=SETTINGS_HINT)
        units = get_args(WalkUnit)
        require(self.unit in units, "unit of the walks", self.unit, ", ".join(units), hint=SETTINGS_HINT)


@dataclass(frozen=True)
class Views:
    """Options of augmented views of a graph (GraphCL: You et al., 2020; docs/reference/training.md).

    Attributes:
        operations: Operations of `features.altered`. Each view is made by one of them, chosen uniformly.
        ratio: Share of the nodes or edges to leave out, in [0, 1]. Their number is rounded down. `walk` ignores it.
        anchors: Whether the anchor is augmented too. If so, two views of a graph form a positive pair. Otherwise the
            graph and one view do.
    """

    operations: tuple[Operation, ...] = ("drop-nodes", "subgraph")
    ratio: float = 0.2
    anchors: bool = False

    def __post_init__(self) -> None:
        require(len(self.operations) > 0, "list of operations", self.operations, "one or more", hint=SETTINGS_HINT)
        require(0 <= self.ratio <= 1, "share that is left out", self.ratio, "0 to 1", hint=SETTINGS_HINT)


@dataclass(frozen=True)
class Sampling:
    """Settings of the samples of each epoch: positives, negatives, walks and views.

    Attributes:
        policy: Policy of the positives; None for no positives.
        negatives: Number of shared negatives per batch. If it is 0, the positives of other anchors or a queue serve as
            negatives.
        batch_size: Number of anchors per batch. It determines the number of batches of shared negatives in an epoch.
        seed: Seed of all samples, 0 to 2^53 - 1.
        walks: Settings of random walks that sample two subgraphs around each anchor, which are each other's positive;
            None for no walks.
        positives: Origin of the positives. `exact`: the similarity graph of the collection. `window`: a second
            collection of the same items. `shuffled`: the positives of another anchor. `size-matched`: any items of the
            anchor's size. `augmented`: augmented views of the anchor. `feed.positives` implements all but the first.
        views: Options of augmented views; None for no views.
    """

    policy: Policy | None
    negatives: int = 0
    batch_size: int = 256
    seed: int = 0
    walks: Walks | None = None
    positives: Positives = "exact"
    views: Views | None = None

    def __post_init__(self) -> None:
        require(
            0 <= self.negatives <= MAX_SHARED,
            "number of negatives",
            self.negatives,
            f"0 to {MAX_SHARED}",
            hint=SETTINGS_HINT,
        )
        require(
            self.policy is not None or not self.negatives,
            "number of negatives",
            self.negatives,
            "0 for a strategy without positives",
            hint=SETTINGS_HINT,
        )
        require(self.batch_size >= 2, "batch size", self.batch_size, "2 or more", hint=SETTINGS_HINT)
        require(0 <= self.seed <= MAX_SEED, "seed", self.seed, f"0 to {MAX_SEED}", hint=SETTINGS_HINT)

    @classmethod
    def from_strategy(
        cls,
        strategy: Strategy,
        *,
        kind: str = "molecule",
        preset: Preset = "default",
        encoder: str = "gin",
        batch_size: int = 256,
        seed: int = 0,
        positives: Positives = "exact",
    ) -> "Sampling":
        """Return the published settings of a strategy (paper, T6 and T7; method.md B).

        - First order: 3 positives, and no shared negatives.
        - High order: 5 positives from 5 walks of 2 edges, and 255 shared negatives. GCN and GraphSAGE without AdaM have
          7 walks of 4 edges.
        - Nodes, in both orders: one positive, and no shared negatives.
        - AdaM and the baselines of Hu et al.: no samples.
        - GCC: walks on the big graph.
        - GraphCL and C_Subgraph: two views of every item, even of items without neighbors.

        The preset `paper` takes the most visited graphs as positives. `rc` ends walks with probability 0.2 per step,
        and pads short lists with the anchor.
        """
        match strategy:
            case "gcc":
                return cls(None, 0, batch_size, seed, Walks())
            case "graphcl":
                return cls(None, 0, batch_size, seed, views=Views(anchors=True))
            case "c-subgraph":
                return cls(None, 0, batch_size, seed, views=Views(("walk",), anchors=True))
        if strategy in ("adam", "rdm", *_TASKS):
            return cls(None, 0, batch_size, seed)
        views = Views() if positives == "augmented" else None
        has_one_positive = kind == "node"
        if strategy in ("hgc-fo", "hgc-adam-fo"):
            policy = _preset(Policy("first_order", k=1 if has_one_positive else 3), preset)
            return cls(policy, 0, batch_size, seed, positives=positives, views=views)
        is_long = strategy == "hgc-ho" and encoder in ("gcn", "sage")
        walk = Policy(
            "random_walk", k=1 if has_one_positive else 5, length=4 if is_long else 2, walks=7 if is_long else 5
        )
        return cls(
            _preset(walk, preset), 0 if has_one_positive else 255, batch_size, seed, positives=positives, views=views
        )

    def batches(self, size: int) -> int:
        """Return the number of batches of shared negatives in an epoch of `size` items; 0 if there are none."""
        return ceil(size / self.batch_size) if self.negatives else 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Sampling":
        """Return the settings that `as_json` has returned as JSON.

        Raises:
            LookupError: A field is missing.
            TypeError: A field is unknown or has another type.
            InvalidInput: A value is out of range.
        """
        policy, walks, views = values["policy"], values.get("walks"), values.get("views")
        parts = {
            "policy": None if policy is None else Policy(**policy),
            "walks": None if walks is None else Walks(**{"unit": "walks", **walks}),
            "views": None if views is None else Views(**{**views, "operations": tuple(views["operations"])}),
        }
        return cls(**{**values, **parts})


def _preset(policy: Policy, preset: Preset) -> Policy:
    match preset:
        case "paper":
            return replace(policy, rank="top")
        case "rc":
            return replace(policy, p_end=0.2, pad="self")
        case _:
            return policy
