"""`graphkin export lake` and `graphkin load --lake` reproduce a generation, and other programs read a lake."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import duckdb
import httpx
import numpy as np
import polars as pl
import pytest

from graphkin.runtime.files import file_sha256
from graphkin.store import open_lake, open_store
from tests.lakes import part, plain
from tests.rigs.lake_writers import race, s3_bucket, violations

Graphkin = Callable[..., Any]


@pytest.fixture(scope="module")
def export_lake(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that exports a collection of `store_folder` as a lake. That of the many graphs has three parts
    per table.
    """
    from graphkin.cli import run

    folder = tmp_path_factory.mktemp("lakes")

    def export(collection: str) -> Path:
        place = ["--store", str(store_folder), "--collection", collection]
        assert run(["export", "lake", *place, "--output", str(folder / collection)]) == 0
        return folder / collection

    return export


def _files(store: Path, collection: str) -> dict[str, str]:
    """Return SHA-256 of the files of the only generation, except for the search index, which a lake does not have."""
    (folder,) = (store / "collections" / collection).iterdir()
    return {path.name: file_sha256(path) for path in folder.iterdir() if not path.name.startswith("index.")}


@pytest.mark.parametrize("collection", ["nci", "many"])
def test_loaded_lake_equals_the_original_byte_for_byte(
    graphkin: Graphkin, export_lake: Callable[[str], Path], store_folder: Path, tmp_path: Path, collection: str
) -> None:
    lake = export_lake(collection)
    outcome = graphkin("load", "--lake", lake, "--to", tmp_path / "loaded", "--json")
    assert outcome.code == 0, outcome.err
    with open_store(store_folder) as store:
        assert json.loads(outcome.out)["generation"] == store.collection(collection).current
    assert _files(tmp_path / "loaded", collection) == _files(store_folder, collection)
    with open_lake(str(lake)) as store:
        assert store.damage(collection) is None


def test_loaded_lake_has_nodes_and_rejections(graphkin: Graphkin, tmp_path: Path) -> None:
    (tmp_path / "ring.edgelist").write_text("".join(f"{n} {(n + 1) % 40}\n" for n in range(40)) + "alone alone\n")
    assert graphkin("ingest", "nodes", "ring.edgelist", "--store", "s", "--collection", "n").code == 0
    assert graphkin("export", "lake", "--store", "s", "--collection", "n", "--output", "lake").code == 0
    assert graphkin("load", "--lake", "lake", "--to", "t").code == 0
    assert _files(tmp_path / "s", "n") == _files(tmp_path / "t", "n")


def test_ingest_into_a_lake_equals_one_into_a_folder(graphkin: Graphkin, nci_lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "some.smi").write_text("\n".join([*nci_lines[:80], "notamolecule wrong"]))
    for place in (
        ("--store", "folder"),
        ("--lake", "lake", "--store", "loaded"),
        ("--store", f"file://{tmp_path}/other"),
    ):
        outcome = graphkin("ingest", "molecules", "some.smi", *place, "--collection", "c", "--workers", 1)
        assert outcome.code == 0, outcome.err
    assert _files(tmp_path / "loaded", "c") == _files(tmp_path / "folder", "c")
    lakes = [
        {plain(path.name): path.read_bytes() for path in (tmp_path / name).rglob("part-*")}
        for name in ("lake", "other")
    ]
    assert lakes[0] == lakes[1]


def test_lake_option_precedes_the_store_of_the_environment(
    graphkin: Graphkin, nci_lines: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GRAPHKIN_STORE", str(tmp_path / "said"))
    (tmp_path / "some.smi").write_text("\n".join(nci_lines[:20]))
    assert graphkin("ingest", "molecules", "some.smi", "--lake", "lake", "--collection", "c", "--workers", 1).code == 0
    assert (tmp_path / "lake" / "manifest.json").exists()
    assert not (tmp_path / "said").exists()


def test_duckdb_and_polars_read_a_lake(export_lake: Callable[[str], Path], store_folder: Path) -> None:
    lake = export_lake("nci")
    with open_store(store_folder) as store, store.open("nci") as generation:
        smiles = list(generation.structures())
        edges = [part for block in generation.edges() for part in zip(*vars(block).values(), strict=True)]
        names = [row for batch in generation.scan(names=["names"]) for row in batch["names"].to_pylist()]
    with duckdb.connect() as connection:
        items = connection.execute(f"SELECT smiles, names FROM '{lake}/items/*.parquet' ORDER BY id").fetchall()
        assert items == list(zip(smiles, names, strict=True))
        degrees = connection.execute(
            f"""SELECT a.smiles, b.smiles, similarity FROM '{lake}/edges/*.parquet'
            JOIN '{lake}/items/*.parquet' a ON a.id = source JOIN '{lake}/items/*.parquet' b ON b.id = target
            ORDER BY source, target"""
        ).fetchall()
        assert degrees == [(smiles[a], smiles[b], pytest.approx(float(s), abs=0)) for a, b, s in edges]
    assert pl.read_parquet(lake / "items" / "*.parquet")["smiles"].to_list() == smiles
    assert pl.read_parquet(lake / "edges" / "*.parquet").rows() == [(a, b, s) for a, b, s in edges]
    indptr, indices = (np.load(part(lake, f"graph/{name}-00000.npy")) for name in ("indptr", "indices"))
    assert len(indptr) == len(smiles) + 1
    assert len(indices) == 2 * len(edges)


@pytest.fixture(scope="module")
def served_urls(
    serve: Callable[..., AbstractContextManager[str]], export_lake: Callable[[str], Path], store_folder: Path
) -> Iterator[list[str]]:
    """Yield the URLs of servers of a folder and of a lake with the same collection."""
    with serve(store_folder) as folder, serve(f"file://{export_lake('nci')}") as other:
        yield [folder, other]


@pytest.mark.parametrize(
    "request_path",
    [
        *("items/7", "items/7/neighbors?limit=20", "items/7/subgraph?hops=2", "items?smiles=CCO", "items?name=cis"),
        *("items/3/positives?policy=random_walk", "items/3/positives?policy=second_order", "components", "rejections"),
        *("negatives?batches=2&count=3", "export?what=items&format=csv", "export?what=edges&format=csv"),
    ],
)
def test_served_lake_equals_a_folder(served_urls: list[str], request_path: str) -> None:
    replies = [httpx.get(f"{url}/v1/collections/nci/{request_path}", timeout=60) for url in served_urls]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].content == replies[1].content


