"""Labelled molecules come out of a CSV file in step with their labels, or it is said why not."""

import bz2
import gzip
import hashlib
import lzma
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.downstream.dataset import read_csv
from graphkin.trainer.features.featurize import featurize

TEXT = """mol_id,a,smiles,weight,b,"c, or d"
M1,1,CCO,46.1,0.0,true
M2,0,not a molecule,1,1.0,false
M3,,c1ccccc1,78.1,1.0,NaN
M4,0,,0,1,True
M5,1,C,16.0,nan,FALSE
M6,0,[Na+].[Cl-]
M7,0,CN,31.1,,
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "set.csv"
    path.write_text(TEXT)
    return path


def test_molecules_and_labels_stay_in_step(file: Path) -> None:
    dataset = read_csv(file)
    assert dataset.smiles == ("CCO", "c1ccccc1", "C", "CN")
    assert dataset.tasks == ("a", "b", "c, or d")
    assert dataset.labels.dtype == np.int8
    assert dataset.labels.tolist() == [[1, 0, 1], [-1, 1, -1], [1, -1, 0], [0, -1, -1]]
    assert dataset.corpus.identity == hashlib.sha256(TEXT.encode()).hexdigest()
    expected = featurize(dataset.smiles, "")
    for name, column in dataset.corpus.columns.items():
        np.testing.assert_array_equal(column, expected.columns[name])


def test_rejected_rows_keep_their_line_and_reason(file: Path) -> None:
    assert [(line, smiles) for line, smiles, _ in read_csv(file).rejected] == [(3, "not a molecule"), (5, ""), (7, "")]
    assert "3 fields where the header has 6" in read_csv(file).rejected[2].reason


def test_targets_by_name_in_their_order(file: Path) -> None:
    dataset = read_csv(file, targets=["c, or d", "a"])
    assert dataset.tasks == ("c, or d", "a")
    assert dataset.labels.tolist() == [[1, 1], [-1, -1], [0, 1], [-1, 0]]


def test_a_task_with_one_class_is_left_out_and_named(tmp_path: Path) -> None:
    """Classes count among readable molecules: b has a 0 only where there is none."""
    path = tmp_path / "set.csv"
    path.write_text("smiles,a,b,c,d\nCCO,1,1,1,\nCCN,0,1,,\nnothing,0,0,1,\n")
    dataset = read_csv(path)
    assert (dataset.tasks, dataset.one_class) == (("a",), ("b", "c", "d"))
    assert dataset.labels.tolist() == [[1], [0]]
    with pytest.raises(InvalidInput, match="no task has both classes"):
        read_csv(path, targets=["b", "c"])


@pytest.mark.parametrize("compressed", [gzip, bz2, lzma])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("header", ["mol,y", "\ufeffsmiles,y", "SMILES,y"])
def test_compressed_and_with_other_habits(tmp_path: Path, header: str, delimiter: str, compressed: ModuleType) -> None:
    path = tmp_path / f"set.csv.{ {gzip: 'gz', bz2: 'bz2', lzma: 'xz'}[compressed] }"
    text = f'{header}\r\n"CCO",1\r\n\r\nC,0\r\n'.replace(",", delimiter)
    path.write_bytes(compressed.compress(text.encode()))
    dataset = read_csv(path)
    assert (dataset.smiles, dataset.labels.tolist()) == (("CCO", "C"), [[1], [0]])


def test_molecules_without_any_label_stay(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_text("smiles,y\nCCO,1\nC,0\nCC,\n")
    assert read_csv(path).labels.tolist() == [[1], [0], [-1]]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (TEXT, {"smiles_column": "structure"}, "(?s)structure.*one of mol_id, a, smiles, weight, b, c, or d"),
        (TEXT, {"targets": ["a", "toxic"]}, "no column 'toxic'"),
        (TEXT, {"targets": ["weight"]}, "(?s)weight does not hold class labels.*46.1 in line 2"),
        (TEXT, {"targets": ["smiles"]}, "smiles does not hold class labels"),
        ("smiles,weight\nCCO,46.1\n", {}, "no column of labels"),
        ("smiles,y\nX,1\n,0\n", {}, "no molecule of the file can be read"),
        ("smiles,y\n", {}, "no molecule of the file can be read"),
        ("", {}, "no column 'smiles'"),
    ],
)
def test_unusable_file_is_refused(tmp_path: Path, text: str, options: dict[str, object], said: str) -> None:
    path = tmp_path / "set.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=said):
        read_csv(path, **options)  # type: ignore[arg-type]


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_csv(tmp_path / "nothing.csv")
    path = tmp_path / "set.csv"
    path.write_bytes(b"smiles,y\nC\xff,1\n")
    with pytest.raises(Damaged):
        read_csv(path)
    whole = gzip.compress(TEXT.encode())
    for damaged in (whole[:-9], TEXT.encode()):
        (tmp_path / "set.csv.gz").write_bytes(damaged)
        with pytest.raises(Damaged):
            read_csv(tmp_path / "set.csv.gz")
