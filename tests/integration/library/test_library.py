"""`graphkin.open` and `graphkin.connect` beside RDKit and pandas: the same calls, the same answers."""

import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator
from rdkit.Chem.Scaffolds import MurckoScaffold

import graphkin
from graphkin.library import Collection
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.protocol.values import By
from tests.integration.library.conftest import MOLECULES, THRESHOLD

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.fixture(scope="module")
def vectors(frame: pd.DataFrame) -> list[Any]:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in frame["smiles"]]


@pytest.fixture(scope="module")
def joined(vectors: list[Any]) -> dict[tuple[int, int], float]:
    """Every pair that is similar enough, compared one by one."""
    pairs = (
        (a, b, DataStructs.TanimotoSimilarity(vectors[a], vectors[b])) for a, b in combinations(range(MOLECULES), 2)
    )
    return {(a, b): similarity for a, b, similarity in pairs if similarity >= THRESHOLD}


def test_a_search_finds_what_rdkit_finds(mine: Collection, vectors: list[Any], frame: pd.DataFrame) -> None:
    query = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint(Chem.MolFromSmiles(ASPIRIN))
    similar = np.array(DataStructs.BulkTanimotoSimilarity(query, vectors), np.float32)
    best = sorted(range(MOLECULES), key=lambda row: (-similar[row], row))[:25]

    found = mine.search(ASPIRIN, limit=25).to_pandas()

    assert list(found.columns) == ["id", "similarity", "smiles", "names", "properties"]
    assert found["id"].tolist() == best
    assert np.array_equal(found["similarity"].to_numpy(np.float32), similar[best])
    assert found["smiles"].tolist() == frame["smiles"][best].tolist()
    assert [list(names) for names in found["names"]] == [[name] for name in frame["id"][best]]
    assert [each["activity"] for each in found["properties"]] == frame["activity"][best].tolist()
    assert [each["note"] or np.nan for each in found["properties"]] == pytest.approx(
        frame["note"][best].tolist(), nan_ok=True
    )


def test_another_measure_and_a_fingerprint(mine: Collection, vectors: list[Any]) -> None:
    query = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint(Chem.MolFromSmiles(ASPIRIN))
    bits = np.packbits([*query], bitorder="little").tobytes().hex()
    similar = np.array(DataStructs.BulkTverskySimilarity(query, vectors, 0.9, 0.1), np.float32)
    tversky = {"name": "tversky", "alpha": 0.9, "beta": 0.1}

    found = mine.search(ASPIRIN, measure=tversky, limit=10)

    assert found.arrow["similarity"].to_numpy() == pytest.approx(np.sort(similar)[::-1][:10], rel=1e-6)
    assert mine.search(fingerprint=bits, measure=tversky).to_pylist() == found.to_pylist()
    assert mine.search(fingerprint=bits).to_pylist() == mine.search(ASPIRIN).to_pylist()


def test_fingerprints_and_vectors_of_ones_own(tmp_path: Path, vectors: list[Any], frame: pd.DataFrame) -> None:
    store, names = tmp_path / "store", tmp_path / "names.txt"
    names.write_text("".join(f"{name}\n" for name in frame["id"]))
    bits = np.packbits([[*each] for each in vectors], axis=1, bitorder="little")
    dense = np.random.default_rng(0).normal(size=(20, 7)).astype(np.float32)
    np.save(tmp_path / "bits.npy", bits)
    np.save(tmp_path / "dense.npy", dense)
    table = pa.table({"code": [row.tobytes().hex() for row in bits], "id": frame["id"]})
    table.to_pandas().to_csv(tmp_path / "bits.csv", index=False)
    given: dict[str, Any] = {"store": store, "threshold": THRESHOLD, "workers": 1}

    packed = graphkin.ingest(tmp_path / "bits.npy", collection="a", kind="fingerprints", names=[names], **given)
    written = graphkin.ingest(
        tmp_path / "bits.csv", collection="b", kind="fingerprints", fingerprint_column="code", **given
    )
    graphkin.ingest(tmp_path / "dense.npy", collection="c", kind="vectors", **{**given, "threshold": 0.1})

    assert packed.generation == written.generation
    with graphkin.open(store) as collections:
        (best,) = collections["a"].search(fingerprint=bits[5].tobytes().hex(), limit=1).to_pylist()
        assert frame["id"][5] in best["names"]
        near = collections["c"].search(vector=dense[3], limit=20).to_pandas()
    unit = dense / np.linalg.norm(dense, axis=1, keepdims=True)
    cosines = unit @ unit[3]
    assert near["id"].tolist() == [row for row in np.argsort(-cosines) if cosines[row] > 0]
    with pytest.raises(InvalidInput, match="nothing is ingested so"):
        graphkin.ingest(tmp_path / "dense.npy", collection="c", kind="vectors", preset="paper", **given)


