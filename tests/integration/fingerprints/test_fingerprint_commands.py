"""Fingerprints from chemfp files, arrays and tables: ingest, comparison, search and export, compared with RDKit."""

import csv
import gzip
import io
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdkit import DataStructs

from graphkin.store import open_store
from graphkin.store.base import Generation

CHEMFP = Path(__file__).with_name("chemfp.fps")
LINES = [line.split("\t") for line in CHEMFP.read_text().splitlines() if not line.startswith("#")]
HEXADECIMAL, NAMES = [line[0] for line in LINES], [line[1] for line in LINES]
DISTINCT = [*dict.fromkeys(HEXADECIMAL)]
PRINTS = [DataStructs.CreateFromFPSText(text) for text in DISTINCT]
BITS = 1021
THRESHOLD = 0.5

Graphkin = Callable[..., Any]


def similar_pairs() -> dict[tuple[int, int], float]:
    """Return every similar pair, computed by RDKit."""
    pairs = {}
    for a, b in itertools.combinations(range(len(PRINTS)), 2):
        if (similarity := DataStructs.TanimotoSimilarity(PRINTS[a], PRINTS[b])) >= THRESHOLD:
            pairs[a, b] = similarity
    return pairs


@pytest.fixture
def place(tmp_path: Path) -> tuple[object, ...]:
    return ("--store", tmp_path / "store", "--collection", "c")


@pytest.fixture
def ingest(graphkin: Graphkin, place: tuple[object, ...]) -> Graphkin:
    def call(*arguments: object, **options: Any) -> Any:
        options_of_ingest = ("--threshold", THRESHOLD, "--top-k", 0, "--workers", 1, "--json")
        return graphkin("ingest", "fingerprints", *arguments, *place, *options_of_ingest, **options)

    return call


def open_generation(place: tuple[object, ...]) -> Generation:
    return open_store(str(place[1])).open("c")


def edge_dict(generation: Generation) -> dict[tuple[int, int], float]:
    (edges,) = generation.edges()
    return {
        (a, b): s
        for a, b, s in zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True)
    }


def test_edges_of_a_chemfp_file_equal_rdkit(ingest: Graphkin, place: tuple[object, ...]) -> None:
    manifest = json.loads(ingest(CHEMFP).out)
    assert manifest["kind"] == "fingerprint"
    assert (manifest["recipe"]["bits"], manifest["recipe"]["type"]) == (BITS, "OpenBabel-FP2/1")
    counts = manifest["counts"]
    assert (counts["read"], counts["kept"], counts["rejected"]) == (len(LINES), len(DISTINCT), 0)
    with open_generation(place) as generation:
        assert edge_dict(generation) == pytest.approx(similar_pairs())
        assert [*generation.structures()] == DISTINCT
        assert generation.column("popcount").tolist() == [bits.GetNumOnBits() for bits in PRINTS]
        called = [item["names"] for item in generation.items(range(generation.size))]
    same = [[name for bits, name in zip(HEXADECIMAL, NAMES, strict=True) if bits == each] for each in DISTINCT]
    assert called == [[*dict.fromkeys(names)] for names in same]


def test_fingerprint_collection_is_searched_and_sampled(
    ingest: Graphkin, graphkin: Graphkin, place: tuple[object, ...]
) -> None:
    ingest(CHEMFP)
    query = HEXADECIMAL[7][:-8] + "00000000"
    reply = json.loads(graphkin("search", *place, query.upper(), "--json").out)
    similarities = np.array(
        DataStructs.BulkTanimotoSimilarity(DataStructs.CreateFromFPSText(query), PRINTS), np.float32
    )
    best = sorted(range(len(PRINTS)), key=lambda item: (-similarities[item], item))[:10]
    assert [hit["item"]["id"] for hit in reply["hits"]] == best
    assert [np.float32(hit["similarity"]) for hit in reply["hits"]] == [similarities[id] for id in best]
    stored = json.loads(graphkin("search", *place, "--fingerprint", DISTINCT[3], "--json").out)
    assert (stored["query"]["id"], stored["hits"][0]["similarity"]) == (3, 1.0)
    refused = graphkin("search", *place, "0g" * 128)
    assert refused.code == 2
    assert "hexadecimal" in refused.err
    assert json.loads(graphkin("recall", *place, "--json").out)["recall"] == 1
    (verified,) = json.loads(graphkin("verify", *place, "--json").out)
    assert verified["problems"] == []
    a = next(iter(similar_pairs()))[0]
    positives = graphkin("positives", *place, "--id", a, "--policy", "random_walk", "--json")
    assert not json.loads(positives.out)["isolated"]
    items = csv.DictReader(io.StringIO(graphkin("export", "items", *place, "--format", "csv", "--output", "-").out))
    assert [item["structure"] for item in items] == DISTINCT


