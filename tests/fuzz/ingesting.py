"""Ingests one file after the other as `graphkin ingest` does: a line of JSON says which, another what came of it.

A process of its own, so that its memory and its end can be watched.
"""

import json
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.readers import ReadOptions
from graphkin.protocol.errors import GraphkinError
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.similarity.recipe import Recipe
from graphkin.store import open_store
from graphkin.store.base import Store

_RECIPES: dict[str, Callable[[], Recipe]] = {"molecules": resolve, "graphs": resolve_graphs, "nodes": resolve_nodes}
_FIRST = {
    "molecules": ("warm.smi", "C\n"),
    "graphs": ("warm.jsonl", '{"edges":[[0,1]]}\n'),
    "nodes": ("warm.edgelist", "a b\n"),
}
"""The name of a file and what is in it."""


def main() -> None:
    """Into the store named on the command line, each file, of the kind named there, into a collection of its own."""
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    with open_store(folder, create=True) as store:
        _warm_up(store, folder, kind)
        print("ready", flush=True)
        for line in sys.stdin:
            begin = time.perf_counter()
            told = json.loads(line)
            outcome = _outcome(store, **told)
            drafts = [path.name for path in folder.glob(f"collections/{told['collection']}/draft-*")]
            seconds = time.perf_counter() - begin
            print(json.dumps({**outcome, "drafts": drafts, "seconds": seconds}), flush=True)


def _warm_up(store: Store, folder: Path, kind: str) -> None:
    """What only the first ingest does takes no other's time."""
    name, text = _FIRST[kind]
    file = folder.with_name(name)
    file.write_text(text)
    _outcome(store, str(file), kind, "warm", {})


def _outcome(store: Store, file: str, kind: str, collection: str, read: dict[str, Any]) -> dict[str, Any]:
    recipe = _RECIPES[kind]()
    options = IngestOptions(read=ReadOptions(**read), max_rejected=1, workers=1)
    try:
        manifest = ingest(store, collection, [file], recipe, options)
        with store.open(collection) as generation:
            reasons = [reason for batch in generation.rejections() for reason in batch["reason"].to_pylist()]
            return {
                "counts": manifest.counts.model_dump(),
                "held": [generation.size, len(reasons)],
                "reasons": sorted(set(reasons)),
                "damage": generation.check(),
            }
    except GraphkinError as error:
        published = any(each.name == collection for each in store.collections())
        return {"error": type(error).__name__, "said": str(error), "published": published}
    except Exception:  # what no user should ever see
        return {"crash": traceback.format_exc()}
