"""Commands that read a small real collection: info, neighbors, search, positives, export, recall, verify and delete."""

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from rdkit import Chem, DataStructs, RDConfig
from rdkit.Chem import rdFingerprintGenerator

NCI = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from graphkin.ingest.pipeline import ingest
    from graphkin.similarity.molecules.recipe import resolve
    from graphkin.store import open_store

    folder = tmp_path_factory.mktemp("reading")
    source = folder / "nci.smi"
    source.write_text(
        "".join(NCI.read_text().splitlines(keepends=True)[:300]) + "CCO 1\n"
    )  # The first molecule also has the name 1.
    with open_store(folder / "store", create=True) as new_store:
        ingest(new_store, "nci", [str(source)], resolve())
    return folder / "store"


@pytest.fixture
def place(store: Path) -> tuple[str, ...]:
    return ("--store", str(store), "--collection", "nci")


def _connected(graphkin: Callable[..., Any], place: tuple[str, ...]) -> int:
    """Return the id of an item that has a neighbor."""
    edges = graphkin("export", "edges", *place, "--format", "csv", "--output", "-").out
    return int(next(csv.DictReader(io.StringIO(edges)))["source"])


def test_neighbors_equal_rdkit(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    arguments = ("neighbors", *place, "--id", _connected(graphkin, place), "--limit", 5, "--json")
    reply = json.loads(graphkin(*arguments).out)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    anchor = generator.GetFingerprint(Chem.MolFromSmiles(reply["item"]["smiles"]))
    assert reply["item"]["degree"] == reply["total"] > 0
    similarities = [hit["similarity"] for hit in reply["neighbors"]]
    assert similarities == sorted(similarities, reverse=True)
    for hit in reply["neighbors"]:
        bits = generator.GetFingerprint(Chem.MolFromSmiles(hit["item"]["smiles"]))
        assert DataStructs.TanimotoSimilarity(anchor, bits) == pytest.approx(hit["similarity"], abs=1e-6)


def test_shared_name_is_refused_with_its_ids(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    outcome = graphkin("neighbors", *place, "--name", "1")
    assert outcome.code == 2
    ethanol = json.loads(graphkin("neighbors", *place, "--smiles", "OCC", "--json").out)["item"]["id"]
    assert f"one of the ids 0, {ethanol}" in outcome.err


def test_name_lookup_ignores_case_and_suggests_similar_names(graphkin: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "named.csv").write_text("smiles,Compound ID\nCCO,Ethanol\nCCCO,1-Propanol\nCCC,Propane\n")
    place = ("--store", tmp_path / "s", "--collection", "c")
    assert graphkin("ingest", "molecules", tmp_path / "named.csv", *place).code == 0
    assert json.loads(graphkin("neighbors", *place, "--name", "ETHANOL", "--json").out)["item"]["smiles"] == "CCO"
    outcome = graphkin("neighbors", *place, "--name", "1-propanl")
    assert (outcome.code, "did you mean '1-Propanol'?" in outcome.err) == (3, True)
    assert "did you mean" not in graphkin("neighbors", *place, "--name", "xyz").err
    for command in (("neighbors", "--smiles"), ("search",)):
        hint = graphkin(command[0], *place, *command[1:], "Propane").err
        assert "this is the name of item 2, whose structure is CCC; `graphkin neighbors --collection c --name" in hint


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--id", 10_000_000), 3),
        (("--id", -1), 3),
        (("--name", "nobody"), 3),
        (("--smiles", "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"), 3),
        (("--smiles", "not a molecule"), 2),
        ((), 2),
        (("--id", 1, "--name", "2"), 2),
        (("--id", 1, "--min-similarity", 0.1), 2),
        (("--id", 1, "--limit", 0), 2),
    ],
)
def test_invalid_arguments_of_neighbors_are_refused(
    graphkin: Callable[..., Any], place: tuple[str, ...], arguments: tuple[object, ...], code: int
) -> None:
    outcome = graphkin("neighbors", *place, *arguments)
    assert outcome.code == code
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


