"""Sources: formats, compression, checksums, bounds, and errors of unreadable files."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphkin.ingest.readers import EXTENSIONS, ReadOptions, lines, open_source
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Input
from graphkin.similarity.graphs.kind import GraphKind
from graphkin.similarity.molecules.kind import MoleculeKind
from tests.workbooks import workbook

MOLBLOCK = b"\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0       0.0       0.0    C   0  0\nM  END\n"
CONTENT = {"smi": b"C 1\nCC 2\n", "csv": b"smiles,id\nC,1\n", "tsv": b"smiles\tid\nC\t1\n", "sdf": MOLBLOCK}


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


GREEDY = (
    "fd377a585a000004e6d6b44602002101240000005e1fc7f901000543434f20780a0000009085aff15dd32b1800011e06c12f"
    "a41d1fb6f37d010000000004595a"
)
"""`CCO x`, compressed by xz with a dictionary of one gigabyte."""


@pytest.fixture(params=[*CONTENT, "parquet"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a small file of each format, larger than one read."""
    path = tmp_path / f"a.{request.param}"
    if request.param == "parquet":
        pq.write_table(pa.table({"smiles": [os.urandom(100).hex() for _ in range(5000)]}), path)
    else:
        first, _, rest = CONTENT[request.param].partition(b"\n")
        repeated = (rest + b"$$$$\n") * 5000 if request.param == "sdf" else (rest[:-1] + b"x" * 80 + b"\n") * 8000
        path.write_bytes(first + b"\n" + repeated)
    return path


@pytest.mark.parametrize(
    "extension", [each for each, format in EXTENSIONS.items() if format in MoleculeKind.file_formats]
)
@pytest.mark.parametrize("compressed", ["", *COMPRESS])
def test_extension_determines_the_format(tmp_path: Path, extension: str, compressed: str) -> None:
    path = tmp_path / f"some.name{extension.upper()}{compressed}"
    if extension == ".parquet":
        pq.write_table(pa.table({"smiles": ["C"]}), path)
    elif extension == ".xlsx":
        path.write_bytes(workbook([["smiles"], ["C"]]))
    else:
        path.write_bytes(CONTENT[EXTENSIONS[extension]])
    if compressed:
        path.write_bytes(COMPRESS[compressed](path.read_bytes()))
    source = open_source(str(path), MoleculeKind.file_formats, ReadOptions())
    assert source.notation == ("molblock" if extension in (".sdf", ".sd") else "smiles")
    assert source.name == str(path)
    assert next(iter(source))["fault"].null_count > 0


def test_gzip_is_recognized_by_its_bytes(read: Callable) -> None:
    plain = read("a.smi", CONTENT["smi"])
    assert read("b.smi", gzip.compress(CONTENT["smi"])) == plain
    assert read("c.smi.gz", CONTENT["smi"]) == plain
    assert read("d.smi.gz", gzip.compress(b"\xef\xbb\xbfC 1\n") + gzip.compress(b"CC 2\n")) == plain


@pytest.mark.parametrize("extension", COMPRESS)
@pytest.mark.parametrize("format", [*CONTENT, "parquet"])
def test_compression_is_recognized_by_its_bytes(read: Callable, extension: str, format: str) -> None:
    compress, content = COMPRESS[extension], io.BytesIO(CONTENT.get(format, b""))
    if format == "parquet":
        pq.write_table(pa.table({"smiles": ["C", "CC"]}), content)
    plain = read(f"a.{format}", content.getvalue())
    assert read(f"b.{format}", compress(content.getvalue())) == plain
    assert read(f"c.{format}{extension}", content.getvalue()) == plain


@pytest.mark.parametrize("extension", COMPRESS)
def test_concatenated_compressed_files_are_one_file(read: Callable, extension: str) -> None:
    compress = COMPRESS[extension]
    parts = compress(b"\xef\xbb\xbfC 1\n") + compress(b"") + compress(b"CC 2\n")
    assert read("d.smi", parts) == read("e.smi", b"C 1\nCC 2\n")


