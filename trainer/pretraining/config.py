"""All options of pre-training with their defaults, from the paper's tables (T6, T7) and text."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, Self, TypeVar, get_args

from graphkin.protocol.errors import Conflict, InvalidInput, require
from graphkin.trainer.features.eigenvectors import EIGENVECTORS
from graphkin.trainer.pretraining.masking import Masking, uniform
from graphkin.trainer.strategy import (
    BASELINES,
    ENCODERS,
    LEARNED_BY,
    POSITIVES,
    PRESETS,
    STRATEGIES,
    Draws,
    Encoder,
    Positives,
    Preset,
    Strategy,
)

T = TypeVar("T")

_EPOCHS = 100  # for strategies without contrast

ScheduleShape = Literal["linear", "restarting", "constant"]
ContrastLoss = Literal["hgc", "nt-xent"]
TaskName = Literal["edge-pred", "infomax", "context-pred"]


@dataclass(frozen=True)
class Nodes:
    """Node features of subgraphs of a big graph: the options of `NodeInputs`."""

    eigenvectors: int = EIGENVECTORS
    degree_width: int = 16
    max_degree: int = 512

    def __post_init__(self) -> None:
        holds = 1 <= self.eigenvectors <= EIGENVECTORS
        require(holds, "number of eigenvectors", self.eigenvectors, f"1 to {EIGENVECTORS}")
        require(self.degree_width >= 1, "width of degrees", self.degree_width, "1 or more")
        require(self.max_degree >= 1, "largest degree", self.max_degree, "1 or more")


@dataclass(frozen=True)
class Model:
    """Architecture of an encoder.

    Attributes:
        encoder: `gin`, `gcn` or `sage`.
        layers: Number of layers.
        width: Width of all vectors.
        dropout: Dropout after each layer, in [0, 1).
        nodes: Node features for nodes of big graphs; None for atoms.
    """

    encoder: Encoder = "gin"
    layers: int = 5
    width: int = 300
    dropout: float = 0.0
    nodes: Nodes | None = None

    def __post_init__(self) -> None:
        require(self.encoder in ENCODERS, "encoder", self.encoder, ", ".join(ENCODERS))
        require(self.layers >= 1 and self.width >= 1, "layers and width", (self.layers, self.width), "1 or more")
        require(0 <= self.dropout < 1, "dropout", self.dropout, "0 or more and below 1")

    @classmethod
    def from_kind(cls, kind: str, encoder: Encoder = "gin") -> Self:
        """Return the published model for items of this kind.

        Raises:
            Conflict: Items of this kind cannot be trained on.
        """
        return cls(encoder, width=64, nodes=Nodes()) if _published_settings(kind).queue else cls(encoder)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        return cls(**{**values, "nodes": _options_from_json(Nodes, values.get("nodes"))})


@dataclass(frozen=True)
class Momentum:
    """Momentum contrast (MoCo: He et al., 2020): a slow encoder of keys, and a queue of keys as negatives.

    Attributes:
        momentum: Share of its own parameters that the key encoder keeps in a step, in [0, 1].
        queue: Number of keys in the queue, at least the batch size.
    """

    momentum: float = 0.999
    queue: int = 256

    def __post_init__(self) -> None:
        require(0 <= self.momentum <= 1, "momentum", self.momentum, "0 to 1")
        require(self.queue >= 1, "length of a queue", self.queue, "1 or more")


@dataclass(frozen=True)
class Contrast:
    """Options of the contrastive loss, HGC's or one against a queue (method.md C).

    Attributes:
        temperature: τ, above 0.
        mask_neighbors: Whether known neighbors are masked as negatives: neighbors in the similarity graph if its edges
            are available, else neighbors that the step's own samples show.
        momentum: Options of the queue; None for negatives from the batch.
        loss: `hgc` for `hgc.first_order_loss` and `high_order_loss`; `nt-xent` for `hgc.nt_xent_loss`, with two views
            of each anchor.
        head: Whether the compared vectors pass two more layers, which are dropped after training.
    """

    temperature: float = 0.07
    mask_neighbors: bool = False
    momentum: Momentum | None = None
    loss: ContrastLoss = "hgc"
    head: bool = False

    def __post_init__(self) -> None:
        require(self.temperature > 0, "temperature", self.temperature, "above 0")
        is_plain = self.loss == "hgc" and not self.head
        require(
            self.momentum is None or is_plain, "contrast with a queue", (self.loss, self.head), "hgc, without a head"
        )


@dataclass(frozen=True)
class Context:
    """Radii of substructure and context around a center atom, in bonds (Context_Pred: Hu et al., 2020).

    Attributes:
        hops: The substructure consists of the atoms at distance 0 to `hops`.
        inner: The context consists of the atoms beyond `inner`, which is less than `hops`, so that both overlap.
        outer: The context ends at distance `outer`.
        layers: Layers of the encoder of contexts.
    """

    hops: int = 5
    inner: int = 4
    outer: int = 7
    layers: int = 3

    def __post_init__(self) -> None:
        require(self.hops >= 1, "radius of substructures", self.hops, "1 or more")
        require(0 <= self.inner < self.hops, "inner radius of contexts", self.inner, f"0 to {self.hops - 1}")
        require(self.outer > self.inner, "outer radius of contexts", self.outer, f"above {self.inner}")
        require(self.layers >= 1, "number of layers", self.layers, "1 or more")

    @classmethod
    def from_layers(cls, layers: int) -> Self:
        """Return the published radii for an encoder with `layers` layers.

        The substructure is the encoder's field of view. The context begins at its outermost bond and is three bonds
        wide.
        """
        return cls(layers, layers - 1, layers + 2, 3)


@dataclass(frozen=True)
class Task:
    """A baseline of Hu et al. (2020) whose loss discriminates matching pairs from others.

    Attributes:
        name: Name of the baseline.
        context: Options of context-pred; None for the others.
    """

    name: TaskName
    context: Context | None = None

    def __post_init__(self) -> None:
        require(self.name in get_args(TaskName), "task", self.name, ", ".join(get_args(TaskName)))
        holds = (self.context is not None) == (self.name == "context-pred")
        require(holds, f"context of {self.name}", self.context, "one for context-pred, none for another")

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        return cls(**{**values, "context": _options_from_json(Context, values["context"])})


@dataclass(frozen=True)
class Optimization:
    """Options of Adam, the learning rate schedule and gradient clipping (paper, section 5.1, T6; method.md C).

    Attributes:
        learning_rate: Maximum learning rate.
        betas: Adam's betas.
        weight_decay: Weight decay.
        schedule: `linear`, warm-up over a share of all steps, then decay to 0 at the last step; `restarting`, the
            authors' code, which restarts the schedule in every epoch; or `constant`.
        warmup: Share of all steps that are warm-up.
        clip: Maximum norm of the gradients; None for no clipping.
        free_head: Whether the atom head of a joint strategy has a constant rate without clipping, as in the authors'
            code.
    """

    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    schedule: ScheduleShape = "linear"
    warmup: float = 0.1
    clip: float | None = 1.0
    free_head: bool = False

    def __post_init__(self) -> None:
        require(self.learning_rate > 0, "learning rate", self.learning_rate, "above 0")
        require(all(0 <= beta < 1 for beta in self.betas), "betas", self.betas, "0 or more and below 1")
        require(0 <= self.warmup <= 1, "share of warm-up steps", self.warmup, "0 to 1")
        require(self.clip is None or self.clip > 0, "norm to clip to", self.clip, "above 0, or none")
        require(self.weight_decay >= 0, "weight decay", self.weight_decay, "0 or more")


class Published(NamedTuple):
    """Published settings for one kind of item (T6).

    Attributes:
        batch_size: Anchors per batch.
        epochs: Epochs with contrast, by preset; strategies without contrast take 100.
        shuffled: Whether the authors' code shuffles the anchors of HGC.
        optimization: Options of the optimizer, apart from the authors' code's deviations for molecules and graphs.
        queue: Length of the queue of momentum contrast; None for negatives from the batch.
    """

    batch_size: int
    epochs: Mapping[Preset, int]
    shuffled: bool
    optimization: Optimization = Optimization()
    queue: int | None = None


PUBLISHED: Mapping[str, Published] = {
    "molecule": Published(256, {"default": 20, "paper": 20, "rc": 20}, shuffled=False),
    "graph": Published(32, {"default": 35, "paper": 35, "rc": 100}, shuffled=True),
    "node": Published(
        32,
        {"default": 100, "paper": 100, "rc": 100},
        shuffled=True,
        optimization=Optimization(5e-3, weight_decay=1e-5),
        queue=256,
    ),
}
"""Published settings by kind of item."""


@dataclass(frozen=True)
class PretrainConfig:
    """All options of a pre-training run. `of` fills in the settings of a strategy and a preset, which options override.

    Attributes:
        strategy: Name of the strategy.
        preset: Name of the preset.
        model: Architecture of the encoder.
        draws: Samples of each epoch, with batch size and seed. The seed is that of all other random numbers too.
        contrast: Options of HGC's loss; None for strategies without it.
        masking: Options of masking; None for strategies without it.
        optimization: Options of the optimizer.
        epochs: Passes over the anchors.
        max_steps: Number of steps, instead of `epochs`; warm-up and decay span these steps.
        shuffle: Whether the order of the anchors changes every epoch.
        limit: Maximum number of anchors per epoch, the first in its order; None for all.
        bf16: Whether to train in bfloat16 autocast.
        task: Task of a baseline of Hu et al., which has neither contrast nor masking; None for other strategies.
    """

    strategy: Strategy
    preset: Preset
    model: Model
    draws: Draws
    contrast: Contrast | None
    masking: Masking | None
    optimization: Optimization
    epochs: int
    max_steps: int | None = None
    shuffle: bool = True
    limit: int | None = None
    bf16: bool = False
    task: Task | None = None

    def __post_init__(self) -> None:
        require(self.epochs >= 1, "number of epochs", self.epochs, "1 or more")
        require(self.max_steps is None or self.max_steps >= 1, "number of steps", self.max_steps, "1 or more")
        require(self.limit is None or self.limit >= 2, "number of anchors an epoch", self.limit, "2 or more")
        if (self.contrast is None and self.masking is None) == (self.task is None):
            raise InvalidInput("not one thing to learn from", expected="contrast, masking or both; or a task alone")
        headless = self.masking is None and self.optimization.free_head
        require(not headless, "strategy for a free head", self.strategy, "one with masking")
        if self.contrast is not None:
            _require_fitting(self.contrast, self.draws)

    @classmethod
    def from_strategy(
        cls,
        strategy: Strategy,
        preset: Preset = "default",
        *,
        kind: str = "molecule",
        model: Model | None = None,
        batch_size: int | None = None,
        seed: int = 0,
        epochs: int | None = None,
        max_steps: int | None = None,
        limit: int | None = None,
        mask_neighbors: bool = False,
        queue: int | None = None,
        negatives: int | None = None,
        positives: Positives = "exact",
        bf16: bool = False,
    ) -> "PretrainConfig":
        """Return the published run of a strategy on a kind of items, with Adam at 1e-3; other arguments override it.

        Molecules have batch 256, 20 epochs with HGC and 100 without. Graphs have batch 32, 35 epochs with HGC (171,465
        steps on the published collection), and 100 with `rc` or without HGC. Nodes have batch 32, 100 epochs, momentum
        contrast, and Adam at 0.005 with weight decay 1e-5; their presets differ only in the walks on the similarity
        graph.

        The preset `paper` chooses and scores masks per graph, as the text does. `rc` follows the authors' code: with
        HGC its schedule, no shuffling except for graphs, and a free atom head; with masking a constant rate without
        clipping, and scoring that updates the running statistics; 100 epochs for hgc-adam-fo. The baselines of Hu et
        al., including rdm, are the same in all presets (method.md C, D).

        Raises:
            InvalidInput: An option is out of range or does not fit the strategy.
            Conflict: The strategy, or every strategy, cannot train on this kind of items.
        """
        require(strategy in STRATEGIES, "strategy", strategy, ", ".join(STRATEGIES))
        require(preset in PRESETS, "preset", preset, ", ".join(PRESETS))
        require(positives in POSITIVES, "source of positives", positives, ", ".join(POSITIVES))
        settings, masking, is_hgc = _published_settings(kind), _masking(strategy), strategy.startswith("hgc")
        _require_learned(strategy, kind)
        default_model = Model.from_kind(kind)
        model = model or default_model
        require(
            (model.nodes is None) == (default_model.nodes is None),
            f"encoder of items of kind {kind}",
            model,
            str(default_model),
        )
        require(is_hgc or not mask_neighbors, "strategy to mask neighbours in", strategy, "one with hgc")
        require(queue is None or settings.queue is not None, "kind of items for a queue", kind, "node")
        require(is_hgc or positives == "exact", "strategy for other positives", strategy, "one with hgc")
        require(kind != "node" or positives != "augmented", "source of a node's positives", positives, "no copies")
        momentum = None if settings.queue is None else Momentum(queue=settings.queue if queue is None else queue)
        contrast = _contrast(strategy, mask_neighbors, momentum)
        draws = Draws.from_strategy(
            strategy,
            kind=kind,
            preset=preset,
            encoder=model.encoder,
            batch_size=settings.batch_size if batch_size is None else batch_size,
            seed=seed,
            positives=positives,
        )
        config = cls(
            strategy,
            preset,
            model,
            draws if negatives is None else replace(draws, negatives=negatives),
            contrast,
            masking,
            settings.optimization,
            epochs or _epochs(strategy, settings.epochs[preset], contrast),
            max_steps,
            limit=limit,
            bf16=bf16,
            task=_task(strategy, model),
        )
        if preset == "default" or momentum is not None or not (is_hgc or masking):
            return config
        return _paper_variant(config) if preset == "paper" else _code_variant(config, epochs, settings.shuffled)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the options that `as_json` described, after JSON encoding and decoding.

        Raises:
            TypeError: The mapping has another form.
            LookupError: A key is missing.
        """
        optimization = {**values["optimization"], "betas": tuple(values["optimization"]["betas"])}
        contrast = values["contrast"]
        parts = {
            "model": Model.from_json(values["model"]),
            "draws": Draws.from_json(values["draws"]),
            "contrast": contrast
            and Contrast(**{**contrast, "momentum": _options_from_json(Momentum, contrast.get("momentum"))}),
            "masking": _options_from_json(Masking, values["masking"]),
            "optimization": Optimization(**optimization),
            "task": values.get("task") and Task.from_json(values["task"]),
        }
        return cls(**{**values, **parts})


