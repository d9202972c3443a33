"""CSV and TSV files, compared with the csv module."""

import csv
import io
from collections.abc import Callable

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphkin.ingest.readers import MAX_RECORD, ReadOptions, open_source
from graphkin.ingest.readers.columns import likely_names
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.kind import MoleculeKind

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
FIXTURES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_columns_become_name_and_properties(read: Callable) -> None:
    content = b"ID,logP,SMILES,source\nm1,1.5,CCO,a\nm2,,CC,\n"
    assert read("a.csv", content) == [
        {"line": 2, "text": "CCO", "name": "m1", "properties": {"logP": "1.5", "source": "a"}, "fault": None},
        {"line": 3, "text": "CC", "name": "m2", "properties": {}, "fault": None},
    ]


def test_tsv_with_bom_and_windows_line_ends_is_read(read: Callable) -> None:
    [row] = read("a.tsv", b"\xef\xbb\xbfsmiles\tid\tnote\r\nCC\tx\ta,b\r\n")
    assert (row["text"], row["name"], row["properties"]) == ("CC", "x", {"note": "a,b"})


def test_exact_column_name_wins_over_other_cases(read: Callable) -> None:
    content = b"SMILES,smiles,Name\nC,CC,n\n"
    assert read("a.csv", content)[0]["text"] == "CC"
    assert read("a.csv", content, structure_column="SMILES")[0]["text"] == "C"
    assert read("a.csv", content, name_column="name")[0]["name"] == "n"


def test_smiles_column_may_be_the_id(read: Callable) -> None:
    [row] = read("a.csv", b"id,x\nCC,1\n", structure_column="id")
    assert (row["text"], row["name"], row["properties"]) == ("CC", None, {"x": "1"})


def test_unnamed_columns_are_named_by_position(read: Callable) -> None:
    [row] = read("a.csv", b",smiles,\n0,CC,7\n")
    assert row["properties"] == {"column 1": "0", "column 3": "7"}


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"structure,id\nC,1\n", {}, "no column 'smiles'"),
        (b"structure,id\nC,1\n", {}, "one of structure, id"),
        (b"smiles,id\nC,1\n", {"name_column": "nombre"}, "no column 'nombre'"),
        (b"Smiles,SMILES\nC,C\n", {}, "several columns that match 'smiles' in another case"),
        (b"smiles,a,a\nC,1,2\n", {}, "several columns with the same name\n  given: a\n"),
        (b"\nC\n", {}, "a header line that names the columns"),
        (b"smi\xffles\nC\n", {}, "is not UTF-8"),
        (b"smi\0les\nC\n", {}, "contains a NUL byte"),
        (b'smiles,"id\nC,1\n', {}, "quote that is never closed"),
        (b"smiles," + b"x" * MAX_RECORD + b"\nC,1\n", {}, "longer than 1,000,000 bytes"),
    ],
)
def test_invalid_headers_are_refused(write: Callable, content: bytes, options: dict, message: str) -> None:
    path = write("a.csv", content)
    with pytest.raises(InvalidInput) as error:
        open_source(path, MoleculeKind.file_formats, ReadOptions(**options))
    assert message in str(error.value)
    assert path in str(error.value)


def test_file_with_only_a_header_has_no_rows(read: Callable) -> None:
    assert read("a.csv", b"smiles,id") == []


def test_lines_are_physical_lines(read: Callable) -> None:
    rows = read("a.csv", b'smiles,note\nC,"two\nlines"\n\nCC,x\n"CC\nC",y\nO,z')
    assert [(row["line"], row["text"]) for row in rows] == [(2, "C"), (4, ""), (5, "CC"), (6, "CC\nC"), (8, "O")]
    assert rows[0]["properties"] == {"note": "two\nlines"}


def test_rows_with_missing_or_extra_cells_are_handled(read: Callable) -> None:
    rows = read("a.csv", b"x,smiles,y,id\n1\n1,C\n1,C,2\n1,C,2,3\n1,C,2,3,4,5\n,,,\n")
    assert [row["fault"] for row in rows] == [
        "has 1 cells (no 'smiles'), the header has 4",
        None,
        None,
        None,
        "has 6 cells, the header has 4",
        None,
    ]
    assert [row["text"] for row in rows] == ["1", "C", "C", "C", "1,C,2,3,4,5", ""]
    assert [row["properties"] for row in rows[1:4]] == [{"x": "1"}, {"x": "1", "y": "2"}, {"x": "1", "y": "2"}]
    assert [row["name"] for row in rows] == [None, None, None, "3", None, None]


