"""`info`, `neighbors`, `search`, `positives`, `export`, `recall`, `verify`, `delete`: on a small real collection."""

import csv
import io
import json
from collections.abc import Callable
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
    )  # 1 is the name of the first molecule, too
    with open_store(folder / "store", create=True) as opened:
        ingest(opened, "nci", [str(source)], resolve())
    return folder / "store"


@pytest.fixture
def where(store: Path) -> tuple[str, ...]:
    return ("--store", str(store), "--collection", "nci")


def _connected(graphkin: Callable[..., Any], where: tuple[str, ...]) -> int:
    """The id of an item that has a neighbour."""
    edges = graphkin("export", "edges", *where, "--format", "csv", "--output", "-").out
    return int(next(csv.DictReader(io.StringIO(edges)))["source"])


def test_neighbors_agree_with_rdkit(graphkin: Callable[..., Any], where: tuple[str, ...]) -> None:
    asked = ("neighbors", *where, "--id", _connected(graphkin, where), "--limit", 5, "--json")
    answer = json.loads(graphkin(*asked).out)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    anchor = generator.GetFingerprint(Chem.MolFromSmiles(answer["item"]["smiles"]))
    assert answer["item"]["degree"] == answer["total"] > 0
    similarities = [hit["similarity"] for hit in answer["neighbors"]]
    assert similarities == sorted(similarities, reverse=True)
    for hit in answer["neighbors"]:
        bits = generator.GetFingerprint(Chem.MolFromSmiles(hit["item"]["smiles"]))
        assert DataStructs.TanimotoSimilarity(anchor, bits) == pytest.approx(hit["similarity"], abs=1e-6)


def test_a_shared_name_lists_the_ids(graphkin: Callable[..., Any], where: tuple[str, ...]) -> None:
    outcome = graphkin("neighbors", *where, "--name", "1")
    assert outcome.code == 2
    ethanol = json.loads(graphkin("neighbors", *where, "--smiles", "OCC", "--json").out)["item"]["id"]
    assert f"[0, {ethanol}]" in outcome.err


def test_a_name_is_found_in_any_case_or_another_is_suggested(graphkin: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "named.csv").write_text("smiles,Compound ID\nCCO,Ethanol\nCCCO,1-Propanol\nCCC,Propane\n")
    where = ("--store", tmp_path / "s", "--collection", "c")
    assert graphkin("ingest", "molecules", tmp_path / "named.csv", *where).code == 0
    assert json.loads(graphkin("neighbors", *where, "--name", "ETHANOL", "--json").out)["item"]["smiles"] == "CCO"
    outcome = graphkin("neighbors", *where, "--name", "1-propanl")
    assert (outcome.code, "did you mean '1-Propanol'?" in outcome.err) == (3, True)
    assert "did you mean" not in graphkin("neighbors", *where, "--name", "xyz").err
    for command in (("neighbors", "--smiles"), ("search",)):
        hint = graphkin(command[0], *where, *command[1:], "Propane").err
        assert "this is the name of item 2, whose structure is CCC; `graphkin neighbors --collection c --name" in hint


