"""Similarity of first-order neighbors, and share of graphs without any, by initial labels (docs/concepts/method.md).

    python -m studies.similarity [--presets default paper]

IMDB-BINARY, IMDB-MULTI and REDDIT-BINARY form one collection, which is ingested once for each preset and label mode.
The table shows, for every source, the mean similarity of a random neighbor of a random item with neighbors, the share
of items without any, and the mean degree. The paper reports a mean first-order similarity of 0.3467, for another
collection and unknown labels. Needs ../shared.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from graphkin.ingest.pipeline import ingest
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.store import open_store
from graphkin.store.base import Generation

_DATA = Path(__file__).parents[2] / "shared" / "data" / "tu"
SOURCES = ("IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY")
_LABELS = ("degree", "uniform", "index")


def describe(generation: Generation) -> list[tuple[str, float, float, float]]:
    """Return (source, mean similarity of a neighbor, isolated share, mean degree) for each source and for all."""
    graph = generation.graph()
    degrees = graph.degrees()
    owner = np.repeat(np.arange(graph.nodes), degrees)
    mean = np.bincount(owner, graph.similarity, minlength=graph.nodes) / np.maximum(degrees, 1)
    names = (text for batch in generation.scan() for text in batch["names"].to_pylist())
    source = np.array([name.partition("/")[0] for name, *_ in names])
    rows = []
    for label in (*SOURCES, "all"):
        is_own = np.ones(graph.nodes, bool) if label == "all" else source == label
        near = is_own & (degrees > 0)
        rows.append(
            (label, float(mean[near].mean()), float((degrees[is_own] == 0).mean()), float(degrees[is_own].mean()))
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", nargs="+", default=["default", "paper"])
    options = parser.parse_args()
    files = [str(_DATA / f"{source}.zip") for source in SOURCES]
    if not all(Path(file).is_file() for file in files):
        parser.error("this benchmark needs ../shared, which is missing")
    print("| preset | labels | source | mean similarity of a neighbour | isolated | mean degree |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store", create=True) as store:
        for preset in options.presets:
            for labels in _LABELS:
                ingest(store, f"{preset}-{labels}", files, resolve_graphs(preset, labels=labels))
                with store.open(f"{preset}-{labels}") as generation:
                    for source, similarity, isolated, degree in describe(generation):
                        print(f"| {preset} | {labels} | {source} | {similarity:.4f} | {isolated:.1%} | {degree:.1f} |")


if __name__ == "__main__":
    main()