def test_exported_fingerprints_can_be_ingested_again(
    ingest: Graphkin, graphkin: Graphkin, place: tuple[object, ...], tmp_path: Path
) -> None:
    first = json.loads(ingest(CHEMFP).out)["generation"]
    graphkin("export", "fingerprints", *place, "--format", "fps", "--output", tmp_path / "out.fps")
    header = (tmp_path / "out.fps").read_text().splitlines()[:4]
    assert header == ["#FPS1", f"#num_bits={BITS}", "#type=OpenBabel-FP2/1", "#software=graphkin"]
    names = [json.loads(graphkin("neighbors", *place, "--id", 0, "--json").out)["item"]["names"]]
    second_manifest = json.loads(ingest(tmp_path / "out.fps").out)
    assert second_manifest["counts"]["kept"] == len(DISTINCT)
    assert (second_manifest["generation"] == first) == (len(DISTINCT) == len(LINES))
    assert names[0][0] == NAMES[0]


@pytest.mark.parametrize("form", ["gz", "npy", "npy.gz", "csv", "fixed-binary", "binary", "text", "stdin"])
def test_every_format_gives_the_same_generation(
    ingest: Graphkin, place: tuple[object, ...], tmp_path: Path, form: str
) -> None:
    expected = json.loads(ingest(CHEMFP).out)
    packed = [bytes.fromhex(bits) for bits in HEXADECIMAL]
    known_bits: tuple[object, ...] = ("--bits", BITS)
    arguments: tuple[object, ...] = ()
    stdin = b""
    match form:
        case "gz":
            path = tmp_path / "a.fps.gz"
            path.write_bytes(gzip.compress(CHEMFP.read_bytes()))
        case "npy" | "npy.gz":
            array = io.BytesIO()
            np.save(array, np.frombuffer(b"".join(packed), np.uint8).reshape(len(packed), -1))
            path, names_file = tmp_path / f"a.{form}", tmp_path / "names.txt"
            path.write_bytes(gzip.compress(array.getvalue()) if form.endswith("gz") else array.getvalue())
            names_file.write_text("".join(f"{name}\n" for name in NAMES))
            arguments = (*known_bits, "--names", names_file)
        case "csv":
            path, arguments = tmp_path / "a.csv", known_bits
            rows = [f"{bits.upper()},{name}" for bits, name in zip(HEXADECIMAL, NAMES, strict=True)]
            path.write_text("\n".join(["Fingerprint,ID", *rows]))
        case "fixed-binary" | "binary" | "text":
            path, arguments = tmp_path / "a.parquet", (*known_bits, "--fingerprint-column", "fp")
            types = {"fixed-binary": pa.binary(len(packed[0])), "binary": pa.binary(), "text": pa.string()}
            column = pa.array(HEXADECIMAL if form == "text" else packed, types[form])
            pq.write_table(pa.table({"id": NAMES, "fp": column}), path)
        case "stdin":
            path, arguments, stdin = Path("-"), (*known_bits, "--format", "fps"), CHEMFP.read_bytes()
    got = json.loads(ingest(path, *arguments, stdin=stdin).out)
    assert got["counts"] == expected["counts"]
    if form == "gz":
        assert got["generation"] == expected["generation"]
    with open_generation(place) as generation:
        assert edge_dict(generation) == pytest.approx(similar_pairs())
        assert generation.items([0])[0]["names"][0] == NAMES[0]


