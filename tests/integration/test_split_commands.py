"""`graphkin split` and `graphkin leaks`, checked against RDKit and the lines of the input."""

import csv
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from tests.workbooks import workbook

THRESHOLD = 0.5


@pytest.fixture(scope="module")
def lines(nci_lines):
    """Lines of CSV with a quoted cell, an unreadable SMILES and two classes, below a header."""
    smiles = [line.split()[0] for line in nci_lines[:200]]
    rows = [f'"{text}","note {row}, ""quoted""",{"abc"[row % 3]}' for row, text in enumerate(smiles)]
    return ["SMILES,remark,class", *rows[:50], '"C1CC","a line\nbreak",a', *rows[50:]]


@pytest.fixture
def table(lines, tmp_path):
    path = tmp_path / "molecules.csv"
    path.write_text("\n".join(lines))  # without a line end at the end
    return path


def fingerprints(path):
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    with path.open(newline="") as file:
        return [generator.GetFingerprint(Chem.MolFromSmiles(row["SMILES"])) for row in csv.DictReader(file)]


def similar_pairs(train, test):
    return sum(
        similarity >= THRESHOLD
        for vector in fingerprints(train)
        for similarity in DataStructs.BulkTanimotoSimilarity(vector, fingerprints(test))
    )


def split(graphkin, path, folder, *options):
    return graphkin("split", path, "--threshold", THRESHOLD, "--output", folder, *options)


def test_split_keeps_records_and_has_no_leaks(graphkin, table, lines, tmp_path):
    reply = split(graphkin, table, tmp_path / "out", "--stratify", "class", "--json")
    report = json.loads(reply.out)
    folder = tmp_path / "out"
    assert json.loads((folder / "report.json").read_text()).items() <= report.items()
    parts = {name: (folder / f"{name}.csv").read_text() for name in ("train", "test", "discarded")}
    header = f"{lines[0]}\n"
    assert all(text.startswith(header) for text in parts.values())
    records = [line for name in parts for line in parts[name].removeprefix(header).splitlines()]
    assert sorted(records) == sorted(line for line in lines[1:] if not line.startswith('"C1CC"'))
    assert {name: text.count("\n") - 1 for name, text in parts.items()} == {name: report[name] for name in parts}
    assert (report["items"], report["rejected"], report["leaks"], report["discarded"]) == (200, 1, 0, 0)
    assert similar_pairs(folder / "train.csv", folder / "test.csv") == 0
    with (folder / "rejected.csv").open(newline="") as file:
        (rejected,) = csv.DictReader(file)
    assert (rejected["line"], rejected["input"]) == ("52", "C1CC")
    assert sum(each["test"] for each in report["classes"]) == report["test"]
    assert {each["class"] for each in report["classes"]} == {"a", "b", "c"}


