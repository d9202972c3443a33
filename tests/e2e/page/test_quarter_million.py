"""The tree of 250,000 molecules."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice, product
from pathlib import Path
from time import perf_counter

import httpx
import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from graphkin.ingest.forest import SpanningForest
from graphkin.protocol.manifest import Counts, Provenance
from graphkin.store import open_store
from graphkin.store.columns import ITEM_SCHEMA
from graphkin.store.records import Edges, Int64

Serve = Callable[[Path], AbstractContextManager[httpx.Client]]

MOLECULES = 250_000
CLOSE = 20  # edges of an item to those before it, at most
OPENED = 2  # s
TRIES = 3  # each with a server of its own, which has not seen the collection


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one collection, chains, in clusters of 2 to thousands."""
    items = pa.record_batch(
        {
            "smiles": ["".join(atoms) for atoms in islice(product("CNOS", repeat=9), MOLECULES)],
            "structure": pa.nulls(MOLECULES, pa.string()),
            "inchikey": pa.nulls(MOLECULES, pa.string()),
            "names": [[]] * MOLECULES,
        },
        schema=ITEM_SCHEMA,
    )
    edges = edges_inside(clusters())
    forest = SpanningForest(MOLECULES)
    forest.add(edges)
    folder = tmp_path_factory.mktemp("quarter-million") / "store"
    with open_store(folder, create=True) as store, store.draft("chains", "molecule") as draft:
        draft.append_items(items)
        draft.append_edges(edges)
        draft.write_forest(forest.edges())
        draft.publish(
            Provenance(
                kind="molecule",
                recipe={"threshold": 0.4},
                structure="smiles",
                versions={},
                libraries=[],
                inputs=[],
                counts=Counts(read=MOLECULES, kept=MOLECULES, duplicates=0, rejected=0),
                edges=len(edges),
                dropped=None,
                properties={},
                histograms={},
                times={},
            )
        )
    return folder


def clusters() -> Int64:
    """The first item of each item's cluster. Clusters are consecutive items: a few are large, many are small."""
    sizes = np.minimum(np.random.default_rng(0).zipf(1.6, MOLECULES), 50_000)
    return np.repeat(np.cumsum(sizes) - sizes, sizes)[:MOLECULES]


def edges_inside(first: Int64) -> Edges:
    """Each item's, to those just before it in its cluster."""
    target = np.repeat(np.arange(MOLECULES), CLOSE)
    source = target - np.tile(np.arange(1, CLOSE + 1), MOLECULES)
    inside = source >= first[target]
    similarity = np.random.default_rng(1).uniform(0.4, 1, inside.sum()).astype(np.float32)
    return Edges(source[inside].astype(np.int32), target[inside].astype(np.int32), similarity)


@pytest.mark.long
def test_the_tree_opens_quickly(page: Page, chains: Path, serve: Serve) -> None:
    sizes = np.sort(np.bincount(clusters()))[::-1]
    opened = []
    for _ in range(TRIES):
        with serve(chains) as api:
            while api.get("/readyz").status_code != 200:
                page.wait_for_timeout(100)
            begin = perf_counter()
            page.goto(f"{api.base_url}?collection=chains&part=tree")
            shown = page.get_by_role("region", name="Clusters").get_by_role("listitem")
            expect(shown).to_have_count(100)
            opened.append(perf_counter() - begin)
            for place in (0, 1, 99):
                expect(shown.nth(place)).to_contain_text(f"{sizes[place]:,} items")
        if min(opened) < OPENED:
            break
    print(f"opened in {min(opened):.2f} s")
    assert min(opened) < OPENED
