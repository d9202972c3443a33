"""Fingerprints, vectors and molecules with given fingerprints grow and shrink: the same as one ingest of the rest."""

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
BESIDE = ("--fingerprint-column", "fp")
TOLD: dict[str, tuple[object, ...]] = {
    "fingerprints": ("--bits", 40, "--threshold", 0.4),
    "vectors": ("--threshold", 0.7),
    "molecules": ("--fingerprint", "given", "--bits", 40, *BESIDE),
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


@pytest.mark.parametrize("kind", TOLD)
def test_what_is_appended_is_as_if_it_had_been_there(graphkin: Graphkin, kind: str) -> None:
    whole, first, rest = (
        write(kind, *part) for part in (("w", slice(None)), ("a", slice(200)), ("b", slice(180, None)))
    )
    running = ("--top-k", 5, "--workers", 1, "--json")
    into = ("--store", "store", "--collection")
    expected = json.loads(graphkin("ingest", kind, whole, *into, "whole", *TOLD[kind], *running).out)["generation"]
    graphkin("ingest", kind, first, *into, "grown", *TOLD[kind], *running)
    beside = BESIDE if kind == "molecules" else ()
    outcome = graphkin("append", rest, *into, "grown", *beside, "--workers", 1)
    assert outcome.code == 0, outcome.err
    with open_store("store") as store, store.open("whole") as one, store.open("grown") as grown:
        assert grown.id == expected
        for a, b in zip(one.edges(), grown.edges(), strict=True):
            assert a.source.tolist() == b.source.tolist()
            assert a.similarity.tolist() == b.similarity.tolist()
        assert one.manifest.edges > 100
    checked = json.loads(graphkin("verify", *into, "grown", "--json").out)
    assert [each["problems"] for each in checked] == [[], []]
    found = [
        json.loads(graphkin("search", *into, name, *_asked(kind), "--json").out)["hits"] for name in ("whole", "grown")
    ]
    assert found[0] == found[1] != []


@pytest.mark.parametrize("kind", TOLD)
def test_what_is_removed_is_as_if_it_had_never_been_there(graphkin: Graphkin, kind: str) -> None:
    by = "smiles" if kind == "molecules" else "name"
    whole, rest = (write(kind, *part) for part in (("w", slice(None)), ("r", slice(40, None))))
    Path("list").write_text("".join(f"{'C' * (n + 1) if by == 'smiles' else f'p{n}'}\n" for n in range(40)))
    running = ("--top-k", 5, "--workers", 1, "--json")
    into = ("--store", "store", "--collection")
    names = named(whole, rest) if kind == "vectors" else {}
    for name, file in (("rest", rest), ("c", whole)):
        told = graphkin("ingest", kind, file, *into, name, *TOLD[kind], *running, *names.get(file, ()))
        assert told.code == 0, told.err
    outcome = graphkin("remove", "list", *into, "c", "--by", by, "--workers", 1, "--json")
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
    checked = json.loads(graphkin("verify", *into, "c", "--json").out)
    assert [each["problems"] for each in checked] == [[], []]


def named(*files: str) -> dict[str, tuple[str, str]]:
    """Options with the names of the rows of each file, which are the last of all."""
    options = {}
    for file in files:
        rows = range(len(VECTORS) - len(np.load(file)), len(VECTORS))
        Path(f"{file}.names").write_text("".join(f"p{row}\n" for row in rows))
        options[file] = ("--names", f"{file}.names")
    return options


def _asked(kind: str) -> tuple[str, ...]:
    if kind == "vectors":
        return (json.dumps(VECTORS[250].tolist()),)
    return ("--fingerprint", PACKED[250].tobytes().hex())


def test_what_is_appended_must_agree_too(graphkin: Graphkin) -> None:
    Path("a.csv").write_text("smiles,fp\nCCO,0f\nCC,01\n")
    Path("b.csv").write_text("smiles,fp\nOCC,f0\nCC,01\nC,02\n")
    into = ("--store", "store", "--collection", "c")
    graphkin("ingest", "molecules", "a.csv", *into, "--fingerprint", "given", *BESIDE, "--workers", 1)
    outcome = graphkin("append", "b.csv", *into, *BESIDE, "--workers", 1, "--max-rejected", 1)
    assert outcome.code == 0, outcome.err
    (told,) = json.loads(graphkin("info", *into, "--rejections", "--json").out)["rejections"]
    assert (told["input"], told["line"]) == ("f0 OCC", 2)
    assert "another fingerprint" in told["reason"]


def test_fingerprints_of_another_type_are_refused(graphkin: Graphkin) -> None:
    for name in ("ours", "theirs"):
        Path(f"{name}.fps").write_text(f"#FPS1\n#num_bits=8\n#type={name}\nff\tone\n")
    into = ("--store", "store", "--collection", "c", "--workers", 1)
    assert graphkin("ingest", "fingerprints", "ours.fps", *into).code == 0
    outcome = graphkin("append", "theirs.fps", *into)
    assert outcome.code == 2
    assert "other fingerprints" in outcome.err


def test_columns_and_names_of_what_is_appended(graphkin: Graphkin) -> None:
    bits = np.array([[1, 2], [3, 4], [5, 6]], np.uint8)
    for name, rows in (("older", slice(0, 2)), ("newer", slice(1, 3))):
        np.save(f"{name}.npy", bits[rows])
        Path(f"{name}.names").write_text("".join(f"p{row}\n" for row in range(*rows.indices(3))))
        cells = "".join(f"p{row},{bits[row].tobytes().hex()}\n" for row in range(*rows.indices(3)))
        Path(f"{name}.csv").write_text(f"id,code\n{cells}")
    given: dict[str, tuple[object, ...]] = {"npy": ("--names", "{}.names"), "csv": ("--fingerprint-column", "code")}
    found = []
    for format, options in given.items():
        into = ("--store", "store", "--collection", format, "--workers", 1, "--json")
        for command, name in ((("ingest", "fingerprints"), "older"), (("append",), "newer")):
            said = [str(each).format(name) for each in options]
            outcome = graphkin(*command, f"{name}.{format}", *into, *said)
            assert outcome.code == 0, outcome.err
        found.append(json.loads(outcome.out)["generation"])
    assert found[0] == found[1]


@pytest.mark.parametrize(("ingested", "appended"), [((), BESIDE[-2:]), (BESIDE, ())])
def test_fingerprints_beside_molecules_come_with_their_column(
    graphkin: Graphkin, ingested: tuple[str, ...], appended: tuple[str, ...]
) -> None:
    Path("a.csv").write_text("smiles,fp\nCCO,0f\n")
    into = ("--store", "store", "--collection", "c", "--workers", 1)
    given = ("--fingerprint", "given", *ingested) if ingested else ()
    assert graphkin("ingest", "molecules", "a.csv", *into, *given).code == 0
    outcome = graphkin("append", "a.csv", *into, *appended)
    assert outcome.code == 2
    assert "need each other" in outcome.err
