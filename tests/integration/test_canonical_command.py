"""`graphkin canonical` against the items that an ingest of the same molecules stores."""

import csv
import json

import numpy as np
import pytest
from rdkit import Chem

SMILES = ["OC(=O)c1ccccc1OC(C)=O", "C(C)O", "[Na+].[O-]C(=O)C", "c1ccccc1[N+](=O)[O-]", "C[C@H](N)C(=O)O"]


def test_default_is_the_canonical_smiles_of_rdkit(graphkin):
    plain = [smiles for smiles in SMILES if "." not in smiles]
    expected = [Chem.CanonSmiles(smiles) for smiles in plain]
    assert graphkin("canonical", *plain).out.split() == expected
    assert json.loads(graphkin("canonical", *plain, "--json").out) == expected


@pytest.mark.parametrize("options", [[], ["--standardize", "largest_fragment"]])
def test_smiles_equal_those_of_the_items(graphkin, tmp_path, options):
    (tmp_path / "m.smi").write_text("\n".join(SMILES))
    store = ["--store", str(tmp_path / "store"), "--collection", "m"]
    assert graphkin("ingest", "molecules", str(tmp_path / "m.smi"), *store, *options).code == 0
    items = graphkin("export", "items", *store, "--format", "csv", "--output", str(tmp_path / "items.csv"))
    assert items.code == 0, items.err
    with (tmp_path / "items.csv").open() as file:
        stored = [row["smiles"] for row in csv.DictReader(file)]
    lines = ("\n".join(SMILES) + "\n\n").encode()
    assert graphkin("canonical", *store, "-", stdin=lines).out.split() == stored


def test_unreadable_smiles_names_the_reason(graphkin):
    outcome = graphkin("canonical", "CCO", "C1CC")
    assert outcome.code == 2
    assert not outcome.out
    assert "C1CC" in outcome.err


def test_collection_must_be_of_molecules_in_a_store(graphkin, tmp_path):
    assert "add `--store DIR`" in graphkin("canonical", "--collection", "m", "CCO").err
    np.save(tmp_path / "v.npy", np.eye(4, dtype=np.float32))
    store = ["--store", str(tmp_path / "store"), "--collection", "v"]
    assert graphkin("ingest", "vectors", str(tmp_path / "v.npy"), *store).code == 0
    assert "of kind vector" in graphkin("canonical", *store, "CCO").err