def _options_from_json(options: type[T], values: Mapping[str, Any] | None) -> T | None:
    """Return options from JSON, or None. Runs from before 0.2 lack some keys."""
    return None if values is None else options(**values)


def _require_fitting(contrast: Contrast, draws: Draws) -> None:
    """Raise `InvalidInput` unless the samples fit the contrast."""
    policy, momentum = draws.policy, contrast.momentum
    if policy is None:
        require(not contrast.mask_neighbors, "contrast to mask neighbours in", "two copies", "one with neighbours")
    else:
        require(contrast.loss == "hgc", "loss", contrast.loss, "hgc: nt-xent is for two copies of an item")
    if momentum is not None:
        size, slots = draws.batch_size, 1 if policy is None else policy.k
        require(momentum.queue >= size, "length of a queue", momentum.queue, f"a batch, {size}, or more")
        require(slots == 1, "number of positives", slots, "1: a queue is contrasted with one")
        require(draws.negatives == 0, "number of negatives", draws.negatives, "0: they are those of the queue")


_WHOLE = "this baseline is about whole graphs, not about what surrounds a node"
_UNFIT: Mapping[Strategy, str] = {
    "gcc": "there is no big graph to walk on",
    **dict.fromkeys(BASELINES, _WHOLE),
}
"""Reasons why a strategy does not fit a kind. All other strategies need atoms to mask."""


