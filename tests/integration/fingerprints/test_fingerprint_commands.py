"""Fingerprints that chemfp wrote, arrays and tables: ingested, compared, searched and exported, beside RDKit."""

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


def similar() -> dict[tuple[int, int], float]:
    """Every pair, by RDKit."""
    found = {}
    for a, b in itertools.combinations(range(len(PRINTS)), 2):
        if (similarity := DataStructs.TanimotoSimilarity(PRINTS[a], PRINTS[b])) >= THRESHOLD:
            found[a, b] = similarity
    return found


@pytest.fixture
def where(tmp_path: Path) -> tuple[object, ...]:
    return ("--store", tmp_path / "store", "--collection", "c")


@pytest.fixture
def ingest(graphkin: Graphkin, where: tuple[object, ...]) -> Graphkin:
    def call(*given: object, **options: Any) -> Any:
        running = ("--threshold", THRESHOLD, "--top-k", 0, "--workers", 1, "--json")
        return graphkin("ingest", "fingerprints", *given, *where, *running, **options)

    return call


def opened(where: tuple[object, ...]) -> Generation:
    return open_store(str(where[1])).open("c")


def edges_of(generation: Generation) -> dict[tuple[int, int], float]:
    (edges,) = generation.edges()
    return {
        (a, b): s
        for a, b, s in zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True)
    }


def test_the_hierarchy_of_a_file_of_chemfps_is_rdkits(ingest: Graphkin, where: tuple[object, ...]) -> None:
    manifest = json.loads(ingest(CHEMFP).out)
    assert manifest["kind"] == "fingerprint"
    assert (manifest["recipe"]["bits"], manifest["recipe"]["type"]) == (BITS, "OpenBabel-FP2/1")
    counts = manifest["counts"]
    assert (counts["read"], counts["kept"], counts["rejected"]) == (len(LINES), len(DISTINCT), 0)
    with opened(where) as generation:
        assert edges_of(generation) == pytest.approx(similar())
        assert [*generation.structures()] == DISTINCT
        assert generation.column("popcount").tolist() == [bits.GetNumOnBits() for bits in PRINTS]
        called = [item["names"] for item in generation.items(range(generation.size))]
    same = [[name for bits, name in zip(HEXADECIMAL, NAMES, strict=True) if bits == each] for each in DISTINCT]
    assert called == [[*dict.fromkeys(names)] for names in same]


def test_all_that_is_done_with_a_collection(ingest: Graphkin, graphkin: Graphkin, where: tuple[object, ...]) -> None:
    ingest(CHEMFP)
    asked = HEXADECIMAL[7][:-8] + "00000000"
    answer = json.loads(graphkin("search", *where, asked.upper(), "--json").out)
    found = np.array(DataStructs.BulkTanimotoSimilarity(DataStructs.CreateFromFPSText(asked), PRINTS), np.float32)
    best = sorted(range(len(PRINTS)), key=lambda item: (-found[item], item))[:10]
    assert [hit["item"]["id"] for hit in answer["hits"]] == best
    assert [np.float32(hit["similarity"]) for hit in answer["hits"]] == [found[id] for id in best]
    stored = json.loads(graphkin("search", *where, "--fingerprint", DISTINCT[3], "--json").out)
    assert (stored["query"]["id"], stored["hits"][0]["similarity"]) == (3, 1.0)
    refused = graphkin("search", *where, "0g" * 128)
    assert refused.code == 2
    assert "hexadecimal" in refused.err
    assert json.loads(graphkin("recall", *where, "--json").out)["recall"] == 1
    (verified,) = json.loads(graphkin("verify", *where, "--json").out)
    assert verified["problems"] == []
    a = next(iter(similar()))[0]
    drawn = graphkin("positives", *where, "--id", a, "--policy", "random_walk", "--json")
    assert not json.loads(drawn.out)["isolated"]
    items = csv.DictReader(io.StringIO(graphkin("export", "items", *where, "--format", "csv", "--output", "-").out))
    assert [item["structure"] for item in items] == DISTINCT


def test_what_goes_out_comes_in_again(
    ingest: Graphkin, graphkin: Graphkin, where: tuple[object, ...], tmp_path: Path
) -> None:
    first = json.loads(ingest(CHEMFP).out)["generation"]
    graphkin("export", "fingerprints", *where, "--format", "fps", "--output", tmp_path / "out.fps")
    header = (tmp_path / "out.fps").read_text().splitlines()[:4]
    assert header == ["#FPS1", f"#num_bits={BITS}", "#type=OpenBabel-FP2/1", "#software=graphkin"]
    names = [json.loads(graphkin("neighbors", *where, "--id", 0, "--json").out)["item"]["names"]]
    again = json.loads(ingest(tmp_path / "out.fps").out)
    assert again["counts"]["kept"] == len(DISTINCT)
    assert (again["generation"] == first) == (len(DISTINCT) == len(LINES))
    assert names[0][0] == NAMES[0]