@pytest.mark.parametrize(
    ("asked", "code"),
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
def test_neighbors_asked_wrongly(
    graphkin: Callable[..., Any], where: tuple[str, ...], asked: tuple[object, ...], code: int
) -> None:
    outcome = graphkin("neighbors", *where, *asked)
    assert outcome.code == code
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


def test_search_ranks_the_whole_collection(graphkin: Callable[..., Any], where: tuple[str, ...]) -> None:
    aspirin = "CC(=O)Oc1ccccc1C(=O)O"
    answer = json.loads(graphkin("search", *where, aspirin, "--min-similarity", 0.2, "--limit", 1000, "--json").out)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    query = generator.GetFingerprint(Chem.MolFromSmiles(aspirin))
    items = csv.DictReader(io.StringIO(graphkin("export", "items", *where, "--format", "csv", "--output", "-").out))
    expected = {
        int(item["id"])
        for item in items
        if DataStructs.TanimotoSimilarity(query, generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"]))) >= 0.2
    }
    assert {hit["item"]["id"] for hit in answer["hits"]} == expected
    assert answer["total"] == len(expected)


@pytest.mark.parametrize("options", [("--tversky", 0.9, 0.2), ("--counts",)])
def test_search_by_another_measure(
    graphkin: Callable[..., Any], where: tuple[str, ...], options: tuple[object, ...]
) -> None:
    aspirin = Chem.MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")
    answer = json.loads(graphkin("search", *where, Chem.MolToSmiles(aspirin), *options, "--limit", 20, "--json").out)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    items = [Chem.MolFromSmiles(hit["item"]["smiles"]) for hit in answer["hits"]]
    if options == ("--counts",):
        counted = map(generator.GetSparseCountFingerprint, items)
        expected = DataStructs.BulkTanimotoSimilarity(generator.GetSparseCountFingerprint(aspirin), [*counted])
    else:
        bits, asked = map(generator.GetFingerprint, items), generator.GetFingerprint(aspirin)
        expected = [DataStructs.TverskySimilarity(asked, each, 0.9, 0.2) for each in bits]
    assert [hit["similarity"] for hit in answer["hits"]] == pytest.approx(expected, rel=2e-7)
    assert expected == sorted(expected, reverse=True)


def test_a_search_is_by_one_measure(graphkin: Callable[..., Any], where: tuple[str, ...]) -> None:
    assert graphkin("search", *where, "CCO", "--counts", "--tversky", 1, 1).code == 2
    refused = graphkin("search", *where, "CCO", "--tversky", -1, 1)
    assert refused.code == 2
    assert "greater than or equal to 0" in refused.err


def test_positives_replay(graphkin: Callable[..., Any], where: tuple[str, ...]) -> None:
    anchor = _connected(graphkin, where)
    asked = ("positives", *where, "--id", anchor, "--policy", "random_walk", "--k", 3, "--seed", 7, "--json")
    once, again = graphkin(*asked), graphkin(*asked)
    assert once.out == again.out
    answer = json.loads(once.out)
    assert len(answer["positives"]) == 3
    assert answer["policy"]["k"] == 3
    assert answer["seed"] == 7
    assert all(
        positive["path"][0] == anchor and positive["path"][-1] == positive["item"]["id"]
        for positive in answer["positives"]
    )


@pytest.mark.parametrize(
    "wrong", [("--k", 10**9), ("--length", 0), ("--p", 0), ("--p-end", 1), ("--seed", -1), ("--seed", 2**53)]
)
def test_positives_asked_wrongly(
    graphkin: Callable[..., Any], where: tuple[str, ...], wrong: tuple[str, float]
) -> None:
    outcome = graphkin("positives", *where, "--id", 1, "--policy", "random_walk", *wrong)
    assert outcome.code == 2
    assert wrong[0][2:].replace("-", "_") in outcome.err


def test_exports_are_whole_files(graphkin: Callable[..., Any], where: tuple[str, ...], tmp_path: Path) -> None:
    for what, format in [("edges", "graphml"), ("edges", "parquet"), ("items", "sdf"), ("items", "parquet")]:
        assert graphkin("export", what, *where, "--format", format, "--output", tmp_path / f"{what}.{format}").code == 0
    exported = nx.read_graphml(tmp_path / "edges.graphml")
    stored = csv.DictReader(io.StringIO(graphkin("export", "edges", *where, "--format", "csv", "--output", "-").out))
    assert {frozenset(pair) for pair in exported.edges} == {
        frozenset((f"n{row['source']}", f"n{row['target']}")) for row in stored
    }
    assert sum(1 for _ in Chem.SDMolSupplier(str(tmp_path / "items.sdf"))) == len(exported)
    refused = graphkin("export", "items", *where, "--format", "graphml", "--output", tmp_path / "x")
    assert refused.code == 2
    assert not (tmp_path / "x").exists()
    assert graphkin("export", "edges", *where, "--format", "csv", "--output", tmp_path / "no" / "x").code == 2
    below_a_file = tmp_path / "items.sdf" / "x"
    assert graphkin("export", "edges", *where, "--format", "csv", "--output", below_a_file).code == 2


def test_a_part_is_exported(graphkin: Callable[..., Any], where: tuple[str, ...]) -> None:
    to_stdout = ("--format", "csv", "--output", "-")
    chosen = ("--column", "names", "--column", "id", "--start", 3, "--stop", 5)
    whole = [*csv.DictReader(io.StringIO(graphkin("export", "items", *where, *to_stdout).out))]
    part = [*csv.DictReader(io.StringIO(graphkin("export", "items", *where, *to_stdout, *chosen).out))]
    assert part == [{"id": row["id"], "names": row["names"]} for row in whole[3:5]]
    edges = graphkin("export", "edges", *where, *to_stdout).out.splitlines(keepends=True)
    halves = [graphkin("export", "edges", *where, *to_stdout, *half).out for half in (("--stop", 9), ("--start", 9))]
    assert halves[0] + halves[1].removeprefix(edges[0]) == "".join(edges)
    refused = graphkin("export", "items", *where, *to_stdout, "--column", "colour")
    assert refused.code == 2
    assert "one of id, smiles" in refused.err


def test_fingerprints_leave_as_others_read_them(graphkin: Callable[..., Any], where: tuple[str, ...]) -> None:
    lines = graphkin("export", "fingerprints", *where, "--format", "fps", "--output", "-").out.splitlines()
    records = [line.split("\t") for line in lines if not line.startswith("#")]
    items = [*csv.DictReader(io.StringIO(graphkin("export", "items", *where, "--format", "csv", "--output", "-").out))]
    assert [identifier for _, identifier in records] == [item["names"].split("; ")[0] for item in items]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    read = [DataStructs.CreateFromFPSText(bits) for bits, _ in records]
    assert read == [generator.GetFingerprint(Chem.MolFromSmiles(item["smiles"])) for item in items]


def test_recall_and_verify(graphkin: Callable[..., Any], where: tuple[str, ...]) -> None:
    stored = json.loads(graphkin("recall", *where, "--json").out)
    assert stored["recall"] == 1.0
    window = json.loads(graphkin("recall", *where, "--rule", "window", "--sample", 100, "--json").out)
    assert (window["rule"], window["sample"]) == ("window", 100)
    assert 0 < window["recall"] < 1
    assert graphkin("recall", *where, "--threshold", 0.1).code == 2
    assert graphkin("verify", *where).code == 0


def test_unknown_places(graphkin: Callable[..., Any], store: Path) -> None:
    assert graphkin("info", "--store", "nowhere").code == 3
    outcome = graphkin("neighbors", "--store", store, "--collection", "absent", "--id", 1)
    assert outcome.code == 3
    assert "one of nci" in outcome.err
    assert graphkin("neighbors", "--store", store, "--collection", "nci", "--generation", "f" * 64, "--id", 1).code == 3


@pytest.mark.parametrize("url", ["https://user:hush@example.org/x", "http://127.0.0.1:8000"])
def test_the_address_of_a_server_is_no_store(graphkin: Callable[..., Any], url: str) -> None:
    refused = graphkin("info", "--store", url)
    assert refused.code == 2
    assert "a folder, the URL of a bucket (s3://BUCKET/FOLDER), or neo4j://HOST" in refused.err
    assert 'graphkin.connect("' in refused.err
    assert "hush" not in refused.err


def test_delete_then_gone(ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path) -> None:
    first = json.loads(ingest("CCO\nCCN\n", "--json").out)["generation"]
    second = json.loads(ingest("CCO\nCCN\nCCC\n", "--json").out)["generation"]
    where = ("--store", tmp_path / "store", "--collection", "c")
    assert graphkin("delete", *where, "--generation", "").code == 2
    assert graphkin("delete", *where, "--generation", second[:10]).code == 2
    deleted = graphkin("delete", *where, "--generation", second[:10], "--yes").out
    assert deleted == f"deleted c {second}\nthis was the current generation: now it is {first}\n"
    assert json.loads(graphkin("info", *where, "--json").out)["manifest"]["generation"] == first
    gone = graphkin("neighbors", *where, "--generation", second, "--id", 0)
    assert gone.code == 3
    assert "was deleted" in gone.err


def test_store_and_collection_come_from_the_environment(
    graphkin: Callable[..., Any], where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = ("search", "CCO", "--limit", 3)
    said = graphkin(*asked, *where)
    assert (said.code, graphkin(*asked).code) == (0, 2)
    monkeypatch.setenv("GRAPHKIN_STORE", where[1])
    monkeypatch.setenv("GRAPHKIN_COLLECTION", where[3])
    assert graphkin(*asked).out == said.out
    assert graphkin("info").out.startswith("nci (molecule)")
    assert graphkin("verify").out.startswith("nci ")
    assert graphkin(*asked, "--store", tmp_path / "none").code == 3
    assert "GRAPHKIN_STORE" in graphkin("search", "--help").out


def test_a_generation_is_named_by_how_it_begins(
    graphkin: Callable[..., Any], tmp_path: Path, serve: Callable[..., Any]
) -> None:
    from graphkin.client import Graphkin as Client
    from graphkin.protocol.errors import InvalidInput, NotFound

    (tmp_path / "a.smi").write_text("CCO a\nCCCO b\n")
    where, ids = ("--store", tmp_path / "s", "--collection", "c"), list[str]()
    while len({id[0] for id in ids}) == len(ids):  # until two begin alike
        threshold = str(0.2 + len(ids) / 100)
        made = graphkin("ingest", "molecules", tmp_path / "a.smi", *where, "--threshold", threshold, "--json")
        ids.append(json.loads(made.out)["generation"])
    first, last = (next(id for id in ids if id[0] == ids[-1][0]), ids[-1])
    for command in (("info",), ("search", "CCO"), ("neighbors", "--id", 0), ("verify",)):
        assert graphkin(*command, *where, "--generation", first[:20]).code == 0
        outcome = graphkin(*command, *where, "--generation", first[0])
        assert (outcome.code, "several generations begin so" in outcome.err) == (2, True)
    assert (
        json.loads(graphkin("search", "CCO", *where, "--generation", first[:20], "--json").out)["generation"] == first
    )
    refused = graphkin("delete", *where, "--generation", first[0], "--yes")
    assert (refused.code, "several generations begin so" in refused.err, first[:7] in refused.err) == (2, True, True)
    assert graphkin("search", "CCO", *where, "--generation", "xyz").code == 3
    fps = ("--format", "fps", "--output", tmp_path / "c.fps")
    for written in (("fingerprints", *fps), ("lake", "--output", tmp_path / "lake")):
        assert graphkin("export", *written, *where, "--generation", first[:20]).code == 0
    with serve(tmp_path / "s") as url, Client(url) as server:
        assert server.collection("c").generation == last
        assert server.collection("c", first[:20]).generation == first
        with pytest.raises(InvalidInput, match="several generations begin so"):
            server.collection("c", first[0])
        with pytest.raises(NotFound):
            server.collection("c", "xyz")
