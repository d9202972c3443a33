"""Offline folders: of nodes, and with manifests that were altered."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.memory import MemorySource
from graphkin.protocol.errors import Conflict, Damaged
from graphkin.protocol.seal import seal_document
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.feed.manifest import FolderManifest
from graphkin.trainer.feed.offline import OfflineSource, write_offline
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.strategy import Sampling

LINKS = np.array([[0, 1], [0, 3], [2, 4]], np.int32)
NOTHING = Epoch(np.empty((5, 0), np.int32), np.empty((0, 0), np.int32))


@pytest.fixture
def corpus(random_corpus: Callable[..., Corpus]) -> Corpus:
    made = random_corpus([4, 9, 3, 7, 5])
    return made.around(made.atoms // 2, laplacian_eigenvectors(made))


def test_a_folder_of_nodes_has_the_big_graph_and_all_features(corpus: Corpus, tmp_path: Path) -> None:
    draws = Sampling.from_strategy("gcc", kind="node")
    write_offline(MemorySource(corpus, draws, [NOTHING], "node", LINKS), 1, tmp_path)
    with OfflineSource(tmp_path, draws, last=0) as source:
        np.testing.assert_array_equal(source.links(), LINKS)
        found = source.corpus()
    assert found.columns.keys() == corpus.columns.keys()
    for name, column in corpus.columns.items():
        np.testing.assert_array_equal(found.columns[name], column)


def test_a_folder_of_another_strategy_has_no_big_graph(corpus: Corpus, tmp_path: Path) -> None:
    draws = Sampling.from_strategy("adam")
    write_offline(MemorySource(corpus, draws, [NOTHING]), 0, tmp_path)
    with OfflineSource(tmp_path, draws) as source, pytest.raises(Conflict, match="was not fetched"):
        source.links()


@pytest.fixture
def folder(random_corpus: Callable[..., Corpus], tmp_path: Path) -> Path:
    """An offline folder of five graphs for masking."""
    write_offline(MemorySource(random_corpus([4, 9, 3, 7, 5]), Sampling.from_strategy("adam"), [NOTHING]), 0, tmp_path)
    return tmp_path


def test_every_flipped_bit_of_a_manifest_is_refused_or_says_the_same(folder: Path) -> None:
    """A bit may turn white space into other white space; then the manifest says what it said."""
    file = folder / "manifest.json"
    whole, manifest = file.read_bytes(), FolderManifest.from_bytes(file.read_bytes())
    refused = 0
    for at in range(len(whole)):
        flipped = whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
        try:
            assert FolderManifest.from_bytes(flipped) == manifest
        except ValueError:
            refused += 1
    assert refused > 0.9 * len(whole)


def test_a_folder_of_the_format_before_is_refused(folder: Path) -> None:
    sealed = json.loads((folder / "manifest.json").read_text())["offline"]
    (folder / "manifest.json").write_text(json.dumps({**sealed, "format": 1}))
    with pytest.raises(Damaged, match=r"manifest.json is damaged: it is no manifest of format 2") as refused:
        OfflineSource(folder, Sampling.from_strategy("adam"))
    assert "graphkin fetch" in str(refused.value.hint)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 1},
        {"columns": 3},
        {"columns": ["atom_type"]},
        {"columns": ["color"]},
        {"files": {}},
        {"files": None},
        {"epochs": "two"},
        {"epochs": -1},
        {"anchors": 0.5},
        {"generation": {"collection": "c"}},
        {"generation": {"collection": "c", "kind": "molecule", "id": "random", "size": "5"}},
        {"generation": {"collection": "c", "kind": "molecule", "id": "random", "size": 4}},
        {"draws": {}},
        {"color": "red"},
    ],
)
def test_a_sealed_manifest_that_says_something_else_is_refused(folder: Path, changes: dict[str, Any]) -> None:
    sealed_values = json.loads((folder / "manifest.json").read_text())["offline"]
    (folder / "manifest.json").write_bytes(seal_document("offline", {**sealed_values, **changes}))
    with (
        pytest.raises(Damaged, match=r"(manifest\.json|corpus\.npz) is damaged"),
        OfflineSource(folder, Sampling.from_strategy("adam")) as source,
    ):
        source.corpus()