def test_search_equals_rdkit(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    aspirin = "CC(=O)Oc1ccccc1C(=O)O"
    reply = json.loads(graphkin("search", *place, aspirin, "--min-similarity", 0.2, "--limit", 1000, "--json").out)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    query = generator.GetFingerprint(Chem.MolFromSmiles(aspirin))
    items = csv.DictReader(io.StringIO(graphkin("export", "items", *place, "--format", "csv", "--output", "-").out))
    expected = {
        int(item["id"])
        for item in items
        if DataStructs.TanimotoSimilarity(query, generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"]))) >= 0.2
    }
    assert {hit["item"]["id"] for hit in reply["hits"]} == expected
    assert reply["total"] == len(expected)


@pytest.mark.parametrize("options", [("--tversky", 0.9, 0.2), ("--dice",), ("--cosine",), ("--counts",)])
def test_search_by_another_measure_equals_rdkit(
    graphkin: Callable[..., Any], place: tuple[str, ...], options: tuple[object, ...]
) -> None:
    aspirin = Chem.MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")
    reply = json.loads(graphkin("search", *place, Chem.MolToSmiles(aspirin), *options, "--limit", 20, "--json").out)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    items = [Chem.MolFromSmiles(hit["item"]["smiles"]) for hit in reply["hits"]]
    if options == ("--counts",):
        count_fingerprints = map(generator.GetSparseCountFingerprint, items)
        expected = DataStructs.BulkTanimotoSimilarity(
            generator.GetSparseCountFingerprint(aspirin), [*count_fingerprints]
        )
    else:
        bits, arguments = map(generator.GetFingerprint, items), generator.GetFingerprint(aspirin)
        similarity: dict[object, Callable[..., float]] = {
            "--tversky": partial(DataStructs.TverskySimilarity, a=0.9, b=0.2),
            "--dice": DataStructs.DiceSimilarity,
            "--cosine": DataStructs.CosineSimilarity,
        }
        expected = [similarity[options[0]](arguments, each) for each in bits]
    assert [hit["similarity"] for hit in reply["hits"]] == pytest.approx(expected, rel=2e-7)
    assert expected == sorted(expected, reverse=True)


def test_search_by_two_measures_is_refused(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    assert graphkin("search", *place, "CCO", "--counts", "--tversky", 1, 1).code == 2
    two = graphkin("search", *place, "CCO", "--dice", "--cosine")
    assert two.code == 2
    assert "given: --dice --cosine" in two.err
    refused = graphkin("search", *place, "CCO", "--tversky", -1, 1)
    assert refused.code == 2
    assert "expected at least 0" in refused.err


def test_positives_are_reproducible(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    anchor = _connected(graphkin, place)
    arguments = ("positives", *place, "--id", anchor, "--policy", "random_walk", "--k", 3, "--seed", 7, "--json")
    first, repeated = graphkin(*arguments), graphkin(*arguments)
    assert first.out == repeated.out
    reply = json.loads(first.out)
    assert len(reply["positives"]) == 3
    assert reply["policy"]["k"] == 3
    assert reply["seed"] == 7
    assert all(
        positive["path"][0] == anchor and positive["path"][-1] == positive["item"]["id"]
        for positive in reply["positives"]
    )


@pytest.mark.parametrize(
    "option", [("--k", 10**9), ("--length", 0), ("--p", 0), ("--p-end", 1), ("--seed", -1), ("--seed", 2**53)]
)
def test_invalid_options_of_positives_are_refused(
    graphkin: Callable[..., Any], place: tuple[str, ...], option: tuple[str, float]
) -> None:
    outcome = graphkin("positives", *place, "--id", 1, "--policy", "random_walk", *option)
    assert outcome.code == 2
    assert option[0][2:].replace("-", "_") in outcome.err


def test_exports_are_complete_files(graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path) -> None:
    for what, format in [("edges", "graphml"), ("edges", "parquet"), ("items", "sdf"), ("items", "parquet")]:
        assert graphkin("export", what, *place, "--format", format, "--output", tmp_path / f"{what}.{format}").code == 0
    graph = nx.read_graphml(tmp_path / "edges.graphml")
    stored = csv.DictReader(io.StringIO(graphkin("export", "edges", *place, "--format", "csv", "--output", "-").out))
    assert {frozenset(pair) for pair in graph.edges} == {
        frozenset((f"n{row['source']}", f"n{row['target']}")) for row in stored
    }
    assert sum(1 for _ in Chem.SDMolSupplier(str(tmp_path / "items.sdf"))) == len(graph)
    refused = graphkin("export", "items", *place, "--format", "graphml", "--output", tmp_path / "x")
    assert refused.code == 2
    assert not (tmp_path / "x").exists()
    assert graphkin("export", "edges", *place, "--format", "csv", "--output", tmp_path / "no" / "x").code == 2
    below_a_file = tmp_path / "items.sdf" / "x"
    assert graphkin("export", "edges", *place, "--format", "csv", "--output", below_a_file).code == 2


def test_export_selects_columns_and_a_range(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    to_stdout = ("--format", "csv", "--output", "-")
    selection_options = ("--column", "names", "--column", "id", "--start", 3, "--stop", 5)
    all_rows = [*csv.DictReader(io.StringIO(graphkin("export", "items", *place, *to_stdout).out))]
    part = [*csv.DictReader(io.StringIO(graphkin("export", "items", *place, *to_stdout, *selection_options).out))]
    assert part == [{"id": row["id"], "names": row["names"]} for row in all_rows[3:5]]
    edges = graphkin("export", "edges", *place, *to_stdout).out.splitlines(keepends=True)
    halves = [graphkin("export", "edges", *place, *to_stdout, *half).out for half in (("--stop", 9), ("--start", 9))]
    assert halves[0] + halves[1].removeprefix(edges[0]) == "".join(edges)
    refused = graphkin("export", "items", *place, *to_stdout, "--column", "colour")
    assert refused.code == 2
    assert "one of id, smiles" in refused.err


def test_exported_fingerprints_equal_rdkit(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    lines = graphkin("export", "fingerprints", *place, "--format", "fps", "--output", "-").out.splitlines()
    records = [line.split("\t") for line in lines if not line.startswith("#")]
    items = [*csv.DictReader(io.StringIO(graphkin("export", "items", *place, "--format", "csv", "--output", "-").out))]
    assert [identifier for _, identifier in records] == [item["names"].split("; ")[0] for item in items]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    fingerprints = [DataStructs.CreateFromFPSText(bits) for bits, _ in records]
    assert fingerprints == [generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"])) for item in items]


def test_recall_and_verify(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    stored = json.loads(graphkin("recall", *place, "--json").out)
    assert stored["recall"] == 1.0
    window = json.loads(graphkin("recall", *place, "--rule", "window", "--sample", 100, "--json").out)
    assert (window["rule"], window["sample"]) == ("window", 100)
    assert 0 < window["recall"] < 1
    assert graphkin("recall", *place, "--threshold", 0.1).code == 2
    assert graphkin("verify", *place).code == 0


def test_unknown_store_collection_and_generation_are_reported(graphkin: Callable[..., Any], store: Path) -> None:
    assert graphkin("info", "--store", "nowhere").code == 3
    outcome = graphkin("neighbors", "--store", store, "--collection", "absent", "--id", 1)
    assert outcome.code == 3
    assert "one of nci" in outcome.err
    assert graphkin("neighbors", "--store", store, "--collection", "nci", "--generation", "f" * 64, "--id", 1).code == 3


@pytest.mark.parametrize("url", ["https://user:hush@example.org/x", "http://127.0.0.1:8000"])
def test_url_of_a_server_is_no_store(graphkin: Callable[..., Any], url: str) -> None:
    refused = graphkin("info", "--store", url)
    assert refused.code == 2
    assert "a folder, the URL of a bucket (s3://BUCKET/FOLDER), or neo4j://HOST" in refused.err
    assert 'graphkin.connect("' in refused.err
    assert "hush" not in refused.err


def test_deleted_generation_is_reported_as_deleted(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    first = json.loads(ingest("CCO\nCCN\n", "--json").out)["generation"]
    second = json.loads(ingest("CCO\nCCN\nCCC\n", "--json").out)["generation"]
    place = ("--store", tmp_path / "store", "--collection", "c")
    assert graphkin("delete", *place, "--generation", "").code == 2
    assert graphkin("delete", *place, "--generation", second[:10]).code == 2
    deleted = graphkin("delete", *place, "--generation", second[:10], "--yes").out
    assert deleted == f"deleted c {second[:12]}\nthis was the current generation: now it is {first[:12]}\n"
    assert json.loads(graphkin("info", *place, "--json").out)["manifest"]["generation"] == first
    after_deletion = graphkin("neighbors", *place, "--generation", second, "--id", 0)
    assert after_deletion.code == 3
    assert "was deleted" in after_deletion.err


def test_store_and_collection_come_from_the_environment(
    graphkin: Callable[..., Any], place: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = ("search", "CCO", "--limit", 3)
    expected = graphkin(*arguments, *place)
    assert (expected.code, graphkin(*arguments).code) == (0, 2)
    monkeypatch.setenv("GRAPHKIN_STORE", place[1])
    monkeypatch.setenv("GRAPHKIN_COLLECTION", place[3])
    assert graphkin(*arguments).out == expected.out
    assert graphkin("info").out.startswith("nci (molecule)")
    assert graphkin("verify").out.startswith("nci ")
    assert graphkin(*arguments, "--store", tmp_path / "none").code == 3
    assert "GRAPHKIN_STORE" in graphkin("search", "--help").out


def test_generation_is_given_by_the_beginning_of_its_id(
    graphkin: Callable[..., Any], tmp_path: Path, serve: Callable[..., Any]
) -> None:
    from graphkin.client import Graphkin as Client
    from graphkin.protocol.errors import InvalidInput, NotFound

    (tmp_path / "a.smi").write_text("CCO a\nCCCO b\n")
    place, ids = ("--store", tmp_path / "s", "--collection", "c"), list[str]()
    while len({id[0] for id in ids}) == len(ids):  # Continue until two ids have the same first character.
        threshold = str(0.2 + len(ids) / 100)
        manifest_outcome = graphkin(
            "ingest", "molecules", tmp_path / "a.smi", *place, "--threshold", threshold, "--json"
        )
        ids.append(json.loads(manifest_outcome.out)["generation"])
    first, last = (next(id for id in ids if id[0] == ids[-1][0]), ids[-1])
    for command in (("info",), ("search", "CCO"), ("neighbors", "--id", 0), ("verify",)):
        assert graphkin(*command, *place, "--generation", first[:20]).code == 0
        outcome = graphkin(*command, *place, "--generation", first[0])
        assert (outcome.code, "several generations have ids that begin" in outcome.err) == (2, True)
    assert (
        json.loads(graphkin("search", "CCO", *place, "--generation", first[:20], "--json").out)["generation"] == first
    )
    refused = graphkin("delete", *place, "--generation", first[0], "--yes")
    assert (refused.code, "several generations have ids that begin" in refused.err, first[:7] in refused.err) == (
        2,
        True,
        True,
    )
    assert graphkin("search", "CCO", *place, "--generation", "xyz").code == 3
    fps = ("--format", "fps", "--output", tmp_path / "c.fps")
    for written in (("fingerprints", *fps), ("lake", "--output", tmp_path / "lake")):
        assert graphkin("export", *written, *place, "--generation", first[:20]).code == 0
    with serve(tmp_path / "s") as url, Client(url) as server:
        assert server.collection("c").generation == last
        assert server.collection("c", first[:20]).generation == first
        with pytest.raises(InvalidInput, match="several generations have ids that begin"):
            server.collection("c", first[0])
        with pytest.raises(NotFound):
            server.collection("c", "xyz")