@pytest.mark.parametrize("extension", COMPRESS)
@pytest.mark.parametrize(
    "harm", [lambda data: data[:-9], lambda data: data[: len(data) // 2], lambda data: data + b"C"]
)
def test_damaged_compressed_file_is_refused(read: Callable, extension: str, harm: Callable) -> None:
    content = COMPRESS[extension](b"CCO ethanol\n" * 9000)
    with pytest.raises(InvalidInput, match="is damaged or cannot be read"):
        read(f"a.smi{extension}", harm(content))


@pytest.mark.parametrize("extension", COMPRESS)
def test_unpacked_size_of_files_held_in_memory_is_bounded(write: Callable, extension: str) -> None:
    path = write(f"a.graphml{extension}", COMPRESS[extension](b"<graphml>" + b" " * 12_000_000))
    with pytest.raises(InvalidInput, match="unpacks to more than 50 times its size"):
        list(open_source(path, GraphKind.file_formats, ReadOptions()))


@pytest.mark.parametrize("extension", COMPRESS)
def test_memory_is_bounded_while_reading_a_compressed_file(write: Callable, extension: str) -> None:
    """The first line has 12 MB, more than a record may have. The second line is valid."""
    path = write(f"a.smi{extension}", COMPRESS[extension](b"C" * 12_000_000 + b"\nCCO x\n"))
    tracemalloc.start()
    [*batches] = open_source(path, MoleculeKind.file_formats, ReadOptions())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [row["text"] for batch in batches for row in batch.to_pylist()][1:] == ["CCO"]
    assert peak < 20_000_000


def test_memory_of_an_xz_dictionary_is_bounded(read: Callable) -> None:
    with pytest.raises(InvalidInput, match="Memory usage limit"):
        read("a.smi.xz", bytes.fromhex(GREEDY))


def test_progress_and_digest_cover_the_file(file: Path) -> None:
    source = open_source(str(file), MoleculeKind.file_formats, ReadOptions())
    assert source.bytes_total == file.stat().st_size
    seen = [source.bytes_read for _ in source]
    assert seen == sorted(seen)
    assert seen[0] < seen[-1] <= source.bytes_read == source.bytes_total
    expected = hashlib.sha256(file.read_bytes()).hexdigest()
    assert source.digest() == Input(name=str(file), bytes=source.bytes_total, sha256=expected)


def test_digest_covers_the_compressed_bytes(file: Path) -> None:
    content = gzip.compress(file.read_bytes()) + bytes(512)  # zero padding after the last member is allowed
    file.write_bytes(content)
    source = open_source(str(file), MoleculeKind.file_formats, ReadOptions())
    records = sum(batch.num_rows for batch in source)
    assert records >= 5000
    digest = source.digest()
    assert (digest.bytes, digest.sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_standard_input_equals_the_file(file: Path) -> None:
    stdin = io.BytesIO(file.read_bytes())
    source = open_source("-", MoleculeKind.file_formats, ReadOptions(format=file.suffix[1:]), stdin)
    piped = pa.Table.from_batches(source)
    assert piped == pa.Table.from_batches(open_source(str(file), MoleculeKind.file_formats, ReadOptions()))
    assert (source.name, source.bytes_total) == ("-", None)
    assert source.digest() == Input(name="-", bytes=stdin.tell(), sha256=hashlib.sha256(stdin.getvalue()).hexdigest())
    assert not stdin.closed


@pytest.mark.parametrize("format", ["smi", "parquet"])
def test_named_pipe_is_read(tmp_path: Path, format: str) -> None:
    pipe = tmp_path / f"pipe.{format}"
    os.mkfifo(pipe)
    content = io.BytesIO(CONTENT["smi"])
    if format == "parquet":
        pq.write_table(pa.table({"smiles": ["C", "CC"]}), content)
    writer = threading.Thread(target=pipe.write_bytes, args=(content.getvalue(),))
    writer.start()
    source = open_source(str(pipe), MoleculeKind.file_formats, ReadOptions())
    assert [text for batch in source for text in batch["text"].to_pylist()] == ["C", "CC"]
    assert source.bytes_total is None
    writer.join()


@pytest.mark.parametrize(
    "content", [b"", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)], ids=["nothing", "mark", "gzip"]
)
@pytest.mark.parametrize("format", [*CONTENT, "parquet"])
def test_empty_file_is_refused(write: Callable, content: bytes, format: str) -> None:
    path = write(f"a.{format}", content)
    with pytest.raises(InvalidInput, match=r"is empty|not a valid Parquet file"):
        open_source(path, MoleculeKind.file_formats, ReadOptions())


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("-", {}, "format="),
        ("a.xyz", {}, r"(?s)\.smi.*format="),
        ("a", {}, "format="),
        (".gz", {}, "format="),
        ("a.smi", {"format": "mol2"}, "one of smi, csv, tsv, sdf, parquet"),
        ("absent.smi", {}, "(?s)cannot open absent.smi.*No such file"),
        (".", {"format": "smi"}, "Is a directory"),
    ],
)
def test_invalid_sources_are_refused(path: str, options: dict, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        open_source(path, MoleculeKind.file_formats, ReadOptions(**options))


def test_format_overrides_the_extension(read: Callable) -> None:
    assert read("a.xyz", b"smiles\tid\nC\tx\n", format="tsv")[0]["name"] == "x"


@pytest.mark.parametrize("size", [11, 60, 500_000, -9, -1])
def test_truncated_gzip_file_is_refused(file: Path, size: int) -> None:
    content = gzip.compress(file.read_bytes())
    file.write_bytes(content[: min(size, len(content) - 1)])
    with pytest.raises(InvalidInput, match=rf"a\.{file.suffix[1:]} is damaged or cannot be read, near byte \d"):
        list(open_source(str(file), MoleculeKind.file_formats, ReadOptions()))


@pytest.mark.parametrize("place", [0.5, 1.0])
def test_corrupt_gzip_file_is_refused(file: Path, place: float) -> None:
    content = bytearray(gzip.compress(file.read_bytes()))
    offset = int((len(content) - 8) * place)
    content[offset : offset + 4] = bytes(byte ^ 0xFF for byte in content[offset : offset + 4])
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match="is damaged or cannot be read"):
        list(open_source(str(file), MoleculeKind.file_formats, ReadOptions()))


