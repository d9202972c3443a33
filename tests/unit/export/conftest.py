"""A generation in memory, with items and edges that are hard to export."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphkin.protocol.manifest import Counts, Manifest
from graphkin.store.base import Generation, as_float32
from graphkin.store.columns import ID, item_schema, titles
from graphkin.store.records import Edges, Int32


class MemoryGeneration(Generation):
    """The part of the store port that exports need: `manifest`, columns in batches of two, and edges in blocks of two.

    `items` are dicts with smiles, names, inchikey and properties. `edges` are (source, target, similarity). Every other
    method raises `AssertionError`.
    """

    def __init__(self, items: list[dict], edges: list[tuple], kind: str = "molecule", inchikey: bool = False) -> None:
        self.collection = "memory"
        self._items = items
        self._edges = sorted(edges)
        size = len(items)
        values = {name: value for item in items for name, value in item.get("properties", {}).items()}
        self.manifest = Manifest(
            kind=kind,
            recipe={"threshold": 0.4, "inchikey": inchikey},
            structure="smiles" if kind == "molecule" else "structure",
            versions={},
            libraries=[],
            inputs=[],
            counts=Counts(read=size, kept=size, duplicates=0, rejected=0),
            edges=len(edges),
            dropped=None,
            properties={name: "text" if isinstance(value, str) else "number" for name, value in values.items()},
            histograms={},
            times={},
            generation="0" * 64,
            format=2,
            published_at="2020-01-01T00:00:00Z",
        )

    def scan(self, ids: Int32 | None = None, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        selection = list(range(self.size)) if ids is None else [int(id) for id in ids]
        schema = pa.schema([ID, *item_schema(self.manifest)])
        for start in range(0, len(selection), 2):
            batch = pa.RecordBatch.from_pylist([self._row(id) for id in selection[start : start + 2]], schema)
            yield batch if names is None else batch.select(names)

    def columns(self, names: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        return self.scan(np.arange(start, self.size if stop is None else stop, dtype=np.int32), names)

    def _row(self, id: int) -> dict[str, Any]:
        item = {"names": [], "properties": {}, **self._items[id]}
        column_names = titles(self.manifest.properties)
        return {**item, "id": id, **{column_names[name]: value for name, value in item["properties"].items()}}

    def edges(self, min_similarity: float | None = None, ids: Int32 | None = None) -> Iterator[Edges]:
        members = set(range(self.size) if ids is None else ids.tolist())
        selection = [
            e for e in self._edges if np.float32(e[2]) >= as_float32(min_similarity) and members.issuperset(e[:2])
        ]
        for start in range(0, len(selection), 2):
            source, target, similarity = zip(*selection[start : start + 2], strict=True)
            yield Edges(np.array(source, np.int32), np.array(target, np.int32), np.array(similarity, np.float32))

    def close(self) -> None:
        pass


def _out_of_bounds(name: str) -> Callable:
    def refuse(self: MemoryGeneration, *args: Any, **kwargs: Any) -> None:
        raise AssertionError(f"an export called {name}()")

    return refuse


for _name in MemoryGeneration.__abstractmethods__:
    setattr(MemoryGeneration, _name, _out_of_bounds(_name))
MemoryGeneration.__abstractmethods__ = frozenset()

ITEMS: list[dict] = [
    {"smiles": "CCO", "names": ["ethanol", 'the "spirit"'], "properties": {"logP": -0.31, "note": "plain", "id": 5}},
    {"smiles": "[Na+].[Cl-]", "names": ["=1+1"], "properties": {"note": "two\nlines,\n\nand one\r\n$$$$\rend"}},
    {"smiles": "C[C@H](N)C(=O)O", "names": [], "properties": {"logP": 7, "note": "-5", "=sum": "@cmd", "names": "n"}},
    {"smiles": "c1ccccc1", "names": ["a\tb", "  "], "properties": {"note": "<&> ]]> \x01\x0b é\ud7ff\U0001f600"}},
    {"smiles": "CC", "names": ["$$$$\n> <note>"], "properties": {"logP": 1e-7, "note": "\ttab", "<i>\n\"d'": "+1"}},
]
EDGES = [(0, 1, 0.7), (0, 4, 1.0), (1, 2, 0.4), (2, 3, 1 / 3), (2, 4, 0.05), (3, 4, 0.123456789)]


@pytest.fixture
def items() -> list[dict]:
    return ITEMS


@pytest.fixture
def edges() -> list[tuple]:
    return EDGES


@pytest.fixture
def make_generation() -> type[MemoryGeneration]:
    """Return make_generation(items, edges, kind=, inchikey=), which builds a generation."""
    return MemoryGeneration


@pytest.fixture
def generation(make_generation: type[MemoryGeneration]) -> MemoryGeneration:
    return make_generation(ITEMS, EDGES)
