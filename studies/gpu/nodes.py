"""Node tables (T3 of the paper): encoders pre-trained on the nodes of big graphs, and scored on the nodes of others.

    python -m studies.gpu.nodes

prints the reports of the graphs and encoders whose scores are complete. A unit is a pre-training run, or the scores of
an encoder on a graph. The setting is that of `studies.downstream.node_results`. Frozen scores need a CPU core, and
fine-tuning needs the GPU.
"""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.trainer.downstream.finetune import InitialEncoder
from graphkin.trainer.downstream.nodes import NodeDataset
from graphkin.trainer.downstream.split import FOLDS
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.strategy import Sampling
from studies.cells import Cell
from studies.downstream.node_report import ENCODERS as ARMS
from studies.downstream.node_report import NULLS, PRETRAINED, NodeResults, report
from studies.downstream.node_scores import (
    DATA,
    GRAPHS,
    TARGETS,
    dataset,
    describe,
    initial_encoder,
    score_baseline,
    score_finetuned,
    score_frozen,
)
from studies.gpu.results import Cells, read_results
from studies.gpu.setting import Parts, Piece, Setting
from studies.gpu.sources import ingest_collection, open_source
from studies.gpu.tiny import shrunk
from studies.gpu.training import read_encoder, train

STEPS, EPOCHS = 2000, 15
SEEDS = (0, 1, 2)
FINETUNED = ("usa-airports", "twitch_de")
"""Graphs that encoders are fine-tuned on. GitHub has four times as many nodes as Twitch DE."""

_MODELS = ("gin", "gin-gcc")
_COLLECTION = "nodes"
_TINY_STEPS = 4


class Run(NamedTuple):
    """A pre-training run, or for the arm "random" the initial weights of a seed."""

    model: str
    arm: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.model}-{self.arm}-{self.seed}"


class Unit(NamedTuple):
    """The scores of an encoder on a graph."""

    target: str
    run: Run

    @property
    def name(self) -> str:
        return f"{self.target}-{self.run.name}"


def runs(setting: Setting) -> list[Run]:
    if setting.tiny:
        return [Run("gin", arm, 0) for arm in ("random", "gcc", "hgc-fo")]
    return [Run(*key) for key in product(_MODELS, ARMS, SEEDS)]


def units(setting: Setting) -> list[Unit]:
    return [Unit(target, run) for target, run in product(_targets(setting), runs(setting))]


def pieces(setting: Setting) -> Sequence[Piece]:
    """Return training, then frozen scores and fine-tuning, the smallest graph first."""
    trained = [run for run in runs(setting) if run.arm in PRETRAINED]
    training = [Piece(run.name, ("train",), inputs=(_COLLECTION,)) for run in trained]
    sizes = [Piece(_COLLECTION, ("size",), core=True, inputs=(_COLLECTION,))]
    baselines = [
        Piece(target, ("size", *NULLS), core=True, inputs=(_input(target, "random"),)) for target in _targets(setting)
    ]
    scores = []
    for unit in units(setting):
        after = (unit.run.name, "train") if unit.run in trained else None
        data = _input(unit.target, unit.run.arm)
        calibration = () if unit.run in trained else (_COLLECTION,)
        scores.append(Piece(unit.name, ("frozen",), after, core=True, inputs=(data, *calibration)))
        if unit.target in FINETUNED:
            folds = tuple(f"fold-{fold}" for fold in range(1 if setting.tiny else FOLDS))
            scores.append(Piece(unit.name, folds, after, inputs=(data,)))
    return [*training, *sizes, *baselines, *scores]


def prepare(setting: Setting, name: str) -> None:
    """Ingest the collection, or cut the subgraphs around the nodes of a graph."""
    if name == _COLLECTION:
        graphs = GRAPHS[:1] if setting.tiny else GRAPHS
        ingest_collection(setting, [DATA / f"{graph}_edges.csv.gz" for graph in graphs], name, resolve_nodes())
        return
    path = setting.data / f"{name}.pickle"
    if not path.exists():
        target, _, rule = name.rpartition("-")
        draft = path.with_suffix(".partial")
        draft.write_bytes(pickle.dumps(dataset(target, rule == "walks"), pickle.HIGHEST_PROTOCOL))
        draft.rename(path)


