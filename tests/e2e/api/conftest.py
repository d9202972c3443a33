"""The real application over real HTTP, with collections from real ingests."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.protocol.manifest import Counts, Histogram, Provenance
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Store
from graphkin.store.columns import ITEM_SCHEMA
from graphkin.store.records import Edges
from graphkin.store.transfer import copy_generation
from studies.report import main as make_report
from tests.karate import publish_karate

MOLECULES = 400

# RDKit's search for the largest common substructure of this cage and this chain of rings does not end.
HARD = (
    (
        "c12c3c4c5c1c1c6c7c2c2c8c3c3c9c4c4c%10c5c5c1c1c6c6c%11c7c2c2c7c8c3c3c8c9c4c4c9c%10c5c5c1c1c6c6c%11c2c2c7c3c3c8c4"
        "c4c9c5c1c1c6c2c3c41 cage"
    ),
    "C1CC2CCC3C4CCC5CC6CCCC7CC8CCCC9CC%10CCCCC%10CC9C8CC7CC6CC5C4CCC3C2C1 rings",
    "CCO <script>alert('&\"]]>')</script>",
)


def ingest(store: Store, collection: str, lines: list[str], folder: Path, **recipe: Any) -> str:
    """Publish molecules and return the generation id."""
    file = folder / f"{collection}.smi"
    file.write_text("\n".join(lines) + "\n")
    return pipeline.ingest(store, collection, [str(file)], resolve(**recipe), IngestOptions(workers=1)).generation


def publish_named(store: Store, collection: str, names: list[str]) -> str:
    """Publish graphs of one node, the first two similar, and return the generation id."""
    count = len(names)
    histogram = Histogram(edges=[0, 1], counts=[1])
    none, node = [None] * count, ['{"num_nodes":1,"edges":[]}'] * count
    columns = {"smiles": none, "structure": node, "inchikey": none}
    edges = Edges(np.array([0], np.int32), np.array([1], np.int32), np.array([0.5], np.float32))
    with store.draft(collection, "graph") as draft:
        rows = {**columns, "names": [[name] for name in names]}
        draft.append_items(pa.RecordBatch.from_pydict(rows, schema=ITEM_SCHEMA))
        draft.append_fingerprints(np.ones((count, 1), np.uint64))
        draft.append_edges(edges)
        draft.write_forest(edges)
        return draft.publish(
            Provenance(
                kind="graph",
                recipe={"threshold": 0.4},
                structure="structure",
                versions={},
                libraries=[],
                inputs=[],
                counts=Counts(read=count, kept=count, duplicates=0, rejected=0),
                edges=1,
                dropped=None,
                properties={},
                histograms={"degree": histogram, "similarity": histogram},
                times={},
            )
        ).generation


def social() -> list[dict[str, Any]]:
    """Return 80 graphs as JSON: 75 random ones of similar sizes, one with a hostile name, one without edges, and large
    ones.
    """
    random = [nx.gnm_random_graph(10 + seed % 3, 12 + seed % 2, seed=seed) for seed in range(75)]
    odd = [nx.path_graph(4), nx.empty_graph(6), nx.path_graph(150), nx.path_graph(151), nx.complete_graph(40)]
    names = [*(f"g{number}" for number in range(75)), "<script>alert('&\"]]>\x07')</script>", *"wxyz"]
    return [
        {"name": name, "num_nodes": len(graph), "edges": [list(edge) for edge in graph.edges], "class": number % 2}
        for number, (name, graph) in enumerate(zip(names, [*random, *odd], strict=True))
    ]


@pytest.fixture(scope="session")
def social_graphs() -> list[dict[str, Any]]:
    """Return the items of the collection social in the order of their ids."""
    return social()


@pytest.fixture(scope="session")
def store_folder(nci_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with the collections nci (400 molecules), keyed (20 with InChIKeys, and two rejections), hard
    (three molecules that are hard to depict), graphs (three of one node), social (80 graphs) and karate (34 nodes of
    a large graph).
    """
    folder = tmp_path_factory.mktemp("api")
    lines = nci_file.read_text().splitlines()[:MOLECULES]
    with open_store(folder / "store", create=True) as store:
        ingest(store, "nci", lines, folder)
        ingest(store, "keyed", [*lines[:20], "C1CC open", "c1ccc"], folder, inchikey=True)
        ingest(store, "hard", list(HARD), folder)
        publish_named(store, "graphs", ["a", "b", "c"])
        (folder / "social.jsonl").write_text("".join(f"{json.dumps(content)}\n" for content in social()))
        files = [str(folder / "social.jsonl")]
        pipeline.ingest(store, "social", files, resolve_graphs(top_k=10), IngestOptions(workers=1))
        publish_karate(store, folder)
    return folder / "store"


@pytest.fixture(scope="session")
def load_neo4j(spare_neo4j: Any, store_folder: Path) -> Callable[[], str]:
    """Return `load_neo4j()`, which copies `store_folder` to an emptied Neo4j server and returns its URL."""

    def load() -> str:
        spare_neo4j.clear()
        with open_store(store_folder) as source, open_store(spare_neo4j.url, create=True) as target:
            for collection in source.collections():
                with source.open(collection.name) as generation:
                    copy_generation(generation, target)
        return str(spare_neo4j.url)

    return load


@pytest.fixture
def own_folder(store_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the store that a test may change or damage."""
    return Path(shutil.copytree(store_folder, tmp_path / "store"))


@pytest.fixture
def publish(tmp_path: Path) -> Callable[[str | Path, str, list[str]], str]:
    """Return a function that ingests SMILES lines into a collection of a store and returns the generation id."""

    def ingest_lines(place: str | Path, collection: str, lines: list[str]) -> str:
        with open_store(place) as store:
            return ingest(store, collection, lines, tmp_path)

    return ingest_lines


@pytest.fixture
def publish_graphs() -> Callable[[Path, str, list[str]], str]:
    """Return a function that publishes graphs with these names and returns the generation id."""

    def publish_names(folder: Path, collection: str, names: list[str]) -> str:
        with open_store(folder) as store:
            return publish_named(store, collection, names)

    return publish_names


@pytest.fixture(scope="session")
def reports_folder(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the report hops of nci and of social, each in a folder of its own, and files that are no
    reports.
    """
    folder = tmp_path_factory.mktemp("reports")
    for collection in ("nci", "social"):
        options = ["--store", str(store_folder), "--collection", collection, "--targets", "10"]
        assert make_report(["hops", *options, "--output", str(folder / collection)]) == 0
    (folder / "list.json").write_text("[]")
    (folder / "broken.json").write_text('{"report": ')
    return folder


@pytest.fixture(scope="session")
def client(
    store_folder: Path, reports_folder: Path, serve: Callable[..., AbstractContextManager[httpx.Client]]
) -> Iterator[httpx.Client]:
    """Yield a client of a server that all tests share."""
    with serve(store_folder, reports=reports_folder) as client:
        yield client
