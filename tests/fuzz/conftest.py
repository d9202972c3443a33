"""A real server process over a store that was really ingested."""

import json
import os
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import networkx as nx
import pytest

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recipe import Recipe
from graphkin.store import open_store
from graphkin.store.base import Store
from tests.fuzz import cursors
from tests.fuzz.process import COMMAND, Watched

_HOSTILE_NAMES = (
    "<script>alert('&\"]]>')</script>",
    "\u202eright to left",
    "\ufeffbyte order mark",
    "\x07bell\x1b[31m",
    "🧪" * 300,
    "x" * 9000,
    "a\u2028b\u0085c",
    "'; DROP TABLE items; --",
    "%s%n{0}${7*7}",
    "\ufffe\uffff",
    "../../etc/passwd",
    "[1, 2]",
)


class Server(Watched):
    """`graphkin serve`."""

    def __enter__(self) -> "Server":
        super().__enter__()
        url = urlsplit(self.line().split()[1])
        self.address = (str(url.hostname), int(url.port or 0))
        while self.ask("/readyz")[0] == 503:  # kernels are still being compiled
            time.sleep(0.05)
        return self

    def ask(self, target: str) -> tuple[int, bytes]:
        """Status and body of a plain request."""
        connection = HTTPConnection(*self.address, timeout=60)
        try:
            connection.request("GET", target)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()


@pytest.fixture(scope="session")
def store_folder(nci_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Collections nci (400 molecules and their rejections, with an older generation and a deleted one), keyed (with
    InChIKeys), standardised, odd (hostile names), social and labelled (graphs)."""
    folder = tmp_path_factory.mktemp("fuzz")
    lines = nci_file.read_text().splitlines()
    graphs = [nx.gnm_random_graph(8 + seed % 4, 10 + seed % 3, seed=seed) for seed in range(60)]
    named = zip([*_HOSTILE_NAMES, *map(str, range(60))], graphs, strict=False)
    written = [
        {"name": name, "num_nodes": len(graph), "edges": list(graph.edges), "labels": [n % 3 for n in graph]}
        for name, graph in named
    ]
    with pytest.MonkeyPatch.context() as patch, open_store(folder / "store", create=True) as store:
        patch.chdir(folder)  # the manifest, which the API shows, names files as they were given
        molecules = resolve(threshold=0.2)
        deleted = _publish(store, "nci", lines[:10], molecules)
        old = _publish(store, "nci", lines[:30], molecules)
        _publish(store, "nci", [*lines[:400], *["C1CC", "Q \ufeff", "<b>"]], molecules)
        store.delete("nci", deleted)
        _publish(store, "keyed", lines[:20], resolve(inchikey=True))
        _publish(store, "standardised", lines[:40], resolve(standardise=("largest_fragment", "uncharge")))
        chains = ["C" * (3 + number) for number in range(len(_HOSTILE_NAMES))]
        _publish(store, "odd", [" ".join(pair) for pair in zip(chains, _HOSTILE_NAMES, strict=True)], molecules)
        texts = [json.dumps(graph) for graph in written]
        _publish(store, "social", texts, resolve_graphs(top_k=10), "jsonl")
        _publish(store, "labelled", texts, resolve_graphs(labels="given"), "jsonl")
    (folder / "generations.json").write_text(json.dumps({"old": old, "deleted": deleted}))
    return folder / "store"


def _publish(store: Store, collection: str, lines: list[str], recipe: Recipe, ending: str = "smi") -> str:
    """Ingest lines; gives the generation id."""
    file = Path(f"{collection}.{ending}")
    file.write_text("".join(f"{line}\n" for line in lines))
    return ingest(store, collection, [str(file)], recipe, IngestOptions(workers=1)).generation


@pytest.fixture(scope="session")
def server(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    environment = {
        **os.environ,
        "GRAPHKIN_CACHE_DIR": str(folder / "cache"),
        "GRAPHKIN_ALLOWED_HOSTS": "localhost,127.0.0.1",
    }
    command: list[str | Path] = [COMMAND, "serve", "--store", store_folder, "--port", "0"]
    with Server(command, folder / "log", env=environment, cwd=folder) as server:
        yield server


@pytest.fixture(scope="session")
def known(server: Server, store_folder: Path) -> dict[str, str]:
    """What requests of the corpus name and only the server knows: generations and cursors, by the names that they have
    there."""
    generations: dict[str, str] = json.loads((store_folder.parent / "generations.json").read_text())
    found = dict(generations)
    for query in cursors.PAGED:
        cursor = json.loads(server.ask(f"/v1/collections/nci/{query}")[1])["next_cursor"]
        found.update({f"{made} {query}": value for made, value in cursors.made(cursor, generations).items()})
    return found
