"""Chunks of records become columns of molecules."""

from collections.abc import Callable
from typing import Any

import pytest
from rdkit import Chem

from graphkin.ingest.parsing import Chunk, ChunkParser, Parsed, item_schema
from graphkin.similarity.molecules.describer import MoleculeDescriber
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.identity import content_digest
from graphkin.store.records import REJECTION_SCHEMA

RECIPE = resolve(tie_seed=3)


def _rows(parsed: list[Parsed]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the molecules and the rejections, in order."""
    return (
        [row for each in parsed for row in each.items.to_pylist()],
        [row for each in parsed for row in each.rejections.to_pylist()],
    )


def test_chunk_becomes_columns_in_record_order(chunk: Callable[..., Chunk], generators: Any, packed: Any) -> None:
    texts = ["OCC", "C1CC", "c1ccccc1", "", "CC"]
    properties = [{"x": str(n)} for n in range(5)]
    records = chunk(texts, ["a", "b", None, "d", ""], properties, [None, None, None, None, "is longer than allowed"])
    parsed = ChunkParser(MoleculeDescriber(RECIPE, 1000)).parse(records)
    assert parsed.items.schema == item_schema(MoleculeDescriber(RECIPE, 1000).schema)
    assert parsed.rejections.schema == REJECTION_SCHEMA
    molecules, rejections = _rows([parsed])
    assert [(row["smiles"], row["name"], row["properties"]) for row in molecules] == [
        ("CCO", "a", [("x", "0")]),
        ("c1ccccc1", None, [("x", "2")]),
    ]
    assert [(row["rings"], row["heavy_atoms"], row["inchikey"]) for row in molecules] == [(0, 3, None), (1, 6, None)]
    for row in molecules:
        expected = packed([generators["morgan"](Chem.MolFromSmiles(row["smiles"]))])
        assert row["fingerprint"] == expected.tobytes()
        assert row["digest"] == content_digest(row["smiles"], 3)
    assert [(row["source"], row["line"], row["input"]) for row in rejections] == [
        ("made-up.smi", 2, "C1CC"),
        ("made-up.smi", 4, ""),
        ("made-up.smi", 5, "CC"),
    ]
    assert "unclosed ring" in rejections[0]["reason"]
    assert [row["reason"] for row in rejections[1:]] == ["empty record", "is longer than allowed"]


def test_rejection_keeps_an_excerpt_of_a_long_input(chunk: Callable[..., Chunk]) -> None:
    text = "é" * 9_000
    _, (rejection,) = _rows([ChunkParser(MoleculeDescriber(RECIPE, 1000)).parse(chunk([text]))])
    assert rejection["input"] == text[:4096]


@pytest.mark.parametrize("texts", [[], ["nonsense"], ["C"]])
def test_empty_chunks_have_the_schemas_of_items_and_rejections(chunk: Callable[..., Chunk], texts: list[str]) -> None:
    records = chunk(texts)
    parsed = ChunkParser(MoleculeDescriber(RECIPE, 1000)).parse(records)
    assert parsed.items.schema == item_schema(MoleculeDescriber(RECIPE, 1000).schema)
    assert parsed.rejections.schema == REJECTION_SCHEMA
    assert parsed.items.num_rows + parsed.rejections.num_rows == len(texts)


def test_molblocks_are_standardized_by_the_recipe(chunk: Callable[..., Chunk]) -> None:
    blocks = [Chem.MolToMolBlock(Chem.MolFromSmiles(text)) for text in ("CC(=O)[O-].[Na+]", "OCC")]
    recipe = resolve(standardise=["largest_fragment", "uncharge"], fingerprint={"name": "maccs"}, inchikey=True)
    molecules, _ = _rows([ChunkParser(MoleculeDescriber(recipe, 1000)).parse(chunk(blocks, writing="molblock"))])
    assert [row["smiles"] for row in molecules] == ["CC(=O)O", "CCO"]
    assert molecules[0]["inchikey"] == "QTBSBXVTEAMEQO-UHFFFAOYSA-N"
    assert {len(row["fingerprint"]) for row in molecules} == {24}
