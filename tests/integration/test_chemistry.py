"""Racemates and what else a SMILES cannot say alone, through the command line and whatever reads items again."""

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
def where(tmp_path: Path) -> tuple[object, ...]:
    return "--store", tmp_path / "store", "--collection", "c"


def _exported(graphkin: Callable[..., Any], where: tuple[object, ...], tmp_path: Path, format: str) -> Path:
    path = tmp_path / f"exported.{format}"
    assert graphkin("export", "items", *where, "--format", format, "--output", path).code == 0
    return path


def test_stereo_groups_from_every_format_and_back(
    graphkin: Callable[..., Any], ingest: Callable[..., Any], where: tuple[object, ...], tmp_path: Path
) -> None:
    as_smi = "".join(f"{text} {name}\n" for text, name in LINES)
    as_csv = "smiles,id\n" + "".join(f'"{text}",{name}\n' for text, name in LINES)
    first = json.loads(ingest(as_smi, "--json").out)
    assert first["counts"] == {"read": 5, "kept": 5, "duplicates": 0, "rejected": 0}
    exported = _exported(graphkin, where, tmp_path, "csv").read_text()
    assert exported.splitlines()[1].startswith(f'0,"{TEXTS[0]}",lactol')
    sdf = _exported(graphkin, where, tmp_path, "sdf")
    records = sdf.read_text().split("$$$$\n")[:-1]
    assert ["V3000" in record for record in records] == ["|" in text or "->" in text for text in TEXTS]
    assert json.loads(ingest(as_csv, "--json", name="a.csv").out)["generation"] == first["generation"]
    again = json.loads(ingest(sdf, "--json").out)
    assert again["counts"]["kept"] == 5
    items = [json.loads(graphkin("neighbors", *where, "--name", name, "--json").out)["item"] for _, name in LINES]
    assert [item["smiles"] for item in items] == TEXTS


def test_a_search_finds_the_racemate_by_any_writing_of_it_and_no_isomer(
    graphkin: Callable[..., Any], ingest: Callable[..., Any], where: tuple[object, ...]
) -> None:
    ingest("C[C@H](O)[C@H](F)C |&1:1,3| racemate\nCCO\n")
    found = json.loads(graphkin("search", *where, "F[C@@H](C)[C@H](O)C |&7:1,3|", "--json").out)
    assert found["query"] == {"smiles": TEXTS[0], "id": 0}
    isomer = json.loads(graphkin("search", *where, "C[C@H](O)[C@H](F)C", "--json").out)
    assert isomer["query"]["id"] is None
    assert isomer["hits"][0]["similarity"] == 1
    assert graphkin("verify", *where).code == 0


def test_what_is_never_a_name(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], where: tuple[object, ...]
) -> None:
    lines = ["CCO |&1:1 lactol", "CCN |$;;Boc$| amine", "CCC |note|", *(f"{'C' * n}O x{n}" for n in range(2, 30))]
    counts = json.loads(ingest("\n".join(lines) + "\n", "--json").out)["counts"]
    assert counts == {"read": 31, "kept": 28, "duplicates": 0, "rejected": 3}
    rejected = json.loads(graphkin("info", *where, "--rejections", "--json").out)["rejections"]
    assert [(row["line"], row["input"], row["reason"]) for row in rejected] == [
        (1, lines[0], "the extension of the SMILES is never closed"),
        (2, "CCN |$;;Boc$|", "its extension says more than is kept (labels of atoms): $;;Boc$"),
        (3, lines[2], "no CXSMILES: note"),
    ]


def test_the_trainer_reads_the_isomer_that_is_drawn() -> None:
    drawn = [text.split()[0] for text in TEXTS]
    given, plain = featurize(TEXTS, "c"), featurize(drawn, "c")
    for name in ("atom_type", "chirality", "source", "bond"):
        assert (getattr(given, name) == getattr(plain, name)).all()
    assert scaffolds(TEXTS) == scaffolds(drawn)
