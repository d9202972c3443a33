"""Edges, forests and samples equal those of version 0.1.0, byte for byte; that version recorded `hierarchies.json`.

    python tests/long/test_same_hierarchies.py NAME...

prints the digests of the current version.
"""

import gzip
import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.readers import ReadOptions
from graphkin.protocol.policy import Policy
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.sampling.snapshot import SnapshotSampler

DATA = Path(__file__).parents[3] / "shared" / "data"
RECORDED = Path(__file__).with_name("hierarchies.json")
MOLECULES, GRAPHS = DATA / "molecules", DATA / "tu"
MOSES = [MOLECULES / f"moses_{part}.csv.gz" for part in ("train", "test")]
ANCHORS = 1000


def some_of_zinc(folder: Path) -> list[Path]:
    with gzip.open(MOLECULES / "zinc250k.smiles.gz") as packed, (folder / "some.smi").open("wb") as file:
        file.writelines(line for _, line in zip(range(20_000), packed, strict=False))
    return [folder / "some.smi"]


def all_of_them(folder: Path) -> list[Path]:
    named = folder / "zinc.smi.gz"  # the name determines the format
    shutil.copy(MOLECULES / "zinc250k.smiles.gz", named)
    return [named, *MOSES]


SETS: dict[str, tuple[Any, Any]] = {
    "20,000 of ZINC": (some_of_zinc, resolve()),
    "20,000 of ZINC, paper": (some_of_zinc, resolve("paper")),
    "two million": (all_of_them, resolve()),
    "PROTEINS": (lambda _: [GRAPHS / "PROTEINS.zip"], resolve_graphs()),
    "MUTAG, rc": (lambda _: [GRAPHS / "MUTAG.zip"], resolve_graphs("rc")),
    "IMDB-BINARY": (lambda _: [GRAPHS / "IMDB-BINARY.zip"], resolve_graphs()),
}
POLICIES = {
    "first order": Policy.from_name("first_order"),
    "random walks": Policy.from_name("random_walk"),
    "second order": Policy.from_name("second_order"),
}


def digest(*arrays: np.ndarray) -> str:
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(f"{array.dtype.str}{array.shape}".encode())
        whole.update(np.ascontiguousarray(array).data)
    return whole.hexdigest()


def figures(name: str, folder: Path) -> dict[str, Any]:
    """Return digests of one data set, ingested into a store in `folder`.

    Samples are keyed by a fixed name instead of the generation's id.
    """
    files, recipe = SETS[name]
    with open_store(folder / "store", create=True) as store:
        ingest(store, "c", [str(path) for path in files(folder)], recipe, IngestOptions(read=ReadOptions()))
        with store.open("c") as generation:
            graph, forest = generation.graph(), generation.forest()
            anchors = np.arange(min(ANCHORS, generation.size), dtype=np.int32)
            sampler = SnapshotSampler(graph, "recorded", threads=1)
            samples = {title: sampler.positives(anchors, policy, 0, 0) for title, policy in POLICIES.items()}
            return {
                "items": generation.size,
                "edges": graph.edges,
                "hierarchy": digest(graph.indptr, graph.indices, graph.similarity),
                "forest": digest(forest.source, forest.target, forest.similarity),
                **{title: digest(*map(np.asarray, vars(sample).values())) for title, sample in samples.items()},
            }


@pytest.mark.parametrize("name", SETS)
def test_digests_equal_those_of_version_0_1_0(name: str, tmp_path: Path) -> None:
    if not DATA.is_dir():
        pytest.fail(f"{DATA} is missing: this check needs the shared data folder")
    assert figures(name, tmp_path) == json.loads(RECORDED.read_text())[name]


if __name__ == "__main__":
    results = {}
    for each in sys.argv[1:] or SETS:
        with tempfile.TemporaryDirectory() as place:
            results[each] = figures(each, Path(place))
    print(json.dumps(results, indent=1))
