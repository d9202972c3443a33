"""All options of pre-training, with defaults from the paper.

T6 and T7 are tables of the paper. HGC contrasts an item with its neighbors in the similarity graph. AdaM masks atoms
and predicts them. docs/reference/training.md describes all strategies.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, Self, TypeVar, get_args

from graphkin.protocol.errors import Conflict, InvalidInput, require
from graphkin.trainer.encoder_registry import require_encoder
from graphkin.trainer.errors import SETTINGS_HINT
from graphkin.trainer.features.eigenvectors import EIGENVECTORS
from graphkin.trainer.features.feature_sets import require_feature_set
from graphkin.trainer.pretraining.masking import Masking, uniform
from graphkin.trainer.strategy import (
    BASELINES,
    ENCODERS,
    LEARNED_BY,
    NODE_ENCODERS,
    POSITIVES,
    PRESETS,
    STRATEGIES,
    Positives,
    Preset,
    Sampling,
    Strategy,
)

T = TypeVar("T")

_EPOCHS_WITHOUT_CONTRAST = 100

ScheduleShape = Literal["linear", "constant"]
ContrastLoss = Literal["hgc", "graphcl", "nt-xent"]
TaskName = Literal["edge-pred", "infomax", "context-pred"]


@dataclass(frozen=True)
class Nodes:
    """Options of `NodeInputs`: the features of nodes in a subgraph of a big graph.

    Attributes:
        eigenvectors: Number of Laplacian eigenvectors.
        degree_width: Width of the learned vector of a degree; 0 for none.
        max_degree: Larger degrees count as this one.
    """

    eigenvectors: int = EIGENVECTORS
    degree_width: int = 16
    max_degree: int = 512

    def __post_init__(self) -> None:
        holds = 1 <= self.eigenvectors <= EIGENVECTORS
        require(holds, "number of eigenvectors", self.eigenvectors, f"1 to {EIGENVECTORS}", hint=SETTINGS_HINT)
        require(self.degree_width >= 0, "width of degrees", self.degree_width, "0 or more", hint=SETTINGS_HINT)
        require(self.max_degree >= 1, "largest degree", self.max_degree, "1 or more", hint=SETTINGS_HINT)


@dataclass(frozen=True)
class Model:
    """Architecture of an encoder.

    Attributes:
        encoder: `gin`, `gcn`, `sage`, `gin-gcc` for nodes, or the name of an encoder of an installed package,
            which may ignore other settings of the model.
        layers: Number of layers.
        width: Width of all vectors.
        dropout: Dropout after each layer, in [0, 1).
        nodes: Features of nodes of big graphs; None if the nodes are atoms or belong to whole graphs.
        features: Set of features of atoms and bonds: `hu` or `rich`.
        attributes: Number of attributes of the nodes of graphs; 0 if they have none or are not used.
    """

    encoder: str = "gin"
    layers: int = 5
    width: int = 300
    dropout: float = 0.0
    nodes: Nodes | None = None
    features: str = "hu"
    attributes: int = 0

    def __post_init__(self) -> None:
        require_encoder(self.encoder)
        require_feature_set(self.features)
        holds = self.attributes == 0 or (self.attributes > 0 and self.nodes is None and self.features == "hu")
        require(
            holds,
            "number of attributes",
            self.attributes,
            "0; or more for whole graphs, without rich features",
            hint=SETTINGS_HINT,
        )
        require(
            self.encoder not in NODE_ENCODERS or self.nodes is not None,
            "encoder of molecules or whole graphs",
            self.encoder,
            f"{', '.join(ENCODERS)}, because {self.encoder} is for nodes of big graphs",
            hint=SETTINGS_HINT,
        )
        require(
            self.layers >= 1 and self.width >= 1,
            "layers and width",
            (self.layers, self.width),
            "1 or more",
            hint=SETTINGS_HINT,
        )
        require(0 <= self.dropout < 1, "dropout", self.dropout, "0 or more and below 1", hint=SETTINGS_HINT)

    @classmethod
    def from_kind(cls, kind: str, encoder: str = "gin", features: str = "hu") -> Self:
        """Return the published model for items of this kind.

        Raises:
            InvalidInput: There is no such encoder or set of features, or the features are not those of this kind.
            Conflict: Items of this kind cannot be trained on.
        """
        require_feature_set(features)
        require(
            kind == "molecule" or features == "hu",
            f"features of items of kind {kind}",
            features,
            "hu: only molecules have other features",
            hint="leave --features out",
        )
        if not _published_settings(kind).queue:
            return cls(encoder, features=features)
        if encoder in NODE_ENCODERS:
            return cls(encoder, layers=4, width=64, nodes=Nodes(degree_width=0))
        return cls(encoder, width=64, nodes=Nodes())

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        return cls(**{**values, "nodes": _options_from_json(Nodes, values.get("nodes"))})


@dataclass(frozen=True)
class Momentum:
    """Options of momentum contrast (MoCo: He et al., 2020).

    A second encoder, which follows the trained encoder slowly, computes the vectors of the positives, called keys. The
    keys of earlier batches wait in a queue and serve as negatives.

    Attributes:
        momentum: Weight of the old parameters of the key encoder when a step updates them, in [0, 1].
        queue: Number of keys in the queue, at least the batch size.
    """

    momentum: float = 0.999
    queue: int = 256

    def __post_init__(self) -> None:
        require(0 <= self.momentum <= 1, "momentum", self.momentum, "0 to 1", hint=SETTINGS_HINT)
        require(self.queue >= 1, "length of a queue", self.queue, "1 or more", hint=SETTINGS_HINT)


@dataclass(frozen=True)
class Contrast:
    """Options of the contrastive loss (method.md C).

    Attributes:
        temperature: Temperature τ of the softmax, above 0.
        mask_neighbors: Whether neighbors of an anchor are left out of its negatives. The neighbors come from the edges
            of the similarity graph, or, without these edges, from the positives sampled for the same batch.
        momentum: Options of momentum contrast, whose negatives come from a queue; None for negatives from the batch.
        loss: `hgc` for HGC's losses (`hgc.first_order_loss`, `hgc.high_order_loss`), or for `hgc.queue_loss` with
            momentum contrast. Two losses compare two views of each anchor: `graphcl` is `hgc.graphcl_loss`, the loss of
            GraphCL's authors, which encodes first and second views in separate forward passes; `nt-xent` is
            `hgc.nt_xent_loss`, over all views in one pass.
        head: Whether a projection head of two layers, which is dropped after training, precedes the loss.
    """

    temperature: float = 0.07
    mask_neighbors: bool = False
    momentum: Momentum | None = None
    loss: ContrastLoss = "hgc"
    head: bool = False

    def __post_init__(self) -> None:
        require(self.temperature > 0, "temperature", self.temperature, "above 0", hint=SETTINGS_HINT)
        is_plain = self.loss == "hgc" and not self.head
        require(
            self.momentum is None or is_plain,
            "loss and head with a queue",
            (self.loss, self.head),
            "hgc, and no head",
            hint=SETTINGS_HINT,
        )


@dataclass(frozen=True)
class Context:
    """Options of Context_Pred (Hu et al., 2020): radii around a center atom, in bonds, and the context encoder.

    The substructure holds the atoms at distance 0 to `hops` from the center. The context holds the atoms at distance
    `inner` + 1 to `outer`. They overlap, because `inner` is less than `hops`.

    Attributes:
        hops: Radius of the substructure.
        inner: Inner radius of the context, exclusive.
        outer: Outer radius of the context, inclusive.
        layers: Number of layers of the context encoder.
    """

    hops: int = 5
    inner: int = 4
    outer: int = 7
    layers: int = 3

    def __post_init__(self) -> None:
        require(self.hops >= 1, "radius of substructures", self.hops, "1 or more", hint=SETTINGS_HINT)
        require(
            0 <= self.inner < self.hops,
            "inner radius of contexts",
            self.inner,
            f"0 to {self.hops - 1}",
            hint=SETTINGS_HINT,
        )
        require(
            self.outer > self.inner, "outer radius of contexts", self.outer, f"above {self.inner}", hint=SETTINGS_HINT
        )
        require(self.layers >= 1, "number of layers", self.layers, "1 or more", hint=SETTINGS_HINT)

    @classmethod
    def from_layers(cls, layers: int) -> Self:
        """Return the published radii for an encoder with `layers` layers.

        The substructure reaches as far as the encoder, one bond per layer. The context starts one bond inside that
        radius and ends two bonds outside it.
        """
        return cls(layers, layers - 1, layers + 2, 3)


@dataclass(frozen=True)
class Task:
    """A baseline of Hu et al. (2020) that learns to tell matching pairs from other pairs.

    Attributes:
        name: Name of the baseline.
        context: Options of context-pred; None for the others.
    """

    name: TaskName
    context: Context | None = None

    def __post_init__(self) -> None:
        require(self.name in get_args(TaskName), "task", self.name, ", ".join(get_args(TaskName)), hint=SETTINGS_HINT)
        holds = (self.context is not None) == (self.name == "context-pred")
        require(
            holds, f"context of {self.name}", self.context, "one for context-pred, none for another", hint=SETTINGS_HINT
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        return cls(**{**values, "context": _options_from_json(Context, values["context"])})


@dataclass(frozen=True)
class Optimization:
    """Options of Adam, the learning rate schedule and gradient clipping (paper, section 5.1, T6; method.md C).

    Attributes:
        learning_rate: Maximum learning rate.
        betas: Decay rates of Adam's two moment estimates, each in [0, 1).
        weight_decay: Weight decay, 0 or more.
        schedule: `linear`, warm-up from 0 over a share of all steps, then linear decay to 0 at the last step;
            or `constant`.
        warmup: Share of the warm-up in all steps, in [0, 1].
        clip: Maximum norm of the gradients; None for no clipping.
    """

    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    schedule: ScheduleShape = "linear"
    warmup: float = 0.1
    clip: float | None = 1.0

    def __post_init__(self) -> None:
        require(self.learning_rate > 0, "learning rate", self.learning_rate, "above 0", hint=SETTINGS_HINT)
        require(
            all(0 <= beta < 1 for beta in self.betas), "betas", self.betas, "0 or more and below 1", hint=SETTINGS_HINT
        )
        require(0 <= self.warmup <= 1, "share of warm-up steps", self.warmup, "0 to 1", hint=SETTINGS_HINT)
        require(
            self.clip is None or self.clip > 0, "norm to clip to", self.clip, "above 0, or none", hint=SETTINGS_HINT
        )
        require(self.weight_decay >= 0, "weight decay", self.weight_decay, "0 or more", hint=SETTINGS_HINT)


class PublishedSettings(NamedTuple):
    """Published settings for one kind of item (T6).

    Attributes:
        batch_size: Anchors per batch.
        epochs: Epochs of strategies with a contrastive loss, by preset.
        optimization: Options of the optimizer. The preset `rc` changes some of them for molecules and graphs.
        queue: Length of the queue of momentum contrast; None for negatives from the batch.
    """

    batch_size: int
    epochs: Mapping[Preset, int]
    optimization: Optimization = Optimization()
    queue: int | None = None


PUBLISHED_SETTINGS: Mapping[str, PublishedSettings] = {
    "molecule": PublishedSettings(256, {"default": 20, "paper": 20, "rc": 20}),
    "graph": PublishedSettings(32, {"default": 35, "paper": 35, "rc": 100}),
    "node": PublishedSettings(
        32,
        {"default": 100, "paper": 100, "rc": 100},
        optimization=Optimization(5e-3, weight_decay=1e-5),
        queue=256,
    ),
}
"""Published settings by kind of item."""


REMOVED_SETTINGS: Mapping[str, object] = {"masking.freeze": True, "optimization.free_head": False, "shuffle": True}
"""Settings that runs of earlier versions record, and the only value with which such a run can continue."""


@dataclass(frozen=True)
class PretrainConfig:
    """All options of a pre-training run.

    `PretrainConfig.from_strategy` returns the published options of a strategy and a preset. Its other arguments
    override them.

    Attributes:
        strategy: Name of the strategy.
        preset: Name of the preset.
        model: Architecture of the encoder.
        draws: How the positives, negatives, walks and views of each epoch are sampled, with the batch size and the
            seed. All other random numbers of the run depend on this seed too.
        contrast: Options of the contrastive loss; None for strategies without it.
        masking: Options of masking; None for strategies without it.
        optimization: Options of the optimizer.
        epochs: Number of passes over the anchors.
        max_steps: Number of steps of the run, which replaces `epochs`. Warm-up and decay span these steps.
        limit: Maximum number of anchors per epoch: the first ones in the order of that epoch. None for all.
        bf16: Whether to train in bfloat16 autocast.
        task: Task of the strategies edge-pred, infomax and context-pred, which have neither contrast nor masking; None
            for other strategies.
    """

    strategy: Strategy
    preset: Preset
    model: Model
    draws: Sampling
    contrast: Contrast | None
    masking: Masking | None
    optimization: Optimization
    epochs: int
    max_steps: int | None = None
    limit: int | None = None
    bf16: bool = False
    task: Task | None = None

    def __post_init__(self) -> None:
        require(self.epochs >= 1, "number of epochs", self.epochs, "1 or more", hint=SETTINGS_HINT)
        require(
            self.max_steps is None or self.max_steps >= 1,
            "number of steps",
            self.max_steps,
            "1 or more",
            hint=SETTINGS_HINT,
        )
        require(
            self.limit is None or self.limit >= 2,
            "number of anchors an epoch",
            self.limit,
            "2 or more",
            hint=SETTINGS_HINT,
        )
        if (self.contrast is None and self.masking is None) == (self.task is None):
            raise InvalidInput(
                "the settings name no task, or too many",
                given=", ".join(name for name in ("contrast", "masking", "task") if getattr(self, name)) or "none",
                expected="contrast, masking or both; or a task alone",
                hint=SETTINGS_HINT,
            )
        if self.contrast is not None:
            _require_compatible(self.contrast, self.draws)

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
        """Return the published options of a strategy for a kind of items. The arguments override them.

        Settings of each kind of items:

        - Molecules: batches of 256; 20 epochs with a contrastive loss and 100 without.
        - Graphs: batches of 32; 35 epochs with a contrastive loss (171,465 steps of HGC on the published collection)
          and 100 without.
        - Nodes: batches of 32; 100 epochs of momentum contrast; learning rate 0.005 and weight decay 1e-5.

        The learning rate of molecules and graphs is 0.001. GraphCL has 80 epochs for both. The presets `paper` and `rc`
        have the encoder gin-gcc for nodes.

        Differences of the other presets from `default`, besides the sampling (see `Sampling.from_strategy`), for
        molecules and graphs (method.md C, D):

        - `paper` follows the paper's text: the budget of masked atoms is per graph, and the score is `one_minus_ce`.
        - `rc` follows the authors' code. Strategies with AdaM use the score `softmax`. AdaM alone has a constant
          learning rate without clipping. hgc-adam-fo, and on graphs HGC and C_Subgraph, have 100 epochs.

        The strategies rdm, edge-pred, infomax and context-pred have the same options in all presets.

        Raises:
            InvalidInput: An option is out of range or does not fit the strategy.
            Conflict: The strategy cannot train on this kind of items, or no strategy can.
        """
        require(strategy in STRATEGIES, "strategy", strategy, ", ".join(STRATEGIES), hint=SETTINGS_HINT)
        require(preset in PRESETS, "preset", preset, ", ".join(PRESETS), hint=SETTINGS_HINT)
        require(positives in POSITIVES, "source of positives", positives, ", ".join(POSITIVES), hint=SETTINGS_HINT)
        settings, masking, is_hgc = _published_settings(kind), _masking(strategy), strategy.startswith("hgc")
        _require_trainable(strategy, kind)
        default_model = Model.from_kind(kind, published_encoder(kind, preset))
        model = model or default_model
        require(
            (model.nodes is None) == (default_model.nodes is None),
            f"encoder for items of kind {kind}",
            "an encoder of nodes" if model.nodes is not None else "an encoder of whole graphs",
            "an encoder of nodes" if default_model.nodes is not None else "an encoder of whole graphs",
            hint=SETTINGS_HINT,
        )
        require(
            is_hgc or not mask_neighbors,
            "strategy with mask_neighbors",
            strategy,
            "a strategy with hgc, such as hgc-fo",
            hint=SETTINGS_HINT,
        )
        require(
            queue is None or settings.queue is not None, "kind of items with a queue", kind, "node", hint=SETTINGS_HINT
        )
        require(
            is_hgc or positives == "exact",
            "strategy with other positives than exact",
            strategy,
            "a strategy with hgc, such as hgc-fo",
            hint=SETTINGS_HINT,
        )
        require(
            kind != "node" or positives != "augmented",
            "source of positives for nodes",
            positives,
            ", ".join(each for each in POSITIVES if each != "augmented"),
            hint=SETTINGS_HINT,
        )
        momentum = None if settings.queue is None else Momentum(queue=settings.queue if queue is None else queue)
        contrast = _contrast(strategy, mask_neighbors, momentum)
        draws = Sampling.from_strategy(
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
        return _paper_variant(config) if preset == "paper" else _code_variant(config, epochs)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the options from a value of `as_json`, which may have been encoded as JSON and decoded.

        Keys of `REMOVED_SETTINGS` are ignored.

        Raises:
            TypeError: A key of the mapping is unknown, or a value has the wrong type.
            LookupError: A key is missing.
        """
        values = _without_removed(values)
        optimization = {**values["optimization"], "betas": tuple(values["optimization"]["betas"])}
        contrast = values["contrast"]
        parts = {
            "model": Model.from_json(values["model"]),
            "draws": Sampling.from_json(values["draws"]),
            "contrast": contrast
            and Contrast(**{**contrast, "momentum": _options_from_json(Momentum, contrast.get("momentum"))}),
            "masking": _options_from_json(Masking, values["masking"]),
            "optimization": Optimization(**optimization),
            "task": values.get("task") and Task.from_json(values["task"]),
        }
        return cls(**{**values, **parts})