def _require_learned(strategy: Strategy, kind: str) -> None:
    """Raise `Conflict` unless the strategy can train on items of this kind."""
    if strategy not in LEARNED_BY[kind]:
        raise Conflict(
            _UNFIT.get(strategy, "there is nothing to mask: these items have no attributes that could be predicted"),
            given=f"{strategy}, for items of kind {kind}",
            expected=" or ".join(LEARNED_BY[kind]),
        )


def _published_settings(kind: str) -> Published:
    if kind not in PUBLISHED:
        raise Conflict("nothing is learned from items of this kind", given=kind, expected=" or ".join(PUBLISHED))
    return PUBLISHED[kind]


def _contrast(strategy: Strategy, mask_neighbors: bool, momentum: Momentum | None) -> Contrast | None:
    """Return the contrast of a strategy. GraphCL's temperature and head are those of its authors (docs/training.md)."""
    match strategy:
        case "graphcl":
            return Contrast(0.1, loss="nt-xent", head=True)
        case "c-subgraph":
            return Contrast(loss="nt-xent")
        case "gcc":
            return Contrast(momentum=momentum)
    return Contrast(mask_neighbors=mask_neighbors, momentum=momentum) if strategy.startswith("hgc") else None


def _epochs(strategy: Strategy, contrast_epochs: int, contrast: Contrast | None) -> int:
    """Return the number of epochs.

    GraphCL has 80, because the paper compares with its weights of epoch 80 (method.md E5).
    """
    if strategy == "graphcl":
        return 80
    return _EPOCHS if contrast is None else contrast_epochs


