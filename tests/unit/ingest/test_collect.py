"""Collecting pairs, interrupted and resumed, equals one selection from all pairs."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from graphkin.ingest import collect
from graphkin.ingest.collect import Collector, open_collector
from graphkin.ingest.top_k import TopKSelection
from graphkin.ingest.workspace import Workspace
from graphkin.similarity.join import Pairs, SelfJoin
from graphkin.store.records import Edges

WORDS = np.random.default_rng(0).integers(1, 2**16, (20_000, 1), dtype=np.uint64)
TIE = np.random.default_rng(1).integers(0, 2**64 - 1, len(WORDS), dtype=np.uint64)
PLAN = SelfJoin(WORDS, 0.8)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    prepared = Workspace(tmp_path / "work")
    prepared.prepare()
    return prepared


@pytest.fixture
def save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save after each addition."""
    monkeypatch.setattr(collect, "_SAVE_PERIOD", -1.0)


@dataclass
class Kept:
    """Edges (E,), by source and target, and dropped counts (N,)."""

    edges: Edges
    dropped: np.ndarray

    def __post_init__(self) -> None:
        self.edges = self.edges.take(np.lexsort((self.edges.target, self.edges.source)))

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Kept)
        pairs = zip(vars(self.edges).values(), vars(other.edges).values(), strict=True)
        return np.array_equal(self.dropped, other.dropped) and all(np.array_equal(a, b) for a, b in pairs)


@cache
def blocks() -> list[Pairs]:
    return list(PLAN.pairs())


@cache
def expected(top_k: int) -> Kept:
    """Return one selection from all pairs."""
    kept, dropped = Pairs.concatenate(blocks()), np.zeros(len(TIE), np.int32)
    if top_k:
        capped = TopKSelection(TIE, top_k)
        capped.add(kept)
        kept, dropped = capped.finish()
    return Kept(Edges(kept.left, kept.right, kept.similarity.astype(np.float32)), dropped)


def finish(collected: Collector) -> Kept:
    parts, dropped = collected.finish()
    return Kept(Edges.concatenate(list(parts)), dropped)


@pytest.mark.usefixtures("save_often")
@pytest.mark.parametrize("top_k", [0, 3])
@pytest.mark.parametrize("cut", range(PLAN.task_count + 1))
def test_interrupted_collection_resumes_where_it_stopped(workspace: Workspace, top_k: int, cut: int) -> None:
    first = open_collector(TIE, top_k, workspace, WORDS)
    assert first.first_task == 0
    for pairs in blocks()[:cut]:
        first.add(pairs)
    second = open_collector(TIE, top_k, workspace, WORDS)
    assert second.first_task == cut
    for pairs in PLAN.pairs(second.first_task):
        second.add(pairs)
    assert finish(second) == expected(top_k)


@pytest.mark.parametrize("top_k", [0, 3])
def test_short_collection_saves_nothing(workspace: Workspace, top_k: int) -> None:
    collected = open_collector(TIE, top_k, workspace, WORDS)
    for pairs in blocks():
        collected.add(pairs)
    assert list(workspace.folder.iterdir()) == []
    assert finish(collected) == expected(top_k)


def test_blocks_are_bounded(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "_EDGES_PER_BLOCK", 1000)
    capped = open_collector(TIE, 3, workspace, WORDS)
    for pairs in blocks():
        capped.add(pairs)
    parts, _ = capped.finish()
    sizes = [len(part) for part in parts]
    assert len(sizes) > 5
    assert max(sizes) == 1000


@pytest.mark.usefixtures("save_often")
@pytest.mark.parametrize("top_k", [0, 3])
def test_other_input_and_damaged_files_start_over(workspace: Workspace, top_k: int) -> None:
    collected = open_collector(TIE, top_k, workspace, WORDS)
    for pairs in blocks():
        collected.add(pairs)
    assert open_collector(TIE, top_k, workspace, WORDS[1:]).first_task == 0
    assert open_collector(TIE, top_k + 1, workspace, WORDS).first_task == 0
    assert open_collector(TIE[::-1].copy(), top_k, workspace, WORDS).first_task == 0
    assert open_collector(TIE, top_k, workspace, WORDS).first_task == len(blocks())
    for piece in workspace.folder.iterdir():
        content = piece.read_bytes()
        for length in (0, 1, len(content) // 2, len(content) - 10):
            piece.write_bytes(content[:length])
            assert open_collector(TIE, top_k, workspace, WORDS).first_task < len(blocks())
        piece.write_bytes(content)


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_pairs_beyond_the_size_of_a_file_are_kept(workspace: Workspace, tasks: int) -> None:
    """A collection with exactly 2^22 edges once showed the error."""
    each = 4_500_000 // tasks
    left = np.arange(tasks * each, dtype=np.int32)
    collected = open_collector(TIE, 0, workspace, WORDS)
    for part in np.split(left, tasks):
        collected.add(Pairs(part, part + 1, np.ones(each)))
    edges = finish(collected).edges
    assert np.array_equal(edges.source, left)
    assert np.array_equal(edges.target, left + 1)