def test_a_structure_is_written_in_any_way(mine: Collection) -> None:
    molecule = Chem.MolFromSmiles(ASPIRIN)
    expected = mine.search(ASPIRIN).to_pylist()
    assert mine.search(smiles=ASPIRIN).to_pylist() == expected
    assert mine.search(inchi=Chem.MolToInchi(molecule)).to_pylist() == expected
    assert mine.search(molblock=Chem.MolToMolBlock(molecule)).to_pylist() == expected


def test_many_structures_find_what_each_finds_alone(mine: Collection, frame: pd.DataFrame) -> None:
    asked: list[Any] = [ASPIRIN, "C1CC", *frame["smiles"][:50], {"name": frame["id"][7]}, {"name": "none"}, "[U]"]
    found = mine.search_batch(asked, min_similarity=0.2, limit=5)
    single = mine.search(ASPIRIN)
    assert found.columns == ["query", "error", *single.columns]
    assert found.select(single.columns).arrow.schema.types == single.arrow.schema.types
    rows = found.to_pylist()
    for number, structure in enumerate(asked):
        own = [row for row in rows if row["query"] == number]
        if structure in ("C1CC", {"name": "none"}):
            (row,) = own
            assert ("unclosed ring" if structure == "C1CC" else "no such item") in row["error"]
            assert (row["id"], row["similarity"], row["smiles"], row["names"]) == (None, None, None, None)
            continue
        text = frame["smiles"][7] if isinstance(structure, dict) else structure
        alone = mine.search(text, min_similarity=0.2, limit=5).to_pylist()
        assert own == [{"query": number, "error": None, **hit} for hit in alone]
    with pytest.raises(InvalidInput, match="10000"):
        mine.search_batch(["C"] * 10_001)


def test_a_search_keeps_to_its_threshold(mine: Collection, vectors: list[Any], frame: pd.DataFrame) -> None:
    similar = DataStructs.BulkTanimotoSimilarity(vectors[7], vectors)
    found = mine.search(frame["smiles"][7], min_similarity=0.25, limit=1000)
    assert sorted(found["id"].to_pylist()) == [id for id in range(MOLECULES) if similar[id] >= 0.25]


def test_neighbors_are_all_that_are_similar(
    mine: Collection, joined: dict[tuple[int, int], float], frame: pd.DataFrame
) -> None:
    hub = max(range(MOLECULES), key=lambda row: sum(row in pair for pair in joined))
    similar = {a + b - hub: np.float32(similarity) for (a, b), similarity in joined.items() if hub in (a, b)}
    expected = sorted(similar.items(), key=lambda each: (-each[1], each[0]))

    found = mine.neighbors(hub)

    assert list(zip(found["id"].to_pylist(), found["similarity"].to_numpy(), strict=True)) == expected
    assert found.columns == ["id", "similarity", "smiles", "names", "properties"]
    assert mine.neighbors(name=frame["id"][hub]).to_pylist() == found.to_pylist()
    assert mine.neighbors(name=frame["id"][hub].lower()).to_pylist() == found.to_pylist()
    assert mine.neighbors(smiles=frame["smiles"][hub]).to_pylist() == found.to_pylist()
    assert mine.neighbors(hub, limit=2).to_pylist() == found.to_pylist()[:2]
    closer = [each for each in found.to_pylist() if np.float32(each["similarity"]) >= np.float32(0.5)]
    assert mine.neighbors(hub, min_similarity=0.5).to_pylist() == closer