def measure(setting: Setting, piece: Piece) -> Parts:
    run = next((each for each in runs(setting) if each.name == piece.unit), None)
    unit = next((each for each in units(setting) if each.name == piece.unit), None)
    if run is not None:
        config = _config(setting, run)
        cell = train(setting, "nodes", run.name, config, open_source(setting, _COLLECTION, config.draws))
        if cell is not None:
            yield "train", cell
    elif unit is not None:
        data = _dataset(setting, unit.target, unit.run.arm)
        for part in piece.parts:
            if setting.is_over:
                return
            if part == "frozen":
                yield part, score_frozen(_encoder(setting, unit.run), data)
            else:
                fold = int(part.removeprefix("fold-"))
                start = _start(setting, unit.run)
                yield part, score_finetuned(start, data, fold, _epochs(setting), unit.run.seed, setting.device)
    elif piece.unit == _COLLECTION:
        yield "size", _size(setting)
    else:
        data = _dataset(setting, piece.unit, "random")
        for part in piece.parts:
            yield part, describe(piece.unit) if part == "size" else score_baseline(part, data)


def _targets(setting: Setting) -> Sequence[str]:
    return FINETUNED[:1] if setting.tiny else tuple(TARGETS)


def _epochs(setting: Setting) -> int:
    return 1 if setting.tiny else EPOCHS


def _input(target: str, arm: str) -> str:
    return f"{target}-{'walks' if arm == 'gcc' else 'recipe'}"


@cache
def _dataset(setting: Setting, target: str, arm: str) -> NodeDataset:
    data = pickle.loads((setting.data / f"{_input(target, arm)}.pickle").read_bytes())
    assert isinstance(data, NodeDataset)
    return data


def _config(setting: Setting, run: Run) -> PretrainConfig:
    (strategy,) = [each for each in PRETRAINED if each == run.arm]
    model = Model.from_kind("node", run.model)
    config = PretrainConfig.from_strategy(strategy, kind="node", model=model, seed=run.seed, max_steps=STEPS)
    return replace(shrunk(config, _TINY_STEPS), model=model) if setting.tiny else config


def _encoder(setting: Setting, run: Run) -> Encoder:
    model = Model.from_kind("node", run.model)
    if run.arm in PRETRAINED:
        return read_encoder(setting.encoder("nodes", run.name), _config(setting, run).as_json()["model"])
    with open_source(setting, _COLLECTION, Sampling(None)) as source:
        return initial_encoder(model, run.seed, source.corpus())


def _start(setting: Setting, run: Run) -> InitialEncoder:
    if run.arm not in PRETRAINED:
        return InitialEncoder(Model.from_kind("node", run.model))
    config = _config(setting, run)
    return InitialEncoder(config.model, config, _encoder(setting, run))


def _size(setting: Setting) -> Cell:
    with open_source(setting, _COLLECTION, Sampling(None)) as source:
        return {"nodes": source.generation.size, "edges": len(source.edges()), "links": len(source.links())}


def results(cells: Cells, target: str, model: str) -> NodeResults | None:
    """Return the results of an encoder on a graph, or None if frozen scores are missing.

    Fine-tuning is left out unless all folds are there.
    """
    of_arms = {(arm, seed): Run(model, arm, seed) for arm, seed in product(ARMS, SEEDS)}
    folds = {
        (arm, seed, fold): (Unit(target, run).name, f"fold-{fold}")
        for (arm, seed), run in of_arms.items()
        for fold in range(FOLDS)
    }
    frozen = {
        **{(name, 0): (target, name) for name in NULLS},
        **{key: (Unit(target, run).name, "frozen") for key, run in of_arms.items()},
    }
    needed = {*frozen.values(), (target, "size"), (_COLLECTION, "size")}
    if not needed <= cells.keys():
        return None
    is_finetuned = {*folds.values()} <= cells.keys()
    return NodeResults(
        STEPS,
        EPOCHS if is_finetuned else 0,
        [*SEEDS],
        {**cells[target, "size"], "encoder": model},
        cells[_COLLECTION, "size"],
        {key: cells[run.name, "train"]["pretraining"] for key, run in of_arms.items() if run.arm in PRETRAINED},
        {key: cells[cell] for key, cell in frozen.items()},
        {key: cells[cell] for key, cell in folds.items()} if is_finetuned else {},
    )


def reports(cells: Cells) -> Iterator[str]:
    for target, model in product(TARGETS, _MODELS):
        if (complete := results(cells, target, model)) is not None:
            yield report(complete)


def main() -> None:
    for text in reports(read_results("nodes")):
        print(text)


if __name__ == "__main__":
    main()
