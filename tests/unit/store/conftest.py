"""A small published generation of the embedded store, and helpers to write more."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from graphkin.protocol.manifest import Counts, Manifest, Provenance
from graphkin.store import open_store
from graphkin.store.base import Draft, Store
from graphkin.store.columns import ITEM_SCHEMA
from graphkin.store.embedded.catalog import Catalog
from graphkin.store.records import REJECTION_SCHEMA, Edges

_EDGES = Edges(np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.array([0.7, 0.5], np.float32))


def _write(draft: Draft, items: int = 5) -> Provenance:
    rows = [{"smiles": "C" * n, "inchikey": f"K{n}", "names": [f"n{n}"]} for n in range(1, items + 1)]
    draft.append_items(pa.RecordBatch.from_pylist(rows, schema=ITEM_SCHEMA))
    rejected = [{"source": "f", "line": 1, "input": "x", "reason": "y"}]
    draft.append_rejections(pa.RecordBatch.from_pylist(rejected, schema=REJECTION_SCHEMA))
    draft.append_fingerprints(np.arange(2 * items, dtype=np.uint64).reshape(-1, 2))
    draft.append_edges(_EDGES)
    draft.write_dropped(np.zeros(items, np.int32))
    draft.write_forest(_EDGES)
    return Provenance(
        kind="molecule",
        recipe={"threshold": 0.4, "inchikey": True},
        structure="smiles",
        versions={"rdkit": "1"},
        libraries=["rdkit"],
        inputs=[],
        counts=Counts(read=items + 1, kept=items, duplicates=0, rejected=1),
        edges=2,
        dropped=0,
        properties={},
        histograms={},
        times={},
    )


@pytest.fixture
def write() -> Callable[..., Provenance]:
    """Return write(draft, items=5), which appends all parts of a publication and returns its provenance."""
    return _write


@pytest.fixture
def publish() -> Callable[..., Manifest]:
    """Return publish(store, collection="c", items=5), which publishes a generation."""

    def publish(store: Store, collection: str = "c", items: int = 5) -> Manifest:
        with store.draft(collection, "molecule") as draft:
            return draft.publish(_write(draft, items))

    return publish


@pytest.fixture
def edit_catalog() -> Callable[[Path], AbstractContextManager[sqlite3.Connection]]:
    """Return edit_catalog(folder), a catalog connection whose changes are sealed like those of a faulty writer."""

    @contextmanager
    def edit_catalog(folder: Path) -> Iterator[sqlite3.Connection]:
        with Catalog(folder / "catalog.sqlite")._change() as database:
            database.create_function("sha256", 1, lambda text: hashlib.sha256(text.encode()).hexdigest())
            yield database
            database.execute("UPDATE generations SET digest = sha256(manifest)")

    return edit_catalog


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the path of the store, which does not exist yet."""
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with open_store(folder, create=True) as store:
        yield store
