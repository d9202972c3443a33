"""SD files, compared with RDKit's SDMolSupplier."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdkit import Chem

from graphkin.ingest.readers import MAX_RECORD
from graphkin.protocol.errors import InvalidInput

WORD = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S"), exclude_characters="<>$"), min_size=1)
VALUE = st.lists(WORD, min_size=1, max_size=3).map("\n".join)


def record(title: str = "", items: str = "", smiles: str = "CCO") -> str:
    block = Chem.MolToMolBlock(Chem.MolFromSmiles(smiles))
    return title + "\n" + block.split("\n", 1)[1] + items


def test_records_have_titles_data_items_and_line_numbers(read: Callable) -> None:
    first = record("ethanol", "> <logP>\n-0.31\n\n>  <note>  (7)\ntwo\nlines\n\n> <empty>\n\n")
    rows = read("a.sdf", f"{first}$$$$\n{record()}$$$$\n".encode())
    assert [row["name"] for row in rows] == ["ethanol", None]
    assert rows[0]["properties"] == {"logP": "-0.31", "note": "two\nlines"}
    assert [row["line"] for row in rows] == [1, first.count("\n") + 2]
    assert [row["text"] for row in rows] == [first, record()]


def test_windows_line_ends_and_bom_are_accepted(read: Callable) -> None:
    content = record("ethanol", "> <a>\nx\ny\n\n") + "$$$$\n"
    [plain] = read("a.sdf", content.encode())
    assert read("b.sd", b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode()) == [plain]


@pytest.mark.parametrize("end", ["", "$$$$", "$$$$\n", "$$$$\n\n \r\n", "$$$$ and so on\n"])
def test_last_record_needs_no_terminator(read: Callable, end: str) -> None:
    assert len(read("a.sdf", f"{record('a')}$$$$\n{record('b')}{end}".encode())) == 2


def test_record_of_blank_lines_is_empty(read: Callable) -> None:
    rows = read("a.sdf", f"{record('a')}$$$$\n\n\n$$$$\n$$$$\n{record('b')}".encode())
    assert [row["text"] for row in rows[1:3]] == ["", ""]
    assert [row["name"] for row in rows] == ["a", None, None, "b"]


def test_name_is_read_from_a_data_item(read: Callable) -> None:
    content = f"{record('t', '> <Code>' + chr(10) + 'x1' + chr(10))}$$$$\n{record('t')}".encode()
    rows = read("a.sdf", content, name_column="CODE")
    assert [(row["name"], row["properties"]) for row in rows] == [("x1", {}), (None, {})]


def test_unknown_data_item_for_names_is_refused(read: Callable) -> None:
    with pytest.raises(InvalidInput, match=r"no record of .*a\.sdf has a data item 'Cod'.*\n.*\n.*one of Code"):
        read("a.sdf", record("t", "> <Code>\nx1\n").encode(), name_column="Cod")


def test_unusual_data_headers_are_read(read: Callable) -> None:
    items = "> 25 <IC50 >10>\na\n\n> DT12\nb\n\n><x>\nc\n\nafter a blank line\n> not a header\n\n> <x>\nlast\n"
    [row] = read("a.sdf", record(items=items).encode())
    assert row["properties"] == {"IC50 >10": "a", "DT12": "b", "x": "last"}
    [row] = read("a.sdf", record(items=items.removesuffix("> <x>\nlast\n")).encode())
    assert row["properties"]["x"] == "c\n\nafter a blank line\n> not a header"


@pytest.mark.parametrize(("byte", "fault"), [(b"\0", "contains a NUL byte"), (b"\xe9", "is not UTF-8")])
def test_faulty_records_do_not_stop_the_reader(read: Callable, byte: bytes, fault: str) -> None:
    good = record("good").encode()
    bad = b"bad" + byte + good + b"$$$$\n"
    rows = read("a.sdf", good + b"$$$$\n" + bad + good)
    assert [row["fault"] for row in rows] == [None, fault, None]
    assert [row["line"] for row in rows] == [1, good.count(b"\n") + 2, 2 * good.count(b"\n") + 3]
    assert rows[1]["text"].startswith("bad\\x")


@pytest.mark.parametrize("long", [b"x" * 3 * MAX_RECORD, b"x\n" * MAX_RECORD, b"$$$$" * MAX_RECORD])
def test_record_that_is_too_long_is_one_fault(read: Callable, long: bytes) -> None:
    good = record("good").encode()
    bad, after = read("a.sdf", b"title\n " + long + b"\n$$$$\n" + good)
    assert (bad["line"], bad["fault"], len(bad["text"])) == (1, "is longer than 1,000,000 bytes", 4096)
    assert (after["line"], after["name"]) == (long.count(b"\n") + 4, "good")


def test_longest_record_is_read(read: Callable) -> None:
    start = record("t", "> <a>\n").encode()
    content = start + b"x" * (MAX_RECORD - len(start) - 1) + b"\n"
    assert read("a.sdf", content + b"$$$$\n")[0]["fault"] is None
    assert read("a.sdf", b"t" + content + b"$$$$\n")[0]["fault"] == "is longer than 1,000,000 bytes"


@given(
    records=st.lists(
        st.tuples(WORD, st.dictionaries(WORD.filter(lambda name: name.strip() == name), VALUE, max_size=4)),
        min_size=1,
        max_size=5,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_records_equal_those_of_rdkit(read: Callable, records: list) -> None:
    content = "".join(
        record(title, "".join(f"> <{name}>\n{value}\n\n" for name, value in items.items())) + "$$$$\n"
        for title, items in records
    )
    supplier = Chem.SDMolSupplier()
    supplier.SetData(content)
    molecules = list(supplier)
    rows = read("a.sdf", content.encode())
    assert [row["name"] for row in rows] == [molecule.GetProp("_Name") for molecule in molecules]
    assert [row["properties"] for row in rows] == [
        {name: molecule.GetProp(name) for name in items}
        for molecule, (_, items) in zip(molecules, records, strict=True)
    ]


def test_texts_parse_as_molblocks(read: Callable) -> None:
    smiles = ["CCO", "c1ccccc1", "[Na+].[Cl-]"]
    rows = read("a.sdf", "$$$$\n".join(record(text, smiles=text) for text in smiles).encode())
    parsed = [Chem.MolToSmiles(Chem.MolFromMolBlock(row["text"])) for row in rows]
    assert parsed == [Chem.CanonSmiles(text) for text in smiles]
