"""Settings by name: what arrives, what is refused, and that what is printed is read back."""

import re
import tomllib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.settings import as_toml, assigned, changed, read_settings
from graphkin.trainer.strategy import LEARNED_BY, PRESETS


def ordered(strategy: str, *texts: str, kind: str = "molecule") -> PretrainConfig:
    return changed(PretrainConfig.from_strategy(strategy, kind=kind), map(assigned, texts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("strategy", "text", "path", "value"),
    [
        ("adam", "times=7", "masking.times", 7),
        ("adam", "ratio=0.25", "masking.ratio", 0.25),
        ("adam", "score=softmax", "masking.score", "softmax"),
        ("adam", 'score = "one_minus_ce"', "masking.score", "one_minus_ce"),
        ("adam", "unit=per_graph", "masking.unit", "per_graph"),
        ("rdm", "loss=all", "masking.loss", "all"),
        ("hgc-adam-fo", "masking.temperature=1", "masking.temperature", 1.0),
        ("hgc-fo", "temperature=0.1", "contrast.temperature", 0.1),
        ("hgc-fo", "learning_rate=3e-4", "optimization.learning_rate", 3e-4),
        ("hgc-fo", "betas=[0.8, 0.9]", "optimization.betas", (0.8, 0.9)),
        ("hgc-fo", "clip=none", "optimization.clip", None),
        ("hgc-fo", "limit=100", "limit", 100),
        ("hgc-ho", "policy.name=second_order", "draws.policy.name", "second_order"),
        ("hgc-ho", "k=8", "draws.policy.k", 8),
        ("hgc-ho", "negatives=64", "draws.negatives", 64),
        ("hgc-ho", "length=4", "draws.policy.length", 4),
        ("hgc-ho", "walks=7", "draws.policy.walks", 7),
        ("hgc-ho", "policy.p=0.5", "draws.policy.p", 0.5),
        ("hgc-ho", "q=1.4", "draws.policy.q", 1.4),
        ("hgc-ho", "p_end=0.2", "draws.policy.p_end", 0.2),
        ("hgc-ho", "restart=0.6", "draws.policy.restart", 0.6),
        ("c-subgraph", "loss=hgc", "contrast.loss", "hgc"),
        ("graphcl", "loss=nt-xent", "contrast.loss", "nt-xent"),
        ("c-subgraph", 'operations=["drop-nodes", "walk"]', "draws.views.operations", ("drop-nodes", "walk")),
        ("context-pred", "hops=6", "task.context.hops", 6),
    ],
)
def test_one_setting_changes_and_no_other(strategy: str, text: str, path: str, value: object) -> None:
    before = flat(asdict(PretrainConfig.from_strategy(strategy)))  # type: ignore[arg-type]
    after = flat(asdict(ordered(strategy, text)))
    assert after[path] == value
    assert type(after[path]) is type(value)
    assert {**after, path: before[path]} == before
    assert before[path] != value


def flat(options: dict[str, Any], within: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in options.items():
        found |= flat(value, f"{within}{name}.") if isinstance(value, dict) else {within + name: value}
    return found


def test_the_reference_lists_each_setting() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "training.md").read_text(encoding="utf-8")
    _, _, section = page.partition("\n## Settings\n")
    listed = set()
    for cell in re.findall(r"^\| (`.+?) \|", section.partition("\n## ")[0], re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", cell)
        parent = first.rpartition(".")[0]
        listed |= {first, *(parent + name if name.startswith(".") else name for name in others)}
    configs = [
        PretrainConfig.from_strategy(each, kind=kind) for kind, learned in LEARNED_BY.items() for each in learned
    ]
    settings = {name for config in configs for name in flat(tomllib.loads(as_toml(config)))}
    assert listed == settings - {"strategy", "preset", "draws.positives", "task.name"}


def test_the_last_word_counts_and_values_are_checked_together() -> None:
    assert ordered("hgc-fo", "k=4", "draws.policy.k=6", "k=5").draws.policy.k == 5  # type: ignore[union-attr]
    nodes = ordered("gcc", "queue=512", "batch_size=300", kind="node")  # neither fits the other's default
    assert (nodes.contrast.momentum.queue, nodes.draws.batch_size) == (512, 300)  # type: ignore[union-attr]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("kind", "strategy"), [(kind, strategy) for kind, learned in LEARNED_BY.items() for strategy in learned]
)
def test_what_is_printed_is_read_back(kind: str, strategy: str, preset: str, tmp_path: Path) -> None:
    """Over the plain run of the same strategy, from another seed, length and encoder."""
    model = Model.from_kind(kind, "sage")
    config = PretrainConfig.from_strategy(strategy, preset, kind=kind, model=model, seed=3, max_steps=7)  # type: ignore[arg-type]
    config = replace(config, optimization=replace(config.optimization, clip=None, weight_decay=1e-5))
    file = tmp_path / "run.toml"
    file.write_text(as_toml(config))
    plain = PretrainConfig.from_strategy(strategy, preset, kind=kind)  # type: ignore[arg-type]
    assert changed(plain, read_settings(file)) == config


@pytest.mark.parametrize(
    ("strategy", "text", "given", "expected"),
    [
        ("adam", "score=best", "best", "one of softmax, one_minus_ce, kl"),
        ("adam", "times=2.5", 2.5, "an integer"),
        ("adam", "times=true", True, "an integer"),
        ("adam", 'ratio="0.2"', "0.2", "a number"),
        ("adam", "ratio=.2", ".2", "a number"),
        ("adam", "ratio=1", 1, "above 0 and below 1"),
        ("adam", "learning_rate=inf", float("inf"), "a finite number"),
        ("adam", "seed=2026-01-01", None, "an integer"),
        ("adam", "betas=[0.9]", [0.9], "0 or more and below 1|a value"),
        ("adam", "betas=[0.9, 1]", (0.9, 1.0), "0 or more and below 1"),
        ("adam", "bf16=1", 1, "true or false"),
        ("adam", "max_steps=0", 0, "1 or more"),
        ("adam", "negatives=5", 5, "0 for a strategy without positives"),
        ("adam", "strategy=rdm", "rdm", "adam"),
        ("adam", "preset=rc", "rc", "default"),
        ("infomax", "task.name=edge-pred", "edge-pred", "infomax"),
        ("hgc-fo", "positives=window", "window", "exact"),
        ("hgc-fo", "loss=nt-xent", "nt-xent", "hgc: graphcl and nt-xent are for two views of an item"),
        ("hgc-ho", "k=65", 65, "1 to 64"),
        ("hgc-ho", "length=33", 33, "1 to 32"),
        ("hgc-ho", "walks=0", 0, "1 to 256"),
        ("hgc-ho", "q=0", 0.0, "above 0, and finite"),
        ("hgc-ho", "p_end=1", 1.0, "0 or more and below 1"),
        ("hgc-ho", "restart=1", 1.0, "0 or more and below 1"),
        ("hgc-ho", "negatives=4097", 4097, "0 to 4096"),
        ("hgc-adam-ho", "loss=all", "loss", "contrast.loss or masking.loss"),
        ("c-subgraph", "mask_neighbors=true", "two views of an item", "a strategy whose positives are neighbors"),
        ("c-subgraph", "operations=[]", (), "one or more"),
        ("c-subgraph", "ratio=1.5", 1.5, "0 to 1"),
    ],
)
def test_what_is_refused(strategy: str, text: str, given: object, expected: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ordered(strategy, text)
    assert given is None or refused.value.given == given
    assert refused.value.expected in expected.split("|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("queue=16", "at least the batch size, 32"),
        ("k=2", "1 with a queue"),
        ("negatives=9", "0 with a queue, which holds the negatives"),
        ("head=true", "hgc, and no head"),
        ("max_nodes=0", None),
    ],
)
def test_what_a_queue_is_not_for(text: str, expected: str | None) -> None:
    with pytest.raises(InvalidInput) as refused:
        ordered("hgc-ho", text, kind="node")
    assert expected is None or refused.value.expected == expected


def test_unknown_names_are_told_the_nearest_first() -> None:
    with pytest.raises(InvalidInput, match="hgc-ho has no setting of this name") as refused:
        ordered("hgc-ho", "temprature=1")
    assert refused.value.expected is not None
    assert refused.value.expected.startswith("one of contrast.temperature, ")
    assert "masking" not in refused.value.expected
    for text in ("policy", "draws.policy", "masking.score=kl", "olicy.k=3"):
        with pytest.raises(InvalidInput):
            ordered("hgc-ho", text if "=" in text else f"{text}=1")


def test_what_is_no_assignment_or_no_file(tmp_path: Path) -> None:
    for text in ("score", "=kl", ""):
        with pytest.raises(InvalidInput, match="this is not a setting"):
            assigned(text)
    with pytest.raises(NotFound, match="does not exist"):
        read_settings(tmp_path / "nowhere.toml")
    for content in (b"score = kl", b"\xff"):
        (tmp_path / "wrong.toml").write_bytes(content)
        with pytest.raises(InvalidInput, match="file of settings cannot be read"):
            read_settings(tmp_path / "wrong.toml")
