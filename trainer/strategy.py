"""What each pre-training strategy draws from the store."""

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
Operation = Literal["drop-nodes", "drop-edges", "subgraph", "subgraph-published", "walk"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
_TASKS: tuple[Strategy, ...] = ("edge-pred", "infomax", "context-pred")
BASELINES: tuple[Strategy, ...] = (*_TASKS, "graphcl", "c-subgraph")
LEARNED_BY: Mapping[str, tuple[Strategy, ...]] = {
    "molecule": ("hgc-fo", "hgc-ho", "adam", "rdm", "hgc-adam-fo", "hgc-adam-ho", *BASELINES),
    "graph": ("hgc-fo", "hgc-ho", *BASELINES),
    "node": ("hgc-fo", "hgc-ho", "gcc"),
}
"""The strategies that items of each kind are learned from by: only atoms can be masked, only nodes have a big graph,
and the other baselines are about whole graphs."""
PRESETS: tuple[Preset, ...] = ("default", "paper", "rc")
POSITIVES: tuple[Positives, ...] = ("exact", "window", "shuffled", "size-matched", "augmented")
ENCODERS: tuple[Encoder, ...] = ("gin", "gcn", "sage")


@dataclass(frozen=True)
class Policy:
    """How positives are drawn (docs/method.md): the parameters of the API, each of them said.

    name    first_order, random_walk or second_order.       k       positives an anchor.
    length  edges a walk.  walks  walks an anchor.          p, q    node2vec's biases; 1 leaves the walk unbiased.
    p_end   probability that a walk ends after a step.      restart  that it goes back to the anchor.
    rank    top, count or exp: how visits count.            pad      resample or self: what fills up short lists.
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
        for what, given, most in (
            ("number of positives", self.k, MAX_POSITIVES),
            ("length of a walk", self.length, MAX_LENGTH),
            ("number of walks", self.walks, MAX_WALKS),
        ):
            require(1 <= given <= most, what, given, f"1 to {most}")
        for bias in (self.p, self.q):
            require(bias > 0 and isfinite(bias), "bias of a walk", bias, "above 0, and finite")
        for chance in (self.p_end, self.restart):
            require(0 <= chance < 1, "probability that a walk ends or restarts", chance, "0 or more and below 1")

    def parameters(self) -> dict[str, Any]:
        """All but the name."""
        return {parameter: value for parameter, value in asdict(self).items() if parameter != "name"}


@dataclass(frozen=True)
class Walks:
    """How the subgraph around a node of a big graph is drawn: by random walks with restart (docs/method.md).

    restart    probability that a walk ends before a step, above 0 and below 1.
    fewest     walks from a node at least: it has round(degree · e / (e - 1) / restart) of them.
    max_nodes  the subgraph is induced on the first so many nodes that they visit, the node itself being one.
    """

    restart: float = 0.8
    fewest: int = 64
    max_nodes: int = 256

    def __post_init__(self) -> None:
        require(0 < self.restart < 1, "probability that a walk ends", self.restart, "above 0 and below 1")
        require(self.fewest >= 1, "number of walks", self.fewest, "1 or more")
        require(self.max_nodes >= 1, "number of nodes", self.max_nodes, "1 or more")


@dataclass(frozen=True)
class Views:
    """How copies of a graph are damaged (You et al., 2020: GraphCL; docs/training.md).

    operations  of `features.altered`; each copy is made by one of them, any being as likely.
    ratio       share of the nodes, or edges, that are left out, 0 to 1, rounded down; walks do not ask for it.
    anchors     the anchor is damaged too: two copies are told apart from others, and not a graph and a copy.
    """

    operations: tuple[Operation, ...] = ("drop-nodes", "subgraph")
    ratio: float = 0.2
    anchors: bool = False

    def __post_init__(self) -> None:
        require(len(self.operations) > 0, "list of operations", self.operations, "one or more")
        require(0 <= self.ratio <= 1, "share that is left out", self.ratio, "0 to 1")


@dataclass(frozen=True)
class Draws:
    """What is drawn in each epoch.

    policy      of the positives; None: no positives.
    negatives   shared negatives of a batch; 0: none, the other anchors' positives serve, or a queue.
    batch_size  anchors of a batch; it says how many batches of shared negatives an epoch has.
    seed        of all draws, 0 to 2^53 - 1.
    walks       of subgraphs around an anchor, each of which is another's positive; None: none.
    positives   where they come from: `exact`, the collection; `window`, another collection of the same items;
                `shuffled`, the collection, each anchor getting another's; `size-matched`, any item of the anchor's
                size; `augmented`, damaged copies of the anchor. See `feed.positives`.
    views       how copies are damaged; None: nothing is.
    """

    policy: Policy | None
    negatives: int = 0
    batch_size: int = 256
    seed: int = 0
    walks: Walks | None = None
    positives: Positives = "exact"
    views: Views | None = None

    def __post_init__(self) -> None:
        require(0 <= self.negatives <= MAX_SHARED, "number of negatives", self.negatives, f"0 to {MAX_SHARED}")
        require(
            self.policy is not None or not self.negatives, "number of negatives", self.negatives, "0: nothing is drawn"
        )
        require(self.batch_size >= 2, "batch size", self.batch_size, "2 or more")
        require(0 <= self.seed <= MAX_SEED, "seed", self.seed, f"0 to {MAX_SEED}")

    @classmethod
    def of(
        cls,
        strategy: Strategy,
        *,
        kind: str = "molecule",
        preset: Preset = "default",
        encoder: Encoder = "gin",
        batch_size: int = 256,
        seed: int = 0,
        positives: Positives = "exact",
    ) -> "Draws":
        """As in T6 and T7 of the paper (docs/method.md); AdaM and the baselines of Hu et al. draw nothing.

        First order: 3 positives. High order: 5 of 5 walks of 2 edges, for GCN and GraphSAGE without AdaM of 7 walks
        of 4; 255 shared negatives. `paper` takes the most visited; `rc` ends walks with probability 0.2 a step and
        pads short lists with the anchor. Nodes have one positive, and no shared negatives. GCC walks on the big graph;
        GraphCL and C_Subgraph make two copies of every item, linked or not.
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
        single = kind == "node"
        if strategy in ("hgc-fo", "hgc-adam-fo"):
            first = _preset(Policy("first_order", k=1 if single else 3), preset)
            return cls(first, 0, batch_size, seed, positives=positives, views=views)
        far = strategy == "hgc-ho" and encoder != "gin"
        walk = Policy("random_walk", k=1 if single else 5, length=4 if far else 2, walks=7 if far else 5)
        return cls(_preset(walk, preset), 0 if single else 255, batch_size, seed, positives=positives, views=views)

    def batches(self, size: int) -> int:
        """Batches of shared negatives in an epoch over `size` items; 0 where there are none."""
        return ceil(size / self.batch_size) if self.negatives else 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "Draws":
        """What `as_json` gave. Raises `TypeError` for anything else."""
        policy, walks, views = said["policy"], said.get("walks"), said.get("views")
        parts = {
            "policy": None if policy is None else Policy(**policy),
            "walks": None if walks is None else Walks(**walks),
            "views": None if views is None else Views(**{**views, "operations": tuple(views["operations"])}),
        }
        return cls(**{**said, **parts})


def _preset(policy: Policy, preset: Preset) -> Policy:
    match preset:
        case "paper":
            return replace(policy, rank="top")
        case "rc":
            return replace(policy, p_end=0.2, pad="self")
        case _:
            return policy
