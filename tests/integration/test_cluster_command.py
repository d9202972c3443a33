"""The command `graphkin cluster` equals RDKit, pandas and NetworkX."""

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
    """Return `clusters(method, threshold)`, which runs the command and reads its file with pandas."""
    lines = "".join(f"{smiles}\t={row}\n" for row, smiles in enumerate(nci_smiles[:400]))
    assert ingest(lines, "--max-rejected", 1, "--workers", 1).code == 0

    def run_cluster(*options: object) -> pd.DataFrame:
        place = ("--store", tmp_path / "store", "--collection", "c")
        outcome = graphkin("cluster", *place, *options, "--workers", 2, "--output", tmp_path / "clusters.csv")
        assert outcome.code == 0, outcome.err
        rows = pd.read_csv(tmp_path / "clusters.csv")
        sizes = rows["cluster"].value_counts()
        alone = int((sizes == 1).sum())
        share = f"{alone:,} are singletons, {alone / len(rows):.1%} of the items"
        counts = f"{len(sizes):,} clusters of {len(rows):,} items"
        assert f"{counts}; {share}; the largest has {sizes.max():,}" in outcome.err
        return rows

    return run_cluster


def as_sets(rows: pd.DataFrame) -> set[frozenset[int]]:
    return {frozenset(members) for _, members in rows.groupby("cluster")["id"]}


def test_every_item_is_in_one_cluster_and_the_largest_is_first(clusters: Callable[..., pd.DataFrame]) -> None:
    rows = clusters("--method", "butina", "--threshold", 0.35)
    assert list(rows.columns) == ["cluster", "id", "smiles", "names"]
    assert sorted(rows["id"]) == list(range(len(rows)))
    sizes = rows["cluster"].value_counts(sort=False).sort_index()
    assert sizes.index.tolist() == list(range(1, len(sizes) + 1))
    assert sizes.is_monotonic_decreasing
    assert rows["cluster"].is_monotonic_increasing
    assert rows["names"].str.startswith("'=").all()  # A spreadsheet must not run the names.


def test_butina_clusters_surround_their_center(clusters: Callable[..., pd.DataFrame]) -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    for _, cluster in clusters("--method", "butina", "--threshold", 0.3).groupby("cluster"):
        center, *others = [generator.GetFingerprint(Chem.MolFromSmiles(each)) for each in cluster["smiles"]]
        assert all(similarity >= 0.3 for similarity in DataStructs.BulkTanimotoSimilarity(center, others))


def test_scaffolds_equal_rdkit(clusters: Callable[..., pd.DataFrame]) -> None:
    rows = clusters("--method", "scaffold")
    scaffold = rows["smiles"].map(lambda each: MurckoScaffold.MurckoScaffoldSmiles(each))
    assert rows.groupby("cluster")["id"].size().max() > 10
    assert (rows.groupby(scaffold)["cluster"].nunique() == 1).all()
    assert (scaffold.groupby(rows["cluster"]).nunique() == 1).all()


def test_single_linkage_equals_networkx(
    clusters: Callable[..., pd.DataFrame], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    rows = clusters("--method", "single", "--threshold", 0.5)
    place = ("--store", tmp_path / "store", "--collection", "c")
    graphkin("export", "edges", *place, "--min-similarity", 0.5, "--format", "csv", "--output", tmp_path / "edges.csv")
    linked = nx.from_pandas_edgelist(pd.read_csv(tmp_path / "edges.csv"))
    linked.add_nodes_from(rows["id"])
    assert as_sets(rows) == set(map(frozenset, nx.connected_components(linked)))


def test_mcs_and_the_map_have_the_same_clusters(
    clusters: Callable[..., pd.DataFrame], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    cluster_options = ("--method", "butina", "--threshold", 0.3)
    rows = clusters(*cluster_options)
    place = ("--store", tmp_path / "store", "--collection", "c", *cluster_options)
    for command, options in (("mcs", ("--clusters", 5)), ("map", ("--property", "molwt"))):
        outcome = graphkin(command, *place, *options, "--output", tmp_path / f"{command}.csv")
        assert outcome.code == 0, outcome.err
    mcs_rows = pd.read_csv(tmp_path / "mcs.csv", keep_default_na=False)
    assert mcs_rows.columns.tolist() == ["cluster", "size", "smarts", "smiles", "atoms", "complete"]
    assert mcs_rows["cluster"].tolist() == [1, 2, 3, 4, 5]
    assert (mcs_rows["atoms"] > 0).any()
    for mcs in mcs_rows.itertuples():
        members = [Chem.MolFromSmiles(each) for each in rows["smiles"][rows["cluster"] == mcs.cluster]]
        pattern = Chem.MolFromSmarts(mcs.smarts)  # The pattern has no atoms if the members share nothing.
        assert (mcs.size, mcs.atoms) == (len(members), pattern.GetNumAtoms())
        assert mcs.atoms == 0 or all(each.HasSubstructMatch(pattern) for each in members)
    lying = pd.read_csv(tmp_path / "map.csv").set_index("id")
    assert lying.columns.tolist() == ["x", "y", "value", "cluster", "smiles", "names"]
    assert lying[["cluster", "smiles", "names"]].equals(
        rows.set_index("id").sort_index()[["cluster", "smiles", "names"]]
    )
    assert lying[["x", "y"]].min().min() >= 0
    assert lying[["x", "y"]].max().max() == 1
    assert len(lying[["x", "y"]].drop_duplicates()) == len(rows)
    weights = [Descriptors.MolWt(Chem.MolFromSmiles(each)) for each in lying["smiles"]]
    assert lying["value"].tolist() == pytest.approx(weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "single", "--threshold", 0.1), "similarity"),
        (("--method", "butina", "--threshold", 0), "threshold"),
    ],
)
def test_invalid_thresholds_are_refused(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    ingest("CCO\nCCN\n", "--workers", 1)
    place = ("--store", tmp_path / "store", "--collection", "c")
    outcome = graphkin("cluster", *place, *options, "--output", tmp_path / "clusters.csv")
    assert outcome.code == 2
    assert message in outcome.err
    assert not (tmp_path / "clusters.csv").exists()


def test_scaffolds_of_graphs_are_refused(graphkin: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "graphs.jsonl").write_text('{"edges": [[0, 1]]}\n{"edges": [[0, 1], [1, 2]]}\n')
    place = ("--store", tmp_path / "store", "--collection", "g")
    assert graphkin("ingest", "graphs", tmp_path / "graphs.jsonl", *place, "--workers", 1).code == 0
    outcome = graphkin("cluster", *place, "--method", "scaffold", "--output", tmp_path / "clusters.csv")
    assert outcome.code == 2
    assert "scaffolds" in outcome.err
    assert graphkin("cluster", *place, "--method", "butina", "--output", "-").out.startswith("cluster,id,structure")
    outcome = graphkin("mcs", *place, "--method", "butina", "--output", tmp_path / "mcs.csv")
    assert (outcome.code, (tmp_path / "mcs.csv").exists()) == (2, False)
    assert "no common substructure" in outcome.err
