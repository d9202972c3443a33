"""SMILES files."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdkit import RDConfig

from graphkin.ingest.readers import MAX_RECORD

NO_LINE_ENDS = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"))


def triples(rows: list) -> list[tuple]:
    return [(row["line"], row["text"], row["name"]) for row in rows]


def test_name_is_the_rest_of_the_line(read: Callable) -> None:
    rows = read("a.smi", b"CCO\nCCC  propane\nC\tmethane, a  gas \t\n")
    assert triples(rows) == [(1, "CCO", None), (2, "CCC", "propane"), (3, "C", "methane, a  gas")]
    assert all(row["fault"] is None and row["properties"] == {} for row in rows)


@pytest.mark.parametrize(
    ("line", "text", "name"),
    [
        ("C[C@H](O)F |&1:1| alcohol", "C[C@H](O)F |&1:1|", "alcohol"),
        ("C[C@H](O)F \t |&1:1|\talcohol | 2", "C[C@H](O)F |&1:1|", "alcohol | 2"),
        ("C[C@H](O)F |&1:1|", "C[C@H](O)F |&1:1|", None),
        ("C[C@H](O)F |&1:1|name", "C[C@H](O)F |&1:1|", "name"),
        ("CO |$a b;$| x", "CO |$a b;$|", "x"),
        ("CO |&1:1 alcohol", "CO |&1:1 alcohol", None),
        ("CO |", "CO |", None),
        ("CO || x", "CO ||", "x"),
        ("CO a|b|", "CO", "a|b|"),
        (" |&1:1| x", "", "|&1:1| x"),
    ],
)
def test_cxsmiles_extension_belongs_to_the_structure(read: Callable, line: str, text: str, name: str | None) -> None:
    """An unclosed extension takes the rest of the line, which the structure parser then rejects."""
    assert triples(read("a.smi", f"{line}\nC\n".encode())) == [(1, text, name), (2, "C", None)]


@pytest.mark.parametrize("name", ["a.smi", "a.smiles", "a.txt", "A.SMI"])
def test_windows_line_ends_bom_and_missing_final_newline_are_accepted(read: Callable, name: str) -> None:
    assert triples(read(name, b"\xef\xbb\xbfCCO a\r\nCC b")) == [(1, "CCO", "a"), (2, "CC", "b")]


@pytest.mark.parametrize("header", [b"smiles\n", b"SMILES name\n", b"\xef\xbb\xbfSmiles\tid\r\n"])
def test_header_is_skipped(read: Callable, header: bytes) -> None:
    assert triples(read("a.smi", header + b"C a\nsmiles b\n")) == [(2, "C", "a"), (3, "smiles", "b")]


def test_blank_lines_are_empty_records(read: Callable) -> None:
    rows = read("a.smi", b"C\n\n \t\nCC\n\n")
    assert triples(rows) == [(1, "C", None), (2, "", None), (3, "", None), (4, "CC", None), (5, "", None)]


def test_leading_white_space_means_an_empty_structure(read: Callable) -> None:
    # RDKit's SmilesMolSupplier also reads CC as a name, not as ethane.
    assert triples(read("a.smi", b"\tCC\n")) == [(1, "", "CC")]


@pytest.mark.parametrize(
    ("line", "fault", "text"),
    [
        (b"C\0C x", "contains a NUL byte", "C\\x00C x"),
        (b"CC \xff", "is not UTF-8", "CC \\xff"),
        (b"C a\rCC b", "contains a carriage return that does not end the line", "C a\rCC b"),
    ],
)
def test_faulty_lines_do_not_stop_the_reader(read: Callable, line: bytes, fault: str, text: str) -> None:
    before, bad, after = read("a.smi", b"N before\n" + line + b"\nO after\n")
    assert triples([before, after]) == [(1, "N", "before"), (3, "O", "after")]
    assert (bad["line"], bad["fault"], bad["text"], bad["name"]) == (2, fault, text, None)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_longest_line_is_read(read: Callable, end: bytes) -> None:
    first, last = read("a.smi", b"N\n" + b"C" * MAX_RECORD + end)
    assert (last["line"], last["fault"], len(last["text"])) == (2, None, MAX_RECORD)
    assert first["text"] == "N"


@pytest.mark.parametrize("size", [MAX_RECORD + 1, MAX_RECORD + 2, MAX_RECORD + 3, 3 * MAX_RECORD])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_line_that_is_too_long_is_one_fault(read: Callable, size: int, end: bytes) -> None:
    bad, after = read("a.smi", b"C" * size + end + b"O after\n")
    assert (bad["line"], bad["fault"], bad["text"]) == (1, "is longer than 1,000,000 bytes", "C" * 4096)
    assert triples([after]) == [(2, "O", "after")]


BINARY_PREFIXES = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf")
"""First bytes of compressed files, and a byte order mark."""


@given(data=st.binary(min_size=1).filter(lambda data: not data.startswith(BINARY_PREFIXES)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_bytes_lose_no_line(read: Callable, data: bytes) -> None:
    lines = data.split(b"\n")
    expected = len(lines) - (lines[-1] == b"")
    assert [row["line"] for row in read("a.smi", data)] == list(range(1, expected + 1))


@given(names=st.lists(NO_LINE_ENDS, min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_names_round_trip(read: Callable, names: list[str]) -> None:
    names = [name.lstrip().lstrip("|") for name in names]
    rows = read("a.smi", "".join(f"C {name}\n" for name in names).encode())
    assert [row["name"] for row in rows] == [name.strip() or None for name in names]


def test_nci_molecules_are_read(rows: Callable) -> None:
    path = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
    expected = [line.split("\t") for line in path.read_text().splitlines()]
    assert [(row["text"], row["name"]) for row in rows(str(path))] == [tuple(pair) for pair in expected]
