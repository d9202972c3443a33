"""Stereo groups and other SMILES extensions on the command line, and in everything that reads items again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphkin.trainer.downstream.scaffold import scaffolds
from graphkin.trainer.features.featurize import featurize

LINES = [
    ("C[C@H](O)[C@H](F)C |&1:1,3|", "lactol"),
    ("C[C@H](O)[C@H](F)C", "one"),
    ("C[C@@H](O)[C@@H](F)C |o1:1,3|", "either"),
    ("[NH3][Pt] |C:0.0|", "dative"),
    ("C[C@@H]1CCCN1 |&1:1|", "ring"),
]
TEXTS = [
    "C[C@H](F)[C@@H](C)O |&1:1,3|",
    "C[C@H](O)[C@@H](C)F",
    "C[C@H](F)[C@@H](C)O |o1:1,3|",
    "[NH3]->[Pt]",
    "C[C@@H]1CCCN1 |&1:1|",
]


@pytest.fixture
def place(tmp_path: Path) -> tuple[object, ...]:
    return "--store", tmp_path / "store", "--collection", "c"


def _export_items(graphkin: Callable[..., Any], place: tuple[object, ...], tmp_path: Path, format: str) -> Path:
    path = tmp_path / f"exported.{format}"
    assert graphkin("export", "items", *place, "--format", format, "--output", path).code == 0
    return path


def test_stereo_groups_survive_every_format(
    graphkin: Callable[..., Any], ingest: Callable[..., Any], place: tuple[object, ...], tmp_path: Path
) -> None:
    as_smi = "".join(f"{text} {name}\n" for text, name in LINES)
    as_csv = "smiles,id\n" + "".join(f'"{text}",{name}\n' for text, name in LINES)
    first = json.loads(ingest(as_smi, "--json").out)
    assert first["counts"] == {"read": 5, "kept": 5, "duplicates": 0, "rejected": 0}
    exported = _export_items(graphkin, place, tmp_path, "csv").read_text()
    assert exported.splitlines()[1].startswith(f'0,"{TEXTS[0]}",lactol')
    sdf = _export_items(graphkin, place, tmp_path, "sdf")
    records = sdf.read_text().split("$$$$\n")[:-1]
    assert ["V3000" in record for record in records] == ["|" in text or "->" in text for text in TEXTS]
    assert json.loads(ingest(as_csv, "--json", name="a.csv").out)["generation"] == first["generation"]
    second_manifest = json.loads(ingest(sdf, "--json").out)
    assert second_manifest["counts"]["kept"] == 5
    items = [json.loads(graphkin("neighbors", *place, "--name", name, "--json").out)["item"] for _, name in LINES]
    assert [item["smiles"] for item in items] == TEXTS


def test_search_finds_the_racemate_in_any_notation_but_no_isomer(
    graphkin: Callable[..., Any], ingest: Callable[..., Any], place: tuple[object, ...]
) -> None:
    ingest("C[C@H](O)[C@H](F)C |&1:1,3| racemate\nCCO\n")
    result = json.loads(graphkin("search", *place, "F[C@@H](C)[C@H](O)C |&7:1,3|", "--json").out)
    assert result["query"] == {"smiles": TEXTS[0], "id": 0}
    isomer = json.loads(graphkin("search", *place, "C[C@H](O)[C@H](F)C", "--json").out)
    assert isomer["query"]["id"] is None
    assert isomer["hits"][0]["similarity"] == 1
    assert graphkin("verify", *place).code == 0


def test_unclosed_or_unsupported_extension_is_not_read_as_a_name(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], place: tuple[object, ...]
) -> None:
    lines = ["CCO |&1:1 lactol", "CCN |$;;Boc$| amine", "CCC |note|", *(f"{'C' * n}O x{n}" for n in range(2, 30))]
    counts = json.loads(ingest("\n".join(lines) + "\n", "--json").out)["counts"]
    assert counts == {"read": 31, "kept": 28, "duplicates": 0, "rejected": 3}
    rejections = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rejections"]
    assert [(row["line"], row["input"], row["reason"]) for row in rejections] == [
        (1, lines[0], "the extension of the SMILES is never closed"),
        (2, "CCN |$;;Boc$|", "its extension has a feature that is not stored (labels of atoms): $;;Boc$"),
        (3, lines[2], "no CXSMILES: note"),
    ]


def test_trainer_reads_the_depicted_isomer() -> None:
    plain_smiles = [text.split()[0] for text in TEXTS]
    extended, plain = featurize(TEXTS, "c"), featurize(plain_smiles, "c")
    for name in ("atom_type", "chirality", "source", "bond"):
        assert (getattr(extended, name) == getattr(plain, name)).all()
    assert scaffolds(TEXTS) == scaffolds(plain_smiles)
