"""Positives from other sources, with the real commands and a real server."""

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
from graphkin.trainer.feed.online import open_online
from graphkin.trainer.pretraining.checkpoint import read_model, read_run
from graphkin.trainer.strategy import POSITIVES, Positives, Sampling

SHORT = ("--strategy", "hgc-fo", "--encoder", "gcn", "--batch-size", 8, "--max-steps", 3)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, nci_lines: list[str], serve: Any) -> Iterator[tuple[str, Path]]:
    """Yield the URL and the store of a server with the same molecules by two rules, and with fewer of them."""
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
        place_options = ("--api", place[0], "--collection", "exact", "--cache-dir", tmp_path / "cache")
        return graphkin(command, *place_options, "--output", tmp_path / run, *options)

    return call


def test_every_source_trains_from_the_same_weights(pretrain: Any, tmp_path: Path) -> None:
    losses, weights = {}, {}
    for name in POSITIVES:
        outcome = pretrain(*SHORT, "--positives", name, "--beside", "window", run=name)
        assert outcome.code == 0, outcome.err
        records = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        losses[name] = records[0]["loss"]
        weights[name] = read_model(tmp_path / name)["encoder.inputs.atom_type.weight"].numpy()
        run_record = read_run(tmp_path / name)
        assert run_record["config"]["draws"]["positives"] == name
        assert (run_record["beside"]["collection"], run_record["generation"]["collection"]) == ("window", "exact")
    assert len(set(losses.values())) == len(POSITIVES)
    assert all((weights[name] != weights["exact"]).any() for name in POSITIVES[1:])


def test_anchors_have_neighbors_by_both_rules(place: tuple[str, Path], tmp_path: Path) -> None:
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
    draws = Sampling.from_strategy("hgc-fo", batch_size=8, positives="window")
    with open_online(url, "exact", draws, features, Cache(tmp_path, 2**30), beside="window", last=0) as source:
        positives = source.epoch(0).positives
    np.testing.assert_array_equal(positives[:, 0] >= 0, both)
    assert all(set(positives[item].tolist()) <= near[item] for item in np.flatnonzero(both))


@pytest.mark.parametrize("name", ["window", "size-matched", "augmented"])
def test_fetched_folder_has_the_same_positives(
    pretrain: Any, graphkin: Any, place: tuple[str, Path], tmp_path: Path, name: Positives
) -> None:
    options_of_run = ("--strategy", "hgc-fo", "--batch-size", 8, "--positives", name)
    assert pretrain(*options_of_run, "--beside", "window", "--epochs", 1, run="folder", command="fetch").code == 0
    draws = Sampling.from_strategy("hgc-fo", batch_size=8, positives=name)
    with (
        OfflineSource(tmp_path / "folder", draws) as offline,
        open_online(
            place[0], "exact", draws, features, Cache(tmp_path / "o", 2**30), beside="window", last=0
        ) as source,
    ):
        np.testing.assert_array_equal(offline.epoch(0).positives, source.epoch(0).positives)
        assert offline.second_generation == source.second_generation
    trained = graphkin(
        *("pretrain", "--offline", tmp_path / "folder", *options_of_run, "--max-steps", 2, "--output", tmp_path / "off")
    )
    assert trained.code == 0, trained.err
    other = graphkin(*("pretrain", "--offline", tmp_path / "folder", *SHORT, "--output", tmp_path / "no"))
    assert (other.code, "fetched for other settings" in other.err) == (2, True)


def test_continued_run_keeps_its_second_generation(
    pretrain: Any, place: tuple[str, Path], nci_lines: list[str], tmp_path: Path
) -> None:
    options_of_run = (*SHORT, "--positives", "window", "--beside", "window", "--checkpoint-steps", 1)
    assert pretrain(*options_of_run).code == 0
    second_generation = read_run(tmp_path / "run")["beside"]["id"]
    file = tmp_path / "again.smi"
    file.write_text("\n".join(nci_lines) + "\n")
    with open_store(place[1]) as store:
        recipe = resolve(candidates="window", threshold=0.25)
        pipeline.ingest(store, "window", [str(file)], recipe, IngestOptions(workers=1))
    assert pretrain(*options_of_run, "--resume").code == 0
    assert read_run(tmp_path / "run")["beside"]["id"] == second_generation
    named = pretrain(*options_of_run, "--beside", f"window@{second_generation}", run="named")
    assert (named.code, read_run(tmp_path / "named")["beside"]["id"]) == (0, second_generation)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--positives", "window"), 2, "--beside NAME, a collection of the same items"),
        (("--positives", "window", "--beside", "nobody"), 3, "no collection 'nobody'"),
        (("--positives", "window", "--beside", "fewer"), 2, "do not hold the same items"),
        (("--positives", "shuffled", "--strategy", "adam"), 2, "a strategy with hgc"),
        (("--beside", "window", "--strategy", "adam"), 2, "--beside needs a strategy with positives"),
        (("--positives", "nearest"), 2, "--positives"),
    ],
)
def test_conflicting_options_are_refused(pretrain: Any, options: tuple[str, ...], code: int, message: str) -> None:
    outcome = pretrain(*SHORT, *options)
    assert (outcome.code, message in outcome.err) == (code, True), outcome.err
