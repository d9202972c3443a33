"""Graphs of TUDataset: similarities equal GraKeL's, candidates do not reveal the class, memory is bounded (issue 7)."""

import json
import resource
import subprocess
import sys
import zipfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from grakel import Graph, VertexHistogram, WeisfeilerLehman

from graphkin.ingest import items as item_table
from graphkin.ingest.items import ItemTable, OldItems
from graphkin.ingest.parsing import Chunk, ChunkParser
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.readers import ReadOptions, open_source
from graphkin.similarity.graphs.describer import GraphDescriber
from graphkin.similarity.graphs.descriptors import GraphDescriptors
from graphkin.similarity.graphs.kind import GraphKind
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.verify import verify
from graphkin.store import open_store
from graphkin.store.identity import content_digest

TU = Path(__file__).parents[3] / "shared" / "data" / "tu"

DataSet = tuple[list[nx.Graph], list[str]]
"""Graphs and their classes."""


def _zip(name: str) -> str:
    path = TU / f"{name}.zip"
    if not path.is_file():
        pytest.fail(f"{path} is missing: this check needs the shared data folder")
    return str(path)


@cache
def _read(name: str) -> DataSet:
    """Return the data set, read by numpy and networkx alone."""
    with zipfile.ZipFile(_zip(name)) as packed:
        texts = {Path(entry).stem.removeprefix(f"{name}_"): packed.read(entry).decode() for entry in packed.namelist()}
    owner = np.array(texts["graph_indicator"].split(), int)
    labels = texts["node_labels"].split() if "node_labels" in texts else None
    whole = nx.Graph()
    whole.add_nodes_from(range(1, len(owner) + 1))
    whole.add_edges_from(tuple(map(int, line.split(","))) for line in texts["A"].split("\n") if line.strip())
    whole.remove_edges_from(nx.selfloop_edges(whole))
    if labels is not None:
        nx.set_node_attributes(whole, dict(enumerate(map(int, labels), start=1)), "label")
    starts = np.searchsorted(owner, np.arange(1, owner.max() + 2)) + 1
    graphs = [whole.subgraph(range(first, beyond)) for first, beyond in pairwise(starts.tolist())]
    return graphs, texts["graph_labels"].split()


def _grakel(graphs: list[nx.Graph], labels: str) -> np.ndarray:
    modes: dict[str, Any] = {
        "degree": lambda graph: dict(graph.degree),
        "uniform": lambda graph: dict.fromkeys(graph, 0),
        "index": lambda graph: {node: place for place, node in enumerate(sorted(graph))},
        "given": lambda graph: dict(graph.nodes(data="label")),
    }
    grakel_graphs = [
        Graph({node: dict.fromkeys(graph[node], 1.0) for node in graph}, node_labels=modes[labels](graph))
        for graph in graphs
    ]
    kernel = WeisfeilerLehman(n_iter=3, base_graph_kernel=VertexHistogram, normalize=True)
    return np.asarray(kernel.fit_transform(grakel_graphs))


def _structures(name: str) -> list[Structure]:
    batches = open_source(_zip(name), GraphKind.file_formats, ReadOptions())
    return [Structure.read(text) for batch in batches for text in batch["text"].to_pylist()]


def _collection(structures: list[Structure], preset: str, order: np.ndarray) -> GraphDescriptors:
    recipe = resolve_graphs(preset, labels="degree", closeness=10)
    selection = [structures[place] for place in order]
    digests = b"".join(content_digest(f"{place}\0{structures[place].text}", 0) for place in order)
    nodes, edges = (
        np.array(counts, np.int32) for counts in zip(*((s.nodes, len(s.edges)) for s in selection), strict=True)
    )
    tie = np.frombuffer(digests, "<u8")[::2].copy()
    return GraphDescriptors(recipe, Features.from_structures(selection, recipe), nodes, edges, tie, ())


@pytest.mark.shared
@pytest.mark.parametrize("labels", ["degree", "uniform", "index"])
@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI"])
def test_similarities_equal_grakel(name: str, labels: Any) -> None:
    """All pairs are compared, more than 2,000."""
    _assert_grakels(name, labels)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS"])
def test_similarities_by_node_labels_equal_grakel(name: str) -> None:
    _assert_grakels(name, "given")


def _assert_grakels(name: str, labels: Any) -> None:
    graphs, _ = _read(name)
    features = Features.from_structures(_structures(name), resolve_graphs(labels=labels))
    a, b = (ends.astype(np.int32) for ends in np.triu_indices(len(graphs), 1))
    difference = np.abs(features.similarities(a, b) - _grakel(graphs, labels)[a, b])
    print(f"{name}, {labels}: {len(a):,} pairs, largest difference {difference.max():.1e}")
    assert difference.max() < 1e-9
    assert len(a) > 2000