def test_number_of_bits_is_that_of_the_file(ingest: Graphkin, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.random.default_rng(0).integers(0, 256, (9, 5), np.uint8))
    manifest = json.loads(ingest(tmp_path / "a.npy").out)
    assert (manifest["recipe"]["bits"], manifest["counts"]["kept"]) == (40, 9)


def test_invalid_fingerprints_are_rejected(ingest: Graphkin, graphkin: Graphkin, place: tuple[object, ...]) -> None:
    text = b"#FPS1\n#num_bits=12\nff0f\ta\nff1f\tbeyond\nff\tshort\nfg00\tno digit\n0000\tempty\n0000\nFF0F\tagain\n"
    Path("a.fps").write_bytes(text)
    manifest = json.loads(ingest("a.fps", "--max-rejected", 1).out)
    assert manifest["counts"] == {"read": 7, "kept": 2, "duplicates": 1, "rejected": 4}
    rejections = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rejections"]
    reasons = {row["line"]: row["reason"] for row in rejections}
    assert [*reasons] == [4, 5, 6, 8]
    assert "beyond the 12" in reasons[4]
    assert "8 bits, not 12" in reasons[5]
    assert "hexadecimal" in reasons[6]
    assert "identifier" in reasons[8]


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"a.fps": b"#FPS1\n#num_bits=8\nff\ta\n", "b.fps": b"#FPS1\n#num_bits=16\nffff\tb\n"}, (), "different"),
        ({"a.fps": b"#FPS1\n#type=x\nff\ta\n", "b.fps": b"#FPS1\n#type=y\nff\tb\n"}, (), "different"),
        ({"a.fps": b"#FPS2\nff\ta\n"}, (), "a version of FPS that graphkin does not read"),
        ({"a.fps": b"#FPS1\n#num_bits=-8\nff\ta\n"}, (), "no valid number of bits"),
        ({"a.fps": b"#FPS1\n#num_bits=99999\nff\ta\n"}, (), "bits"),
        ({"a.npy": b"ff\ta\n"}, (), "not a NumPy array"),
        ({"a.fps": b"ff\ta\n"}, ("--names", "a.fps"), "only NumPy arrays"),
        ({"a.csv": b"bits\nff\n"}, (), "--fingerprint-column"),
    ],
)
def test_invalid_files_are_refused(
    ingest: Graphkin, files: dict[str, bytes], options: tuple[object, ...], message: str
) -> None:
    for name, content in files.items():
        Path(name).write_bytes(content)
    refused = ingest(*files, *options)
    assert refused.code == 2
    assert message in refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize(
    ("array", "names", "message"),
    [
        (np.zeros((3, 8), np.float32), None, "given: float32 (3, 8)\n  expected: a uint8 array of shape (N, bytes)"),
        (np.zeros(3, np.uint8), None, "given: uint8 (3,)\n  expected: a uint8 array of shape (N, bytes)"),
        (np.zeros((3, 8), np.uint8, order="F"), None, "shape or order\n  given: uint8 (3, 8), by columns"),
        (np.eye(3, 8, dtype=np.uint8), "a\nb\n", "fewer lines"),
        (np.eye(3, 8, dtype=np.uint8), "a\nb\nc\nd\n", "has more lines than a.npy has rows"),
    ],
)
def test_invalid_arrays_are_refused(ingest: Graphkin, array: np.ndarray, names: str | None, message: str) -> None:
    np.save("a.npy", array)
    names_file: tuple[str, ...] = ()
    if names is not None:
        Path("names.txt").write_text(names)
        names_file = ("--names", "names.txt")
    refused = ingest("a.npy", *names_file)
    assert refused.code == 2
    assert message in refused.err


def test_truncated_array_is_refused(ingest: Graphkin) -> None:
    np.save("a.npy", np.eye(8, dtype=np.uint8))
    Path("a.npy").write_bytes(Path("a.npy").read_bytes()[:-3])
    assert "truncated" in ingest("a.npy").err


def test_standard_input_without_bits_is_refused(ingest: Graphkin) -> None:
    refused = ingest("-", "--format", "fps", stdin=CHEMFP.read_bytes())
    assert refused.code == 2
    assert "--bits" in refused.err
