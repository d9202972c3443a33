"""Positives from elsewhere through the real commands and a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.offline import OfflineSource
from graphkin.trainer.feed.online import online
from graphkin.trainer.pretraining.checkpoint import read_model, read_run
from graphkin.trainer.strategy import POSITIVES, Draws, Positives

SHORT = ("--strategy", "hgc-fo", "--encoder", "gcn", "--batch-size", 8, "--max-steps", 3)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, nci_lines: list[str], serve: Any) -> Iterator[tuple[str, Path]]:
    """A server with the same molecules by two rules, and fewer of them; and its store."""
    folder = tmp_path_factory.mktemp("beside")
    recipes = {
        "exact": (nci_lines, resolve()),
        "window": (nci_lines, resolve(candidates="window", threshold=0.2)),
        "fewer": (nci_lines[:-1], resolve()),
    }
    with open_store(folder / "store", create=True) as store:
        for name, (lines, recipe) in recipes.items():
            (folder / f"{name}.smi").write_text("\n".join(lines) + "\n")
            pipeline.ingest(store, name, [str(folder / f"{name}.smi")], recipe, IngestOptions(workers=1))
    with serve(folder / "store") as url:
        yield url, folder / "store"


@pytest.fixture
def pretrain(graphkin: Any, place: tuple[str, Path], tmp_path: Path) -> Any:
    def call(*options: object, run: str = "run", command: str = "pretrain") -> Any:
        where = ("--api", place[0], "--collection", "exact", "--cache-dir", tmp_path / "cache")
        return graphkin(command, *where, "--output", tmp_path / run, *options)

    return call


def test_every_source_trains_from_the_same_weights(pretrain: Any, tmp_path: Path) -> None:
    losses, weights = {}, {}
    for name in POSITIVES:
        ended = pretrain(*SHORT, "--positives", name, "--beside", "window", run=name)
        assert ended.code == 0, ended.err
        records = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        losses[name] = records[0]["loss"]
        weights[name] = read_model(tmp_path / name)["encoder.inputs.atom_type.weight"].numpy()
        told = read_run(tmp_path / name)
        assert told["config"]["draws"]["positives"] == name
        assert (told["beside"]["collection"], told["generation"]["collection"]) == ("window", "exact")
    assert len(set(losses.values())) == len(POSITIVES)
    assert all((weights[name] != weights["exact"]).any() for name in POSITIVES[1:])


def test_anchors_are_linked_by_both_rules(place: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = place
    with open_store(folder) as store:
        degrees = {}
        for name in ("exact", "window"):
            with store.open(name) as generation:
                degrees[name] = generation.graph().degrees()
                rows = generation.graph()
                near = [set(rows.indices[a:b].tolist()) for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)]
    both = (degrees["exact"] > 0) & (degrees["window"] > 0)
    assert 0 < both.sum() < min((each > 0).sum() for each in degrees.values())
    draws = Draws.from_strategy("hgc-fo", batch_size=8, positives="window")
    with online(url, "exact", draws, features, Cache(tmp_path, 2**30), beside="window", last=0) as source:
        positives = source.epoch(0).positives
    np.testing.assert_array_equal(positives[:, 0] >= 0, both)
    assert all(set(positives[item].tolist()) <= near[item] for item in np.flatnonzero(both))


@pytest.mark.parametrize("name", ["window", "size-matched", "augmented"])
def test_a_fetched_folder_draws_the_same(
    pretrain: Any, graphkin: Any, place: tuple[str, Path], tmp_path: Path, name: Positives
) -> None:
    chosen = ("--strategy", "hgc-fo", "--batch-size", 8, "--positives", name)
    assert pretrain(*chosen, "--beside", "window", "--epochs", 1, run="folder", command="fetch").code == 0
    draws = Draws.from_strategy("hgc-fo", batch_size=8, positives=name)
    with (
        OfflineSource(tmp_path / "folder", draws) as offline,
        online(place[0], "exact", draws, features, Cache(tmp_path / "o", 2**30), beside="window", last=0) as source,
    ):
        np.testing.assert_array_equal(offline.epoch(0).positives, source.epoch(0).positives)
        assert offline.beside == source.beside
    trained = graphkin(
        *("pretrain", "--offline", tmp_path / "folder", *chosen, "--max-steps", 2, "--output", tmp_path / "off")
    )
    assert trained.code == 0, trained.err
    other = graphkin(*("pretrain", "--offline", tmp_path / "folder", *SHORT, "--output", tmp_path / "no"))
    assert (other.code, "fetched for something else" in other.err) == (2, True)


def test_a_continued_run_keeps_the_generation_beside_it(
    pretrain: Any, place: tuple[str, Path], nci_lines: list[str], tmp_path: Path
) -> None:
    chosen = (*SHORT, "--positives", "window", "--beside", "window", "--checkpoint-steps", 1)
    assert pretrain(*chosen).code == 0
    kept = read_run(tmp_path / "run")["beside"]["id"]
    file = tmp_path / "again.smi"
    file.write_text("\n".join(nci_lines) + "\n")
    with open_store(place[1]) as store:
        recipe = resolve(candidates="window", threshold=0.25)
        pipeline.ingest(store, "window", [str(file)], recipe, IngestOptions(workers=1))
    assert pretrain(*chosen, "--resume").code == 0
    assert read_run(tmp_path / "run")["beside"]["id"] == kept
    named = pretrain(*chosen, "--beside", f"window@{kept}", run="named")
    assert (named.code, read_run(tmp_path / "named")["beside"]["id"]) == (0, kept)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--positives", "window"), 2, "--beside NAME, a collection of the same items"),
        (("--positives", "window", "--beside", "nobody"), 3, "no collection 'nobody'"),
        (("--positives", "window", "--beside", "fewer"), 2, "do not hold the same items"),
        (("--positives", "shuffled", "--strategy", "adam"), 2, "one with hgc"),
        (("--positives", "nearest"), 2, "Invalid value for '--positives'"),
    ],
)
def test_what_does_not_go_together_is_refused(pretrain: Any, options: tuple[str, ...], code: int, said: str) -> None:
    ended = pretrain(*SHORT, *options)
    assert (ended.code, said in ended.err) == (code, True), ended.err
