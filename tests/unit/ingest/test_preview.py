"""Previews find the format, the columns, their types and units, and the records that an ingest would reject."""

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphkin.ingest.preview import preview
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.uploads import Preview
from tests.workbooks import workbook

ROWS = [("A-1", "CCO", "12.5", "fine"), ("A-2", "c1ccccc1O", "<3", ""), ("A-3", "C1CC", "n/a", "broken")]


def write(folder: Path, name: str, text: str, encoding: str = "utf-8") -> str:
    (folder / name).write_bytes(text.encode(encoding))
    return str(folder / name)


def table(separator: str, *header: str) -> str:
    return "\n".join(separator.join(row) for row in [header, *ROWS]) + "\n"


def roles(found: Preview) -> dict[str, str]:
    return {column.name: column.role for column in found.columns}


def test_preview_of_a_table_finds_structures_names_types_and_units(tmp_path: Path) -> None:
    file = write(tmp_path, "t.csv", table(",", "Compound ID", "Structure", "IC50 (nM)", "comment"))
    found = preview(file, {})
    assert (found.format, found.delimiter, found.encoding, found.decimal) == ("csv", "comma", None, ".")
    assert roles(found) == {
        "Compound ID": "name",
        "Structure": "structure",
        "IC50 (nM)": "property",
        "comment": "property",
    }
    activity = found.columns[2]
    assert (activity.type, activity.unit, activity.activity) == ("number", "nM", "pIC50")
    assert (activity.numbers, activity.missing, activity.censored, activity.texts) == (1, 1, 1, 0)
    assert found.columns[3].type == "text"
    assert [(row.line, row.name, row.smiles) for row in found.rows] == [
        (2, "A-1", "CCO"),
        (3, "A-2", "Oc1ccccc1"),
        (4, "A-3", None),
    ]
    assert "unclosed ring" in (found.rows[2].reason or "")
    assert (found.read, found.accepted, found.rejected, found.complete) == (3, 2, 1, True)


@pytest.mark.parametrize(
    ("header", "fields", "structures", "names"),
    [
        (("id", "smiles", "value", "x"), {}, "smiles", "id"),
        (("key", "Canonical_SMILES", "value", "x"), {}, "Canonical_SMILES", None),
        (("key", "what", "value", "x"), {}, "what", None),
        (("key", "what", "value", "x"), {"name_column": "x"}, "what", "x"),
        (("smiles", "what", "value", "x"), {}, "what", None),
        (("smiles", "what", "value", "x"), {"smiles_column": "smiles"}, "smiles", None),
    ],
)
def test_columns_follow_the_request_then_the_titles_then_the_values(
    tmp_path: Path, header: tuple[str, ...], fields: dict[str, Any], structures: str, names: str | None
) -> None:
    found = preview(write(tmp_path, "t.csv", table(",", *header)), fields)
    assert (found.smiles_column, found.name_column) == (structures, names)


def test_european_table_has_semicolons_decimal_commas_and_its_own_encoding(tmp_path: Path) -> None:
    text = "Struktur;IC50 (µM);logP\nCCO;1,5;0,3\nCCN;<2,5;1,0\n"
    found = preview(write(tmp_path, "t.csv", text, "cp1252"), {})
    assert (found.delimiter, found.encoding, found.decimal) == ("semicolon", "cp1252", ",")
    assert [(column.name, column.type, column.unit) for column in found.columns[1:]] == [
        ("IC50 (µM)", "number", "uM"),
        ("logP", "number", None),
    ]
    assert preview(write(tmp_path, "u.csv", text.replace("µ", "u"), "utf-16"), {}).encoding == "utf-16"


def test_thousands_separators_are_not_decimal_commas(tmp_path: Path) -> None:
    assert preview(write(tmp_path, "t.csv", 'smiles,Ki (nM)\nCCO,"10,000"\n'), {}).decimal == "."


def test_table_without_structures_lists_its_columns(tmp_path: Path) -> None:
    found = preview(write(tmp_path, "t.csv", "a,b\n1,2\n3,4\n"), {})
    assert (found.smiles_column, found.rows, found.read, found.accepted) == (None, [], 2, 0)
    assert [(column.name, column.type) for column in found.columns] == [("a", "number"), ("b", "number")]


