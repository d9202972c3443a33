"""The store that the corpus's requests are about, and the values that only a running server knows."""

import json
from collections.abc import Callable, Iterable
from contextlib import chdir
from pathlib import Path

import networkx as nx

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recipe import Recipe
from graphkin.store import open_store
from graphkin.store.base import Store
from tests.fuzz import cursors

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

_GENERATIONS = "generations.json"


def build_store(folder: Path, nci_file: Path) -> Path:
    """Ingest the corpus's collections and return the store's folder, `folder`/store.

    Collections: nci (400 molecules and their rejections, with an older generation and a deleted one), keyed (with
    InChIKeys), standardised, odd (hostile names), social and labelled (graphs). Files are read from `folder` under
    relative names, because the API shows them in the manifest.

    Args:
        nci_file: lines of SMILES, white space, name.
    """
    lines = nci_file.read_text().splitlines()
    graphs = [nx.gnm_random_graph(8 + seed % 4, 10 + seed % 3, seed=seed) for seed in range(60)]
    named = zip([*_HOSTILE_NAMES, *map(str, range(60))], graphs, strict=False)
    written = [
        {"name": name, "num_nodes": len(graph), "edges": list(graph.edges), "labels": [n % 3 for n in graph]}
        for name, graph in named
    ]
    with chdir(folder), open_store(folder / "store", create=True) as store:
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
    (folder / _GENERATIONS).write_text(json.dumps({"old": old, "deleted": deleted}))
    return folder / "store"


def _publish(store: Store, collection: str, lines: Iterable[str], recipe: Recipe, ending: str = "smi") -> str:
    """Ingest lines and return the generation's id."""
    file = Path(f"{collection}.{ending}")
    file.write_text("".join(f"{line}\n" for line in lines))
    return ingest(store, collection, [str(file)], recipe, IngestOptions(workers=1)).generation


def placeholders(store: Path, get: Callable[[str], bytes]) -> dict[str, str]:
    """Return the values of the placeholders in the corpus's requests, by name.

    Args:
        store: as `build_store` returned it.
        get: sends a GET request for a target to the server and returns the body.
    """
    generations: dict[str, str] = json.loads((store.parent / _GENERATIONS).read_text())
    values = dict(generations)
    for query in cursors.PAGED:
        cursor = json.loads(get(f"/v1/collections/nci/{query}"))["next_cursor"]
        values.update({f"{kind} {query}": value for kind, value in cursors.made(cursor, generations).items()})
    return values