def test_edges_are_every_similar_pair(mine: Collection, joined: dict[tuple[int, int], float]) -> None:
    found = mine.edges()
    assert found.arrow.schema == pa.schema([("source", "int32"), ("target", "int32"), ("similarity", "float32")])
    ends = list(zip(found["source"].to_pylist(), found["target"].to_pylist(), strict=True))
    assert ends == sorted(joined)
    assert np.array_equal(found["similarity"].to_numpy(), np.array([joined[pair] for pair in ends], np.float32))
    some = mine.edges(min_similarity=0.5, start=10, stop=200)
    assert list(zip(some["source"].to_pylist(), some["target"].to_pylist(), strict=True)) == [
        (a, b) for a, b in ends if np.float32(joined[a, b]) >= np.float32(0.5) and 10 <= a < 200
    ]


def test_items_are_what_the_file_holds(mine: Collection, frame: pd.DataFrame) -> None:
    found = mine.items().to_pandas()
    assert found["smiles"].tolist() == frame["smiles"].tolist()
    assert found["activity"].tolist() == frame["activity"].tolist()
    assert found["id"].tolist() == list(range(MOLECULES))

    some = mine.items(columns=["activity", "smiles"], start=5, stop=9)
    assert some.columns == ["id", "activity", "smiles"]
    assert some["activity"].to_pylist() == frame["activity"][5:9].tolist()

    chosen = mine.items(columns=["smiles"], ids=[250, 3, 3])
    assert chosen.to_pylist() == [{"id": id, "smiles": frame["smiles"][id]} for id in (250, 3, 3)]
    assert len(mine.items(ids=[])) == 0


@pytest.mark.parametrize(
    ("policy", "parameters"), [("first_order", {}), ("random_walk", {"k": 4, "length": 3}), ("second_order", {"k": 2})]
)
def test_positives_are_the_same_wherever_they_are_drawn(
    mine: Collection, folder: Path, joined: dict[tuple[int, int], float], policy: Any, parameters: Any
) -> None:
    found = mine.positives([9, 0, 9], policy, seed=7, epoch=2, **parameters)
    with graphkin.open(folder) as collections:
        drawn = collections["c"].positives([9, 0, 9], policy, seed=7, epoch=2, **parameters)
    assert found.arrow.equals(drawn.arrow, check_metadata=True)
    assert found["anchor"].to_pylist() == [9, 0, 9]
    if policy == "first_order":
        linked = [{*pair} for pair in joined]
        rows = zip(found["anchor"].to_pylist(), found["positives"].to_pylist(), strict=True)
        assert all({anchor, each} in linked for anchor, row in rows for each in row if each >= 0)


def test_what_is_wrong_is_told(mine: Collection) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        mine.search("CCO", limit=1001)
    with pytest.raises(InvalidInput):
        mine.search("not a molecule")
    with pytest.raises(InvalidInput, match="exactly one of"):
        mine.search("CCO", smiles="CCO")
    with pytest.raises(InvalidInput, match="one of id, smiles, name"):
        mine.neighbors()
    with pytest.raises(InvalidInput, match="below the threshold"):
        mine.neighbors(0, min_similarity=0.1)
    with pytest.raises(NotFound, match="no such item"):
        mine.neighbors(name="nobody")
    with pytest.raises(NotFound, match=f"no item {MOLECULES}"):
        mine.neighbors(MOLECULES)
    with pytest.raises(NotFound, match=f"no item {MOLECULES}"):
        mine.positives([0, MOLECULES])
    with pytest.raises(InvalidInput, match="activity"):
        mine.items(columns=["weight"])
    with pytest.raises(InvalidInput, match="activity"):
        mine.items(columns=["weight"], ids=[1])
    with pytest.raises(InvalidInput, match="k: "):
        mine.positives([0], k=65)
    with pytest.raises(Conflict):
        mine.search(graph={"edges": [[0, 1]]})


