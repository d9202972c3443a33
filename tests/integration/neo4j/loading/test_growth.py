"""Appends and removals in Neo4j give the same generations as in a folder."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from graphkin.ingest import reading
from graphkin.ingest.append import append
from graphkin.ingest.pipeline import ingest
from graphkin.ingest.remove import remove
from graphkin.protocol.errors import Conflict
from graphkin.similarity.fingerprints.recipe import BitsRecipe
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.similarity.recipe import Recipe
from graphkin.store import open_store
from graphkin.store.base import Store
from tests.integration.append.conftest import OPTIONS, InlineParser, content, write_parts


def molecules(nci_file: Path) -> list[str]:
    lines = nci_file.read_text().splitlines()
    return ["smiles,id,n", *(f"{smiles},m{n},{n}.50" for n, (smiles, *_) in enumerate(map(str.split, lines[:60])))]


def graphs(_: Path) -> list[str]:
    shapes = [nx.gnm_random_graph(7, 9, seed=seed) for seed in range(20)]
    return [json.dumps({"name": f"m{n}", "edges": [*shape.edges]}) for n, shape in enumerate(shapes)]


def fingerprints(_: Path) -> list[str]:
    return ["fingerprint,id", *(f"{(n * 2654435761) % 2**32:08x},m{n}" for n in range(60))]


KINDS: dict[str, tuple[Callable[[Path], list[str]], str, int, Recipe]] = {
    "molecules": (molecules, "csv", 1, resolve(threshold=0.2, top_k=4)),
    "graphs": (graphs, "jsonl", 0, resolve_graphs(closeness=1, top_k=4)),
    "fingerprints": (fingerprints, "csv", 1, BitsRecipe(bits=32, threshold=0.3, top_k=4)),
}


@pytest.fixture
def stores(empty_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Store, Store]]:
    """Yield a store in Neo4j and one in a folder."""
    monkeypatch.setattr(reading, "ParserPool", InlineParser)
    with (
        open_store(empty_server.url, create=True) as server_generation,
        open_store(tmp_path / "store", create=True) as folder_generation,
    ):
        yield server_generation, folder_generation


def assert_equal_content(stores: Sequence[Store]) -> None:
    with stores[0].open("c") as server_generation, stores[1].open("c") as folder_generation:
        expected = content(folder_generation)
        for field, value in content(server_generation).items():
            assert value == expected[field], field
        assert server_generation.id == folder_generation.id
        assert server_generation.check() == []


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind != "molecules")) for kind in KINDS]
)
def test_generations_equal_those_of_a_folder(
    stores: tuple[Store, Store], kind: str, tmp_path: Path, nci_file: Path
) -> None:
    make_lines, ending, header, recipe = KINDS[kind]
    lines = make_lines(nci_file)
    top, rows = lines[:header], lines[header:]
    middle = len(rows) // 2
    older, newer = write_parts(tmp_path / "files", [[*top, *rows[:middle]], [*top, *rows[middle - 5 :]]], ending)
    (removal_list,) = write_parts(tmp_path / "listed", [[f"m{n}" for n in range(0, len(rows), 4)]], "txt")
    for store in stores:
        ingest(store, "c", [older], recipe, OPTIONS)
    with stores[0].open("c") as reader:
        before = content(reader)
        for store in stores:
            append(store, "c", [newer], OPTIONS)
        assert_equal_content(stores)
        for store in stores:
            assert remove(store, "c", removal_list, "name").items == (len(rows) + 3) // 4
        assert_equal_content(stores)
        assert content(reader) == before
    assert len(stores[0].collection("c").generations) == 3
    assert stores[0].collection("c") == stores[1].collection("c")


def test_growth_of_nodes_is_refused(stores: tuple[Store, Store], tmp_path: Path) -> None:
    nx.write_edgelist(nx.karate_club_graph(), tmp_path / "club.edgelist", data=False)
    ingest(stores[0], "c", [str(tmp_path / "club.edgelist")], resolve_nodes(), OPTIONS)
    before = stores[0].collection("c")
    with pytest.raises(Conflict, match="neither appended nor removed"):
        stores[0].growth("c")
    (tmp_path / "listed").write_text("0\n")
    with pytest.raises(Conflict, match="neither appended nor removed"):
        remove(stores[0], "c", str(tmp_path / "listed"), "name")
    assert stores[0].collection("c") == before
    stores[0].draft("c", "node").discard()  # Nobody holds the write lease.
