"""Fingerprints, vectors and molecules with supplied fingerprints on a server behave as in the embedded store."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.collection.structures import read_structure
from graphkin.export import export_fingerprints
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.readers import ReadOptions
from graphkin.protocol.measure import Measure
from graphkin.similarity.fingerprints.recipe import resolve_bits
from graphkin.similarity.kinds import kind_of, recipe_of
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.vectors.recipe import resolve_vectors
from graphkin.similarity.verify import verify
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.transfer import copy_generation

RANDOM = np.random.default_rng(1)
BITS = (RANDOM.random((40, 100)) < 0.6).astype(np.uint8)
VECTORS = RANDOM.normal(size=(40, 6)).astype(np.float32)
QUERIES = {
    "bits": "f" * 25 + "0",
    "vectors": json.dumps([1.0, -1, 0.5, 0, 0, 2]),
    "given": "CC",
}


@pytest.fixture
def generation_pairs(tmp_path: Path, spare_neo4j: Any) -> Iterator[list[tuple[Generation, Generation]]]:
    """Yield each generation in the embedded store and on a server."""
    np.save(tmp_path / "bits.npy", np.packbits(BITS, axis=1, bitorder="little"))
    np.save(tmp_path / "vectors.npy", VECTORS)
    rows = [f"{'C' * length},{bits.tobytes().hex()}" for length, bits in enumerate(BITS[:, :8].copy(), 1)]
    (tmp_path / "given.csv").write_text("\n".join(["smiles,fp", *rows]))
    supplied = resolve(fingerprint={"name": "given", "bits": 64})
    recipes = {"bits.npy": resolve_bits(bits=104), "vectors.npy": resolve_vectors(dimension=6), "given.csv": supplied}
    spare_neo4j.clear()
    with ExitStack() as opened:
        store = opened.enter_context(open_store(tmp_path / "store", create=True))
        server = opened.enter_context(open_store(spare_neo4j.url, create=True))
        pairs = []
        for file, recipe in recipes.items():
            read = ReadOptions(fingerprint_column="fp" if file == "given.csv" else None)
            name = file.partition(".")[0]
            ingest(store, name, [str(tmp_path / file)], recipe, IngestOptions(read=read, workers=1))
            embedded = opened.enter_context(store.open(name))
            copy_generation(embedded, server)
            pairs.append((embedded, opened.enter_context(server.open(name))))
        yield pairs


def search_results(generation: Generation) -> list[Any]:
    kind, recipe = kind_of(generation), recipe_of(generation)
    query, search = read_structure(recipe, structure=QUERIES[generation.collection]), kind.search(generation)
    searches = [search]
    if kind.fingerprint(recipe) is not None:
        searches.append(search.with_measure(Measure(name="tversky", alpha=0.3, beta=0.8)))
        searches.append(search.with_measure(Measure(name="cosine")))
    if kind.name == "molecule":
        searches.append(search.with_measure(Measure(name="counts")))
    hits = [each.search(query, threshold, 15) for each in searches for threshold in (None, 0.3)]
    results: list[Any] = [(each.ids.tolist(), each.similarity.tolist(), each.total) for each in hits]
    if (type := kind.fingerprint(recipe)) is not None:
        results.append(b"".join(export_fingerprints(generation, "fps", type)))
    return [*results, search.find_identical(query), [*generation.structures()], verify(generation, 100)]


def test_server_equals_the_embedded_store(generation_pairs: list[tuple[Generation, Generation]]) -> None:
    for embedded, served in generation_pairs:
        expected = search_results(embedded)
        assert expected[-1] == []
        assert any(ids for ids, _, _ in expected[:2])
        assert search_results(served) == expected
        assert served.identity() == embedded.identity()
