"""Defaults against the tables of the paper, and schedules against their definitions."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.pretraining.checkpoint import Run
from graphkin.trainer.pretraining.config import (
    Context,
    Contrast,
    Model,
    Momentum,
    Nodes,
    Optimization,
    PretrainConfig,
    Task,
)
from graphkin.trainer.pretraining.masking import Masking
from graphkin.trainer.pretraining.schedule import learning_rate
from graphkin.trainer.strategy import LEARNED_BY, PRESETS, STRATEGIES, Policy, Sampling, Walks

EPOCH_STEPS = 7_813  # of 2,000,000 items in batches of 256


def rates(optimization: Optimization, steps: int) -> list[float]:
    return [learning_rate(optimization, step, steps) for step in range(steps)]


@pytest.mark.parametrize(("epochs", "steps"), [(20, 156_260), (100, 781_300)])
def test_learning_rate_warms_up_and_decays(epochs: int, steps: int) -> None:
    """T6: 156,260 steps with warm-up 15,626; 781,300 with 78,130."""
    assert epochs * EPOCH_STEPS == steps
    found = rates(Optimization(), steps)
    assert found[0] == found[-1] == 0
    assert found[steps // 10] == max(found) == 1e-3
    assert found[steps // 20] == pytest.approx(5e-4)
    assert found[steps // 10 + (steps - 1 - steps // 10) // 2] == pytest.approx(5e-4, rel=1e-4)
    assert sum(rate == 0 for rate in found) == 2


@pytest.mark.parametrize("steps", [1, 2, 3, 9])
def test_short_runs_have_a_schedule_too(steps: int) -> None:
    found = rates(Optimization(), steps)
    assert found[0] == found[-1] == 0
    assert all(0 <= rate <= 1e-3 for rate in found)


def test_rc_preset_keeps_the_learning_rate_constant() -> None:
    assert set(rates(PretrainConfig.from_strategy("adam", "rc").optimization, 10)) == {1e-3}


@pytest.mark.parametrize(
    ("strategy", "positives", "negatives", "masks", "epochs"),
    [
        ("hgc-fo", 3, 0, None, 20),
        ("hgc-ho", 5, 255, None, 20),
        ("adam", 0, 0, 5, 100),
        ("rdm", 0, 0, 1, 100),
        ("hgc-adam-fo", 3, 0, 3, 20),
        ("hgc-adam-ho", 5, 255, 5, 20),
    ],
)
def test_the_published_runs(strategy: str, positives: int, negatives: int, masks: int | None, epochs: int) -> None:
    """T6 and T7."""
    config = PretrainConfig.from_strategy(strategy)  # type: ignore[arg-type]
    assert (config.draws.policy.k if config.draws.policy else 0) == positives
    assert config.draws.negatives == negatives
    assert (config.masking.times if config.masking else None) == masks
    assert config.epochs == epochs
    assert (config.contrast is None) == (positives == 0)
    assert config.draws.batch_size == 256
    assert config.model == Model("gin", layers=5, width=300, dropout=0.0)
    assert config.optimization == Optimization(1e-3, (0.9, 0.999), 0.0, "linear", 0.1, 1.0)
    if config.contrast is not None:
        assert config.contrast.temperature == 0.07
    if config.masking is not None:
        assert (config.masking.ratio, config.masking.temperature) == (0.15, 0.07)


@pytest.mark.parametrize(("preset", "epochs"), [("default", 35), ("paper", 35), ("rc", 100)])
def test_the_published_runs_on_graphs(preset: str, epochs: int) -> None:
    """T6: batch 32; 171,465 steps are 35 epochs of the 156,754 published graphs."""
    config = PretrainConfig.from_strategy("hgc-fo", preset, kind="graph")  # type: ignore[arg-type]
    assert (config.draws.batch_size, config.epochs) == (32, epochs)
    assert config.epochs == 100 or config.epochs * -(-156_754 // 32) == 171_465
    chosen = PretrainConfig.from_strategy("hgc-ho", preset, kind="graph", batch_size=8, epochs=2)  # type: ignore[arg-type]
    assert (chosen.draws.batch_size, chosen.epochs, chosen.draws.negatives) == (8, 2, 255)


@pytest.mark.parametrize("kind", ["graph", "node"])
@pytest.mark.parametrize("strategy", [each for each in STRATEGIES if "adam" in each or each == "rdm"])
def test_graphs_and_nodes_have_nothing_to_mask(strategy: str, kind: str) -> None:
    with pytest.raises(Conflict, match="nothing to mask"):
        PretrainConfig.from_strategy(strategy, kind=kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_set_the_published_masking(preset: str) -> None:
    """Loss over all atoms in every AdaM preset; RdM is the same baseline in all (docs/reference/training.md)."""
    masking = PretrainConfig.from_strategy("adam", preset).masking  # type: ignore[arg-type]
    expected = {
        "default": Masking(score="kl"),
        "paper": Masking(unit="per_graph", score="one_minus_ce"),
        "rc": Masking(),
    }
    assert masking == expected[preset]
    assert masking.loss == "all"
    rdm = PretrainConfig.from_strategy("rdm", preset)  # type: ignore[arg-type]
    assert rdm.masking == Masking(times=1, unit="per_graph", loss="masked")
    assert rdm.optimization == Optimization()


def test_rc_preset_follows_the_code_of_the_authors() -> None:
    joint = PretrainConfig.from_strategy("hgc-adam-fo", "rc")
    assert joint.epochs == 100
    assert PretrainConfig.from_strategy("hgc-adam-fo", "rc", epochs=20).epochs == 20
    alone = PretrainConfig.from_strategy("adam", "rc")
    assert alone.optimization.clip is None
    walk = PretrainConfig.from_strategy("hgc-ho", "rc").draws.policy
    assert walk is not None
    assert (walk.p_end, walk.pad) == (0.2, "self")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("kind", "strategy"), [(kind, strategy) for kind, learned in LEARNED_BY.items() for strategy in learned]
)
def test_config_round_trips_through_json(kind: str, strategy: str, preset: str) -> None:
    model = Model.from_kind(kind, "sage")
    config = PretrainConfig.from_strategy(strategy, preset, kind=kind, model=model, max_steps=7, seed=3)  # type: ignore[arg-type]
    assert PretrainConfig.from_json(json.loads(json.dumps(config.as_json()))) == config


@pytest.mark.parametrize("kind", ["molecule", "graph"])
@pytest.mark.parametrize("strategy", ["edge-pred", "infomax", "context-pred"])
def test_the_published_baselines(strategy: str, kind: str) -> None:
    """Hu et al.: 100 epochs; contexts of three bonds that begin at the last atoms that five layers see. As rdm, they
    are the same in all presets."""
    config = PretrainConfig.from_strategy(strategy, kind=kind)  # type: ignore[arg-type]
    assert (config.contrast, config.masking, config.draws.policy, config.draws.negatives) == (None, None, None, 0)
    assert (config.epochs, config.draws.batch_size) == (100, 256 if kind == "molecule" else 32)
    assert config.optimization == Optimization()
    assert config.task == Task(strategy, Context(5, 4, 7, 3) if strategy == "context-pred" else None)  # type: ignore[arg-type]
    for preset in PRESETS:
        again = PretrainConfig.from_strategy(strategy, preset, kind=kind)  # type: ignore[arg-type]
        assert replace(again, preset="default") == config


def test_contexts_follow_the_depth_of_the_encoder() -> None:
    task = PretrainConfig.from_strategy("context-pred", model=Model(layers=3)).task
    assert task is not None
    assert task.context == Context(hops=3, inner=2, outer=5, layers=3)


@pytest.mark.parametrize("strategy", ["edge-pred", "infomax", "context-pred"])
def test_the_baselines_are_not_about_nodes(strategy: str) -> None:
    with pytest.raises(Conflict, match="about whole graphs"):
        PretrainConfig.from_strategy(strategy, kind="node")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"hops": 0}, {"inner": 5}, {"inner": -1}, {"outer": 4}, {"layers": 0}, {"hops": 3}, {"hops": 4}]
)
def test_impossible_contexts_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="invalid"):
        Context(**wrong)


def test_impossible_tasks_are_refused() -> None:
    for name, context in (("infomax", Context()), ("context-pred", None), ("magic", None)):
        with pytest.raises(InvalidInput, match="invalid"):
            Task(name, context)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="or a task alone"):
        replace(PretrainConfig.from_strategy("rdm"), task=Task("infomax"))


def test_runs_of_before_the_baselines_are_read(tmp_path: Path) -> None:
    config = PretrainConfig.from_strategy("rdm")
    said = json.loads(json.dumps(config.as_json()))
    del said["task"]
    assert PretrainConfig.from_json(said) == config
    Run(tmp_path, {"config": said}, resume=False)
    Run(tmp_path, {"config": config.as_json()}, resume=True)


@pytest.mark.parametrize(
    ("name", "kept", "other"),
    [
        ("masking.freeze", True, False),
        ("optimization.free_head", False, True),
        ("shuffle", True, False),
    ],
)
def test_run_with_a_removed_setting_continues_only_with_its_default(
    tmp_path: Path, name: str, kept: bool, other: bool
) -> None:
    config = PretrainConfig.from_strategy("hgc-adam-fo")
    for value in (kept, other):
        record = json.loads(json.dumps(config.as_json()))
        *sections, key = name.split(".")
        (record[sections[0]] if sections else record)[key] = value
        assert PretrainConfig.from_json(record) == config
        Run(tmp_path / str(value), {"config": record}, resume=False)
    Run(tmp_path / str(kept), {"config": config.as_json()}, resume=True)
    with pytest.raises(InvalidInput, match=rf"other options: config\.{name}\n"):
        Run(tmp_path / str(other), {"config": config.as_json()}, resume=True)


def test_runs_of_before_nodes_are_read(tmp_path: Path) -> None:
    """And go on: what they do not say was not there to be chosen."""
    config = PretrainConfig.from_strategy("hgc-adam-ho")
    said = json.loads(json.dumps(config.as_json()))
    del said["model"]["nodes"], said["contrast"]["momentum"], said["draws"]["walks"]
    del said["contrast"]["loss"], said["draws"]["positives"], said["draws"]["policy"]["restart"]
    assert PretrainConfig.from_json(said) == config
    Run(tmp_path, {"config": said}, resume=False)
    Run(tmp_path, {"config": config.as_json()}, resume=True)
    assert config.draws.policy is not None
    policy = replace(config.draws.policy, restart=0.5)
    with pytest.raises(InvalidInput, match=r"other options: config\.draws\.policy\.restart"):
        Run(tmp_path, {"config": replace(config, draws=replace(config.draws, policy=policy)).as_json()}, resume=True)


def test_the_published_runs_on_nodes() -> None:
    """Method.md C, "AP_NF": 230,800 steps are 100 epochs of the 73,832 published nodes."""
    config = PretrainConfig.from_strategy("hgc-ho", kind="node")
    assert config.model == Model("gin", layers=5, width=64, nodes=Nodes(32, 16, 512))
    assert config.contrast == Contrast(0.07, momentum=Momentum(0.999, 256))
    assert config.optimization == Optimization(5e-3, weight_decay=1e-5)
    assert (config.draws.batch_size, config.epochs) == (32, 100)
    assert config.epochs * -(-73_832 // 32) == 230_800
    assert config.draws == Sampling(Policy("random_walk", k=1, length=2, walks=5), 0, 32)
    assert PretrainConfig.from_strategy("hgc-fo", kind="node").draws == Sampling(Policy("first_order", k=1), 0, 32)
    assert PretrainConfig.from_strategy("gcc", kind="node").draws == Sampling(None, 0, 32, walks=Walks(0.8, 256, 256))
    assert PretrainConfig.from_strategy("gcc", kind="node", queue=16_384).contrast == Contrast(
        momentum=Momentum(queue=16_384)
    )
    assert replace(
        PretrainConfig.from_strategy("gcc", "rc", kind="node", model=Model.from_kind("node")), preset="default"
    ) == PretrainConfig.from_strategy("gcc", kind="node")


def test_options_that_do_not_fit_the_kind_of_items_are_refused() -> None:
    for kind in ("molecule", "graph"):
        with pytest.raises(Conflict, match="no big graph to walk on"):
            PretrainConfig.from_strategy("gcc", kind=kind)
        with pytest.raises(InvalidInput, match="kind of items with a queue"):
            PretrainConfig.from_strategy("hgc-fo", kind=kind, queue=256)
        with pytest.raises(InvalidInput, match="encoder for items"):
            PretrainConfig.from_strategy("hgc-fo", kind=kind, model=Model.from_kind("node"))
    with pytest.raises(InvalidInput, match="encoder for items"):
        PretrainConfig.from_strategy("gcc", kind="node", model=Model())
    with pytest.raises(InvalidInput, match="at least the batch size, 32"):
        PretrainConfig.from_strategy("gcc", kind="node", queue=31)
    with pytest.raises(InvalidInput, match="a strategy with hgc"):
        PretrainConfig.from_strategy("gcc", kind="node", mask_neighbors=True)


def test_impossible_options_are_refused() -> None:
    config = PretrainConfig.from_strategy("hgc-fo")
    for change in ({"epochs": 0}, {"max_steps": 0}, {"limit": 1}, {"contrast": None}):
        with pytest.raises(InvalidInput):
            replace(config, **change)
    with pytest.raises(InvalidInput, match="hgc-adam-ho"):
        PretrainConfig.from_strategy("hgc")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="2 or more"):
        PretrainConfig.from_strategy("hgc-fo", batch_size=1)
    with pytest.raises(InvalidInput, match="a strategy with hgc"):
        PretrainConfig.from_strategy("adam", mask_neighbors=True)
    with pytest.raises(Conflict, match="molecule or graph or node"):
        PretrainConfig.from_strategy("hgc-fo", kind="word")
    with pytest.raises(InvalidInput, match="gin, gcn, sage"):
        Model("gat")
