"""R groups, contributions, descriptors, scaffolds, clusters and matched pairs of real data equal those of RDKit, of
statsmodels and of a rebuild (issue 48)."""

import gzip
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem, rdBase
from rdkit.Chem import rdRGroupDecomposition
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

import graphkin
from graphkin.collection.sar.free_wilson import MIN_DEGREES_OF_FREEDOM
from graphkin.library.collection import Collection
from graphkin.library.stored import StoredCollection
from graphkin.protocol.values import BUTINA_THRESHOLD
from tests.integration.append.test_clusters import rdkit_clusters
from tests.unit.collection.sar.test_free_wilson import assert_equal_to_statsmodels
from tests.unit.collection.sar.test_rgroups import assembled
from tests.unit.collection.test_descriptors import RDKIT

DATA = Path(__file__).parents[3] / "shared/data"
SETS = sorted((DATA / "moleculeace").glob("*.csv"))
ZINC = 5000
APPENDED = 100

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module", params=SETS, ids=[file.stem for file in SETS])
def collection(request: pytest.FixtureRequest) -> Iterator[Collection]:
    with graphkin.ingest(request.param) as opened:
        yield opened


def zinc() -> list[str]:
    """Return evenly spaced molecules of ZINC250k."""
    with gzip.open(DATA / "molecules/zinc250k.smiles.gz", "rt") as file:
        return [line.split()[0] for line in islice(file, 0, None, 249_456 // ZINC)][:ZINC]


def assert_descriptors_equal_rdkit(collection: Collection) -> None:
    frame = collection.items(columns=["smiles", *RDKIT]).to_pandas()
    for name, function in RDKIT.items():
        assert frame[name].tolist() == [function(Chem.MolFromSmiles(smiles)) for smiles in frame["smiles"]], name


def largest_scaffold(collection: Collection) -> str:
    rows = [row for row in collection.scaffold_tree() if row["scaffold"]]
    return str(max(rows, key=lambda row: row["items"])["scaffold"])


def test_descriptors_of_measured_molecules_equal_rdkit(collection: Collection) -> None:
    assert_descriptors_equal_rdkit(collection)


def test_descriptors_of_zinc_equal_rdkit() -> None:
    with graphkin.ingest(zinc()) as collection:
        assert collection.size > 0.99 * ZINC
        assert_descriptors_equal_rdkit(collection)


def test_scaffolds_and_their_counts_equal_rdkit(collection: Collection) -> None:
    scaffolds = [MurckoScaffoldSmiles(smiles) for smiles in collection.items()["smiles"].to_pylist()]
    counts = pd.Series(scaffolds).value_counts().to_dict()
    tree = collection.scaffold_tree().to_pandas()
    own = tree[tree["items"] > 0]
    assert dict(zip(own["scaffold"], own["items"], strict=True)) == counts
    assert tree.loc[tree["depth"] == 0, "branch_items"].sum() == collection.size


def test_groups_of_the_largest_scaffold_equal_rdkit_and_assemble_to_the_molecules(collection: Collection) -> None:
    scaffold = largest_scaffold(collection)
    result = collection.rgroups(scaffold=scaffold)
    series = collection.query(scaffold=scaffold).to_pandas()
    assert sorted(result.table["id"].to_pylist()) == sorted(series["id"])
    assert not len(result.unmatched)
    frame = result.table.to_pandas()
    with rdBase.BlockLogs():
        molecules = [Chem.MolFromSmiles(smiles) for smiles in frame["smiles"]]
        expected, _ = rdRGroupDecomposition.RGroupDecompose([Chem.MolFromSmiles(scaffold)], molecules, asSmiles=True)
    columns = {"core": "Core", **{position: position for position in result.positions}}
    rows = [{columns[name]: row[name] for name in columns if row[name] is not None} for row in result.table.to_pylist()]
    assert rows == expected
    assert [assembled(row) for row in rows] == [Chem.MolToSmiles(each, isomericSmiles=False) for each in molecules]


def test_contributions_to_measured_affinities_equal_statsmodels(collection: Collection) -> None:
    result = collection.rgroups(scaffold=largest_scaffold(collection), property="y")
    frame = result.table.to_pandas()
    fit = result.free_wilson()
    if fit.problem is None:
        assert_equal_to_statsmodels({name: frame[name].tolist() for name in result.positions}, frame["y"].to_numpy())
    else:
        assert fit.compounds - fit.parameters < MIN_DEGREES_OF_FREEDOM


@pytest.mark.parametrize("file", SETS[:3], ids=lambda file: file.stem)
def test_clusters_and_pairs_after_an_append_equal_a_rebuild(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pd.read_csv(file)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "grown-cache"))
    with graphkin.ingest(rows[:-APPENDED], store=tmp_path / "grown", collection="c") as grown:
        assert len(grown.matched_pairs("y"))
        assert len(grown.clusters())
        grown.append(rows[-APPENDED:])
        pairs, labels = grown.matched_pairs("y", min_count=1, pairs=1000).to_pylist(), grown.labels().tolist()
        generation = grown.generation
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "rebuilt-cache"))
    with graphkin.ingest(rows) as rebuilt:
        assert isinstance(rebuilt, StoredCollection)
        assert rebuilt.generation == generation
        assert rebuilt.matched_pairs("y", min_count=1, pairs=1000).to_pylist() == pairs
        assert rebuilt.labels().tolist() == labels
        clusters = {
            (row["centre"], frozenset(np.flatnonzero(np.array(labels) == row["cluster"]).tolist()))
            for row in rebuilt.clusters()
        }
        assert clusters == rdkit_clusters(rebuilt.stored, BUTINA_THRESHOLD)