def test_leaks_are_those_of_rdkit(graphkin, table, lines, tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    readable = [line for line in lines[1:] if not line.startswith('"C1CC"')]
    train.write_text("\n".join([lines[0], *readable[:150]]))
    test.write_text("\n".join([lines[0], *readable[150:], *readable[:2]]))
    outcome = graphkin("leaks", train, test, "--threshold", THRESHOLD, "--output", tmp_path / "pairs.csv", "--json")
    assert outcome.code == 1
    report = json.loads(outcome.out)
    assert report["pairs"] == similar_pairs(train, test) > 2
    with (tmp_path / "pairs.csv").open(newline="") as file:
        pairs = [*csv.DictReader(file)]
    assert len(pairs) == report["pairs"]
    similarities = [float(pair["similarity"]) for pair in pairs]
    assert similarities == sorted(similarities, reverse=True)
    train_vectors, test_vectors = fingerprints(train), fingerprints(test)
    for pair, similarity in zip(pairs, similarities, strict=True):
        ends = train_vectors[int(pair["train_record"]) - 1], test_vectors[int(pair["test_record"]) - 1]
        assert DataStructs.TanimotoSimilarity(*ends) == similarity
    assert [each["similarity"] for each in report["levels"]] == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    best = [max(DataStructs.BulkTanimotoSimilarity(vector, train_vectors)) for vector in test_vectors]
    expected = [sum(each >= level["similarity"] for each in best) for level in report["levels"]]
    assert [level["test"] for level in report["levels"]] == expected
    text = graphkin("leaks", train, test, "--threshold", THRESHOLD)
    assert text.code == 1
    assert text.out.splitlines()[0].split("\t")[:2] == ["0.5", f"{report['pairs']:,}"]


def test_leaks_of_a_split_are_none(graphkin, table, tmp_path):
    split(graphkin, table, tmp_path / "out")
    outcome = graphkin("leaks", tmp_path / "out" / "train.csv", tmp_path / "out" / "test.csv", "--threshold", THRESHOLD)
    assert outcome.code == 0
    assert f"no training molecule has similarity ≥ {THRESHOLD:g}" in outcome.err


@pytest.mark.parametrize("format", ["smi", "sdf", "parquet", "csv.gz"])
def test_parts_have_the_format_of_the_input(format, graphkin, nci_lines, tmp_path):
    smiles = [line.split()[0] for line in nci_lines[:60]]
    path = tmp_path / f"molecules.{format}"
    records = [f"{text} name {row}\r\n" for row, text in enumerate(smiles)]
    if format == "smi":
        path.write_bytes("".join(records).encode())
    elif format == "sdf":
        blocks = [Chem.MolToMolBlock(Chem.MolFromSmiles(text)) for text in smiles]
        records = [f"{block}>  <row>\n{row}\n\n$$$$\n" for row, block in enumerate(blocks)]
        path.write_text("".join(records))
    elif format == "parquet":
        pq.write_table(pa.table({"row": range(60), "smiles": smiles, "list": [[row] for row in range(60)]}), path)
    else:
        records = [f"{text},name {row}\r\n" for row, text in enumerate(smiles)]
        path.write_bytes(gzip.compress("".join(["smiles,name\n", *records]).encode()))
    report = json.loads(split(graphkin, path, tmp_path / "out", "--test-size", 15, "--json").out)
    assert (report["train"], report["test"]) == (45, 15)
    paths = [tmp_path / "out" / f"{name}.{format.removesuffix('.gz')}" for name in ("train", "test", "discarded")]
    if format == "parquet":
        parts = [pq.read_table(path) for path in paths]
        assert pa.concat_tables(parts).sort_by("row").equals(pq.read_table(path))
        return
    header = b"smiles,name\n" if format == "csv.gz" else b""
    parts = [path.read_bytes().removeprefix(header) for path in paths]
    end = b"$$$$\n" if format == "sdf" else b"\n"
    written = [record + end for part in parts for record in part.split(end)[:-1]]
    assert sorted(written) == sorted(record.encode() for record in records)


def test_leaks_of_sd_files_are_shown_as_smiles(graphkin, tmp_path):
    path = tmp_path / "molecules.sdf"
    path.write_text("".join(f"{Chem.MolToMolBlock(Chem.MolFromSmiles(text))}$$$$\n" for text in ("CCO", "c1ccccc1O")))
    report = json.loads(graphkin("leaks", path, path, "--threshold", 1, "--json").out)
    assert [pair["train_smiles"] for pair in report["worst"]] == ["CCO", "Oc1ccccc1"]
    assert [pair["test_smiles"] for pair in report["worst"]] == ["CCO", "Oc1ccccc1"]


def test_leaks_compare_only_files_with_readable_molecules_of_one_fingerprint(graphkin, tmp_path):
    good, bad = tmp_path / "good.smi", tmp_path / "bad.smi"
    good.write_text("CCO\nCCN\n")
    bad.write_text("C1\nC2\n")
    for train, test in ((good, bad), (bad, good)):
        outcome = graphkin("leaks", train, test, "--threshold", THRESHOLD)
        assert outcome.code == 2
        assert f"no record of {bad} can be read" in outcome.err
    for name in ("morgan", "rdkit"):
        (tmp_path / f"{name}.fps").write_text(f"#FPS1\n#num_bits=64\n#type={name}\n{'f' * 16}\tx\n")
    outcome = graphkin("leaks", tmp_path / "morgan.fps", tmp_path / "rdkit.fps", "--threshold", THRESHOLD)
    assert outcome.code == 2
    assert "morgan (64 bits) and rdkit (64 bits)" in outcome.err


def test_failed_split_writes_nothing(graphkin, table, tmp_path):
    folder = tmp_path / "out"
    assert split(graphkin, table, folder, "--stratify", "clas").code == 2
    same = tmp_path / "same.smi"
    same.write_text("CCO\n" * 10)
    outcome = split(graphkin, same, folder)
    assert outcome.code == 2
    assert "10 of 10 items are connected" in outcome.err
    assert "--method min-discard" in outcome.err
    assert split(graphkin, same, folder, "--test-size", "a fifth").code == 2
    assert {path.name for path in tmp_path.iterdir()} == {"molecules.csv", "same.smi"}
    folder.mkdir()
    (folder / "train.csv").write_text("mine")
    assert "not empty" in split(graphkin, table, folder).err
    assert (folder / "train.csv").read_text() == "mine"


def test_workbook_is_not_split(graphkin, tmp_path):
    path = tmp_path / "molecules.xlsx"
    path.write_bytes(workbook([["smiles"], *[["C" * length] for length in range(1, 20)]]))
    outcome = split(graphkin, path, tmp_path / "out", "--method", "min-discard")
    assert outcome.code == 2
    assert "hint: save the sheet as CSV" in outcome.err
    assert not (tmp_path / "out").exists()


def test_min_discard_writes_the_discarded_records(graphkin, tmp_path):
    path = tmp_path / "alkanes.smi"
    path.write_text("".join(f"{'C' * length}\n" for length in range(2, 22)))
    report = json.loads(
        split(graphkin, path, tmp_path / "out", "--method", "min-discard", "--test-size", 4, "--json").out
    )
    assert report["test"] == 4
    assert report["discarded"] == len(Path(tmp_path / "out" / "discarded.smi").read_text().splitlines()) > 0
    assert report["lower_bound"] <= report["discarded"]


def test_leaks_checks_its_output_before_it_reads(graphkin, table, tmp_path):
    outcome = graphkin("leaks", table, table, "--threshold", THRESHOLD, "--output", tmp_path / "no" / "pairs.csv")
    assert outcome.code == 2
    assert "cannot write the file" in outcome.err
    assert "read" not in outcome.err.split("error:")[0]
