"""The content hash equals a plain reference implementation, and identifies the content."""

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

from graphkin.protocol.manifest import Counts, Provenance
from graphkin.store.columns import ITEM_SCHEMA, NUMBER_WITH_TEXT
from graphkin.store.identity import BLOCK_SIZE, BlockHasher, content_digest, generation_id

Row = dict[str, Any]

SCHEMA = pa.schema([*ITEM_SCHEMA, ("x", NUMBER_WITH_TEXT), ("note", pa.string())])

texts = st.text(st.sampled_from("aé東\0 "), max_size=3)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "smiles": st.none() | texts,
            "structure": st.none() | texts,
            "inchikey": st.none() | texts,
            "names": st.lists(texts, max_size=3),
            "x": st.none() | st.sampled_from(["1", "1.0", "-.5"]),
            "note": st.none() | texts,
        }
    ),
    max_size=6,
)


def _row(
    smiles: str | None = None,
    names: tuple[str, ...] = (),
    inchikey: str | None = None,
    x: str | None = None,
    structure: str | None = None,
    note: str | None = None,
) -> Row:
    return {
        "smiles": smiles, "structure": structure, "inchikey": inchikey, "names": list(names), "x": x, "note": note,
    }  # fmt: skip


def _table(rows: list[Row]) -> pa.RecordBatch:
    content = [{**row, "x": row["x"] and {"number": float(row["x"]), "text": row["x"]}} for row in rows]
    return pa.RecordBatch.from_pylist(content, schema=SCHEMA)


def _provenance(recipe: dict[str, Any] | None = None, libraries: dict[str, str] | None = None) -> Provenance:
    return Provenance(
        kind="molecule",
        recipe={"threshold": 0.4} if recipe is None else recipe,
        structure="smiles",
        versions={"numpy": "2", **(libraries or {})},
        libraries=sorted(libraries or {}),
        inputs=[],
        counts=Counts(read=0, kept=0, duplicates=0, rejected=0),
        edges=0,
        dropped=0,
        properties={"x": "number", "note": "text"},
        histograms={},
        times={},
    )


def _blocks(*batches: pa.RecordBatch) -> list[bytes]:
    hasher = BlockHasher()
    for batch in batches:
        hasher.update(batch)
    return hasher.blocks


def _id(*batches: pa.RecordBatch, recipe: dict[str, Any] | None = None, libraries: dict[str, str] | None = None) -> str:
    return generation_id(_provenance(recipe, libraries), _blocks(*batches))


def _streams(values: list[str | None]) -> list[bytes]:
    encoded = [None if value is None else value.encode() for value in values]
    lengths = [-1 if value_bytes is None else len(value_bytes) for value_bytes in encoded]
    return [
        struct.pack(f"<{len(lengths)}i", *lengths),
        b"".join(value_bytes for value_bytes in encoded if value_bytes is not None),
    ]


def _block(rows: list[Row]) -> bytes:
    """Return the hash of a block, by the definition.

    The block is the number of rows, then, for each column with a value, by name: the hashes of the lengths as
    little-endian int32 (-1 is null), of the UTF-8 bytes, and of the name. The column names begins with the hash of its
    number of names per row.
    """
    block = len(rows).to_bytes(8, "little")
    for column in sorted(SCHEMA.names):
        values = [row[column] for row in rows]
        if all(value is None for value in values):
            continue
        streams = _streams([name for names in values for name in names] if column == "names" else values)
        if column == "names":
            streams.insert(0, struct.pack(f"<{len(values)}i", *map(len, values)))
        block += b"".join(hashlib.sha256(stream).digest() for stream in (*streams, column.encode()))
    return hashlib.sha256(block).digest()


@given(rows)
def test_generation_id_equals_the_reference(rows: list[Row]) -> None:
    blocks = [_block(rows)] if rows else []
    assert _blocks(_table(rows)) == blocks
    content = {
        "recipe": {"threshold": 0.4},
        "libraries": {"rdkit": "1"},
        "properties": {"x": "number", "note": "text"},
        "items": hashlib.sha256(b"".join(blocks)).hexdigest(),
    }
    expected = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    assert _id(_table(rows), libraries={"rdkit": "1"}) == expected


@given(rows, st.lists(st.integers(0, 6), max_size=4))
def test_generation_id_does_not_depend_on_batches(rows: list[Row], cuts: list[int]) -> None:
    table = _table(rows)
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    slices = [table.slice(start, end - start) for start, end in pairwise(bounds)]
    copies = [pa.RecordBatch.from_pylist(part.to_pylist(), schema=SCHEMA) for part in slices]
    assert _id(*slices) == _id(*copies) == _id(table)


def test_blocks_are_hashed_separately() -> None:
    rows = [_row(f"C{n}", (f"n{n}",) * (n % 3)) for n in range(2 * BLOCK_SIZE + 5)]
    noted = [_row(f"N{n}", note=f"{n}") for n in range(BLOCK_SIZE)]
    table = _table(rows)
    whole = _blocks(table)
    assert whole == [_block(rows[start : start + BLOCK_SIZE]) for start in range(0, len(rows), BLOCK_SIZE)]
    assert _blocks(table.slice(0, BLOCK_SIZE)) + _blocks(table.slice(BLOCK_SIZE)) == whole
    assert _blocks(table.drop_columns(["x", "note"])) == whole  # columns without values
    assert _blocks(table, _table(noted))[:2] == whole[:2]


@given(rows, rows)
def test_different_tables_have_different_ids(some: list[Row], others: list[Row]) -> None:
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
        ([_row()], [_row(x="1")]),
        ([_row(x="1")], [_row(x="1.0")]),
        ([_row(x="1")], [_row(note="1")]),
        ([_row(note="")], [_row()]),
    ],
)
def test_similar_tables_have_different_ids(some: list[Row], others: list[Row]) -> None:
    assert _id(_table(some)) != _id(_table(others))


def test_generation_id_depends_on_recipe_and_libraries() -> None:
    table = _table([_row("C")])
    recipes = [{"threshold": 0.4}, {"threshold": 0.5}, {"threshold": 0.4, "top_k": 1}, {}]
    libraries: tuple[dict[str, str], ...] = ({"rdkit": "1"}, {"rdkit": "2"}, {"grakel": "1"}, {})
    assert len({_id(table, recipe=recipe, libraries=versions) for recipe in recipes for versions in libraries}) == 16
    assert _id(table, recipe={"a": 1, "b": 2}) == _id(table, recipe={"b": 2, "a": 1})


def test_content_digest_is_seeded_and_fixed() -> None:
    assert content_digest("CCO", 0) == hashlib.blake2b(b"CCO", digest_size=16, salt=bytes(16)).digest()
    digests = {content_digest(smiles, seed) for smiles in ("", "C", "CC") for seed in (0, 1, 2**64)}
    assert {len(digest) for digest in digests} == {16}
    assert len(digests) == 9


def test_seeds_of_the_digest_give_different_orders() -> None:
    orders = [np.argsort([content_digest("C" * n, seed) for n in range(1, 50)]).tolist() for seed in (0, 1)]
    assert orders[0] != orders[1]
