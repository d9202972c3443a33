"""Reports of truncated pairs and hints for names given as structures, in the library, the commands and both clients."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

import graphkin
from graphkin.cli import graphkin as command
from graphkin.client import Graphkin
from graphkin.library import Collection
from graphkin.protocol.errors import InvalidInput
from tests.integration.library.conftest import THRESHOLD

Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="module")
def truncated_store(molecules_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store in which each item keeps its two most similar neighbors."""
    store = tmp_path_factory.mktemp("capped") / "store"
    graphkin.ingest(molecules_file, store=store, collection="c", threshold=THRESHOLD, top_k=2, workers=1)
    return store


@pytest.fixture(scope="module")
def url(truncated_store: Path, serve: Serve) -> Iterator[str]:
    with serve(truncated_store) as url:
        yield url


@pytest.fixture(scope="module", params=["folder", "http"])
def collection(request: pytest.FixtureRequest, truncated_store: Path) -> Iterator[Collection]:
    opened = (
        graphkin.open(truncated_store)
        if request.param == "folder"
        else graphkin.connect(request.getfixturevalue("url"))
    )
    with opened as collections:
        yield collections["c"]


@pytest.fixture(scope="module")
def pairs(frame: pd.DataFrame) -> int:
    """Return the number of pairs above the threshold, counted one by one."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    bits = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in frame["smiles"]]
    return sum(DataStructs.TanimotoSimilarity(a, b) >= THRESHOLD for a, b in combinations(bits, 2))


def test_truncated_pairs_are_counted_and_warned_of(
    collection: Collection, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warnings are recorded where they are issued: the server is a thread, and warning filters apply to all threads."""
    messages: list[str] = []

    def warn(message: object, category: object = None, *_: object, **__: object) -> None:
        if category is graphkin.TruncatedPairsWarning:
            messages.append(str(message))

    monkeypatch.setattr(warnings, "warn", warn)
    stored = len(collection.edges())
    collection.cliffs("activity")
    counts = f"{pairs:,} pairs found, {stored:,} stored, {pairs - stored:,} truncated"
    assert stored < pairs
    (message,) = messages
    assert all(text in message for text in ("these are stored pairs only", counts, "complete=True", "top_k=0"))
    assert counts in repr(collection)
    assert counts in collection._repr_html_()


def test_warning_names_the_line_of_the_caller(truncated_store: Path) -> None:
    with graphkin.open(truncated_store) as collections:
        with pytest.warns(graphkin.TruncatedPairsWarning) as of_edges:
            collections["c"].edges()
        with pytest.warns(graphkin.TruncatedPairsWarning) as of_cliffs:
            collections["c"].cliffs("activity")
    assert [each.filename for each in (*of_edges, *of_cliffs)] == [__file__, __file__]


def test_methods_of_the_graph_warn_and_complete_results_do_not(truncated_store: Path) -> None:
    with graphkin.open(truncated_store) as collections:
        for name in ("to_scipy", "to_networkx", "to_igraph"):
            collection = collections["c"]
            with pytest.warns(graphkin.TruncatedPairsWarning) as warned:
                getattr(collection, name)()
            assert [each.filename for each in warned] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            collection = collections["c"]
            collection.edges(complete=True)
            collection.cliffs("activity", complete=True)
            collection.to_scipy(complete=True)


def test_complete_collection_warns_of_nothing(folder: Path) -> None:
    with graphkin.open(folder) as collections, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "0 truncated" in repr(collections["c"])
        collections["c"].edges()


def test_commands_and_replies_have_the_counts(truncated_store: Path, url: str, pairs: int, tmp_path: Path) -> None:
    place = ["--store", str(truncated_store), "--collection", "c"]
    file = tmp_path / "edges.parquet"
    exported = CliRunner().invoke(command, ["export", "edges", *place, "--format", "parquet", "--output", str(file)])
    stored = len(pd.read_parquet(file))
    counts = f"{pairs:,} pairs found, {stored:,} stored, {pairs - stored:,} truncated"
    assert f"note: these are stored pairs only: {counts}" in exported.stderr
    found = CliRunner().invoke(
        command, ["cliffs", *place, "--property", "activity", "--output", str(tmp_path / "c.csv")]
    )
    assert f"note: these are stored pairs only: {counts}" in found.stderr
    assert f"({counts})" in CliRunner().invoke(command, ["info", *place]).stdout
    metadata = pq.read_schema(file).metadata
    assert metadata[b"graphkin.pairs"] == b'{"found": %d, "stored": %d, "truncated": %d}' % (
        pairs,
        stored,
        pairs - stored,
    )
    with httpx.Client(base_url=f"{url}/v1/collections/c") as http:
        header = http.get("export", params={"what": "edges", "format": "csv"}).headers["Graphkin-Pairs"]
        assert header == f"found={pairs}, stored={stored}, truncated={pairs - stored}"
        assert http.get("cliffs", params={"property": "activity"}).json()["truncated"] == pairs - stored


def test_one_structure_is_no_batch(collection: Collection, url: str) -> None:
    single: Any
    for single in ("CCO", {"smiles": "CCO"}):
        with pytest.raises(InvalidInput, match="a batch is a list of structures") as refused:
            collection.search_batch(single)
        assert '["CCO"]' in str(refused.value)
        with Graphkin(url) as server, pytest.raises(InvalidInput, match="a batch is a list of structures"):
            server.collection("c").search_batch(single)
    assert collection.search_batch(["CCO"], limit=1)["query"].to_pylist() == [0]


def test_search_for_a_name_points_to_it(collection: Collection, frame: pd.DataFrame, truncated_store: Path) -> None:
    name, smiles = frame["id"][5], frame["smiles"][5]
    with pytest.raises(InvalidInput, match="not a molecule") as refused:
        collection.search(name)
    hint = (
        f"this is the name of item 5, whose structure is {smiles}; `graphkin neighbors --collection c --name {name!r}`"
    )
    assert hint in str(refused.value)
    with pytest.raises(InvalidInput) as unknown:
        collection.search("no such thing")
    assert "name of item" not in str(unknown.value)
    outcome = CliRunner().invoke(command, ["search", name, "--store", str(truncated_store), "--collection", "c"])
    assert hint in str(outcome.exception)