def test_every_format_is_previewed(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["smiles", "name", "logP"], ["CCO", "ethanol", 0.5], ["CCN", "ethylamine", 0.25]]
    (tmp_path / "t.xlsx").write_bytes(workbook(rows))
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    pq.write_table(pa.table({title: list(values) for title, values in columns.items()}), tmp_path / "t.parquet")
    write(tmp_path, "t.tsv", "smiles\tname\tlogP\nCCO\tethanol\t0.5\nCCN\tethylamine\t0.25\n")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"smiles,name,logP\nCCO,ethanol,0.5\nCCN,ethylamine,0.25\n"))
    for name in ("t.xlsx", "t.parquet", "t.tsv", "t.csv.gz"):
        found = preview(str(tmp_path / name), {})
        assert roles(found) == {"smiles": "structure", "name": "name", "logP": "property"}, name
        assert [(row.smiles, row.name, row.properties) for row in found.rows] == [
            ("CCO", "ethanol", {"logP": "0.5"}),
            ("CCN", "ethylamine", {"logP": "0.25"}),
        ], name
    found = preview(write(tmp_path, "t.smi", "OCC ethanol\nC1\n"), {})
    assert (found.smiles_column, roles(found), found.accepted, found.rejected) == (None, {}, 1, 1)
    assert (found.rows[0].text, found.rows[0].smiles, found.rows[0].name) == ("OCC", "CCO", "ethanol")


def test_data_items_of_an_sd_file_are_columns(tmp_path: Path, nci_smiles: list[str]) -> None:
    from rdkit import Chem

    with Chem.SDWriter(str(tmp_path / "t.sdf")) as writer:
        for number, smiles in enumerate(nci_smiles[:3]):
            molecule = Chem.MolFromSmiles(smiles)
            molecule.SetProp("_Name", f"title {number}")
            molecule.SetProp("Code", f"N{number}")
            molecule.SetProp("Ki (nM)", str(number))
            writer.write(molecule)
    found = preview(str(tmp_path / "t.sdf"), {})
    assert [(column.name, column.type) for column in found.columns] == [("Code", "text"), ("Ki (nM)", "number")]
    units = preview(str(tmp_path / "t.sdf"), {"unit": ["Ki (nM)=uM"]}).columns[1]
    assert (units.name, units.unit, units.activity) == ("Ki (nM)", "uM", "pKi")
    assert [row.name for row in found.rows] == ["title 0", "title 1", "title 2"]
    assert [row.name for row in preview(str(tmp_path / "t.sdf"), {"name_column": "Code"}).rows] == ["N0", "N1", "N2"]


def test_preview_reads_no_more_than_200_records(tmp_path: Path) -> None:
    text = "".join(f"{'C' * (number % 9 + 1)} n{number}\n" for number in range(300))
    found = preview(write(tmp_path, "t.smi", text), {})
    assert (found.read, len(found.rows), found.complete) == (200, 10, False)


