"""`graphkin.open` and `graphkin.connect` give the same results, which equal RDKit and pandas."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator, rdRGroupDecomposition
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
def expected_pairs(vectors: list[Any]) -> dict[tuple[int, int], float]:
    """Return every pair above the threshold, compared one by one."""
    pairs = (
        (a, b, DataStructs.TanimotoSimilarity(vectors[a], vectors[b])) for a, b in combinations(range(MOLECULES), 2)
    )
    return {(a, b): similarity for a, b, similarity in pairs if similarity >= THRESHOLD}


def test_search_equals_rdkit(collection: Collection, vectors: list[Any], frame: pd.DataFrame) -> None:
    query = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint(Chem.MolFromSmiles(ASPIRIN))
    similar = np.array(DataStructs.BulkTanimotoSimilarity(query, vectors), np.float32)
    best = sorted(range(MOLECULES), key=lambda row: (-similar[row], row))[:25]

    result = collection.search(ASPIRIN, limit=25).to_pandas()

    assert list(result.columns) == ["id", "similarity", *collection.items(ids=[]).columns[1:]]
    assert {"smiles", "names", "activity", "note", "molwt"} <= {*result.columns}
    assert result["id"].tolist() == best
    assert np.array_equal(result["similarity"].to_numpy(np.float32), similar[best])
    assert result["smiles"].tolist() == frame["smiles"][best].tolist()
    assert [list(names) for names in result["names"]] == [[name] for name in frame["id"][best]]
    assert result["activity"].tolist() == frame["activity"][best].tolist()
    assert result["note"].fillna("").tolist() == frame["note"][best].fillna("").tolist()


@pytest.mark.parametrize(
    ("measure", "oracle"),
    [
        (
            {"name": "tversky", "alpha": 0.9, "beta": 0.1},
            partial(DataStructs.BulkTverskySimilarity, a=0.9, b=0.1),
        ),
        ({"name": "dice"}, DataStructs.BulkDiceSimilarity),
        ({"name": "cosine"}, DataStructs.BulkCosineSimilarity),
    ],
)
def test_search_by_measure_and_by_fingerprint(
    collection: Collection, vectors: list[Any], measure: dict[str, Any], oracle: Callable[..., list[float]]
) -> None:
    query = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint(Chem.MolFromSmiles(ASPIRIN))
    bits = np.packbits([*query], bitorder="little").tobytes().hex()
    similar = np.array(oracle(query, vectors), np.float32)

    result = collection.search(ASPIRIN, measure=measure, limit=10)

    assert result.arrow["similarity"].to_numpy() == pytest.approx(np.sort(similar)[::-1][:10], rel=1e-6)
    assert collection.search(fingerprint=bits, measure=measure).to_pylist() == result.to_pylist()
    assert collection.search(fingerprint=bits).to_pylist() == collection.search(ASPIRIN).to_pylist()


def test_own_fingerprints_and_vectors_are_ingested_and_searched(
    tmp_path: Path, vectors: list[Any], frame: pd.DataFrame
) -> None:
    store, names = tmp_path / "store", tmp_path / "names.txt"
    names.write_text("".join(f"{name}\n" for name in frame["id"]))
    bits = np.packbits([[*each] for each in vectors], axis=1, bitorder="little")
    dense = np.random.default_rng(0).normal(size=(20, 7)).astype(np.float32)
    np.save(tmp_path / "bits.npy", bits)
    np.save(tmp_path / "dense.npy", dense)
    table = pa.table({"code": [row.tobytes().hex() for row in bits], "id": frame["id"]})
    table.to_pandas().to_csv(tmp_path / "bits.csv", index=False)
    ingest_options: dict[str, Any] = {"store": store, "threshold": THRESHOLD, "workers": 1}

    packed = graphkin.ingest(tmp_path / "bits.npy", collection="a", kind="fingerprints", names=names, **ingest_options)
    written = graphkin.ingest(
        tmp_path / "bits.csv", collection="b", kind="fingerprints", fingerprint_column="code", **ingest_options
    )
    graphkin.ingest(tmp_path / "dense.npy", collection="c", kind="vectors", **{**ingest_options, "threshold": 0.1})

    assert packed.generation == written.generation
    with graphkin.open(store) as collections:
        (best,) = collections["a"].search(fingerprint=bits[5].tobytes().hex(), limit=1).to_pylist()
        assert frame["id"][5] in best["names"]
        near = collections["c"].search(vector=dense[3], limit=20).to_pandas()
    unit = dense / np.linalg.norm(dense, axis=1, keepdims=True)
    cosines = unit @ unit[3]
    assert near["id"].tolist() == [row for row in np.argsort(-cosines) if cosines[row] > 0]
    with pytest.raises(InvalidInput, match="there is no recipe for this kind and preset"):
        graphkin.ingest(tmp_path / "dense.npy", collection="c", kind="vectors", preset="paper", **ingest_options)


def test_search_accepts_any_notation(collection: Collection) -> None:
    molecule = Chem.MolFromSmiles(ASPIRIN)
    expected = collection.search(ASPIRIN).to_pylist()
    assert collection.search(smiles=ASPIRIN).to_pylist() == expected
    assert collection.search(inchi=Chem.MolToInchi(molecule)).to_pylist() == expected
    assert collection.search(molblock=Chem.MolToMolBlock(molecule)).to_pylist() == expected
    assert collection.search(molecule).to_pylist() == expected


def test_batches_take_molecules_columns_and_missing_structures(collection: Collection, frame: pd.DataFrame) -> None:
    smiles = [*frame["smiles"][:3]]
    expected = collection.search_batch(smiles).to_pylist()
    assert collection.search_batch(map(Chem.MolFromSmiles, smiles)).to_pylist() == expected
    assert collection.search_batch(pa.chunked_array([smiles])).to_pylist() == expected
    errors = collection.search_batch([None, float("nan")])["error"].to_pylist()
    assert len(errors) == 2
    assert all(errors)
    with pytest.raises(InvalidInput, match=r'such as table\["smiles"\]'):
        collection.search_batch(frame)


def test_queries_name_the_argument_to_pass(collection: Collection) -> None:
    assert collection.items(columns="smiles").columns == ["id", "smiles"]
    calls: list[Callable[[Any], Any]] = [collection.neighbors, collection.item]
    for call in calls:
        with pytest.raises(InvalidInput, match="with smiles="):
            call("CCO")
    with pytest.raises(InvalidInput, match='pass a structure, such as "CCO"'):
        collection.search(None)
    with pytest.raises(InvalidInput, match="use to_pandas"):
        collection.items(stop=3)[np.array([True, False, True])]


def test_search_batch_equals_single_searches(collection: Collection, frame: pd.DataFrame) -> None:
    structures: list[Any] = [ASPIRIN, "C1CC", *frame["smiles"][:50], {"name": frame["id"][7]}, {"name": "none"}, "[U]"]
    result = collection.search_batch(structures, min_similarity=0.2, limit=5)
    single = collection.search(ASPIRIN)
    assert result.columns == ["query", "error", *single.columns]
    assert result.select(single.columns).arrow.schema.types == single.arrow.schema.types
    rows = result.to_pylist()
    for number, structure in enumerate(structures):
        own_rows = [row for row in rows if row["query"] == number]
        if structure in ("C1CC", {"name": "none"}):
            (row,) = own_rows
            assert ("unclosed ring" if structure == "C1CC" else "no such item") in row["error"]
            assert (row["id"], row["similarity"], row["smiles"], row["names"]) == (None, None, None, None)
            continue
        text = frame["smiles"][7] if isinstance(structure, dict) else structure
        alone = collection.search(text, min_similarity=0.2, limit=5).to_pylist()
        assert own_rows == [{"query": number, "error": None, **hit} for hit in alone]
    with pytest.raises(InvalidInput, match="10000"):
        collection.search_batch(["C"] * 10_001)


def test_search_applies_its_threshold(collection: Collection, vectors: list[Any], frame: pd.DataFrame) -> None:
    similar = DataStructs.BulkTanimotoSimilarity(vectors[7], vectors)
    result = collection.search(frame["smiles"][7], min_similarity=0.25, limit=1000)
    assert sorted(result["id"].to_pylist()) == [id for id in range(MOLECULES) if similar[id] >= 0.25]


def test_neighbors_equal_rdkit(
    collection: Collection, expected_pairs: dict[tuple[int, int], float], frame: pd.DataFrame
) -> None:
    hub = max(range(MOLECULES), key=lambda row: sum(row in pair for pair in expected_pairs))
    similar = {a + b - hub: np.float32(similarity) for (a, b), similarity in expected_pairs.items() if hub in (a, b)}
    expected = sorted(similar.items(), key=lambda each: (-each[1], each[0]))

    result = collection.neighbors(hub)

    assert list(zip(result["id"].to_pylist(), result["similarity"].to_numpy(), strict=True)) == expected
    assert result["activity"].to_pylist() == frame["activity"][[id for id, _ in expected]].tolist()
    assert collection.neighbors(name=frame["id"][hub]).to_pylist() == result.to_pylist()
    assert collection.neighbors(name=frame["id"][hub].lower()).to_pylist() == result.to_pylist()
    assert collection.neighbors(smiles=frame["smiles"][hub]).to_pylist() == result.to_pylist()
    assert collection.neighbors(hub, limit=2).to_pylist() == result.to_pylist()[:2]
    closer = [each for each in result.to_pylist() if np.float32(each["similarity"]) >= np.float32(0.5)]
    assert collection.neighbors(hub, min_similarity=0.5).to_pylist() == closer


def test_edges_equal_rdkit(collection: Collection, expected_pairs: dict[tuple[int, int], float]) -> None:
    result = collection.edges()
    assert result.arrow.schema == pa.schema([("source", "int32"), ("target", "int32"), ("similarity", "float32")])
    ends = list(zip(result["source"].to_pylist(), result["target"].to_pylist(), strict=True))
    assert ends == sorted(expected_pairs)
    assert np.array_equal(
        result["similarity"].to_numpy(), np.array([expected_pairs[pair] for pair in ends], np.float32)
    )
    part = collection.edges(min_similarity=0.5, start=10, stop=200)
    assert list(zip(part["source"].to_pylist(), part["target"].to_pylist(), strict=True)) == [
        (a, b) for a, b in ends if np.float32(expected_pairs[a, b]) >= np.float32(0.5) and 10 <= a < 200
    ]


def test_items_equal_the_file(collection: Collection, frame: pd.DataFrame) -> None:
    result = collection.items().to_pandas()
    assert result["smiles"].tolist() == frame["smiles"].tolist()
    assert result["activity"].tolist() == frame["activity"].tolist()
    assert result["id"].tolist() == list(range(MOLECULES))

    part = collection.items(columns=["activity", "smiles"], start=5, stop=9)
    assert part.columns == ["id", "activity", "smiles"]
    assert part["activity"].to_pylist() == frame["activity"][5:9].tolist()

    selected = collection.items(columns=["smiles"], ids=[250, 3, 3])
    assert selected.to_pylist() == [{"id": id, "smiles": frame["smiles"][id]} for id in (250, 3, 3)]
    assert len(collection.items(ids=[])) == 0


def test_property_with_the_name_of_another_column_gets_a_prefix(tmp_path: Path) -> None:
    nearest = [1.0, 2.0]
    own = {"similarity": [5.5, 6.5], "nearest": nearest, "query": ["a", "b"], "item_query": ["c", "d"]}
    pd.DataFrame({"smiles": ["CCO", "CCN"], **own}).to_csv(tmp_path / "own.csv", index=False)
    graphkin.ingest(tmp_path / "own.csv", store=tmp_path / "store", collection="c", threshold=0.1, workers=1)
    with graphkin.open(tmp_path / "store") as collections:
        collection = collections["c"]
        hits, batch, picks = collection.search("CCO"), collection.search_batch(["CCO"]), collection.pick(2, ids=[0, 1])
        similar = collection.query(similar={"smiles": "CCO", "min_similarity": 0.1})
    for result in (hits, batch, similar):
        assert result["similarity"].to_pylist()[0] == 1
        assert result["item_similarity"].to_pylist() == [5.5, 6.5]
    assert batch["query"].to_pylist() == [0, 0]
    assert sorted(name for name in batch.columns if "query" in name) == ["item_item_query", "item_query", "query"]
    assert {*batch["item_query"].to_pylist()} | {*batch["item_item_query"].to_pylist()} == {*"abcd"}
    assert picks["item_nearest"].to_pylist() == [nearest[id] for id in picks["id"].to_pylist()]


@pytest.mark.parametrize(
    ("policy", "parameters"), [("first_order", {}), ("random_walk", {"k": 4, "length": 3}), ("second_order", {"k": 2})]
)
def test_positives_do_not_depend_on_the_connection(
    collection: Collection, folder: Path, expected_pairs: dict[tuple[int, int], float], policy: Any, parameters: Any
) -> None:
    result = collection.positives([9, 0, 9], policy, seed=7, epoch=2, **parameters)
    with graphkin.open(folder) as collections:
        local = collections["c"].positives([9, 0, 9], policy, seed=7, epoch=2, **parameters)
    assert result.arrow.equals(local.arrow, check_metadata=True)
    assert result["anchor"].to_pylist() == [9, 0, 9]
    if policy == "first_order":
        linked = [{*pair} for pair in expected_pairs]
        rows = zip(result["anchor"].to_pylist(), result["positives"].to_pylist(), strict=True)
        assert all({anchor, each} in linked for anchor, row in rows for each in row if each >= 0)


def test_invalid_arguments_are_explained(collection: Collection) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        collection.search("CCO", limit=1001)
    limits: list[Any] = [0, "3"]
    for limit in limits:
        with pytest.raises(InvalidInput, match="pass None for all neighbors"):
            collection.neighbors(0, limit=limit)
    with pytest.raises(InvalidInput):
        collection.search("not a molecule")
    with pytest.raises(InvalidInput, match="exactly one of"):
        collection.search("CCO", smiles="CCO")
    with pytest.raises(InvalidInput, match="one of id, smiles, name"):
        collection.neighbors()
    with pytest.raises(InvalidInput, match=r"outside the stored range\n.*0\.1\n.*0\.3 to 1"):
        collection.neighbors(0, min_similarity=0.1)
    with pytest.raises(NotFound, match="no such item"):
        collection.neighbors(name="nobody")
    with pytest.raises(NotFound, match=f"no item {MOLECULES}"):
        collection.neighbors(MOLECULES)
    with pytest.raises(NotFound, match=f"no item {MOLECULES}"):
        collection.positives([0, MOLECULES])
    with pytest.raises(InvalidInput, match="activity"):
        collection.items(columns=["weight"])
    with pytest.raises(InvalidInput, match="activity"):
        collection.items(columns=["weight"], ids=[1])
    with pytest.raises(InvalidInput, match="k: "):
        collection.positives([0], k=65)
    with pytest.raises(Conflict):
        collection.search(graph={"edges": [[0, 1]]})


def test_collections_are_a_mapping_by_name(folder: Path, serve: Any) -> None:
    with serve(folder) as url, graphkin.open(folder) as here, graphkin.connect(url, key=None) as there:
        for collections in (here, there):
            assert [*collections] == ["c"]
            assert "c" in collections
            assert "d" not in collections
            with pytest.raises(NotFound, match="one of c"):
                collections["d"]
            named = collections.collection("c", collections["c"].generation)
            assert len(named) == MOLECULES


def test_collection_outlives_the_reference_to_its_store(folder: Path) -> None:
    """`graphkin.open("s")["c"]` keeps only the collection. The interpreter would warn of a resource left open."""
    program = (
        f"import graphkin; c = graphkin.open({str(folder)!r})['c']; "
        "import gc; gc.collect(); print(len(c.search('CCO', limit=5)), c.name, len(c)); del c; gc.collect()"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"5 c {MOLECULES}\n", "")


def test_unreachable_server_is_reported() -> None:
    from graphkin.protocol.errors import Unavailable

    with pytest.raises(Unavailable, match="graphkin serve"):
        graphkin.connect("http://127.0.0.1:1")


def test_query_equals_pandas(collection: Collection, frame: pd.DataFrame) -> None:
    filters: list[dict[str, Any]] = [
        {"property": "activity", "min": 30, "max": 300},
        {"property": "note", "in": ["EVEN"]},
    ]
    result = collection.query(filters=filters, sort="activity", descending=True, columns=["note", "activity"])
    matches = frame[frame["activity"].between(30, 300) & (frame["note"] == "even")].sort_values(
        "activity", ascending=False
    )
    assert result.columns == ["id", "note", "activity"]
    assert result["id"].to_pylist() == matches.index.tolist()
    assert len(matches) > 50
    assert collection.query(filters=filters, sort="activity", descending=True, limit=5)["id"].to_pylist() == [
        *matches.index[:5]
    ]
    named = collection.query(name="nsc1", columns=["names"])["names"].to_pylist()
    assert named == [[name] for name in frame["id"] if name.startswith("NSC1")]
    assert len(collection.query()) == MOLECULES


@pytest.mark.parametrize("pattern_structure", ["Cc1ccccc1", {"smiles": "Cc1ccccc1"}], ids=str)
def test_substructure_filter_equals_rdkit(collection: Collection, pattern_structure: Any) -> None:
    pattern = (
        Chem.MolFromSmarts(pattern_structure)
        if isinstance(pattern_structure, str)
        else Chem.MolFromSmiles(pattern_structure["smiles"])
    )

    def matching_ids(result: Any) -> list[int]:
        rows = zip(result["id"].to_pylist(), result["smiles"].to_pylist(), strict=True)
        return [id for id, smiles in rows if Chem.MolFromSmiles(smiles).HasSubstructMatch(pattern)]

    filters = [{"property": "activity", "max": 150}]
    assert collection.query(substructure=pattern_structure)["id"].to_pylist() == matching_ids(collection.items())
    result = collection.search(smiles=ASPIRIN, filters=filters, substructure=pattern_structure, limit=20)[
        "id"
    ].to_pylist()
    assert result == matching_ids(collection.search(smiles=ASPIRIN, filters=filters, limit=1000))[:20]
    hub = collection.edges()["source"].to_pylist()[0]
    assert collection.neighbors(hub, substructure=pattern_structure)["id"].to_pylist() == matching_ids(
        collection.neighbors(hub)
    )
    with pytest.raises(InvalidInput, match="not a pattern"):
        collection.query(substructure="C(")


def test_query_has_the_similarity_of_a_search(collection: Collection) -> None:
    hits = collection.search(ASPIRIN, min_similarity=0.1, limit=1000).to_pandas()
    matches = hits[hits["activity"] < 200]
    near = {"smiles": ASPIRIN, "min_similarity": 0.1}
    result = collection.query(similar=near, filters=[{"property": "activity", "max": 199.9}]).to_pandas()
    assert result["id"].tolist() == matches["id"].tolist()
    assert result["similarity"].tolist() == matches["similarity"].tolist()
    with pytest.raises(InvalidInput, match="no property of this name") as refused:
        collection.query(filters=[{"property": "weight", "min": 1}])
    assert "activity" in str(refused.value.expected)
    with pytest.raises(InvalidInput, match="at least one"):
        collection.query(filters=[{"property": "activity"}])


BENZENE = Chem.MolFromSmarts("c1ccccc1")


@pytest.mark.parametrize("by", ["sali", "difference"])
def test_cliffs_equal_pandas(
    collection: Collection, frame: pd.DataFrame, expected_pairs: dict[tuple[int, int], float], by: By
) -> None:
    pairs = pd.DataFrame(
        [(*ends, similarity) for ends, similarity in expected_pairs.items()], columns=["a", "b", "similarity"]
    )
    pairs["difference"] = (pairs["a"].map(frame["activity"]) - pairs["b"].map(frame["activity"])).abs()
    pairs["sali"] = pairs["difference"] / (1 - pairs["similarity"].astype(np.float32).astype(float))
    even = pairs[["a", "b"]].isin(frame.index[frame["note"] == "even"]).all(axis=1)
    single = pairs["similarity"].astype(np.float32)
    matches = pairs[even & (pairs["difference"] >= 20) & (single <= np.float32(0.9)) & (single < 1)]
    matches = matches.sort_values([by, "difference", "a", "b"], ascending=[False, False, True, True])
    filters = [{"property": "note", "equals": "even"}]
    least = collection.manifest.threshold
    query: dict[str, Any] = {"min_similarity": least, "max_similarity": 0.9, "min_difference": 20, "filters": filters}
    result = collection.cliffs("activity", by=by, **query, limit=30).to_pandas()
    assert len(matches) > 30 == len(result)
    for column in ("a", "b", "difference", "sali"):
        assert result[column].to_numpy() == pytest.approx(matches[column].head(30).to_numpy())
    assert result["similarity"].dtype == np.float32
    assert result["smiles_b"].tolist() == frame["smiles"][result["b"]].tolist()
    assert result["activity_a"].tolist() == frame["activity"][result["a"]].tolist()
    identical = collection.cliffs("activity", min_similarity=1, exclude_identical=False).to_pandas()
    same = pairs[(single == 1) & (pairs["difference"] > 0)].sort_values(
        ["difference", "a", "b"], ascending=[False, True, True]
    )
    assert identical[["a", "b"]].values.tolist() == same[["a", "b"]].values.tolist()
    with pytest.raises(InvalidInput, match="this property holds text") as refused:
        collection.cliffs("note")
    assert "activity" in str(refused.value.expected)


def test_clusters_equal_rdkit(collection: Collection, vectors: list[Any], frame: pd.DataFrame) -> None:
    result = collection.clusters(threshold=0.35, property="activity").to_pandas()
    assert result.columns.tolist() == ["cluster", "size", "centre", "smiles", "names", "min", "max", "mean", "values"]
    assert result["size"].sum() == MOLECULES
    assert result["size"].is_monotonic_decreasing
    assert result["smiles"].tolist() == frame["smiles"][result["centre"]].tolist()
    for row in result.head(3).itertuples():
        members = collection.cluster(row.cluster, threshold=0.35).to_pandas()
        assert len(members) == row.size > 1
        own_rows = [vectors[id] for id in members["id"]]
        assert min(DataStructs.BulkTanimotoSimilarity(vectors[row.centre], own_rows)) >= 0.35
        activity = frame["activity"][members["id"]]
        assert (row.min, row.max, row.values) == (activity.min(), activity.max(), len(members))
        assert row.mean == pytest.approx(activity.mean())
    first = collection.clusters(threshold=0.35, limit=2)
    assert first["size"].to_pylist() == result["size"].head(2).tolist()
    alone = int((result["size"] == 1).sum())
    assert first.note is not None
    assert first.note.startswith(f"{len(result):,} clusters of {MOLECULES:,} items; {alone:,} are singletons, ")
    assert first.note.endswith(f"{alone / MOLECULES:.1%} of the items")
    assert first.note in repr(first)
    assert first.note in first._repr_html_()
    assert collection.labels().tolist() == collection.labels("butina", 0.55).tolist()
    scaffolds = frame["smiles"].map(MurckoScaffold.MurckoScaffoldSmiles).value_counts()
    assert collection.clusters(method="scaffold")["size"].to_pylist() == scaffolds.tolist()
    ringed = scaffolds.index.get_loc(next(each for each in scaffolds.index if each)) + 1
    mcs = collection.mcs(ringed, method="scaffold")
    assert mcs.complete
    assert mcs.atoms >= Chem.MolFromSmiles(scaffolds.index[ringed - 1]).GetNumAtoms()
    shared = collection.query(substructure=mcs.smarts)["id"].to_pylist()
    assert {*collection.cluster(ringed, method="scaffold")["id"].to_pylist()} <= {*shared}
    with pytest.raises(InvalidInput, match="no threshold"):
        collection.clusters(method="scaffold", threshold=0.5)
    with pytest.raises(NotFound, match="no such cluster"):
        collection.cluster(1000, method="scaffold")


def test_scaffold_tree_counts_the_molecules_of_a_series(collection: Collection, frame: pd.DataFrame) -> None:
    scaffold = frame["smiles"].map(MurckoScaffold.MurckoScaffoldSmiles)
    result = collection.scaffold_tree(property="activity")
    ranges = ["min", "max", "mean", "values"]
    columns = ["scaffold", "parent", "depth", "children", "items", "branch_items"]
    assert result.columns == [*columns, *ranges, *(f"branch_{name}" for name in ranges)]
    assert result.note == f"{len(result):,} scaffolds of {MOLECULES:,} molecules"
    tree = result.to_pandas().set_index("scaffold")
    assert tree["items"][tree["items"] > 0].to_dict() == scaffold.value_counts().to_dict()
    activity = frame.groupby(scaffold)["activity"]
    for name, values in (("min", activity.min()), ("max", activity.max()), ("mean", activity.mean())):
        assert tree[name].dropna().to_dict() == pytest.approx(values.to_dict())
    roots = tree[tree["depth"] == 0]
    assert roots["branch_items"].sum() == roots["branch_values"].sum() == MOLECULES

    ids = np.flatnonzero(scaffold == "c1ccccc1").tolist()
    assert collection.query(scaffold="C1=CC=CC=C1")["id"].to_pylist() == ids
    for series in (collection.scaffold_tree(ids=ids), collection.scaffold_tree(scaffold="c1ccccc1")):
        assert series.to_pylist()[0]["items"] == len(ids)
        assert len(series) == 1
    cluster = collection.scaffold_tree(cluster={"method": "single", "threshold": 0.5, "id": 1})
    assert sum(cluster["items"].to_pylist()) == len(collection.cluster(1, method="single", threshold=0.5))
    below = collection.scaffold_tree(parent="c1ccccc1", levels=1, min_count=2)
    assert below.columns == columns
    is_below = (tree["parent"] == "c1ccccc1") & (tree["branch_items"] >= 2)
    assert below["scaffold"].to_pylist() == tree.index[is_below].tolist()
    assert "<img" in below._repr_html_()
    with pytest.raises(InvalidInput, match="no numeric property"):
        collection.scaffold_tree(property="colour")
    with pytest.raises(NotFound, match="no molecule of this collection"):
        collection.scaffold_tree(parent="C1CCCCCCCCCCCCCCC1")


def test_r_groups_equal_rdkit(collection: Collection, frame: pd.DataFrame, tmp_path: Path) -> None:
    benzene = Chem.MolFromSmiles("c1ccccc1")
    ids = [id for id, smiles in enumerate(frame["smiles"]) if Chem.MolFromSmiles(smiles).HasSubstructMatch(benzene)]
    ids = [*ids[:8], next(id for id in range(MOLECULES) if id not in ids)]
    result = collection.rgroups(ids=ids, core="c1ccccc1", property="activity")
    molecules = [Chem.MolFromSmiles(frame["smiles"][id]) for id in ids]
    rows, unmatched = rdRGroupDecomposition.RGroupDecompose([benzene], molecules, asSmiles=True)
    table = result.table.to_pandas()
    assert table[["core", *result.positions]].rename(columns={"core": "Core"}).to_dict("records") == rows
    assert table["id"].tolist() == ids[:8]
    assert table["activity"].tolist() == frame["activity"][ids[:8]].tolist()
    assert [*table.columns[:3]] == ["id", "activity", "core"]
    assert result.unmatched["id"].to_pylist() == [ids[row] for row in unmatched]
    assert result.unmatched.columns == collection.items(ids=[]).columns
    assert (result.source, result.pattern, result.compared, result.complete) == ("request", "c1ccccc1", 0, True)
    result.write(tmp_path / "r.xlsx")
    assert pd.read_excel(tmp_path / "r.xlsx", engine="calamine")["smiles"].tolist() == frame["smiles"][ids].tolist()
    assert len(result) == 8
    assert "9" not in repr(result).partition(":")[0]
    ordered = collection.rgroups(ids=ids[:4], sort="activity", descending=True)
    assert (ordered.source, ordered.compared) == ("mcs", 4)
    assert ordered.table["activity"].to_pylist() == sorted(frame["activity"][ids[:4]], reverse=True)
    heavy_atoms = "descriptor.heavy_atoms"
    described = collection.rgroups(ids=ids[::-1], core="c1ccccc1", property=heavy_atoms)
    assert [*described.table.columns[:3]] == ["id", heavy_atoms, "core"]
    values = [*described.unmatched[heavy_atoms].to_pylist(), *described.table[heavy_atoms].to_pylist()]
    assert values == [molecule.GetNumHeavyAtoms() for molecule in molecules[::-1]]
    with pytest.raises(InvalidInput, match="name of the file"):
        result.write(tmp_path / "r.doc")
    with pytest.raises(InvalidInput, match="no numeric property"):
        collection.rgroups(ids=[1], property="weight")
    with pytest.raises(InvalidInput, match="core cannot be read"):
        collection.rgroups(ids=[1], core="")
    with pytest.raises(InvalidInput, match="type Mol"):
        collection.rgroups(ids=[1], core=benzene)
    first = collection.rgroups(cluster={"id": np.int32(1)}, core="C").table["id"].to_pylist()
    assert {*first} <= {*collection.cluster(1)["id"].to_pylist()}


def test_r_groups_are_compared_by_a_computed_property(collection: Collection, tmp_path: Path) -> None:
    name = "descriptor.clogp"
    result = collection.rgroups(ids=[1, 2, 3], core="C", property=name)
    logp = dict(
        zip(*(collection.descriptors(columns="activity")[each].to_pylist() for each in ("id", name)), strict=True)
    )
    assert result.table.columns[:3] == ["id", name, "core"]
    for table in (result.table, result.unmatched):
        assert table[name].to_pylist() == [logp[id] for id in table["id"].to_pylist()]
    assert len(result.table) + len(result.unmatched) == 3
    result.write(tmp_path / "r.csv")
    assert pd.read_csv(tmp_path / "r.csv")[name].notna().all()


@pytest.mark.parametrize("ids", [["a"], [0.5], [None], [True, False]])
def test_ids_are_integers(collection: Collection, ids: list[Any]) -> None:
    for call in (collection.rgroups, collection.scaffold_tree, collection.descriptors, collection.items):
        with pytest.raises(InvalidInput, match="ids are integers"):
            call(ids=ids)
    with pytest.raises(InvalidInput, match="id of an item"):
        collection.matched_pairs_of("CCO", property="activity")  # type: ignore[arg-type]


def test_lineage_since_the_same_generation_is_empty(collection: Collection) -> None:
    changes = collection.lineage(collection.generation)
    assert len(changes) == 0
    assert changes.note is not None
    assert "items: 0 added, 0 removed" in changes.note


def test_contributions_and_matrix_of_r_groups_sum_up_their_values(collection: Collection, frame: pd.DataFrame) -> None:
    result = collection.rgroups(ids=range(40), core="c1ccccc1", property="activity")
    fit = result.free_wilson()
    rows = result.table.to_pandas()
    counts = {(each["position"], each["group"]): each["compounds"] for each in fit.contributions}
    fitted = rows[rows["activity"].notna()]
    assert fit.compounds == len(fitted)
    assert counts == {
        (position, group): count
        for position in result.positions
        for group, count in fitted[position].value_counts().items()
    }
    assert (fit.baseline is None) == (fit.problem is not None)
    assert "activity" in repr(fit)
    cells = result.matrix("R2", "R1").to_pandas()
    expected = rows.groupby(["R2", "R1"])["activity"].agg(["size", "count", "mean"])
    own = cells.set_index(["R2", "R1"])[["compounds", "values", "mean"]].sort_index()
    assert own.to_numpy() == pytest.approx(expected.to_numpy(), nan_ok=True)
    assert {id for ids in cells["ids"] for id in ids} == {*rows["id"]}
    with pytest.raises(InvalidInput, match="need a property"):
        collection.rgroups(ids=[1, 2], core="C").free_wilson()
    with pytest.raises(InvalidInput, match="two positions"):
        result.matrix("R1", "R1")


def test_map_has_all_items(collection: Collection, frame: pd.DataFrame) -> None:
    # The columns have the order of the file.
    assert [*collection.manifest.properties] == ["activity", "note", "molwt", "rings", "heavy_atoms"]
    result = collection.map(property="activity", method="scaffold").to_pandas()
    assert result.columns.tolist() == ["id", "x", "y", "value", "cluster"]
    assert result["id"].tolist() == [*range(MOLECULES)]
    assert result["value"].tolist() == frame["activity"].tolist()
    assert len(result[["x", "y"]].drop_duplicates()) == MOLECULES
    sizes = collection.clusters(method="scaffold")["size"].to_pylist()
    assert result["cluster"].value_counts().sort_index().tolist() == sizes
    assert collection.map()["x"].to_pylist() == result["x"].tolist()
    assert collection.map()["cluster"].to_pylist() == [None] * MOLECULES


def test_pick_equals_rdkit(collection: Collection, vectors: list[Any], frame: pd.DataFrame) -> None:
    even = [*frame.index[frame["note"] == "even"]]
    result = collection.pick(15, filters=[{"property": "note", "equals": "even"}]).to_pandas()
    ids = result["id"].tolist()
    assert result.columns.tolist() == ["id", "nearest", *collection.items(ids=[0]).columns[1:]]
    for number in range(1, 15):
        picked_vectors = [vectors[id] for id in ids[:number]]
        nearest = {
            id: max(DataStructs.BulkTanimotoSimilarity(vectors[id], picked_vectors))
            for id in even
            if id not in ids[:number]
        }
        assert nearest[ids[number]] == min(nearest.values())
        assert result["nearest"][number] == pytest.approx(nearest[ids[number]])
    assert collection.pick(15, ids=even[::-1])["id"].to_pylist() == ids
    ringed = [id for id in even if Chem.MolFromSmiles(frame["smiles"][id]).HasSubstructMatch(BENZENE)]
    assert len(even) > len(ringed) > 15
    matching_ids = collection.pick(
        15, filters=[{"property": "note", "equals": "even"}], substructure=Chem.MolToSmarts(BENZENE)
    )
    assert matching_ids["id"].to_pylist() == collection.pick(15, ids=ringed)["id"].to_pylist()
    spheres = collection.pick(60, method="sphere", threshold=0.25, ids=even[:60])["id"].to_pylist()
    assert max(DataStructs.TanimotoSimilarity(vectors[a], vectors[b]) for a, b in combinations(spheres, 2)) < 0.25
    with pytest.raises(InvalidInput, match="this number of items"):
        collection.pick(2, ids=[1])


def test_searches_and_neighbors_are_filtered(collection: Collection) -> None:
    filters = [{"property": "note", "equals": "Even"}]
    hits = collection.search(ASPIRIN, min_similarity=0.1, limit=1000).to_pylist()
    matches = [hit for hit in hits if hit["note"] == "even"]
    assert collection.search(ASPIRIN, filters=filters, min_similarity=0.1, limit=9).to_pylist() == matches[:9]
    near = collection.neighbors(id=hits[0]["id"]).to_pylist()
    even = [each for each in near if each["note"] == "even"]
    assert collection.neighbors(id=hits[0]["id"], filters=filters).to_pylist() == even
    assert collection.neighbors(id=hits[0]["id"], filters=filters, limit=1).to_pylist() == even[:1]
    assert 1 < len(even) < len(near)
