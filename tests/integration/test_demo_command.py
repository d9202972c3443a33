"""`graphkin demo --ingest-only`, with which Compose fills an empty database."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphkin.store import open_store


def test_ingest_only_fills_an_empty_store_and_no_other(graphkin: Callable[..., Any], tmp_path: Path) -> None:
    command = ("demo", "--store", tmp_path / "store", "--ingest-only")
    filled = graphkin(*command)
    assert (filled.code, filled.out.startswith("4,999 records: 4,892 molecules")) == (0, True), filled.err
    with open_store(tmp_path / "store") as store:
        before = store.collections()
    assert [collection.name for collection in before] == ["nci"]
    repeated = graphkin(*command)
    assert (repeated.code, repeated.out) == (0, "the store has a collection: nothing to do\n")
    with open_store(tmp_path / "store") as store:
        assert store.collections() == before


def test_ingest_only_needs_a_store(graphkin: Callable[..., Any]) -> None:
    outcome = graphkin("demo", "--ingest-only")
    assert outcome.code == 2
    assert "--store STORE" in outcome.err