@pytest.mark.parametrize(
    ("line", "fault", "text"),
    [
        (b"C\0,x", "contains a NUL byte", "C\\x00,x"),
        (b'C,"\xe9\n"', "is not UTF-8", 'C,"\\xe9\n"'),
        (b'"C"C,x', "is not valid CSV: ',' expected after '\"'", '"C"C,x'),
        (b"C,x\rC,y", "is not valid CSV: new-line character seen in unquoted field", "C,x\rC,y"),
    ],
)
def test_faulty_rows_do_not_stop_the_reader(read: Callable, line: bytes, fault: str, text: str) -> None:
    before, bad, after = read("a.csv", b"smiles,note\nN,1\n" + line + b"\nO,2\n")
    assert (before["text"], after["text"]) == ("N", "O")
    assert (bad["line"], bad["text"], bad["name"]) == (3, text, None)
    assert bad["fault"].startswith(fault)


@pytest.mark.parametrize("lines", [3, 60_000])  # the quote would run to the end of the file, or past the longest record
def test_stray_quote_rejects_only_its_own_line(read: Callable, lines: int) -> None:
    molecules = b"".join(b"C,%019d\n" % i for i in range(lines))
    bad, *rest = read("a.csv", b'smiles,id\nN,"stray\n' + molecules)
    assert (bad["line"], bad["text"]) == (2, 'N,"stray')
    assert bad["fault"] == ("has a quote that is never closed" if lines == 3 else "is longer than 1,000,000 bytes")
    assert [row["line"] for row in rest] == list(range(3, 3 + lines))
    assert {row["text"] for row in rest} == {"C"}


def test_two_stray_quotes_do_not_swallow_the_rows_between(read: Callable) -> None:
    rows = read("a.csv", b'smiles,id\n"C1,a\nCC,b\nCCC,c\n"N(,d\nO,e\n')
    assert [(row["line"], row["fault"] is None) for row in rows] == [
        (2, False),
        (3, True),
        (4, True),
        (5, False),
        (6, True),
    ]


def test_longest_row_is_read_and_a_longer_row_is_one_fault(read: Callable) -> None:
    fits = b'C,"' + b"x\n" * 499_998 + b'"'
    assert len(fits) == MAX_RECORD
    longest, longer, after = read("a.csv", b"smiles,note\n" + fits + b"\nC," + b"x" * MAX_RECORD + b"\nO,2\n")
    assert (longest["line"], longest["fault"], len(longest["properties"]["note"])) == (2, None, 999_996)
    assert (longer["line"], longer["fault"]) == (2 + 499_999, "is longer than 1,000,000 bytes")
    assert len(longer["text"]) == 4096
    assert (after["line"], after["text"]) == (3 + 499_999, "O")


@given(cells=st.lists(st.tuples(CELL, CELL, CELL), max_size=20), delimiter=st.sampled_from(",\t"))
@FIXTURES
def test_rows_written_by_the_csv_module_round_trip(read: Callable, cells: list, delimiter: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows([("smiles", "id", "note"), *cells])
    rows = read("a.csv" if delimiter == "," else "a.tsv", text.getvalue().encode())
    assert [row["fault"] for row in rows] == [None] * len(cells)
    assert [(row["text"], row["name"], row["properties"].get("note", "")) for row in rows] == [
        (smiles.strip(), name.strip() or None, note) for smiles, name, note in cells
    ]


@given(data=st.binary() | st.text('",\nC').map(str.encode))
@FIXTURES
def test_random_bytes_give_records_in_line_order(read: Callable, data: bytes) -> None:
    lines = [row["line"] for row in read("a.csv", b"smiles,id\n" + data)]
    assert lines == sorted(set(lines))
    assert (lines[:1] == [2]) == bool(data)


@given(bad=st.lists(st.sampled_from(['"C,x', 'C,"x', '"C"C,x', "C,x,y,z", '"""C,x']), max_size=4))
@FIXTURES
def test_well_formed_rows_survive_malformed_ones(read: Callable, bad: list[str]) -> None:
    """No row after a malformed line may vanish into a quoted cell."""
    content = "smiles,id\n" + "".join(f"{line}\nCC,{number}a\nCC,{number}b\n" for number, line in enumerate(bad))
    names = [row["name"] for row in read("a.csv", content.encode()) if row["fault"] is None]
    assert names == [f"{number}{suffix}" for number in range(len(bad)) for suffix in "ab"]


@pytest.mark.timeout(60)
def test_header_of_many_columns_is_read_in_one_pass(read: Callable) -> None:
    """Columns are compared in one pass. Their number is limited, and error messages are short."""
    names = ",".join(f"c{number}" for number in range(9_999))
    assert len(read("a.csv", f"smiles,{names}\nC,{names}\n".encode())[0]["properties"]) == 9_999
    for header, message in (
        (f"smiles,{names},x", "too many columns"),
        (f"{names}", "no column 'smiles'"),
        (f"smiles,{names.replace('c9998', 'c0')}", "several columns with the same name\n  given: c0\n"),
        (f"smiles,{'x' * 5000},{'x' * 5000}", "several columns with the same name\n  given: x"),
    ):
        with pytest.raises(InvalidInput, match=message) as failure:
            read("a.csv", f"{header}\n".encode())
        assert len(str(failure.value)) < 1500


FRAME = pd.DataFrame(
    {
        "SMILES": ["CCO", "c1ccccc1"],
        "Compound ID": ["m 1", "m2"],
        "note": ["a, b; c|d\te", 'said "no"'],
        "logP": [1.5, 2],
    }
)
CHARACTERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}