def test_search_of_a_lake_equals_a_folder(served_urls: list[str]) -> None:
    query = {"smiles": "CCOC(=O)c1ccccc1", "limit": 20}
    replies = [httpx.post(f"{url}/v1/collections/nci/search", json=query, timeout=60) for url in served_urls]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].content == replies[1].content


def test_commands_read_the_folder_of_a_lake_as_a_store(
    graphkin: Graphkin, export_lake: Callable[[str], Path], store_folder: Path
) -> None:
    lake = export_lake("nci")
    arguments = [
        ("neighbors", "--collection", "nci", "--id", 3),
        ("search", "CCOC(=O)c1ccccc1", "--collection", "nci", "--limit", 5),
    ]
    for command in arguments:
        of_lake, of_folder = (graphkin(*command, "--store", store, "--json") for store in (lake, store_folder))
        assert (of_lake.code, of_lake.out) == (0, of_folder.out), of_lake.err
    assert graphkin("verify", "--store", lake).code == 0
    assert "nci" in graphkin("info", "--store", lake).out


def test_load_needs_either_a_store_or_a_lake(graphkin: Graphkin, tmp_path: Path) -> None:
    for source_options in ((), ("--store", "s"), ("--store", "s", "--lake", "l", "--collection", "c")):
        assert graphkin("load", *source_options, "--to", tmp_path / "t").code == 2
    outcome = graphkin("load", "--lake", tmp_path, "--to", tmp_path / "t")
    assert (outcome.code, "no Parquet export" in outcome.err) == (3, True)


@pytest.fixture
def bucket() -> Iterator[str]:
    """Yield the URL of an empty bucket on an S3 server in this process."""
    with s3_bucket() as url:
        yield url


@pytest.mark.parametrize("place", ["folder", "S3"])
def test_one_of_two_concurrent_writers_wins(place: str, bucket: str, tmp_path: Path) -> None:
    outcomes = race(f"{tmp_path}/lakes" if place == "folder" else bucket, tmp_path / "cache", 4, seed=0)
    assert violations(outcomes) == 0, outcomes


def test_writer_of_a_folder_that_is_being_written_exits_4(
    graphkin: Graphkin, nci_lines: list[str], tmp_path: Path
) -> None:
    (tmp_path / "some.smi").write_text("\n".join(nci_lines[:20]))
    ingest = ("ingest", "molecules", "some.smi", "--lake", "lake", "--collection", "c")
    with open_lake("lake", create=True) as lake, lake.draft("c", "molecule"):
        for engine in (("--workers", 1), ("--engine", "tasks", "--workers", 1)):
            refused = graphkin(*ingest, *engine)
            assert (refused.code, "another process is writing this lake" in refused.err) == (4, True)
    assert graphkin(*ingest, "--engine", "tasks", "--workers", 1).code == 0
    assert not (tmp_path / "lake" / ".writing").exists()


def test_lake_on_s3(graphkin: Graphkin, store_folder: Path, bucket: str, tmp_path: Path) -> None:
    place, url = ("--store", store_folder, "--collection", "nci"), f"{bucket}/some/lake"
    assert graphkin("export", "lake", *place, "--output", url).code == 0
    assert graphkin("export", "lake", *place, "--output", url).code == 0  # The lake exists already.
    assert graphkin("load", "--lake", url, "--to", "loaded").code == 0
    assert _files(tmp_path / "loaded", "nci") == _files(store_folder, "nci")
    near = [
        graphkin("neighbors", *lake, "--collection", "nci", "--id", 3, "--json") for lake in (("--store", url), place)
    ]
    assert near[0].out == near[1].out
    assert graphkin("verify", "--store", url).code == 0
    other = graphkin("export", "lake", "--store", store_folder, "--collection", "dots", "--output", url)
    assert (other.code, "written once" in other.err) == (2, True)
    assert graphkin("load", "--lake", f"{bucket}/elsewhere", "--to", "loaded").code == 3