def test_bytes_after_the_end_of_a_gzip_file_are_refused(write: Callable) -> None:
    path = write("a.smi", gzip.compress(CONTENT["smi"]) + b"C 3")
    with pytest.raises(InvalidInput, match="is damaged or cannot be read"):
        list(open_source(path, MoleculeKind.file_formats, ReadOptions()))


def test_binary_file_is_all_faults(read: Callable) -> None:
    content = b"\x7fELF" + os.urandom(100_000)
    rows = read("a.smi", content)
    assert len(rows) == content.count(b"\n") + (not content.endswith(b"\n"))
    assert sum(row["fault"] is not None for row in rows) > 0.5 * len(rows)


def test_batches_are_bounded(write: Callable) -> None:
    short = open_source(write("short.smi", b"C\n" * 2500), MoleculeKind.file_formats, ReadOptions())
    assert [batch.num_rows for batch in short] == [1000, 1000, 500]
    long = open_source(write("long.smi", (b"C" * 900_000 + b"\n") * 12), MoleculeKind.file_formats, ReadOptions())
    assert [batch.num_rows for batch in long] == [5, 5, 2]
    wide = open_source(
        write("wide.csv", b"smiles,x\n" + (b"C," + b"x" * 900_000 + b"\n") * 6),
        MoleculeKind.file_formats,
        ReadOptions(),
    )
    assert [batch.num_rows for batch in wide] == [5, 1]


def test_closing_a_source_early_closes_the_file(file: Path) -> None:
    def is_open() -> bool:
        return str(file) in {each.path for each in psutil.Process().open_files()}

    source = open_source(str(file), MoleculeKind.file_formats, ReadOptions())
    batches = iter(source)
    next(batches)
    assert is_open()
    source.close()
    source.close()
    assert not is_open()


class Repeated(io.RawIOBase):
    """A long stream that takes no memory: `start`, then `block` repeatedly, `size` bytes in all, in short reads."""

    def __init__(self, start: bytes, block: bytes, size: int) -> None:
        self._next, self._block, self._left = start, block, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._next[: min(len(buffer), self._left)]
        buffer[: len(piece)] = piece
        self._next = self._next[len(piece) :] or self._block
        self._left -= len(piece)
        return len(piece)


