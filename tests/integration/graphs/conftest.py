"""Graphs that are ingested from files."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.graphs.recipe import GraphRecipe, resolve_graphs
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from tests.unit.conftest import recorder
from tests.unit.similarity.graphs.conftest import Content, content, grakel, slow_pairs, various

__all__ = ["content", "grakel", "recorder", "slow_pairs", "various"]  # fixtures


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Return write(contents, name="g.jsonl"), which writes JSON Lines. Graph i is named g<i> unless it has a name."""

    def write(contents: Sequence[Content], name: str = "g.jsonl") -> str:
        lines = [json.dumps({"name": f"g{number}", **content}) for number, content in enumerate(contents)]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        return str(tmp_path / name)

    return write


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store", create=True) as store:
        yield store


_collections = count()


@pytest.fixture
def generation(store: Store, write: Callable[..., str]) -> Iterator[Callable[..., Generation]]:
    """Return generation(contents, recipe=default, workers=1), which ingests graphs and opens the generation."""
    generations: list[Generation] = []

    def generation(contents: Sequence[Content], recipe: GraphRecipe | None = None, workers: int = 1) -> Generation:
        name = f"c{next(_collections)}"
        ingest(store, name, [write(contents)], recipe or resolve_graphs(), IngestOptions(workers=workers))
        generations.append(store.open(name))
        return generations[-1]

    yield generation
    for each in generations:
        each.close()