def test_collections_are_found_by_name(folder: Path, serve: Any) -> None:
    with serve(folder) as url, graphkin.open(folder) as here, graphkin.connect(url, key=None) as there:
        for collections in (here, there):
            assert [*collections] == ["c"]
            assert "c" in collections
            assert "d" not in collections
            with pytest.raises(NotFound, match="one of c"):
                collections["d"]
            named = collections.collection("c", collections["c"].generation)
            assert len(named) == MOLECULES


def test_a_collection_outlives_the_name_of_its_store(folder: Path) -> None:
    """As in `graphkin.open("s")["c"]`; and nothing is left open that the interpreter would complain of."""
    program = (
        f"import graphkin; c = graphkin.open({str(folder)!r})['c']; "
        "import gc; gc.collect(); print(len(c.search('CCO', limit=5)), c.name, len(c)); del c; gc.collect()"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"5 c {MOLECULES}\n", "")


def test_a_server_that_is_not_there_is_told() -> None:
    from graphkin.protocol.errors import Unavailable

    with pytest.raises(Unavailable, match="graphkin serve"):
        graphkin.connect("http://127.0.0.1:1")


def test_a_query_is_that_of_pandas(mine: Collection, frame: pd.DataFrame) -> None:
    filters: list[dict[str, Any]] = [
        {"property": "activity", "min": 30, "max": 300},
        {"property": "note", "in": ["EVEN"]},
    ]
    found = mine.query(filters=filters, sort="activity", descending=True, columns=["note", "activity"])
    kept = frame[frame["activity"].between(30, 300) & (frame["note"] == "even")].sort_values(
        "activity", ascending=False
    )
    assert found.columns == ["id", "note", "activity"]
    assert found["id"].to_pylist() == kept.index.tolist()
    assert len(kept) > 50
    assert mine.query(filters=filters, sort="activity", descending=True, limit=5)["id"].to_pylist() == [*kept.index[:5]]
    named = mine.query(name="nsc1", columns=["names"])["names"].to_pylist()
    assert named == [[name] for name in frame["id"] if name.startswith("NSC1")]
    assert len(mine.query()) == MOLECULES


@pytest.mark.parametrize("drawn", ["Cc1ccccc1", {"smiles": "Cc1ccccc1"}], ids=str)
def test_what_has_a_substructure(mine: Collection, drawn: Any) -> None:
    pattern = Chem.MolFromSmarts(drawn) if isinstance(drawn, str) else Chem.MolFromSmiles(drawn["smiles"])

    def having(found: Any) -> list[int]:
        rows = zip(found["id"].to_pylist(), found["smiles"].to_pylist(), strict=True)
        return [id for id, smiles in rows if Chem.MolFromSmiles(smiles).HasSubstructMatch(pattern)]

    filters = [{"property": "activity", "max": 150}]
    assert mine.query(substructure=drawn)["id"].to_pylist() == having(mine.items())
    found = mine.search(smiles=ASPIRIN, filters=filters, substructure=drawn, limit=20)["id"].to_pylist()
    assert found == having(mine.search(smiles=ASPIRIN, filters=filters, limit=1000))[:20]
    hub = mine.edges()["source"].to_pylist()[0]
    assert mine.neighbors(hub, substructure=drawn)["id"].to_pylist() == having(mine.neighbors(hub))
    with pytest.raises(InvalidInput, match="not a pattern"):
        mine.query(substructure="C(")


def test_a_query_has_the_similarity_that_a_search_finds(mine: Collection) -> None:
    hits = mine.search(ASPIRIN, min_similarity=0.1, limit=1000).to_pandas()
    kept = hits[[each["activity"] < 200 for each in hits["properties"]]]
    near = {"smiles": ASPIRIN, "min_similarity": 0.1}
    found = mine.query(similar=near, filters=[{"property": "activity", "max": 199.9}]).to_pandas()
    assert found["id"].tolist() == kept["id"].tolist()
    assert found["similarity"].tolist() == kept["similarity"].tolist()
    with pytest.raises(InvalidInput, match="no such property") as raised:
        mine.query(filters=[{"property": "weight", "min": 1}])
    assert "activity" in str(raised.value.expected)
    with pytest.raises(InvalidInput, match="at least one"):
        mine.query(filters=[{"property": "activity"}])


