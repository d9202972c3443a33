"""Nodes that are ingested from files."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.store import open_store
from graphkin.store.base import Generation, Store

_collections = count()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store", create=True) as store:
        yield store


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Return write(graph, name="g.edgelist"), which writes the edges. Nodes are named by their numbers."""

    def write(graph: nx.Graph, name: str = "g.edgelist") -> str:
        (tmp_path / name).write_text("".join(f"{u} {v}\n" for u, v in graph.edges))
        return str(tmp_path / name)

    return write


@pytest.fixture
def generation(store: Store, write: Callable[..., str]) -> Iterator[Callable[..., Generation]]:
    """Return generation(*graphs, workers=1, **recipe), which ingests graphs and opens the generation."""
    generations: list[Generation] = []

    def generation(*graphs: nx.Graph, workers: int = 1, **recipe: Any) -> Generation:
        name = f"c{next(_collections)}"
        files = [write(graph, f"{number}.edgelist") for number, graph in enumerate(graphs)]
        ingest(store, name, files, resolve_nodes(**recipe), IngestOptions(workers=workers, max_rejected=0.5))
        generations.append(store.open(name))
        return generations[-1]

    yield generation
    for each in generations:
        each.close()
