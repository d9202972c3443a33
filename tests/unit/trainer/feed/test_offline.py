"""Offline folders: of nodes, and of before there were any."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.memory import MemorySource
from graphkin.protocol.errors import Conflict, Damaged
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.feed.offline import OfflineSource, write_offline
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.strategy import Draws

LINKS = np.array([[0, 1], [0, 3], [2, 4]], np.int32)
NOTHING = Epoch(np.empty((5, 0), np.int32), np.empty((0, 0), np.int32))


@pytest.fixture
def corpus(random_corpus: Callable[..., Corpus]) -> Corpus:
    made = random_corpus([4, 9, 3, 7, 5])
    return made.around(made.atoms // 2, laplacian_eigenvectors(made))


def test_a_folder_of_nodes_has_the_big_graph_and_all_features(corpus: Corpus, tmp_path: Path) -> None:
    draws = Draws.of("gcc", kind="node")
    write_offline(MemorySource(corpus, draws, [NOTHING], "node", LINKS), 1, tmp_path)
    with OfflineSource(tmp_path, draws, last=0) as source:
        np.testing.assert_array_equal(source.links(), LINKS)
        found = source.corpus()
    assert found.columns.keys() == corpus.columns.keys()
    for name, column in corpus.columns.items():
        np.testing.assert_array_equal(found.columns[name], column)


def test_a_folder_of_another_strategy_has_no_big_graph(corpus: Corpus, tmp_path: Path) -> None:
    draws = Draws.of("adam")
    write_offline(MemorySource(corpus, draws, [NOTHING]), 0, tmp_path)
    with OfflineSource(tmp_path, draws) as source, pytest.raises(Conflict, match="was not fetched"):
        source.links()


def test_folders_of_before_say_nothing_of_columns(random_corpus: Callable[..., Corpus], tmp_path: Path) -> None:
    corpus, draws = random_corpus([4, 9, 3, 7, 5]), Draws.of("adam")
    write_offline(MemorySource(corpus, draws, [NOTHING]), 0, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["columns"], manifest["draws"]["walks"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with OfflineSource(tmp_path, draws) as source:
        np.testing.assert_array_equal(source.corpus().atom_type, corpus.atom_type)
    for wrong in (3, ["atom_type"], ["colour"], "atom_type"):
        (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "columns": wrong}))
        with pytest.raises(Damaged):
            OfflineSource(tmp_path, draws).corpus()
