"""The examples in docs/python.md run."""

import re
from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator

ROOT = Path(__file__).parents[3]


def test_every_block_of_the_page_runs(
    molecules_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.DOTALL)
    header, *lines = molecules_file.read_text().splitlines()
    (tmp_path / "molecules.csv").write_text("\n".join([header, "CC(=O)Oc1ccccc1C(=O)O,aspirin,0,", *lines[:99]]))
    monkeypatch.chdir(tmp_path)
    generator = rdFingerprintGenerator.GetMorganGenerator()
    vectors = [generator.GetFingerprint(Chem.MolFromSmiles(line.split(",")[0])) for line in lines[:20]]
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), {"vectors": vectors, "packed": np.ones((3, 4), np.uint64)})
    assert len(blocks) == 4
    assert "torch.Size" in capsys.readouterr().out