@pytest.mark.parametrize("delimiter", CHARACTERS)
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_files_written_by_pandas_are_read_with_any_delimiter(read: Callable, delimiter: str, quoting: int) -> None:
    content = FRAME.to_csv(index=False, sep=CHARACTERS[delimiter], quoting=quoting).encode()
    rows = read("a.csv", content)
    assert [row["text"] for row in rows] == FRAME["SMILES"].tolist()
    assert [row["name"] for row in rows] == FRAME["Compound ID"].tolist()
    assert [row["properties"] for row in rows] == [
        {"note": note, "logP": str(number)} for note, number in zip(FRAME["note"], FRAME["logP"], strict=True)
    ]
    assert read("b.csv", content, delimiter=delimiter) == rows


def test_delimiter_of_the_header_wins_over_commas(read: Callable) -> None:
    [row] = read("a.csv", b"smiles;name, as printed;note\nCC;x, y;1,5\n")
    assert row["properties"] == {"name, as printed": "x, y", "note": "1,5"}


def test_explicit_delimiter_wins(read: Callable) -> None:
    assert read("a.csv", b"smiles,a|x\nC,1|2\n")[0]["properties"] == {"a|x": "1|2"}
    [row] = read("a.csv", b"smiles,a|x\nC,1|2\n", delimiter="pipe", structure_column="smiles,a")
    assert (row["text"], row["properties"]) == ("C,1", {"x": "2"})


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("structure;note", r"(?s)one of structure, note \(cells are separated by a semicolon\).*smiles="),
        ("structure", r"one of structure \(cells are separated by a comma\)"),
        ("x\tCanonical SMILES", r'(?s)separated by a tab\).*did you mean smiles="Canonical SMILES"\?'),
        ("a b", "separated by a space"),
    ],
)
def test_error_without_smiles_column_names_the_delimiter(read: Callable, header: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read("a.csv", f"{header}\nC;1\n".encode())


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("smiles,note,Compound ID", "Compound ID"),
        ("smiles,molecule_chembl_id,pref_name", "molecule_chembl_id"),
        ("smiles,NAME,zinc_id", "zinc_id"),
        ("smiles,name,ID", "ID"),
        ("smiles,Molecule Name,x", "Molecule Name"),
        ("smiles,Code,Batch", "Code"),
        ("smiles,IC50,Compound", "Compound"),
        ("smiles,Code,Compound ID", "Compound ID"),
        ("smiles,CAS No.,MW", "CAS No."),
        ("smiles,x,y", None),
        ("smiles,hybrid,valid", None),
    ],
)
def test_name_columns_of_other_programs_are_recognized(read: Callable, header: str, column: str | None) -> None:
    cells = {title: f"cell of {title}" for title in header.split(",")} | {"smiles": "CC"}
    [row] = read("a.csv", f"{header}\n{','.join(cells.values())}\n".encode())
    assert row["name"] == (None if column is None else cells[column])
    assert set(row["properties"]) == set(cells) - {"smiles", column}


def test_likely_name_columns_are_found_by_their_titles() -> None:
    columns = ["Catalog Number", "logP", "hybrid_share", "SampleID", "batch_code", "valid", "known", "Common names"]
    assert likely_names(columns) == ["Catalog Number", "SampleID", "batch_code", "Common names"]