@pytest.mark.parametrize("form", ["gz", "npy", "npy.gz", "csv", "binary", "text", "stdin"])
def test_one_generation_whatever_holds_them(
    ingest: Graphkin, where: tuple[object, ...], tmp_path: Path, form: str
) -> None:
    expected = json.loads(ingest(CHEMFP).out)
    packed = [bytes.fromhex(bits) for bits in HEXADECIMAL]
    known: tuple[object, ...] = ("--bits", BITS)
    given: tuple[object, ...] = ()
    stdin = b""
    match form:
        case "gz":
            path = tmp_path / "a.fps.gz"
            path.write_bytes(gzip.compress(CHEMFP.read_bytes()))
        case "npy" | "npy.gz":
            array = io.BytesIO()
            np.save(array, np.frombuffer(b"".join(packed), np.uint8).reshape(len(packed), -1))
            path, beside = tmp_path / f"a.{form}", tmp_path / "names.txt"
            path.write_bytes(gzip.compress(array.getvalue()) if form.endswith("gz") else array.getvalue())
            beside.write_text("".join(f"{name}\n" for name in NAMES))
            given = (*known, "--names", beside)
        case "csv":
            path, given = tmp_path / "a.csv", known
            rows = [f"{bits.upper()},{name}" for bits, name in zip(HEXADECIMAL, NAMES, strict=True)]
            path.write_text("\n".join(["Fingerprint,ID", *rows]))
        case "binary" | "text":
            path, given = tmp_path / "a.parquet", (*known, "--fingerprint-column", "fp")
            type = pa.binary(len(packed[0])) if form == "binary" else pa.string()
            column = pa.array(packed if form == "binary" else HEXADECIMAL, type)
            pq.write_table(pa.table({"id": NAMES, "fp": column}), path)
        case "stdin":
            path, given, stdin = Path("-"), (*known, "--format", "fps"), CHEMFP.read_bytes()
    got = json.loads(ingest(path, *given, stdin=stdin).out)
    assert got["counts"] == expected["counts"]
    if form == "gz":
        assert got["generation"] == expected["generation"]
    with opened(where) as generation:
        assert edges_of(generation) == pytest.approx(similar())
        assert generation.items([0])[0]["names"][0] == NAMES[0]


def test_the_width_is_the_files(ingest: Graphkin, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.random.default_rng(0).integers(0, 256, (9, 5), np.uint8))
    manifest = json.loads(ingest(tmp_path / "a.npy").out)
    assert (manifest["recipe"]["bits"], manifest["counts"]["kept"]) == (40, 9)


def test_what_is_no_fingerprint_is_rejected(ingest: Graphkin, graphkin: Graphkin, where: tuple[object, ...]) -> None:
    text = b"#FPS1\n#num_bits=12\nff0f\ta\nff1f\tbeyond\nff\tshort\nfg00\tno digit\n0000\tempty\n0000\nFF0F\tagain\n"
    Path("a.fps").write_bytes(text)
    manifest = json.loads(ingest("a.fps", "--max-rejected", 1).out)
    assert manifest["counts"] == {"read": 7, "kept": 2, "duplicates": 1, "rejected": 4}
    told = json.loads(graphkin("info", *where, "--rejections", "--json").out)["rejections"]
    reasons = {row["line"]: row["reason"] for row in told}
    assert [*reasons] == [4, 5, 6, 8]
    assert "beyond the 12" in reasons[4]
    assert "8 bits, not 12" in reasons[5]
    assert "hexadecimal" in reasons[6]
    assert "identifier" in reasons[8]


@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        ({"a.fps": b"#FPS1\n#num_bits=8\nff\ta\n", "b.fps": b"#FPS1\n#num_bits=16\nffff\tb\n"}, (), "different"),
        ({"a.fps": b"#FPS1\n#type=x\nff\ta\n", "b.fps": b"#FPS1\n#type=y\nff\tb\n"}, (), "different"),
        ({"a.fps": b"#FPS2\nff\ta\n"}, (), "no version of FPS"),
        ({"a.fps": b"#FPS1\n#num_bits=-8\nff\ta\n"}, (), "how many bits"),
        ({"a.fps": b"#FPS1\n#num_bits=99999\nff\ta\n"}, (), "bits"),
        ({"a.npy": b"ff\ta\n"}, (), "no array of NumPy"),
        ({"a.fps": b"ff\ta\n"}, ("--names", "a.fps"), "for arrays only"),
        ({"a.csv": b"bits\nff\n"}, (), "--fingerprint-column"),
    ],
)
def test_files_that_are_refused(
    ingest: Graphkin, files: dict[str, bytes], options: tuple[object, ...], said: str
) -> None:
    for name, content in files.items():
        Path(name).write_bytes(content)
    refused = ingest(*files, *options)
    assert refused.code == 2
    assert said in refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize(
    ("array", "names", "said"),
    [
        (np.zeros((3, 8), np.float32), None, "no such rows"),
        (np.zeros(3, np.uint8), None, "no such rows"),
        (np.zeros((3, 8), np.uint8, order="F"), None, "no such rows"),
        (np.eye(3, 8, dtype=np.uint8), "a\nb\n", "fewer names"),
        (np.eye(3, 8, dtype=np.uint8), "a\nb\nc\nd\n", "more names"),
    ],
)
def test_arrays_that_are_refused(ingest: Graphkin, array: np.ndarray, names: str | None, said: str) -> None:
    np.save("a.npy", array)
    beside: tuple[str, ...] = ()
    if names is not None:
        Path("names.txt").write_text(names)
        beside = ("--names", "names.txt")
    refused = ingest("a.npy", *beside)
    assert refused.code == 2
    assert said in refused.err


def test_an_array_that_is_cut_off(ingest: Graphkin) -> None:
    np.save("a.npy", np.eye(8, dtype=np.uint8))
    Path("a.npy").write_bytes(Path("a.npy").read_bytes()[:-3])
    assert "cut off" in ingest("a.npy").err


def test_standard_input_needs_bits(ingest: Graphkin) -> None:
    refused = ingest("-", "--format", "fps", stdin=CHEMFP.read_bytes())
    assert refused.code == 2
    assert "--bits" in refused.err
