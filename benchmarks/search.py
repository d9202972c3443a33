"""Search over a published collection, in process and over HTTP, compared with FPSim2 on the same molecules.

    python -m benchmarks.search --store STORE --collection NAME [--queries 200] [--batch 10000]

Queries are random molecules of the collection in the form of client requests, so parsing and the fingerprint count. The
output is the median and the 99th percentile of single queries on one thread. FPSim2, if installed, first makes a file
of the molecules, which takes minutes for millions. --no-fpsim2 leaves it out.

A batch runs many queries together, on one thread and on all. The output is milliseconds per query, and the speedup over
single searches, with and without the reading of the structures. The hits of its first queries must equal those of
single searches.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.http import reply, served, wait
from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.collection.structures import read_structure
from graphkin.similarity.hits import Matches
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.molecules.search import MoleculeSearch
from graphkin.store import open_store
from graphkin.store.base import Generation

Search = Callable[[str, float | None, int], object]  # SMILES, threshold, limit

SEARCHES: dict[str, tuple[float | None, int]] = {"similarity ≥ 0.7": (0.7, 1000), "the 10 most similar": (None, 10)}


def report(name: str, search: Search, queries: list[str]) -> None:
    for label, (threshold, limit) in SEARCHES.items():
        search(queries[0], threshold, limit)
        seconds = []
        for smiles in queries:
            begin = time.perf_counter()
            search(smiles, threshold, limit)
            seconds.append(time.perf_counter() - begin)
        median, slow = (1000 * np.percentile(seconds, percent) for percent in (50, 99))
        print(f"  {name:14} {label:24} {median:9.2f} ms {slow:9.2f} ms", flush=True)


def local_ports(generation: Generation) -> Search:
    recipe, searched = MoleculeRecipe.model_validate(generation.manifest.recipe), MoleculeSearch(generation)
    return lambda smiles, threshold, limit: searched.search(read_structure(recipe, smiles=smiles), threshold, limit)


def batch(generation: Generation, queries: list[str], alone: int) -> None:
    recipe, searched = MoleculeRecipe.model_validate(generation.manifest.recipe), MoleculeSearch(generation)
    _, limit = SEARCHES["the 10 most similar"]
    begin = time.perf_counter()
    parsed = [read_structure(recipe, smiles=smiles) for smiles in queries]
    reading = (time.perf_counter() - begin) / len(parsed)
    Matches.concatenate(searched.search_all(parsed[:1], None, limit, 1))
    begin = time.perf_counter()
    hits = [searched.search(query, None, limit) for query in parsed[:alone]]
    single = (time.perf_counter() - begin) / len(hits)
    for threads in sorted({1, os.cpu_count() or 1}):
        begin = time.perf_counter()
        matches = Matches.concatenate(searched.search_all(parsed, None, limit, threads))
        together = (time.perf_counter() - begin) / len(parsed)
        for number, single_hits in enumerate(hits):
            mine = matches.query == number
            if not (
                np.array_equal(matches.ids[mine], single_hits.ids)
                and np.array_equal(matches.similarity[mine], single_hits.similarity)
            ):
                raise SystemExit(f"query {number} finds something else than alone")
        name, label = f"batch, {threads} thr.", f"the {limit} most similar"
        print(f"  {name:14} {label:24} {1000 * together:9.3f} ms each of {len(parsed):,}: ", end="")
        print(
            f"{single / together:.1f} x single searches, {(single + reading) / (together + reading):.1f} x with reading"
        )


def over_http(store: str, collection: str, folder: Path, queries: list[str]) -> None:
    with served(lambda: create_app(Settings(store=store, cache_dir=folder))) as connection:
        wait(connection)

        def search(smiles: str, threshold: float | None, limit: int) -> object:
            body = json.dumps({"smiles": smiles, "min_similarity": threshold, "limit": limit})
            headers = {"Content-Type": "application/json"}
            return reply(connection, ("POST", f"/v1/collections/{collection}/search", body, headers))

        report("over HTTP", search, queries)


def fpsim2(smiles: Iterable[str], recipe: MoleculeRecipe, folder: Path) -> Search:
    from FPSim2 import FPSim2Engine
    from FPSim2.io import create_db_file

    path = str(folder / "molecules.h5")
    rows = [[text, number] for number, text in enumerate(smiles)]
    parameters = {"radius": recipe.fingerprint.radius, "fpSize": recipe.fingerprint.bits}
    create_db_file(rows, path, "smiles", "Morgan", parameters)
    engine = FPSim2Engine(path)

    def search(smiles: str, threshold: float | None, limit: int) -> object:
        if threshold is None:
            return engine.top_k(smiles, k=limit, threshold=0.0, n_workers=1)
        return engine.similarity(smiles, threshold=threshold, n_workers=1)

    return search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True)
    parser.add_argument("--collection", required=True)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--no-fpsim2", action="store_true")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(options.store) as store,
        store.open(options.collection) as generation,
    ):
        many = min(max(options.batch, options.queries), generation.size)
        ids = np.random.default_rng(0).choice(generation.size, many, replace=False)
        structures = list(generation.structures(ids.astype(np.int32)))
        queries = structures[: options.queries]
        print(f"{generation.size:,} molecules, {len(queries)} queries: median, 99th percentile")
        report("in process", local_ports(generation), queries)
        batch(generation, structures[: options.batch], len(queries))
        over_http(options.store, options.collection, Path(folder), queries)
        if options.no_fpsim2 or not find_spec("FPSim2"):
            print("  FPSim2 is left out" + ("" if options.no_fpsim2 else ": it is not installed"))
            return
        recipe = MoleculeRecipe.model_validate(generation.manifest.recipe)
        report("FPSim2", fpsim2(generation.structures(), recipe, Path(folder)), queries)


if __name__ == "__main__":
    main()
