"""Appends to and removals from collections of fingerprints, vectors and supplied fingerprints equal one ingest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.store import open_store

RANDOM = np.random.default_rng(2)
BITS = (RANDOM.random((300, 40)) < 0.5).astype(np.uint8)
PACKED = np.packbits(BITS, axis=1, bitorder="little")
VECTORS = (RANDOM.normal(size=(20, 5))[RANDOM.integers(0, 20, 300)] + RANDOM.normal(size=(300, 5)) / 3).astype(
    np.float32
)
GIVEN = [f"{'C' * length},{bits.tobytes().hex()}" for length, bits in enumerate(PACKED, 1)]
COLUMN_OPTION = ("--fingerprint-column", "fp")
INGEST_OPTIONS: dict[str, tuple[object, ...]] = {
    "fingerprints": ("--bits", 40, "--threshold", 0.4),
    "vectors": ("--threshold", 0.7),
    "molecules": ("--fingerprint", "given", "--bits", 40, *COLUMN_OPTION),
}

Graphkin = Callable[..., Any]


def write(kind: str, name: str, rows: slice) -> str:
    match kind:
        case "fingerprints":
            lines = [f"{bits.tobytes().hex()}\tp{row}\n" for row, bits in enumerate(PACKED)]
            Path(f"{name}.fps").write_text("".join(["#FPS1\n", *lines[rows]]))
            return f"{name}.fps"
        case "vectors":
            np.save(f"{name}.npy", VECTORS[rows])
            return f"{name}.npy"
    Path(f"{name}.csv").write_text("\n".join(["smiles,fp", *GIVEN[rows]]))
    return f"{name}.csv"


@pytest.mark.parametrize("kind", INGEST_OPTIONS)
def test_append_equals_one_ingest(graphkin: Graphkin, kind: str) -> None:
    whole, first, rest = (
        write(kind, *part) for part in (("w", slice(None)), ("a", slice(200)), ("b", slice(180, None)))
    )
    common_options = ("--top-k", 5, "--workers", 1, "--json")
    place = ("--store", "store", "--collection")
    expected = json.loads(graphkin("ingest", kind, whole, *place, "whole", *INGEST_OPTIONS[kind], *common_options).out)[
        "generation"
    ]
    graphkin("ingest", kind, first, *place, "grown", *INGEST_OPTIONS[kind], *common_options)
    beside = COLUMN_OPTION if kind == "molecules" else ()
    outcome = graphkin("append", rest, *place, "grown", *beside, "--workers", 1)
    assert outcome.code == 0, outcome.err
    with open_store("store") as store, store.open("whole") as one, store.open("grown") as grown:
        assert grown.id == expected
        for a, b in zip(one.edges(), grown.edges(), strict=True):
            assert a.source.tolist() == b.source.tolist()
            assert a.similarity.tolist() == b.similarity.tolist()
        assert one.manifest.edges > 100
    checked = json.loads(graphkin("verify", *place, "grown", "--json").out)
    assert [each["problems"] for each in checked] == [[], []]
    results = [
        json.loads(graphkin("search", *place, name, *_query(kind), "--json").out)["hits"] for name in ("whole", "grown")
    ]
    assert results[0] == results[1] != []


@pytest.mark.parametrize("kind", INGEST_OPTIONS)
def test_removal_equals_an_ingest_without_the_items(graphkin: Graphkin, kind: str) -> None:
    by = "smiles" if kind == "molecules" else "name"
    whole, rest = (write(kind, *part) for part in (("w", slice(None)), ("r", slice(40, None))))
    Path("list").write_text("".join(f"{'C' * (n + 1) if by == 'smiles' else f'p{n}'}\n" for n in range(40)))
    common_options = ("--top-k", 5, "--workers", 1, "--json")
    place = ("--store", "store", "--collection")
    names = name_options(whole, rest) if kind == "vectors" else {}
    for name, file in (("rest", rest), ("c", whole)):
        rejection = graphkin(
            "ingest", kind, file, *place, name, *INGEST_OPTIONS[kind], *common_options, *names.get(file, ())
        )
        assert rejection.code == 0, rejection.err
    outcome = graphkin("remove", "list", *place, "c", "--by", by, "--workers", 1, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["removal"] == {"items": 40, "missing": 0}
    with open_store("store") as store, store.open("rest") as one, store.open("c") as other:
        assert other.id == one.id
        for a, b in zip(one.edges(), other.edges(), strict=True):
            assert a.source.tolist() == b.source.tolist()
            assert a.target.tolist() == b.target.tolist()
            assert a.similarity.tolist() == b.similarity.tolist()
        assert one.items(range(one.size)) == other.items(range(other.size))
        assert one.manifest.edges > 100
    checked = json.loads(graphkin("verify", *place, "c", "--json").out)
    assert [each["problems"] for each in checked] == [[], []]


def name_options(*files: str) -> dict[str, tuple[str, str]]:
    """Return options that name the rows of each file. Each file has the last rows of all."""
    options = {}
    for file in files:
        rows = range(len(VECTORS) - len(np.load(file)), len(VECTORS))
        Path(f"{file}.names").write_text("".join(f"p{row}\n" for row in rows))
        options[file] = ("--names", f"{file}.names")
    return options


def _query(kind: str) -> tuple[str, ...]:
    if kind == "vectors":
        return (json.dumps(VECTORS[250].tolist()),)
    return ("--fingerprint", PACKED[250].tobytes().hex())


def test_appended_molecule_with_other_bits_is_rejected(graphkin: Graphkin) -> None:
    Path("a.csv").write_text("smiles,fp\nCCO,0f\nCC,01\n")
    Path("b.csv").write_text("smiles,fp\nOCC,f0\nCC,01\nC,02\n")
    place = ("--store", "store", "--collection", "c")
    graphkin("ingest", "molecules", "a.csv", *place, "--fingerprint", "given", *COLUMN_OPTION, "--workers", 1)
    outcome = graphkin("append", "b.csv", *place, *COLUMN_OPTION, "--workers", 1, "--max-rejected", 1)
    assert outcome.code == 0, outcome.err
    (rejection,) = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rejections"]
    assert (rejection["input"], rejection["line"]) == ("f0 OCC", 2)
    assert "another fingerprint" in rejection["reason"]


def test_append_of_another_fingerprint_type_is_refused(graphkin: Graphkin) -> None:
    for name in ("ours", "theirs"):
        Path(f"{name}.fps").write_text(f"#FPS1\n#num_bits=8\n#type={name}\nff\tone\n")
    place = ("--store", "store", "--collection", "c", "--workers", 1)
    assert graphkin("ingest", "fingerprints", "ours.fps", *place).code == 0
    outcome = graphkin("append", "theirs.fps", *place)
    assert outcome.code == 2
    assert "theirs.fps holds another type of fingerprints than the collection" in outcome.err
    assert "given: theirs\n  expected: ours" in outcome.err


def test_append_reads_names_and_columns(graphkin: Graphkin) -> None:
    bits = np.array([[1, 2], [3, 4], [5, 6]], np.uint8)
    for name, rows in (("older", slice(0, 2)), ("newer", slice(1, 3))):
        np.save(f"{name}.npy", bits[rows])
        Path(f"{name}.names").write_text("".join(f"p{row}\n" for row in range(*rows.indices(3))))
        cells = "".join(f"p{row},{bits[row].tobytes().hex()}\n" for row in range(*rows.indices(3)))
        Path(f"{name}.csv").write_text(f"id,code\n{cells}")
    options_by_format: dict[str, tuple[object, ...]] = {
        "npy": ("--names", "{}.names"),
        "csv": ("--fingerprint-column", "code"),
    }
    results = []
    for format, options in options_by_format.items():
        place = ("--store", "store", "--collection", format, "--workers", 1, "--json")
        for command, name in ((("ingest", "fingerprints"), "older"), (("append",), "newer")):
            format_options = [str(each).format(name) for each in options]
            outcome = graphkin(*command, f"{name}.{format}", *place, *format_options)
            assert outcome.code == 0, outcome.err
        results.append(json.loads(outcome.out)["generation"])
    assert results[0] == results[1]


@pytest.mark.parametrize(("ingest_options", "append_options"), [((), COLUMN_OPTION[-2:]), (COLUMN_OPTION, ())])
def test_append_needs_the_same_fingerprint_options(
    graphkin: Graphkin, ingest_options: tuple[str, ...], append_options: tuple[str, ...]
) -> None:
    Path("a.csv").write_text("smiles,fp\nCCO,0f\n")
    place = ("--store", "store", "--collection", "c", "--workers", 1)
    given = ("--fingerprint", "given", *ingest_options) if ingest_options else ()
    assert graphkin("ingest", "molecules", "a.csv", *place, *given).code == 0
    outcome = graphkin("append", "a.csv", *place, *append_options)
    assert outcome.code == 2
    assert "precomputed fingerprints need a column" in outcome.err
