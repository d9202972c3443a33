"""The example data is what docs/about/cite.md says."""

import csv
import math

from rdkit import Chem

from tests.documentation_files import PI3K_ALPHA

SERIES = "c1cncc(Nc2ncccc2-c2ncncn2)c1"


def test_file_holds_a_series_with_measured_affinities() -> None:
    with PI3K_ALPHA.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    series = Chem.MolFromSmiles(SERIES)
    assert len({Chem.CanonSmiles(row["smiles"]) for row in rows}) == len({row["name"] for row in rows}) == 240
    assert sum(Chem.MolFromSmiles(row["smiles"]).HasSubstructMatch(series) for row in rows) == 174
    assert all(abs(9 - math.log10(float(row["Ki nM"])) - float(row["pKi"])) <= 0.0051 for row in rows)
    assert PI3K_ALPHA.stat().st_size < 30_000
