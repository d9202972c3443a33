"""JSON Lines of graphs."""

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


def test_names_and_properties(read_graphs: Callable[..., Any]) -> None:
    first, second = read_graphs("g.jsonl", LINES)
    assert (first["line"], first["name"], first["fault"]) == (1, "a", None)
    assert first["properties"] == {"label": "1", "source": "s", "tags": '["x", 2]'}
    assert json.loads(first["text"])["edges"] == [[0, 1]]
    assert second == {"line": 2, "text": '{"edges": []}', "name": None, "properties": {}, "fault": None}


@pytest.mark.parametrize("name", ["g.jsonl", "g.ndjson", "G.JSONL", "g.jsonl.gz", "g"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")])
def test_every_way_to_store_it(read_graphs: Callable[..., Any], name: str, pack: Callable[[bytes], bytes]) -> None:
    assert read_graphs(name, pack(LINES), format="jsonl") == read_graphs("plain.jsonl", LINES)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ('"x"', "x"),
        ("7", "7"),
        ("-12345678901234567890", "-12345678901234567890"),
        ("null", None),
        ('""', ""),
        ('"é 東"', "é 東"),
    ],
)
def test_names(read_graphs: Callable[..., Any], name: str, kept: str | None) -> None:
    (row,) = read_graphs("g.jsonl", f'{{"name": {name}, "edges": []}}'.encode())
    assert (row["name"], row["fault"]) == (kept, None)


@pytest.mark.parametrize("name", ["1.5", "true", "false", "[]", '{"a": 1}', "NaN"])
def test_what_is_no_name(read_graphs: Callable[..., Any], name: str) -> None:
    (row,) = read_graphs("g.jsonl", f'{{"name": {name}, "edges": []}}'.encode())
    assert row["fault"] == '"name" is neither a text nor a whole number'


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('"name": "\\ud800"', "not Unicode"),
        ('"\\udfff": 1', "not Unicode"),
        ('"note": "\\ud83d"', "not Unicode"),
        ('"name": "a\\u0000b"', "NUL"),
        ('"note": "\\u0000"', "NUL"),
    ],
)
def test_texts_that_cannot_be_kept(read_graphs: Callable[..., Any], said: str, reason: str) -> None:
    bad, good = read_graphs("g.jsonl", f'{{{said}, "edges": []}}\n{{"name": "\\ud83d\\ude00", "edges": []}}'.encode())
    assert reason in bad["fault"]
    assert good["name"] == "😀"


def test_what_is_no_json_is_left_to_who_reads_the_structure(read_graphs: Callable[..., Any]) -> None:
    rows = read_graphs("g.jsonl", b"\n[1]\n{\n  \n" + b"[" * 50_000 + b"\n" + b'{"edges": [[0, 1]]}')
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert {(row["name"], row["fault"]) for row in rows} == {(None, None)}


def test_bytes_that_are_no_text(read_graphs: Callable[..., Any]) -> None:
    rows = read_graphs("g.jsonl", b'{"name": "\xff"}\n{"name": "a\0"}\n' + LINES)
    assert [row["fault"] for row in rows] == ["is not UTF-8", "contains a NUL byte", None, None]


def test_a_line_that_is_too_long_costs_only_itself(read_graphs: Callable[..., Any]) -> None:
    head, tail = b'{"edges": [[0, 1]], "note": "', b'"}\n'
    fits = head + b"x" * (MAX_GRAPH - len(head) - len(tail) + 1) + tail
    rows = read_graphs("g.jsonl", fits + b"[" * (2 * MAX_GRAPH) + b"\n" + LINES)
    assert [row["line"] for row in rows] == [1, 2, 3, 4]
    assert [row["fault"] for row in rows] == [None, "is longer than 16,000,000 bytes", None, None]
    assert len(rows[1]["text"]) == 4096


def test_standard_input() -> None:
    source = open_source("-", GraphKind.files, ReadOptions(format="jsonl"), io.BytesIO(LINES))
    assert (source.name, source.bytes_total, source.writing) == ("-", None, "graph")
    assert [batch.num_rows for batch in source] == [2]
    assert source.digest().bytes == len(LINES)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("-", {}, "needs a format"),
        ("-", {"format": "tu"}, "folder or a zip"),
        ("g.smi", {}, "does not tell its format"),
        ("g.jsonl", {"format": "smi"}, "no such input format"),
        ("absent.jsonl", {}, "cannot open"),
        ("empty.jsonl", {}, "is empty"),
        ("bom.jsonl", {}, "is empty"),
        (".", {"format": "jsonl"}, "a folder is read in TUDataset's layout"),
        (".", {"format": "graphml"}, "a folder is read in TUDataset's layout"),
    ],
)
def test_what_cannot_be_opened(
    write: Callable[..., str],
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: dict[str, Any],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for known, data in (("g.smi", b"C"), ("g.jsonl", LINES), ("empty.jsonl", b""), ("bom.jsonl", b"\xef\xbb\xbf")):
        write(known, data)
    with pytest.raises(InvalidInput, match=reason):
        open_source(name, GraphKind.files, ReadOptions(**options), io.BytesIO(LINES))


def test_gzip_that_was_cut(read_graphs: Callable[..., Any]) -> None:
    with pytest.raises(InvalidInput, match="damaged"):
        read_graphs("g.jsonl.gz", gzip.compress(LINES * 100)[:-10])