def _masking(strategy: Strategy) -> Masking | None:
    """Return the masking of a strategy, with T of T6: 5 for AdaM alone, 3 with first order, 5 with high order.

    With the authors' score, masks cluster over the first 400 steps; with `kl` they never do (docs/results.md, "Where
    AdaM masks").
    """
    match strategy:
        case "rdm":
            return uniform()
        case "hgc-adam-fo":
            return Masking(times=3, score="kl")
        case "adam" | "hgc-adam-ho":
            return Masking(times=5, score="kl")
        case _:
            return None


def _task(strategy: Strategy, model: Model) -> Task | None:
    match strategy:
        case "edge-pred" | "infomax":
            return Task(strategy)
        case "context-pred":
            return Task(strategy, Context.from_layers(model.layers))
        case _:
            return None


def _paper_variant(config: PretrainConfig) -> PretrainConfig:
    if config.masking is None or config.strategy == "rdm":
        return config
    return replace(config, masking=replace(config.masking, unit="per_graph", score="one_minus_ce"))


def _code_variant(config: PretrainConfig, epochs: int | None, shuffled: bool) -> PretrainConfig:
    if config.strategy == "rdm" or config.task is not None:
        return config  # the authors' code has no variants of Hu et al.'s baselines
    if config.masking is not None:
        config = replace(config, masking=replace(config.masking, score="softmax", freeze=False))
    if config.contrast is None:
        return replace(config, optimization=replace(config.optimization, schedule="constant", clip=None))
    if config.strategy == "hgc-adam-fo":
        config = replace(config, epochs=epochs or 100)
    optimization = replace(config.optimization, schedule="restarting", free_head=config.masking is not None)
    return replace(config, optimization=optimization, shuffle=shuffled)
