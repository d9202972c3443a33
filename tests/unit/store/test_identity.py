"""The content hash against a plain restatement of it, and the properties that make it an identity."""

import hashlib
import json
import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkin.store.identity import ContentHash, content_digest
from graphkin.store.records import ITEM_SCHEMA

Row = dict[str, Any]

texts = st.text(st.sampled_from("aé東\0 "), max_size=3)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "smiles": st.none() | texts,
            "structure": st.none() | texts,
            "inchikey": st.none() | texts,
            "names": st.lists(texts, max_size=3),
            "properties": texts,
        }
    ),
    max_size=6,
)


def _row(
    smiles: str | None = None,
    names: tuple[str, ...] = (),
    inchikey: str | None = None,
    properties: str = "{}",
    structure: str | None = None,
) -> Row:
    fields = {"smiles": smiles, "structure": structure, "inchikey": inchikey}
    return {**fields, "names": list(names), "properties": properties}


def _table(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=ITEM_SCHEMA)


def _id(*batches: pa.RecordBatch, recipe: dict[str, Any] | None = None, rdkit: str | None = "1") -> str:
    content = ContentHash()
    for batch in batches:
        content.update(batch)
    return content.hexdigest({"threshold": 0.4} if recipe is None else recipe, rdkit)


def _reference(rows: list[Row], recipe: dict[str, Any], rdkit: str | None) -> str:
    """The same, row by row: lengths as little-endian int32 (-1: null) and UTF-8 bytes, a stream of each per column."""
    streams: dict[str, tuple[list[int], list[bytes]]] = {"names.count": ([len(row["names"]) for row in rows], [])}
    for column in ("smiles", "structure", "inchikey", "properties", "names"):
        values = [name for row in rows for name in row["names"]] if column == "names" else [row[column] for row in rows]
        encoded = [None if value is None else value.encode() for value in values]
        streams[column] = ([-1 if e is None else len(e) for e in encoded], [e for e in encoded if e is not None])
    items = {
        column: [
            hashlib.sha256(struct.pack(f"<{len(lengths)}i", *lengths)).hexdigest(),
            hashlib.sha256(b"".join(data)).hexdigest(),
        ]
        for column, (lengths, data) in streams.items()
    }
    content = {"recipe": recipe, "rdkit": rdkit, "rows": len(rows), "items": items}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@given(rows)
def test_equals_the_reference(rows: list[Row]) -> None:
    assert _id(_table(rows)) == _reference(rows, {"threshold": 0.4}, "1")


@given(rows, st.lists(st.integers(0, 6), max_size=4))
def test_does_not_depend_on_batches(rows: list[Row], cuts: list[int]) -> None:
    table = _table(rows)
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    slices = [table.slice(begin, end - begin) for begin, end in pairwise(bounds)]
    copies = [_table(part.to_pylist()) for part in slices]
    assert _id(*slices) == _id(*copies) == _id(table)


@given(rows, rows)
def test_different_tables_differ(some: list[Row], others: list[Row]) -> None:
    assert (_id(_table(some)) == _id(_table(others))) == (some == others)


@pytest.mark.parametrize(
    ("some", "others"),
    [
        ([_row(None)], [_row("")]),
        ([_row("ab"), _row("c")], [_row("a"), _row("bc")]),
        ([_row(None), _row("a")], [_row("a"), _row(None)]),
        ([_row("a", inchikey=None)], [_row(None, inchikey="a")]),
        ([_row("a")], [_row(structure="a")]),
        ([_row(names=("a", "b"))], [_row(names=("ab",))]),
        ([_row(names=("a", "b")), _row()], [_row(names=("a",)), _row(names=("b",))]),
        ([_row(names=("",))], [_row()]),
        ([_row(names=("a", "b"))], [_row(names=("b", "a"))]),
        ([_row("a"), _row("b")], [_row("b"), _row("a")]),
        ([_row("a")], [_row("a"), _row("")]),
        ([], [_row("")]),
        ([_row(properties="{}")], [_row(properties='{"x": 1}')]),
    ],
)
def test_tables_that_are_easily_confused(some: list[Row], others: list[Row]) -> None:
    assert _id(_table(some)) != _id(_table(others))


def test_recipe_and_rdkit_are_part_of_it() -> None:
    table = _table([_row("C")])
    recipes = [{"threshold": 0.4}, {"threshold": 0.5}, {"threshold": 0.4, "top_k": 1}, {}]
    ids = {_id(table, recipe=recipe, rdkit=rdkit) for recipe in recipes for rdkit in ("1", "2", None)}
    assert len(ids) == 12
    assert _id(table, recipe={"a": 1, "b": 2}) == _id(table, recipe={"b": 2, "a": 1})


def test_content_digest_is_seeded_and_fixed() -> None:
    assert content_digest("CCO", 0) == hashlib.blake2b(b"CCO", digest_size=16, salt=bytes(16)).digest()
    digests = {content_digest(smiles, seed) for smiles in ("", "C", "CC") for seed in (0, 1, 2**64)}
    assert {len(digest) for digest in digests} == {16}
    assert len(digests) == 9


def test_another_seed_is_another_order() -> None:
    orders = [np.argsort([content_digest("C" * n, seed) for n in range(1, 50)]).tolist() for seed in (0, 1)]
    assert orders[0] != orders[1]