RINGED = Chem.MolFromSmarts("c1ccccc1")


@pytest.mark.parametrize("by", ["sali", "difference"])
def test_cliffs_are_those_of_pandas(
    mine: Collection, frame: pd.DataFrame, joined: dict[tuple[int, int], float], by: By
) -> None:
    pairs = pd.DataFrame([(*ends, similarity) for ends, similarity in joined.items()], columns=["a", "b", "similarity"])
    pairs["difference"] = (pairs["a"].map(frame["activity"]) - pairs["b"].map(frame["activity"])).abs()
    pairs["sali"] = pairs["difference"] / (1 - pairs["similarity"].astype(np.float32).astype(float))
    even = pairs[["a", "b"]].isin(frame.index[frame["note"] == "even"]).all(axis=1)
    single = pairs["similarity"].astype(np.float32)
    kept = pairs[even & (pairs["difference"] >= 20) & (single <= np.float32(0.9)) & (single < 1)]
    kept = kept.sort_values([by, "difference", "a", "b"], ascending=[False, False, True, True])
    filters = [{"property": "note", "equals": "even"}]
    least = mine.manifest.threshold
    query: dict[str, Any] = {"min_similarity": least, "max_similarity": 0.9, "min_difference": 20, "filters": filters}
    found = mine.cliffs("activity", by=by, **query, limit=30).to_pandas()
    assert len(kept) > 30 == len(found)
    for column in ("a", "b", "difference", "sali"):
        assert found[column].to_numpy() == pytest.approx(kept[column].head(30).to_numpy())
    assert found["similarity"].dtype == np.float32
    assert found["smiles_b"].tolist() == frame["smiles"][found["b"]].tolist()
    assert found["activity_a"].tolist() == frame["activity"][found["a"]].tolist()
    identical = mine.cliffs("activity", min_similarity=1, exclude_identical=False).to_pandas()
    same = pairs[(single == 1) & (pairs["difference"] > 0)].sort_values(
        ["difference", "a", "b"], ascending=[False, True, True]
    )
    assert identical[["a", "b"]].values.tolist() == same[["a", "b"]].values.tolist()
    with pytest.raises(InvalidInput, match="such property") as raised:
        mine.cliffs("note")
    assert "activity" in str(raised.value.expected)


def test_clusters_are_those_of_rdkit(mine: Collection, vectors: list[Any], frame: pd.DataFrame) -> None:
    found = mine.clusters(threshold=0.35, property="activity").to_pandas()
    assert found.columns.tolist() == ["cluster", "size", "centre", "smiles", "names", "min", "max", "mean", "values"]
    assert found["size"].sum() == MOLECULES
    assert found["size"].is_monotonic_decreasing
    assert found["smiles"].tolist() == frame["smiles"][found["centre"]].tolist()
    for row in found.head(3).itertuples():
        members = mine.cluster(row.cluster, threshold=0.35).to_pandas()
        assert len(members) == row.size > 1
        own = [vectors[id] for id in members["id"]]
        assert min(DataStructs.BulkTanimotoSimilarity(vectors[row.centre], own)) >= 0.35
        activity = frame["activity"][members["id"]]
        assert (row.min, row.max, row.values) == (activity.min(), activity.max(), len(members))
        assert row.mean == pytest.approx(activity.mean())
    assert mine.clusters(threshold=0.35, limit=2)["size"].to_pylist() == found["size"].head(2).tolist()
    scaffolds = frame["smiles"].map(MurckoScaffold.MurckoScaffoldSmiles).value_counts()
    assert mine.clusters(method="scaffold")["size"].to_pylist() == scaffolds.tolist()
    ringed = scaffolds.index.get_loc(next(each for each in scaffolds.index if each)) + 1
    mcs = mine.mcs(ringed, method="scaffold")
    assert mcs.complete
    assert mcs.atoms >= Chem.MolFromSmiles(scaffolds.index[ringed - 1]).GetNumAtoms()
    shared = mine.query(substructure=mcs.smarts)["id"].to_pylist()
    assert {*mine.cluster(ringed, method="scaffold")["id"].to_pylist()} <= {*shared}
    with pytest.raises(InvalidInput, match="no threshold"):
        mine.clusters(method="scaffold", threshold=0.5)
    with pytest.raises(NotFound, match="no such cluster"):
        mine.cluster(1000, method="scaffold")