@pytest.mark.shared
def test_exact_edges_equal_brute_force(tmp_path: Path) -> None:
    graphs = [*_read("IMDB-BINARY")[0], *_read("MUTAG")[0]]
    exact = _grakel(graphs, "degree")
    nodes, edges = (np.array(counts) for counts in zip(*((len(g), g.number_of_edges()) for g in graphs), strict=True))
    near = 10 * abs(nodes[:, None] - nodes) <= nodes[:, None]
    near &= np.where(
        edges[:, None] > 0, 10 * abs(edges[:, None] - edges) <= edges[:, None], abs(edges[:, None] - edges) <= 5
    )
    expected = np.triu(near | near.T, 1) & (exact > 0)
    with open_store(tmp_path / "store", create=True) as store:
        files = [_zip("IMDB-BINARY"), _zip("MUTAG")]
        manifest = ingest(store, "c", files, resolve_graphs(top_k=0), IngestOptions(workers=2))
        with store.open("c") as generation:
            is_edge = np.zeros_like(expected)
            for block in generation.edges():
                is_edge[block.source, block.target] = True
                assert np.abs(block.similarity - exact[block.source, block.target]).max() < 1e-6
            assert verify(generation, 2000) == []
    assert np.array_equal(is_edge, expected)
    print(f"{manifest.edges:,} edges, seconds {manifest.times}")


@pytest.mark.shared
def test_candidates_do_not_reveal_the_class() -> None:
    """The file of IMDB-MULTI is ordered by class: 55 % of candidates share the class by index, 40 % if shuffled."""
    structures, classes = _structures("IMDB-MULTI"), np.array(_read("IMDB-MULTI")[1])
    as_filed, shuffled = np.arange(len(structures)), np.random.default_rng(0).permutation(len(structures))

    def share(preset: str, order: np.ndarray) -> float:
        window = _collection(structures, preset, order).window
        target, candidate = (order[window.order[places]] for places in window.candidates(0, len(window)))
        return float((classes[target] == classes[candidate]).mean())

    by_hash, by_index = ([share(preset, order) for order in (as_filed, shuffled)] for preset in ("paper", "rc"))
    print(f"share of candidates of the same class, as filed and shuffled: by hash {by_hash}, by index {by_index}")
    assert by_hash[0] == by_hash[1]
    assert by_index[0] > 0.5 > by_index[1] + 0.05
    assert by_index[1] == pytest.approx(by_hash[1], abs=0.02)


_INGEST = """
import sys
from graphkin.cli import run
if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
"""


@pytest.mark.shared
def test_ingest_of_large_graphs_takes_minutes_and_bounded_memory(tmp_path: Path) -> None:
    """REDDIT-BINARY has 2,000 graphs of 430 nodes on average."""
    script = tmp_path / "command.py"
    script.write_text(_INGEST)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ("ingest", "graphs", _zip("REDDIT-BINARY"), "--store", tmp_path / "s", "--collection", "c", "--json")
    done = subprocess.run([sys.executable, script, *map(str, command)], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    manifest = json.loads(done.stdout)
    memory = after.ru_maxrss / 2**20  # GiB of the largest process
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{manifest['edges']:,} edges, {memory:.2f} GiB at most, {cpu:.1f} s of CPU, seconds {manifest['times']}")
    assert manifest["counts"]["kept"] == 2000
    assert memory < 1
    assert sum(manifest["times"].values()) < 180


def test_item_table_holds_more_text_than_32_bit_offsets_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Structures take 2.2 GB: one large graph is parsed once and added repeatedly as different items."""
    edges = [(u, u + step) for step in range(1, 12) for u in range(90_000 - step)]
    (tmp_path / "g.jsonl").write_text(json.dumps({"edges": edges}))
    (records,) = open_source(str(tmp_path / "g.jsonl"), GraphKind.file_formats, ReadOptions())
    parsed = ChunkParser(GraphDescriber(resolve_graphs(), 100_000)).parse(Chunk("g", "graph", records))
    copies = 2**31 // len(parsed.items["structure"][0].as_py()) + 10
    monkeypatch.setattr(item_table, "_BATCH", 16)
    digest = parsed.items.schema.get_field_index("digest")
    table = ItemTable(OldItems.empty(["nodes"]))
    for number in range(copies):
        own = pa.array([number.to_bytes(16, "little")], pa.binary(16))
        items = parsed.items.set_column(digest, parsed.items.schema.field(digest), own)
        table.add(type(parsed)(items, parsed.rejections))
    kept, batches = table.finish(len)
    texts = {hash(text) for batch in batches for text in batch["structure"].to_pylist()}
    assert (kept, len(texts)) == (copies, 1)
