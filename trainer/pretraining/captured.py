"""Training steps over padded batches, which a GPU replays as CUDA graphs (docs/reference/training.md).

A captured step is one launch: it takes its samples from tables on the device, assembles the batch, and updates the
model. The host only chooses the graph by the sizes of the batch, which it knows in advance, and seeds the random
numbers.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from graphkin.trainer.model.batch import Batch, Graphs, PaddedGraphs, Part, Shape
from graphkin.trainer.model.ranks import Ranks
from graphkin.trainer.pretraining.config import PretrainConfig, TaskName
from graphkin.trainer.pretraining.epoch_tables import EpochTables, shapes
from graphkin.trainer.pretraining.objective import Step, make_encoder
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.schedule import learning_rate
from graphkin.trainer.pretraining.trainer import Trainer
from graphkin.trainer.pretraining.viewed import ViewedGraphs

_log = logging.getLogger(__name__)


_TASK_OBSTACLES: Mapping[TaskName, str] = {
    "edge-pred": "the number of attempts that sampling unbonded pairs takes depends on the data",
}


def obstacle(config: PretrainConfig, graphs: Graphs, ranks: Ranks) -> str | None:
    """Return why the steps of a run cannot be captured, or None if they can."""
    if ranks.size > 1:
        return "several processes train together"
    if not isinstance(graphs, PaddedGraphs):
        return "its graphs are sampled on the host"
    if isinstance(graphs, ViewedGraphs) and graphs.host_reason is not None:
        return graphs.host_reason
    if not make_encoder(config.model).can_capture:
        return f"the encoder {config.model.encoder} does not support it"
    return None if config.task is None else _TASK_OBSTACLES.get(config.task.name)


@dataclass(frozen=True)
class _Kind:
    """Properties that steps replayed by the same graph share."""

    anchors: int
    measure: bool
    shapes: tuple[tuple[Part, Shape], ...]


@dataclass(frozen=True, eq=False)
class _Graph:
    """A captured step and the memory that it writes the losses to, (L,)."""

    graph: torch.cuda.CUDAGraph
    losses: Tensor


class PaddedSteps:
    """Steps of a trainer over padded batches.

    The first step of a kind runs uncaptured, which also initializes libraries and the optimizer. The second one is
    captured, and replayed from then on. If a capture fails, all steps run uncaptured.

    Args:
        trainer: A trainer with its learning rate on the device, whose graphs are `PaddedGraphs`.
        capture: Whether to capture steps, on a GPU. Otherwise every step runs uncaptured.
    """

    def __init__(self, trainer: Trainer, capture: bool = True) -> None:
        assert isinstance(trainer.graphs, PaddedGraphs)
        self._trainer = trainer
        self._padded_graphs = trainer.graphs
        self._twins = None if trainer.twins is None else torch.from_numpy(trainer.twins).to(trainer.device)
        self._capture = capture
        self._stream: torch.cuda.Stream | None = None
        if trainer.device.type == "cuda":
            self._stream = torch.cuda.Stream(trainer.device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle() if capture else None
        self._plan: Plan | None = None
        self._tables: EpochTables | None = None
        self._shapes: list[Mapping[Part, Shape]] = []
        self._names: dict[bool, list[str]] = {}
        self._seen: set[_Kind] = set()
        self._graphs: dict[_Kind, _Graph] = {}

    def step(self, step: int, steps: int, plan: Plan, place: int, measure: bool = False) -> Mapping[str, Tensor]:
        """Update the model once, and return what `Trainer.step` returns.

        Args:
            step: Number of the step, from 0. Steps must follow each other.
            steps: Number of steps of the run.
            plan: The epoch.
            place: Position of the step in the epoch.
            measure: Whether the objective measures.
        """
        with self._own_stream():
            if plan is not self._plan:
                self._load(plan, place, step - place, steps)
            anchors = min(plan.batch_size, len(plan.anchors) - place * plan.batch_size)
            kind = _Kind(anchors, measure, tuple(self._shapes[place].items()))
            losses = self._run(kind, step)
        return dict(zip(self._names[measure], losses.unbind(), strict=True))

    def _load(self, plan: Plan, place: int, first: int, steps: int) -> None:
        if self._tables is None:
            self._tables = EpochTables(plan, self._trainer.device)
        options = self._trainer.config.optimization
        rates = [learning_rate(options, first + position, steps) for position in range(plan.steps)]
        self._tables.load(plan, rates, place, self._trainer.config.draws.seed)
        self._shapes = shapes(plan, self._padded_graphs.sizes, self._trainer.objective.parts)
        self._plan = plan

    def _run(self, kind: _Kind, step: int) -> Tensor:
        self._trainer.seed(step)
        if not self._capture or kind not in self._seen:
            self._seen.add(kind)
            return self._compute(kind)
        if kind not in self._graphs:
            try:
                self._graphs[kind] = self._captured(kind)
            except RuntimeError as error:
                _log.warning("steps are not captured, because this failed: %s", error.__context__ or error)
                _log.debug("the failed capture", exc_info=True)
                self._capture = False
                self._trainer.replace_generator()
                self._trainer.seed(step)
                return self._compute(kind)
        graph = self._graphs[kind]
        graph.graph.replay()
        return graph.losses.clone()  # the next replay overwrites them

    def _captured(self, kind: _Kind) -> _Graph:
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._trainer.generator)
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            losses = self._compute(kind)
        return _Graph(graph, losses)

    def _compute(self, kind: _Kind) -> Tensor:
        """Take the next step, and return its losses, (L,). Nothing is read back from the device."""
        assert self._tables is not None
        assert self._trainer.rate is not None
        part_shapes, key = dict(kind.shapes), self._tables.key

        def batch_of(part: Part, ids: Tensor) -> Batch:
            return self._padded_graphs.padded_batch(ids, part_shapes[part], key, part)

        inputs = Step.from_tensors(*self._tables.samples(kind.anchors), batch_of, self._twins)
        self._trainer.rate.copy_(self._tables.rate())
        losses = self._trainer.update(inputs, kind.measure)
        self._tables.advance()
        self._names[kind.measure] = [*losses]
        return torch.stack([*losses.values()])

    @contextmanager
    def _own_stream(self) -> Iterator[None]:
        """Compute on a separate CUDA stream, which capturing needs, in order with the work before and after."""
        if self._stream is None:
            yield
            return
        outer = torch.cuda.current_stream(self._trainer.device)
        self._stream.wait_stream(outer)
        with torch.cuda.stream(self._stream):
            yield
        outer.wait_stream(self._stream)