@pytest.mark.parametrize(
    ("format", "start", "block"),
    [
        ("smi", b"", b"C" * 9999),  # one line
        ("smi", b"", b"CCCCCCC " + b"x" * 100 + b"\n"),
        ("csv", b"smiles,x\n", b"C" * 9999),
        ("csv", b'smiles,x\nC,"', (b"x" * 99 + b"\n") * 99),  # one quoted cell
        ("sdf", b"", (b"x" * 99 + b"\n") * 99),  # one record
        ("sdf", b"", MOLBLOCK + b"> <a>\n" + b"x" * 1000 + b"\n\n$$$$\n"),
    ],
)
def test_memory_does_not_grow_with_the_input(format: str, start: bytes, block: bytes) -> None:
    peaks = []
    for size in (1_000_000, 2_000_000):
        stdin = io.BufferedReader(Repeated(start, block, size))
        tracemalloc.start()
        records = sum(
            batch.num_rows for batch in open_source("-", MoleculeKind.file_formats, ReadOptions(format=format), stdin)
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert records > 0
    assert peaks[1] < peaks[0] + 300_000


@pytest.mark.parametrize("beyond", [False, True])
def test_gzip_bomb_in_graphml_is_refused(tmp_path: Path, beyond: bool) -> None:
    """Spaces around XML are harmless up to the limit."""
    content = b"<graphml xmlns='http://graphml.graphdrawing.org/xmlns'><graph id='g'><node id='n'/></graph></graphml>"
    path = tmp_path / "a.graphml.gz"
    path.write_bytes(gzip.compress(content + b" " * (10_000_001 if beyond else 9_000_000)))
    source = open_source(str(path), GraphKind.file_formats, ReadOptions())
    if beyond:
        with pytest.raises(InvalidInput, match="50 times its size"):
            list(source)
    else:
        assert [text for batch in source for text in batch["text"].to_pylist()] == ['{"num_nodes": 1, "edges": []}']


def test_large_file_with_low_compression_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.graphml.gz"
    comment = b"<!--" + os.urandom(6_000_000).hex().encode() + b"-->"
    path.write_bytes(
        gzip.compress(b"<graphml xmlns='http://graphml.graphdrawing.org/xmlns'>" + comment + b"</graphml>", 1)
    )
    assert list(open_source(str(path), GraphKind.file_formats, ReadOptions())) == []


_HEADERS = {
    "smi": b"CCO a\n",
    "csv": b"smiles,id\nCCO,a\n",
    "tsv": b"smiles\tid\nCCO\ta\n",
    "sdf": MOLBLOCK + b"$$$$\n",
}


@pytest.mark.parametrize("format", _HEADERS)
@pytest.mark.parametrize("blank", [b"\n", b" \t\r\n"])
def test_long_run_of_blank_lines_is_refused_at_its_line(
    write: Callable[[str, bytes], str], monkeypatch: pytest.MonkeyPatch, format: str, blank: bytes
) -> None:
    monkeypatch.setattr(lines, "MAX_BLANK", 5)
    before = _HEADERS[format]
    first, options = before.count(b"\n") + 1, ReadOptions()
    allowed = before + 5 * blank + b"CCC b\n" + 5 * blank
    assert (
        sum(batch.num_rows for batch in open_source(write(f"a.{format}", allowed), MoleculeKind.file_formats, options))
        >= 2
    )
    path = write(f"b.{format}", before + 6 * blank)
    with pytest.raises(InvalidInput, match=f"b.{format} has more than 5 blank lines") as error:
        list(open_source(path, MoleculeKind.file_formats, options))
    assert f"from line {first} to line {first + 5}" in str(error.value)


@pytest.mark.parametrize("name", ["a.smi.gz", "a.csv.gz", "a.sdf.gz", "a.jsonl.gz"])
def test_300_mebibytes_of_line_ends_are_refused(write: Callable[[str, bytes], str], name: str) -> None:
    notations = {**MoleculeKind.file_formats, **GraphKind.file_formats}
    first = b"smiles\n" if ".csv" in name else b"CCO\n"
    path = write(name, gzip.compress(first) + 300 * gzip.compress(b"\n" * (1 << 20)))
    source = open_source(path, notations, ReadOptions())
    with pytest.raises(InvalidInput, match=r"more than 100,000 blank lines in a row"):
        list(source)
    assert source.bytes_read < Path(path).stat().st_size


def test_gzip_bomb_in_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet.gz"
    path.write_bytes(gzip.compress(b"PAR1" + bytes(10_000_000)))
    with pytest.raises(InvalidInput, match="50 times its size"):
        open_source(str(path), MoleculeKind.file_formats, ReadOptions())
