"""Copies of a generation between stores: progress, errors and optional parts."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.protocol.errors import Conflict, StoreFormat
from graphkin.store import open_store
from graphkin.store.base import Store
from graphkin.store.transfer import copy_generation


@pytest.fixture
def target(tmp_path: Path) -> Store:
    return open_store(tmp_path / "target", create=True)


def test_progress_counts_each_item_once(store: Store, target: Store, molecules: Any) -> None:
    molecules.publish(store, "c")
    announced: dict[str, int | None] = {}
    done: Counter[str] = Counter()

    @contextmanager
    def stage(name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        announced[name] = total
        yield lambda by: done.update({name: by})

    with store.open("c") as source:
        copy_generation(source, target, stage)
    assert announced == {"items": 10, "rejections": 3, "fingerprints": 10, "edges": 10, "spanning forest": 6}
    assert done == announced


def test_damaged_items_are_not_copied(store: Store, folder: Path, target: Store, molecules: Any) -> None:
    manifest = molecules.publish(store, "c")
    items = folder / "collections" / "c" / manifest.generation / "items.arrow"
    items.write_bytes(items.read_bytes().replace(b"OCCO", b"NCCO"))
    with store.open("c") as source, pytest.raises(StoreFormat, match="damaged"):
        copy_generation(source, target)
    assert target.collections() == []
    target.draft("c", "molecule").discard()  # the writer's lock is free


def test_collection_of_another_kind_is_not_replaced(store: Store, target: Store, molecules: Any, graphs: Any) -> None:
    molecules.publish(store, "c")
    existing = graphs.publish(target, "c")
    with store.open("c") as source, pytest.raises(Conflict, match="graph"):
        copy_generation(source, target)
    assert target.collection("c").generations == (existing.generation,)


def test_optional_parts_stay_missing(store: Store, target: Store, graphs: Any) -> None:
    """The generation has no fingerprints, no dropped counts and no forest."""
    with store.draft("c", "graph") as draft:
        draft.append_items(graphs.items)
        draft.append_edges(graphs.edges)
        published = draft.publish(graphs.provenance())
    with store.open("c") as source:
        assert copy_generation(source, target).generation == published.generation
    with target.open("c") as copy:
        assert copy.fingerprints().words.shape == (3, 0)
        assert len(copy.forest()) == 0
        assert [item["dropped"] for item in copy.items([0, 1, 2])] == [None] * 3
        assert np.array_equal(copy.graph().indices, [2, 0])
