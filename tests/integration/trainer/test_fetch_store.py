"""`graphkin fetch --store` writes the same folder as `graphkin fetch --api` from a server of that store."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from graphkin.cli import run
from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.trainer.strategy import LEARNED_BY

MOLECULES, GRAPHS, NODES = "nci", "social", "town"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, nci_lines: list[str]) -> Path:
    """Return a store with molecules by two candidate rules, graphs, and nodes."""
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "nci.smi").write_text("\n".join(nci_lines) + "\n")
    with open_store(folder / "store", create=True) as new_store:
        for name, recipe in ((MOLECULES, resolve()), ("window", resolve(candidates="window", threshold=0.2))):
            pipeline.ingest(new_store, name, [str(folder / "nci.smi")], recipe, IngestOptions(workers=1))
    graphs = [nx.gnp_random_graph(10 + number % 20, 0.3, seed=number) for number in range(300)]
    lines = [{"num_nodes": len(graph), "edges": [*graph.edges]} for graph in graphs]
    (folder / "graphs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    town = nx.powerlaw_cluster_graph(120, 3, 0.3, seed=1)
    (folder / "town.edgelist").write_text("".join(f"n{one} n{other}\n" for one, other in town.edges))
    place = ("--store", str(folder / "store"), "--workers", "1", "--collection")
    assert run(["ingest", "graphs", str(folder / "graphs.jsonl"), "--format", "jsonl", *place, GRAPHS]) == 0
    assert run(["ingest", "nodes", str(folder / "town.edgelist"), *place, NODES]) == 0
    return folder / "store"


@pytest.fixture(scope="module")
def url(store: Path, serve: Any) -> Iterator[str]:
    with serve(store) as address:
        yield address


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that all fetches from the server share."""
    return tmp_path_factory.mktemp("cache")


CASES: list[tuple[str, tuple[object, ...]]] = [
    *((MOLECULES, ("--strategy", strategy)) for strategy in LEARNED_BY["molecule"]),
    *((GRAPHS, ("--strategy", strategy)) for strategy in ("hgc-fo", "hgc-ho", "graphcl")),
    *((NODES, ("--strategy", strategy)) for strategy in LEARNED_BY["node"]),
    *(
        (MOLECULES, ("--strategy", "hgc-fo", "--positives", positives, "--beside", "window"))
        for positives in ("exact", "window", "shuffled", "size-matched", "augmented")
    ),
    (MOLECULES, ("--strategy", "hgc-ho", "--preset", "paper", "--seed", 7, "--batch-size", 64)),
    (MOLECULES, ("--strategy", "hgc-ho", "--preset", "rc", "--encoder", "gcn")),
    (MOLECULES, ("--strategy", "hgc-ho", "--set", "policy.name=second_order", "--set", "policy.q=2")),
]


@pytest.mark.parametrize(("collection", "options"), CASES)
def test_folder_equals_that_from_a_server(
    graphkin: Any, url: str, store: Path, cache: Path, tmp_path: Path, collection: str, options: tuple[object, ...]
) -> None:
    options_of_fetch = ("--collection", collection, *options, "--epochs", 2, "--output")
    served = graphkin("fetch", "--api", url, "--cache-dir", cache, *options_of_fetch, tmp_path / "served")
    stored = graphkin("fetch", "--store", store, *options_of_fetch, tmp_path / "stored")
    assert (served.code, stored.code) == (0, 0), served.err + stored.err
    folders = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("served", "stored")]
    assert folders[0] == folders[1]
    assert len(folders[0]) >= 5


def test_older_generation_is_read_by_the_beginning_of_its_id(
    graphkin: Any, tmp_path: Path, nci_smiles: list[str]
) -> None:
    ids = []
    with open_store(tmp_path / "store", create=True) as new_store:
        for count in (50, 60):
            (tmp_path / "some.smi").write_text("\n".join(nci_smiles[:count]) + "\n")
            manifest = pipeline.ingest(
                new_store, "nci", [str(tmp_path / "some.smi")], resolve(), IngestOptions(workers=1)
            )
            ids.append(manifest.generation)
    options_of_fetch = ("--store", tmp_path / "store", "--collection", "nci", "--strategy", "adam", "--epochs", 0)
    for generation in ids:
        output = tmp_path / generation
        outcome = graphkin("fetch", *options_of_fetch, "--generation", generation[:12], "--output", output)
        assert outcome.code == 0, outcome.err
        assert json.loads((output / "manifest.json").read_text())["offline"]["generation"]["id"] == generation


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ((), 2, "--api URL for a server, or --store STORE for a store on this machine"),
        (("--api", "http://127.0.0.1:9", "--store", "STORE"), 2, "--api and --store cannot be combined"),
        (("--store", "STORE", "--cache-dir", "cache"), 2, "--cache-dir needs --api"),
        (("--store", "nowhere"), 3, "nowhere"),
        (("--store", "STORE", "--collection", "nobody"), 3, "no collection 'nobody'"),
        (("--store", "STORE", "--generation", "0" * 64), 3, "has no generation with this id"),
        (("--store", "STORE", "--positives", "window"), 2, "--beside NAME, a collection of the same items"),
        (("--store", "STORE", "--positives", "window", "--beside", GRAPHS), 2, "do not hold the same items"),
        (("--store", "STORE", "--collection", NODES, "--strategy", "adam"), 2, "nothing to mask"),
        (("--store", "STORE", "--collection", NODES, "--strategy", "hgc-fo", "--negatives", 500), 2, "500"),
    ],
)
def test_invalid_options_are_refused_and_leave_nothing(
    graphkin: Any, store: Path, tmp_path: Path, options: tuple[object, ...], code: int, message: str
) -> None:
    place = [store if each == "STORE" else each for each in options]
    outcome = graphkin(
        *("fetch", "--collection", MOLECULES, "--strategy", "hgc-fo", "--epochs", 1, "--output", tmp_path / "out"),
        *place,
    )
    assert (outcome.code, message in outcome.err, "Traceback" in outcome.err) == (code, True, False), outcome.err
    assert not (tmp_path / "out").exists()


def test_store_option_comes_from_the_environment(
    graphkin: Any, url: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable does not conflict with --api."""
    monkeypatch.setenv("GRAPHKIN_STORE", str(store))
    options_of_fetch = ("fetch", "--collection", MOLECULES, "--strategy", "adam", "--epochs", 0, "--output")
    assert graphkin(*options_of_fetch, tmp_path / "stored").code == 0
    monkeypatch.setenv("GRAPHKIN_STORE", str(tmp_path / "nowhere"))
    assert graphkin(*options_of_fetch, tmp_path / "served", "--api", url, "--cache-dir", tmp_path / "cache").code == 0