def _without_removed(values: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    """Return nested options without those of `REMOVED_SETTINGS`."""
    return {
        name: _without_removed(value, f"{within}{name}.") if isinstance(value, Mapping) else value
        for name, value in values.items()
        if within + name not in REMOVED_SETTINGS
    }


def _options_from_json(options: type[T], values: Mapping[str, Any] | None) -> T | None:
    """Return an instance of `options`, or None for null. Keys that runs from before 0.2 lack take their defaults."""
    return None if values is None else options(**values)


def _require_compatible(contrast: Contrast, draws: Sampling) -> None:
    """Raise `InvalidInput` if the contrastive loss cannot use these samples."""
    policy, momentum = draws.policy, contrast.momentum
    if policy is None:
        require(
            not contrast.mask_neighbors,
            "value of mask_neighbors",
            "two views of an item",
            "a strategy whose positives are neighbors",
            hint=SETTINGS_HINT,
        )
    else:
        require(
            contrast.loss == "hgc",
            "loss",
            contrast.loss,
            "hgc: graphcl and nt-xent are for two views of an item",
            hint=SETTINGS_HINT,
        )
    if momentum is not None:
        size, slots = draws.batch_size, 1 if policy is None else policy.k
        require(
            momentum.queue >= size,
            "length of the queue",
            momentum.queue,
            f"at least the batch size, {size}",
            hint=SETTINGS_HINT,
        )
        require(slots == 1, "number of positives", slots, "1 with a queue", hint=SETTINGS_HINT)
        require(
            draws.negatives == 0,
            "number of negatives",
            draws.negatives,
            "0 with a queue, which holds the negatives",
            hint=SETTINGS_HINT,
        )


_NEEDS_WHOLE_GRAPHS = "this baseline is about whole graphs, not about what surrounds a node"
_UNFIT_REASONS: Mapping[Strategy, str] = {
    "gcc": "there is no big graph to walk on",
    **dict.fromkeys(BASELINES, _NEEDS_WHOLE_GRAPHS),
}
"""Reasons why a strategy cannot train on a kind of items: the clause that an error shows.

All other strategies that do not fit a kind need atoms to mask.
"""


def _require_trainable(strategy: Strategy, kind: str) -> None:
    """Raise `Conflict` unless the strategy can train on items of this kind."""
    if strategy not in LEARNED_BY[kind]:
        raise Conflict(
            _UNFIT_REASONS.get(
                strategy, "there is nothing to mask: these items have no attributes that could be predicted"
            ),
            given=f"{strategy}, for items of kind {kind}",
            expected=" or ".join(LEARNED_BY[kind]),
            hint="choose another --strategy for this collection",
        )


def _published_settings(kind: str) -> PublishedSettings:
    if kind not in PUBLISHED_SETTINGS:
        raise Conflict(
            "no encoder can be trained on items of this kind",
            given=kind,
            expected=" or ".join(PUBLISHED_SETTINGS),
            hint="train on a collection of one of these kinds",
        )
    return PUBLISHED_SETTINGS[kind]


def published_encoder(kind: str, preset: Preset) -> str:
    """Return the encoder of a preset. For nodes, `paper` and `rc` have the one of the authors' released weights."""
    return "gin-gcc" if kind == "node" and preset != "default" else "gin"


def _contrast(strategy: Strategy, mask_neighbors: bool, momentum: Momentum | None) -> Contrast | None:
    """Return the options of the contrastive loss of a strategy, or None if it has no such loss.

    The loss, the temperature and the head of GraphCL are those of its authors (docs/reference/training.md).
    """
    match strategy:
        case "graphcl":
            return Contrast(0.1, loss="graphcl", head=True)
        case "c-subgraph":
            return Contrast(loss="nt-xent")
        case "gcc":
            return Contrast(momentum=momentum)
    return Contrast(mask_neighbors=mask_neighbors, momentum=momentum) if strategy.startswith("hgc") else None


def _epochs(strategy: Strategy, contrast_epochs: int, contrast: Contrast | None) -> int:
    """Return the number of epochs.

    GraphCL has 80 epochs, because the paper compares with the weights of GraphCL after epoch 80 (method.md E5).
    """
    if strategy == "graphcl":
        return 80
    return _EPOCHS_WITHOUT_CONTRAST if contrast is None else contrast_epochs


def _masking(strategy: Strategy) -> Masking | None:
    """Return the options of masking of a strategy, or None if it masks nothing.

    The number of masking steps is from T6. The score is `kl`, because the score of the authors' code lets masks cluster
    during the first 400 training steps, and `kl` does not ("Where AdaM masks atoms" in
    docs/about/measurements/molecules.md).
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
    """Return the options of the preset `paper`, given those of `default`."""
    if config.masking is None or config.strategy == "rdm":
        return config
    return replace(config, masking=replace(config.masking, unit="per_graph", score="one_minus_ce"))


def _code_variant(config: PretrainConfig, epochs: int | None) -> PretrainConfig:
    """Return the options of the preset `rc`, given those of `default`.

    Args:
        config: The options of `default`.
        epochs: Number of epochs that the caller requested; None for the published number.
    """
    if config.strategy == "rdm" or config.task is not None:
        return config  # the authors' code has no variants of Hu et al.'s baselines
    if config.masking is not None:
        config = replace(config, masking=replace(config.masking, score="softmax"))
    if config.contrast is None:
        return replace(config, optimization=replace(config.optimization, schedule="constant", clip=None))
    if config.strategy == "hgc-adam-fo":
        config = replace(config, epochs=epochs or 100)
    return config