def test_beginning_of_a_file_leaves_out_its_last_record(tmp_path: Path) -> None:
    file = write(tmp_path, "t.csv", 'smiles,name\nCCO,a\nCCN,b\nCC(=O,"c')
    found = preview(file, {"partial": True})
    assert (found.read, found.rejected, found.complete) == (2, 0, False)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("t.csv", "", "empty"),
        ("t.zip", "PK", "zip archive"),
        ("t.csv", "smiles,smiles\nCCO,CCN\n", "same name"),
        ("t.foo", "CCO\n", "cannot be determined"),
        ("t.xlsx", "CCO\n", "not an Excel workbook"),
        ("t.parquet", "CCO\n", "not a valid Parquet file"),
    ],
)
def test_unreadable_file_is_explained(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as failure:
        preview(write(tmp_path, name, text), {})
    assert failure.value.hint or failure.value.expected


@pytest.mark.parametrize(
    ("title", "unit", "shown", "activity"),
    [
        ("IC50", None, None, None),
        ("IC50", "nM", "nM", "pIC50"),
        ("IC50 (nM)", "uM", "uM", "pIC50"),
        ("IC50 [µM]", "none", None, None),
        ("IC50_nM", "mM", "mM", "pIC50"),
    ],
)
def test_unit_of_the_request_wins_over_the_title(
    tmp_path: Path, title: str, unit: str | None, shown: str | None, activity: str | None
) -> None:
    file = write(tmp_path, "t.csv", f"smiles,{title}\nCCO,5\nCCN,7\n")
    column = preview(file, {} if unit is None else {"unit": [f"{title}={unit}"]}).columns[1]
    assert (column.name, column.unit, column.activity) == (title, shown, activity)


def test_second_line_of_titles_is_pointed_out(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["Assay", "", "Result"],
        ["Code", "SMILES", "IC50"],
        ["A-1", "CCO", 12.5],
        ["A-2", "CCN", 3.0],
    ]
    (tmp_path / "two.xlsx").write_bytes(workbook(rows))
    found = preview(str(tmp_path / "two.xlsx"), {})
    assert found.smiles_column == "column 2"
    assert "Line 2 looks like a second line of titles or units, with 'IC50'" in (found.note or "")
    units = preview(write(tmp_path, "units.csv", "name,smiles,IC50\n,,nM\nA-1,CCO,12.5\nA-2,CCN,3\n"), {})
    assert "with 'nM' above numbers" in (units.note or "")
    assert preview(write(tmp_path, "one.csv", "name,smiles,IC50\nA-1,C1CC,high\nA-2,CCN,low\n"), {}).note is None


def test_table_of_inchis_is_explained(tmp_path: Path) -> None:
    found = preview(write(tmp_path, "t.csv", "name,InChI\nA-1,InChI=1S/CH4/h1H4\nA-2,InChI=1S/H2O/h1H2\n"), {})
    assert (found.smiles_column, found.accepted) == (None, 0)
    assert "The column 'InChI' holds InChIs" in (found.note or "")


@pytest.mark.parametrize(
    ("name", "text", "accepted", "rejected"),
    [
        ("LIST.SMI", "CCO\nCCN\n", 2, 0),
        ("TABLE.CSV", "Code;SMILES;Ki\nA;CCO;1,5\nB;CCN;2,5\n", 2, 0),
        ("T.Csv.GZ", "smiles\nCCO\n", 1, 0),
    ],
)
def test_extension_may_have_upper_case(tmp_path: Path, name: str, text: str, accepted: int, rejected: int) -> None:
    found = preview(write(tmp_path, name, text), {})
    assert (found.accepted, found.rejected) == (accepted, rejected)


def test_broken_record_of_an_sd_file_is_shown_with_its_reason(tmp_path: Path) -> None:
    from rdkit import Chem

    good = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO"))
    broken = good.replace(" 3  2  0", " 9  9  0", 1)
    found = preview(write(tmp_path, "t.sdf", f"{good}$$$$\n{broken}$$$$\n{good}$$$$\n"), {})
    assert [row.smiles for row in found.rows] == ["CCO", None, "CCO"]
    assert found.rows[1].reason


def test_name_column_of_real_files_is_never_a_number(shared_tables: list[Path]) -> None:
    for file in shared_tables:
        found = preview(str(file), {})
        named = [column for column in found.columns if column.role == "name"]
        assert [column.name for column in named] == [*filter(None, [NAMES.get(file.name)])], file.name
        assert all(column.texts for column in named), file.name


NAMES = {"BBBP.csv": "name", "bace.csv.gz": "CID", "tox21.csv.gz": "mol_id", "pi3k-alpha.csv": "name"}
"""Columns of names in files of others."""


@pytest.fixture
def shared_tables() -> list[Path]:
    """Return tables as others wrote them: the one of the documentation, and those of ../shared where it exists."""
    root = Path(__file__).parents[3]
    shared = sorted((root.parent / "shared" / "data").glob("mole*/*.csv*"))
    return [root / "docs" / "assets" / "pi3k-alpha.csv", *(file for file in shared if "moses" not in file.name)]
