"""Parquet files, written by pyarrow."""

import datetime
import decimal
import gzip
import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphkin.ingest.readers import MAX_RECORD, ReadOptions, open_source
from graphkin.protocol.errors import InvalidInput, StoreError
from graphkin.similarity.molecules.kind import MoleculeKind


def parquet(columns: dict | pa.Table, **options: object) -> bytes:
    content = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), content, **options)
    return content.getvalue()


def test_columns_become_name_and_properties(read: Callable) -> None:
    rows = read("a.parquet", parquet({"Id": [7, None, 9], "SMILES": ["C", None, " CC "], "x": ["a", "", None]}))
    assert rows == [
        {"line": 1, "text": "C", "name": "7", "properties": {"x": "a"}, "fault": None},
        {"line": 2, "text": "", "name": None, "properties": {}, "fault": None},
        {"line": 3, "text": "CC", "name": "9", "properties": {}, "fault": None},
    ]


def test_every_type_becomes_text(read: Callable) -> None:
    columns = {
        "smiles": pa.array(["C"]).dictionary_encode(),
        "single": pa.array([0.7], pa.float32()),
        "double": pa.array([0.1 + 0.2]),
        "nan": pa.array([float("nan")]),
        "int": pa.array([-(2**62)]),
        "bool": pa.array([True]),
        "date": pa.array([datetime.date(2020, 2, 29)]),
        "decimal": pa.array([decimal.Decimal("1.50")]),
        "list": pa.array([[1, None]]),
        "struct": pa.array([{"day": datetime.date(2020, 2, 29), "text": "é"}]),
        "bytes": pa.array([b"a\xff\0"]),
        "large": pa.array(["long"], pa.large_string()),
        "null": pa.nulls(1),
    }
    [row] = read("a.parquet", parquet(columns))
    assert row["text"] == "C"
    assert row["properties"] == {
        "single": "0.7",
        "double": "0.30000000000000004",
        "int": "-4611686018427387904",
        "bool": "true",
        "date": "2020-02-29",
        "decimal": "1.50",
        "list": "[1, null]",
        "struct": '{"day": "2020-02-29", "text": "é"}',
        "bytes": "a\\xff\\x00",
        "large": "long",
    }


def test_rows_are_numbered_over_row_groups(rows: Callable, write: Callable) -> None:
    smiles = [f"C{'C' * (at % 7)}" for at in range(2500)]
    path = write("a.parquet", parquet({"smiles": smiles}, row_group_size=300))
    records = rows(path)
    assert [row["line"] for row in records] == list(range(1, 2501))
    assert [row["text"] for row in records] == smiles


def test_gzip_and_standard_input_are_read(read: Callable) -> None:
    content = parquet({"smiles": ["C", "CC"]})
    plain = read("a.parquet", content)
    assert read("b.parquet.gz", gzip.compress(content)) == plain
    source = open_source("-", MoleculeKind.file_formats, ReadOptions(format="parquet"), io.BytesIO(content))
    assert [text for batch in source for text in batch["text"].to_pylist()] == ["C", "CC"]
    assert source.digest().bytes == len(content)


def test_faulty_rows_do_not_stop_the_reader(read: Callable) -> None:
    odd = pa.array([b"ok", b"\xff", b"a\0b", b"ok"])
    text = pa.Array.from_buffers(pa.string(), 4, odd.buffers())  # not UTF-8, as careless writers leave it
    rows = read("a.parquet", parquet({"smiles": ["C", "CC", "CCC", "C" * MAX_RECORD], "note": text}))
    assert [row["fault"] for row in rows] == [
        None,
        "is not UTF-8",
        "contains a NUL byte",
        "is longer than 1,000,000 bytes",
    ]
    assert [row["text"] for row in rows] == ["C", "CC", "CCC", "C" * 4096]


def test_empty_table_has_no_rows(read: Callable) -> None:
    assert read("a.parquet", parquet({"smiles": pa.array([], pa.string())})) == []


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"PAR1 not really", {}, "is not a valid Parquet file"),
        (parquet({"smiles": ["C"]})[:-9], {}, "is not a valid Parquet file"),
        (parquet({"structure": ["C"]}), {}, "one of structure"),
        (parquet({"smiles": ["C"]}), {"name_column": "id"}, "no column 'id'"),
        (parquet({"smiles": [1]}), {}, "does not hold SMILES"),
        (
            parquet(pa.Table.from_arrays([pa.array(["C"])] * 3, ["smiles", "a", "a"])),
            {},
            "several columns with the same name\n  given: a\n",
        ),
    ],
)
def test_invalid_files_are_refused(write: Callable, content: bytes, options: dict, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        open_source(write("a.parquet", content), MoleculeKind.file_formats, ReadOptions(**options))


def test_damaged_page_is_refused(rows: Callable, write: Callable) -> None:
    content = bytearray(parquet({"smiles": [f"C{at}" for at in range(5000)]}, compression="gzip"))
    content[4:2000] = b"\xff" * 1996
    with pytest.raises(InvalidInput, match=r"a\.parquet is damaged or cannot be read"):
        rows(write("a.parquet", bytes(content)))


def test_missing_temporary_folder_is_a_store_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    content = io.BytesIO(parquet({"smiles": ["C"]}))
    with pytest.raises(StoreError, match="TMPDIR"):
        open_source("-", MoleculeKind.file_formats, ReadOptions(format="parquet"), content)


def test_full_disk_during_the_temporary_copy_is_a_store_error() -> None:
    resource = pytest.importorskip("resource")
    content = io.BytesIO(b"PAR1" + bytes(3_000_000))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limits[1]))
    try:
        with pytest.raises(StoreError, match="cannot write a temporary copy"):
            open_source("-", MoleculeKind.file_formats, ReadOptions(format="parquet"), content)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_dictionary_encoded_text_is_held_once_in_memory(write: Callable) -> None:
    """A small file can repeat the same long text in many rows."""
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 200, pa.int32()), ["x" * 500_000])
    plain = pa.array(["y" * 400_000] * 200)
    path = write("a.parquet", parquet({"smiles": ["C"] * 200, "x": long, "y": plain}))
    tracemalloc.start()
    arrow = pa.total_allocated_bytes()
    allocated = [0]
    for batch in open_source(path, MoleculeKind.file_formats, ReadOptions()):
        allocated.append(pa.total_allocated_bytes() - arrow)
        assert batch["properties"][0].as_py() == [("x", "x" * 500_000), ("y", "y" * 400_000)]
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()
    assert max(allocated) < 50_000_000


def test_dictionary_encoded_and_plain_texts_read_the_same(read: Callable) -> None:
    texts = ["a", None, "b", "a", ""]
    columns = {
        "smiles": ["C"] * 5,
        "x": texts,
        "y": pa.array(texts).dictionary_encode(),
        "z": pa.array([b"\xff", None] * 2 + [b""]),
    }
    rows = read("a.parquet", parquet(columns, row_group_size=2))
    assert [row["properties"] for row in rows] == [
        {name: value for name, value in zip("xyz", each, strict=True) if value}
        for each in zip(texts, texts, ["\\xff", None] * 2 + [""], strict=True)
    ]
