"""`graphkin cluster` beside RDKit, pandas and NetworkX."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import Descriptors, rdFingerprintGenerator
from rdkit.Chem.Scaffolds import MurckoScaffold


@pytest.fixture
def clusters(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], nci_smiles: list[str], tmp_path: Path
) -> Callable[..., pd.DataFrame]:
    """`clusters(method, threshold)`: the file that is written, read by pandas."""
    lines = "".join(f"{smiles}\t={row}\n" for row, smiles in enumerate(nci_smiles[:400]))
    assert ingest(lines, "--max-rejected", 1, "--workers", 1).code == 0

    def written(*options: object) -> pd.DataFrame:
        where = ("--store", tmp_path / "store", "--collection", "c")
        outcome = graphkin("cluster", *where, *options, "--workers", 2, "--output", tmp_path / "clusters.csv")
        assert outcome.code == 0, outcome.err
        assert "clusters of" in outcome.err
        return pd.read_csv(tmp_path / "clusters.csv")

    return written


def as_sets(found: pd.DataFrame) -> set[frozenset[int]]:
    return {frozenset(members) for _, members in found.groupby("cluster")["id"]}


def test_every_item_once_and_the_largest_cluster_first(clusters: Callable[..., pd.DataFrame]) -> None:
    found = clusters("--method", "butina", "--threshold", 0.35)
    assert list(found.columns) == ["cluster", "id", "smiles", "names"]
    assert sorted(found["id"]) == list(range(len(found)))
    sizes = found["cluster"].value_counts(sort=False).sort_index()
    assert sizes.index.tolist() == list(range(1, len(sizes) + 1))
    assert sizes.is_monotonic_decreasing
    assert found["cluster"].is_monotonic_increasing
    assert found["names"].str.startswith("'=").all()  # not run by a spreadsheet


def test_a_cluster_of_butinas_is_around_its_centre(clusters: Callable[..., pd.DataFrame]) -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    for _, cluster in clusters("--method", "butina", "--threshold", 0.3).groupby("cluster"):
        centre, *others = [generator.GetFingerprint(Chem.MolFromSmiles(each)) for each in cluster["smiles"]]
        assert all(similarity >= 0.3 for similarity in DataStructs.BulkTanimotoSimilarity(centre, others))


def test_scaffolds_are_rdkits(clusters: Callable[..., pd.DataFrame]) -> None:
    found = clusters("--method", "scaffold")
    scaffold = found["smiles"].map(lambda each: MurckoScaffold.MurckoScaffoldSmiles(each))
    assert found.groupby("cluster")["id"].size().max() > 10
    assert (found.groupby(scaffold)["cluster"].nunique() == 1).all()
    assert (scaffold.groupby(found["cluster"]).nunique() == 1).all()


def test_single_linkage_is_networkx(
    clusters: Callable[..., pd.DataFrame], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    found = clusters("--method", "single", "--threshold", 0.5)
    where = ("--store", tmp_path / "store", "--collection", "c")
    graphkin("export", "edges", *where, "--min-similarity", 0.5, "--format", "csv", "--output", tmp_path / "edges.csv")
    linked = nx.from_pandas_edgelist(pd.read_csv(tmp_path / "edges.csv"))
    linked.add_nodes_from(found["id"])
    assert as_sets(found) == set(map(frozenset, nx.connected_components(linked)))


def test_the_mcs_and_the_map_tell_of_the_same_clusters(
    clusters: Callable[..., pd.DataFrame], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    asked = ("--method", "butina", "--threshold", 0.3)
    found = clusters(*asked)
    where = ("--store", tmp_path / "store", "--collection", "c", *asked)
    for command, options in (("mcs", ("--clusters", 5)), ("map", ("--property", "molwt"))):
        outcome = graphkin(command, *where, *options, "--output", tmp_path / f"{command}.csv")
        assert outcome.code == 0, outcome.err
    rows = pd.read_csv(tmp_path / "mcs.csv", keep_default_na=False)
    assert rows.columns.tolist() == ["cluster", "size", "smarts", "smiles", "atoms", "complete"]
    assert rows["cluster"].tolist() == [1, 2, 3, 4, 5]
    assert (rows["atoms"] > 0).any()
    for mcs in rows.itertuples():
        members = [Chem.MolFromSmiles(each) for each in found["smiles"][found["cluster"] == mcs.cluster]]
        pattern = Chem.MolFromSmarts(mcs.smarts)  # of no atoms where they share nothing
        assert (mcs.size, mcs.atoms) == (len(members), pattern.GetNumAtoms())
        assert mcs.atoms == 0 or all(each.HasSubstructMatch(pattern) for each in members)
    lying = pd.read_csv(tmp_path / "map.csv").set_index("id")
    assert lying.columns.tolist() == ["x", "y", "value", "cluster", "smiles", "names"]
    assert lying[["cluster", "smiles", "names"]].equals(
        found.set_index("id").sort_index()[["cluster", "smiles", "names"]]
    )
    assert lying[["x", "y"]].min().min() >= 0
    assert lying[["x", "y"]].max().max() == 1
    assert len(lying[["x", "y"]].drop_duplicates()) == len(found)
    weights = [Descriptors.MolWt(Chem.MolFromSmiles(each)) for each in lying["smiles"]]
    assert lying["value"].tolist() == pytest.approx(weights)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--method", "single", "--threshold", 0.1), "similarity"),
        (("--method", "butina", "--threshold", 0), "threshold"),
    ],
)
def test_what_is_no_threshold(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path, options: tuple[object, ...], said: str
) -> None:
    ingest("CCO\nCCN\n", "--workers", 1)
    where = ("--store", tmp_path / "store", "--collection", "c")
    outcome = graphkin("cluster", *where, *options, "--output", tmp_path / "clusters.csv")
    assert outcome.code == 2
    assert said in outcome.err
    assert not (tmp_path / "clusters.csv").exists()


def test_graphs_have_no_scaffolds(graphkin: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "graphs.jsonl").write_text('{"edges": [[0, 1]]}\n{"edges": [[0, 1], [1, 2]]}\n')
    where = ("--store", tmp_path / "store", "--collection", "g")
    assert graphkin("ingest", "graphs", tmp_path / "graphs.jsonl", *where, "--workers", 1).code == 0
    outcome = graphkin("cluster", *where, "--method", "scaffold", "--output", tmp_path / "clusters.csv")
    assert outcome.code == 2
    assert "scaffolds" in outcome.err
    assert graphkin("cluster", *where, "--method", "butina", "--output", "-").out.startswith("cluster,id,structure")
    outcome = graphkin("mcs", *where, "--method", "butina", "--output", tmp_path / "mcs.csv")
    assert (outcome.code, (tmp_path / "mcs.csv").exists()) == (2, False)
    assert "no common substructure" in outcome.err
