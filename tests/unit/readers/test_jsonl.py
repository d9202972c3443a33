"""JSON Lines files of graphs."""

import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from graphkin.ingest.readers import ReadOptions, open_source
from graphkin.ingest.readers.formats import MAX_GRAPH
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.graphs.kind import GraphKind

LINES = b'{"name": "a", "edges": [[0, 1]], "label": 1, "source": "s", "tags": ["x", 2], "none": null}\n{"edges": []}\n'


def test_records_have_names_and_properties(read_graphs: Callable[..., Any]) -> None:
    first, second = read_graphs("g.jsonl", LINES)
    assert (first["line"], first["name"], first["fault"]) == (1, "a", None)
    assert first["properties"] == {"label": "1", "source": "s", "tags": '["x", 2]'}
    assert json.loads(first["text"])["edges"] == [[0, 1]]
    assert second == {"line": 2, "text": '{"edges": []}', "name": None, "properties": {}, "fault": None}


@pytest.mark.parametrize("name", ["g.jsonl", "g.ndjson", "G.JSONL", "g.jsonl.gz", "g"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")])
def test_extensions_compression_and_line_ends_do_not_matter(
    read_graphs: Callable[..., Any], name: str, pack: Callable[[bytes], bytes]
) -> None:
    assert read_graphs(name, pack(LINES), format="jsonl") == read_graphs("plain.jsonl", LINES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ('"x"', "x"),
        ("7", "7"),
        ("-12345678901234567890", "-12345678901234567890"),
        ("null", None),
        ('""', ""),
        ('"é 東"', "é 東"),
    ],
)
def test_names_are_text_or_whole_numbers(read_graphs: Callable[..., Any], name: str, expected: str | None) -> None:
    (row,) = read_graphs("g.jsonl", f'{{"name": {name}, "edges": []}}'.encode())
    assert (row["name"], row["fault"]) == (expected, None)


@pytest.mark.parametrize("name", ["1.5", "true", "false", "[]", '{"a": 1}', "NaN"])
def test_invalid_names_are_rejected(read_graphs: Callable[..., Any], name: str) -> None:
    (row,) = read_graphs("g.jsonl", f'{{"name": {name}, "edges": []}}'.encode())
    assert row["fault"] == '"name" is neither a text nor a whole number'


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ('"name": "\\ud800"', "not Unicode"),
        ('"\\udfff": 1', "not Unicode"),
        ('"note": "\\ud83d"', "not Unicode"),
        ('"name": "a\\u0000b"', "NUL"),
        ('"note": "\\u0000"', "NUL"),
    ],
)
def test_text_that_cannot_be_stored_is_rejected(read_graphs: Callable[..., Any], field: str, reason: str) -> None:
    bad, good = read_graphs("g.jsonl", f'{{{field}, "edges": []}}\n{{"name": "\\ud83d\\ude00", "edges": []}}'.encode())
    assert reason in bad["fault"]
    assert good["name"] == "😀"


def test_invalid_json_is_left_to_the_structure_parser(read_graphs: Callable[..., Any]) -> None:
    rows = read_graphs("g.jsonl", b"\n[1]\n{\n  \n" + b"[" * 50_000 + b"\n" + b'{"edges": [[0, 1]]}')
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert {(row["name"], row["fault"]) for row in rows} == {(None, None)}


def test_invalid_utf8_is_rejected(read_graphs: Callable[..., Any]) -> None:
    rows = read_graphs("g.jsonl", b'{"name": "\xff"}\n{"name": "a\0"}\n' + LINES)
    assert [row["fault"] for row in rows] == ["is not UTF-8", "contains a NUL byte", None, None]


def test_long_line_rejects_only_itself(read_graphs: Callable[..., Any]) -> None:
    head, tail = b'{"edges": [[0, 1]], "note": "', b'"}\n'
    fits = head + b"x" * (MAX_GRAPH - len(head) - len(tail) + 1) + tail
    rows = read_graphs("g.jsonl", fits + b"[" * (2 * MAX_GRAPH) + b"\n" + LINES)
    assert [row["line"] for row in rows] == [1, 2, 3, 4]
    assert [row["fault"] for row in rows] == [None, "is longer than 16,000,000 bytes", None, None]
    assert len(rows[1]["text"]) == 4096


def test_standard_input_is_read() -> None:
    source = open_source("-", GraphKind.file_formats, ReadOptions(format="jsonl"), io.BytesIO(LINES))
    assert (source.name, source.bytes_total, source.notation) == ("-", None, "graph")
    assert [batch.num_rows for batch in source] == [2]
    assert source.digest().bytes == len(LINES)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("-", {}, "format of standard input is unknown"),
        ("-", {"format": "tu"}, "folder or a zip"),
        ("g.smi", {}, "cannot be determined from its name"),
        ("g.jsonl", {"format": "smi"}, "this format is not accepted here"),
        ("absent.jsonl", {}, "cannot open"),
        ("empty.jsonl", {}, "is empty"),
        ("bom.jsonl", {}, "is empty"),
        (".", {"format": "jsonl"}, "a folder is read only in the TUDataset layout"),
        (".", {"format": "graphml"}, "a folder is read only in the TUDataset layout"),
    ],
)
def test_invalid_sources_are_refused(
    write: Callable[..., str],
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: dict[str, Any],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for file_name, data in (("g.smi", b"C"), ("g.jsonl", LINES), ("empty.jsonl", b""), ("bom.jsonl", b"\xef\xbb\xbf")):
        write(file_name, data)
    with pytest.raises(InvalidInput, match=reason):
        open_source(name, GraphKind.file_formats, ReadOptions(**options), io.BytesIO(LINES) if name == "-" else None)


def test_truncated_gzip_is_refused(read_graphs: Callable[..., Any]) -> None:
    with pytest.raises(InvalidInput, match="damaged"):
        read_graphs("g.jsonl.gz", gzip.compress(LINES * 100)[:-10])