def test_a_map_has_all_items(mine: Collection, frame: pd.DataFrame) -> None:
    assert [*mine.manifest.properties] == ["activity", "note", "molwt", "rings", "heavy_atoms"]  # as the file has them
    found = mine.map(property="activity", method="scaffold").to_pandas()
    assert found.columns.tolist() == ["id", "x", "y", "value", "cluster"]
    assert found["id"].tolist() == [*range(MOLECULES)]
    assert found["value"].tolist() == frame["activity"].tolist()
    assert len(found[["x", "y"]].drop_duplicates()) == MOLECULES
    sizes = mine.clusters(method="scaffold")["size"].to_pylist()
    assert found["cluster"].value_counts().sort_index().tolist() == sizes
    assert mine.map()["x"].to_pylist() == found["x"].tolist()
    assert mine.map()["cluster"].to_pylist() == [None] * MOLECULES


def test_a_diverse_subset_is_the_least_similar(mine: Collection, vectors: list[Any], frame: pd.DataFrame) -> None:
    even = [*frame.index[frame["note"] == "even"]]
    found = mine.pick(15, filters=[{"property": "note", "equals": "even"}]).to_pandas()
    ids = found["id"].tolist()
    assert found.columns.tolist() == ["id", "nearest", *mine.items(ids=[0]).columns[1:]]
    for number in range(1, 15):
        picked = [vectors[id] for id in ids[:number]]
        nearest = {
            id: max(DataStructs.BulkTanimotoSimilarity(vectors[id], picked)) for id in even if id not in ids[:number]
        }
        assert nearest[ids[number]] == min(nearest.values())
        assert found["nearest"][number] == pytest.approx(nearest[ids[number]])
    assert mine.pick(15, ids=even[::-1])["id"].to_pylist() == ids
    ringed = [id for id in even if Chem.MolFromSmiles(frame["smiles"][id]).HasSubstructMatch(RINGED)]
    assert len(even) > len(ringed) > 15
    having = mine.pick(15, filters=[{"property": "note", "equals": "even"}], substructure=Chem.MolToSmarts(RINGED))
    assert having["id"].to_pylist() == mine.pick(15, ids=ringed)["id"].to_pylist()
    spheres = mine.pick(60, method="sphere", threshold=0.25, ids=even[:60])["id"].to_pylist()
    assert max(DataStructs.TanimotoSimilarity(vectors[a], vectors[b]) for a, b in combinations(spheres, 2)) < 0.25
    with pytest.raises(InvalidInput, match="so many items"):
        mine.pick(2, ids=[1])


def test_searches_and_neighbours_are_filtered(mine: Collection) -> None:
    filters = [{"property": "note", "equals": "Even"}]
    hits = mine.search(ASPIRIN, min_similarity=0.1, limit=1000).to_pylist()
    kept = [hit for hit in hits if hit["properties"]["note"] == "even"]
    assert mine.search(ASPIRIN, filters=filters, min_similarity=0.1, limit=9).to_pylist() == kept[:9]
    near = mine.neighbors(id=hits[0]["id"]).to_pylist()
    even = [each for each in near if each["properties"]["note"] == "even"]
    assert mine.neighbors(id=hits[0]["id"], filters=filters).to_pylist() == even
    assert mine.neighbors(id=hits[0]["id"], filters=filters, limit=1).to_pylist() == even[:1]
    assert 1 < len(even) < len(near)
