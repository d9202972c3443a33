"""Studies over seeds: their document, continuation and table."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.dataset import CLASSIFICATION_TARGETS, Dataset, read_csv
from graphkin.trainer.downstream.finetune import FinetuneOptions, InitialEncoder, finetune
from graphkin.trainer.downstream.published_scores import published_scores
from graphkin.trainer.downstream.split import Split
from graphkin.trainer.downstream.study import Study, table
from graphkin.trainer.downstream.tu import read_tu
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.strategy import ENCODERS, STRATEGIES

SMALL = Model(layers=2, width=8)
QUICK = FinetuneOptions(epochs=2, learning_rate=1e-2, dropout=0.2)


def no_progress(*_: object) -> Any:
    return nullcontext(lambda _: None)


class StopStudy(Exception):
    """Ends a study at this point."""


def stop_after(epochs: int) -> Any:
    """Return a progress stage that ends the study after this many epochs."""
    finished = 0

    def advance(epochs_done: int) -> None:
        nonlocal finished
        finished += epochs_done
        if finished == epochs:
            raise StopStudy

    @contextmanager
    def stage(*_: object) -> Iterator[Callable[[int], object]]:
        yield advance

    return stage


@pytest.fixture
def study(dataset: Dataset) -> Study:
    return Study(dataset, None, InitialEncoder(SMALL), QUICK)


def without_seconds(document: dict[str, Any]) -> dict[str, Any]:
    runs = [{name: value for name, value in run.items() if name != "seconds"} for run in document["runs"]]
    return {**document, "runs": runs}


def test_document_has_every_result(study: Study, dataset: Dataset, split: Split, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    document = study.run([0, 4], path, no_progress)
    assert json.loads(path.read_text()) == document
    for run, seed in zip(document["runs"], (0, 4), strict=True):
        repeated = finetune(study.start, study.data, split, QUICK, seed)
        auc = run["scores"]["auc"]
        assert (run["loss"], auc["valid"], auc["test"]) == (repeated.loss, repeated.main.valid, repeated.main.test)
        assert (run["seed"], auc["best_epoch"]) == (seed, repeated.main.best_epoch)
        assert (auc["valid_at_best"], auc["test_at_best"]) == (repeated.main.best_valid, repeated.main.score)
        assert run["seconds"] > 0
    scores = [run["scores"]["auc"]["test_at_best"] for run in document["runs"]]
    assert document["summary"]["auc"] == pytest.approx(
        {"mean": np.mean(scores), "std": abs(np.diff(scores)[0]) / 2**0.5}
    )
    setting = document["setting"]
    assert setting["split"] == {"train": len(split.train), "valid": len(split.valid), "test": len(split.test)}
    assert (setting["tasks"], setting["rejected"]) == (["nitrogen", "oxygen"], len(dataset.rejected))
    assert document["options"] == setting["options"]
    assert document["options"]["learning_rate"] == 1e-2
    assert {"torch", "numpy", "rdkit"} <= document["versions"].keys()


def test_tasks_without_a_score_are_listed_with_their_share(labelled_file: Path, split: Split, tmp_path: Path) -> None:
    """One task is 1 for a single molecule, in the training part; another one is always 0."""
    lines = labelled_file.read_text().splitlines()
    smiles = lines[1 + split.train[0]].split(",")[0]
    lines = [lines[0] + ",rare,never"] + [f"{line},{int(line.startswith(smiles + ','))},0" for line in lines[1:]]
    file = tmp_path / "set.csv"
    file.write_text("\n".join(lines))
    study = Study(read_csv(file), None, InitialEncoder(SMALL), QUICK)
    document = study.run([0], tmp_path / "result.json", no_progress)
    assert document["setting"]["omitted"]["test"] == {"share": pytest.approx(1 / 3), "tasks": ["rare"]}
    assert document["setting"]["one_class"] == ["never"]
    assert document["summary"]["auc"]["std"] is None
    assert "do not count: 1 of 3 (33.3%)" in table(document)
    assert "never" in table(document)


def test_existing_seeds_are_kept_and_others_are_added(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    first = study.run([1], path, no_progress)
    both_seeds = study.run([0, 1], path, no_progress)
    assert both_seeds["runs"][1] == first["runs"][0]  # The recorded seconds are the same too.
    assert [run["seed"] for run in both_seeds["runs"]] == [0, 1]
    with pytest.raises(StopStudy):
        replace(study, options=replace(QUICK, dropout=0.3)).run([0, 1], path, stop_after(3))
    halfway = json.loads(path.read_text())
    assert (halfway["options"]["dropout"], [run["seed"] for run in halfway["runs"]]) == (0.3, [0])
    repeated = study.run([0, 1], path, no_progress)
    assert without_seconds(repeated) == without_seconds(both_seeds)
    assert repeated["runs"] != both_seeds["runs"]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": 2, "setting": null}'])
def test_invalid_document_is_replaced(study: Study, tmp_path: Path, content: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(content)
    assert study.run([0], path, no_progress) == json.loads(path.read_text())


def test_tuning_only_uses_validation_and_continues_after_a_stop(study: Study, split: Split, tmp_path: Path) -> None:
    tuned = replace(study, trials=4)
    uninterrupted = tuned.run([2, 3], tmp_path / "whole.json", no_progress)
    with pytest.raises(StopStudy):
        tuned.run([2, 3], tmp_path / "parts.json", stop_after(5))
    assert len(json.loads((tmp_path / "parts.json").read_text())["tuning"]) == 2
    parts = tuned.run([2, 3], tmp_path / "parts.json", no_progress)
    assert without_seconds(parts) == without_seconds(uninterrupted)
    trials = uninterrupted["tuning"]
    assert len(trials) == 4
    for trial in trials[:2]:
        run = finetune(study.start, study.data, split, replace(QUICK, **trial["values"]), seed=2)
        assert trial == {"values": trial["values"], "valid_auc": run.main.best_valid}
    best = max(trials, key=lambda trial: trial["valid_auc"])
    assert uninterrupted["options"] == {"epochs": 2, **best["values"]}
    assert uninterrupted["runs"][0]["scores"]["auc"]["valid_at_best"] == best["valid_auc"]


def test_encoders_are_distinguished_by_their_weights(study: Study, tmp_path: Path) -> None:
    config = PretrainConfig.from_strategy("hgc-fo", model=SMALL)
    starts = [InitialEncoder(SMALL, config, make_encoder(SMALL)) for _ in range(2)]
    documents = [replace(study, start=start).run([0], tmp_path / "result.json", no_progress) for start in starts]
    digests = [document["setting"]["weights_sha256"] for document in documents]
    assert digests[0] != digests[1]
    assert documents[0]["runs"][0]["loss"] != documents[1]["runs"][0]["loss"]
    assert documents[0]["setting"]["pretraining"] == json.loads(json.dumps(config.as_json()))


def test_table_includes_the_published_rows(study: Study, tmp_path: Path) -> None:
    config = PretrainConfig.from_strategy("hgc-ho", model=SMALL)
    start = InitialEncoder(SMALL, config, make_encoder(SMALL))
    document = replace(study, name="bbbp", start=start).run([0, 1], tmp_path / "result.json", no_progress)
    mean, std = document["summary"]["auc"]["mean"], document["summary"]["auc"]["std"]
    lines = table(document).splitlines()
    assert lines[:5] == [
        "| bbbp | ROC-AUC |",
        "|---|---|",
        f"| here: GIN after hgc-ho, seeds 0, 1 | {mean:.4f}({std:.4f}) |".replace("0.", "."),
        "| published: GIN HGC-HO (T12) | .7200(.0082) |",
        "| published: GIN without pre-training (T4) | .6939 |",
    ]


def test_published_scores_of_molecules() -> None:
    assert published_scores("gin", "adam", "clintox") == {
        "GIN AdaM (T1)": ".7797(.0040)",
        "GIN without pre-training (T4)": ".6480",
    }
    assert published_scores("gcn", None, "toxcast") == {"GCN without pre-training (T4)": ".6394"}
    assert published_scores("sage", "hgc-adam-ho", "sider") == {
        "SAGE HA-HO (T12)": ".6250(.0029)",
        "SAGE without pre-training (T4)": ".6173",
    }
    assert published_scores("gcn", "rdm", "hiv").keys() == {"GCN without pre-training (T4)"}
    assert published_scores("gin", "adam", None) == published_scores("gin", "adam", "esol") == {}
    for encoder in ENCODERS:
        for strategy in STRATEGIES:
            for dataset in CLASSIFICATION_TARGETS:
                assert all(
                    0.5 < float(score[:5]) < 0.9 for score in published_scores(encoder, strategy, dataset).values()
                )


def test_published_scores_of_social_graphs() -> None:
    """Tables T2 and T5, whose HGC is first or high order."""
    assert published_scores("gin", None, "IMDB-BINARY") == {"GIN without pre-training (T2)": ".734"}
    assert published_scores("gin", "hgc-fo", "REDDIT-BINARY") == published_scores("gin", "hgc-ho", "REDDIT-BINARY")
    assert [*published_scores("gin", "hgc-ho", "IMDB-MULTI").values()] == [".474", ".490", ".504", ".433"]
    assert [*published_scores("gin", "adam", "REDDIT-MULTI-5K").values()] == [".654", ".635"]
    assert [*published_scores("gin", "hgc-adam-fo", "IMDB-MULTI").values()] == [".509", ".433"]
    assert [*published_scores("gin", "context-pred", "IMDB-MULTI").values()] == [".473", ".460", ".433"]
    assert published_scores("gcn", "hgc-fo", "IMDB-BINARY") == published_scores("gin", "hgc-fo", "MUTAG") == {}


def test_graphs_have_accuracy_and_the_published_measure(shapes: Path, tmp_path: Path) -> None:
    data = replace(read_tu(shapes), name="IMDB-BINARY")
    document = Study(data, data.name, InitialEncoder(SMALL), QUICK).run([0, 1], tmp_path / "result.json", no_progress)
    run = finetune(InitialEncoder(SMALL), data, data.split(), QUICK, seed=1)
    for metric, curve in run.curves.items():
        content = document["runs"][1]["scores"][metric]
        assert (content["valid"], content["test"], content["best_epoch"]) == (curve.valid, curve.test, curve.best_epoch)
        scores = [each["scores"][metric]["test_at_best"] for each in document["runs"]]
        assert document["summary"][metric]["mean"] == pytest.approx(np.mean(scores))
    assert document["setting"]["split"] == {"train": 96, "valid": 12, "test": 12}
    assert (document["setting"]["graphs"], document["setting"]["classes"]) == (120, [3, 7])
    lines = table(document).splitlines()
    assert lines[0] == "| IMDB-BINARY | accuracy | rc_f1 |"
    assert lines[3] == "| published: GIN without pre-training (T2) |  | .734 |"
    assert "120 graphs of 2 classes (96 train, 12 valid, 12 test)" in lines[-1]


def test_impossible_studies_are_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no seeds"):
        study.run([], tmp_path / "result.json", no_progress)
    with pytest.raises(InvalidInput, match="cannot write"):
        study.run([0], tmp_path / "nowhere" / "result.json", stop_after(1))
