"""What each pre-training strategy draws from the store."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any, Literal, get_args

from graphkin.protocol.values import Pad, PolicyName, Rank

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
]
Preset = Literal["default", "paper", "rc"]
Encoder = Literal["gin", "gcn", "sage"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
_BASELINES: tuple[Strategy, ...] = ("edge-pred", "infomax", "context-pred")
LEARNED_BY: Mapping[str, tuple[Strategy, ...]] = {
    "molecule": ("hgc-fo", "hgc-ho", "adam", "rdm", "hgc-adam-fo", "hgc-adam-ho", *_BASELINES),
    "graph": ("hgc-fo", "hgc-ho", *_BASELINES),
    "node": ("hgc-fo", "hgc-ho", "gcc"),
}
"""The strategies that items of each kind are learned from by: only atoms can be masked, only nodes have a big graph,
and the baselines of Hu et al. are about whole graphs."""
PRESETS: tuple[Preset, ...] = ("default", "paper", "rc")
ENCODERS: tuple[Encoder, ...] = ("gin", "gcn", "sage")


@dataclass(frozen=True)
class Policy:
    """How positives are drawn (method.md B): the parameters of the API, each of them said.

    name    first_order, random_walk or second_order.       k       positives an anchor.
    length  edges a walk.  walks  walks an anchor.          p, q    node2vec's biases; 1 leaves the walk unbiased.
    p_end   probability that a walk ends after a step.      rank    top, count or exp: how visits count.
    pad     resample or self: what fills up short lists.
    """

    name: PolicyName
    k: int
    length: int = 2
    walks: int = 5
    p: float = 1.0
    q: float = 1.0
    p_end: float = 0.0
    rank: Rank = "exp"
    pad: Pad = "resample"

    def parameters(self) -> dict[str, Any]:
        """All but the name."""
        return {parameter: value for parameter, value in asdict(self).items() if parameter != "name"}


@dataclass(frozen=True)
class Walks:
    """How the subgraph around a node of a big graph is drawn: by random walks with restart (method.md A5, C).

    restart    probability that a walk ends before a step, above 0 and below 1.
    fewest     walks from a node at least: it has round(degree · e / (e - 1) / restart) of them.
    max_nodes  the subgraph is induced on the first so many nodes that they visit, the node itself being one.
    """

    restart: float = 0.8
    fewest: int = 64
    max_nodes: int = 256


@dataclass(frozen=True)
class Draws:
    """What is drawn in each epoch.

    policy      of the positives; None: no positives.
    negatives   shared negatives of a batch; 0: none, the other anchors' positives serve, or a queue.
    batch_size  anchors of a batch; it says how many batches of shared negatives an epoch has.
    seed        of all draws, 0 to 2^53 - 1.
    walks       of subgraphs around an anchor, each of which is another's positive; None: none.
    """

    policy: Policy | None
    negatives: int = 0
    batch_size: int = 256
    seed: int = 0
    walks: Walks | None = None

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
    ) -> "Draws":
        """As in T6 and T7 of the paper (method.md B); AdaM and the baselines of Hu et al. draw nothing.

        First order: 3 positives. High order: 5 of 5 walks of 2 edges, for GCN and GraphSAGE without AdaM of 7 walks
        of 4; 255 shared negatives. `paper` takes the most visited; `rc` ends walks with probability 0.2 a step and
        pads short lists with the anchor. Nodes have one positive, and no shared negatives. GCC walks on the big graph.
        """
        if strategy == "gcc":
            return cls(None, 0, batch_size, seed, Walks())
        if strategy in ("adam", "rdm", *_BASELINES):
            return cls(None, 0, batch_size, seed)
        single = kind == "node"
        if strategy in ("hgc-fo", "hgc-adam-fo"):
            return cls(_preset(Policy("first_order", k=1 if single else 3), preset), 0, batch_size, seed)
        far = strategy == "hgc-ho" and encoder != "gin"
        walk = Policy("random_walk", k=1 if single else 5, length=4 if far else 2, walks=7 if far else 5)
        return cls(_preset(walk, preset), 0 if single else 255, batch_size, seed)

    def batches(self, size: int) -> int:
        """Batches of shared negatives in an epoch over `size` items; 0 where there are none."""
        return ceil(size / self.batch_size) if self.negatives else 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "Draws":
        """What `as_json` gave. Raises `TypeError` for anything else."""
        policy, walks = said["policy"], said.get("walks")
        parts = {
            "policy": None if policy is None else Policy(**policy),
            "walks": None if walks is None else Walks(**walks),
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
