"""Sizes and splits of the TU sets; the sizes are those that the collection states (issue 7)."""

from pathlib import Path

import numpy as np
import pytest

from graphkin.trainer.downstream.tu import TuDataset, read_tu

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "tu"
SETS = {
    "IMDB-BINARY": (1000, 2, 19.77, 96.53),
    "IMDB-MULTI": (1500, 3, 13.00, 65.94),
    "REDDIT-BINARY": (2000, 2, 429.63, 497.75),
    "MUTAG": (188, 2, 17.93, 19.79),
    "PROTEINS": (1113, 2, 39.06, 72.82),
}
"""Graphs, classes, mean nodes and mean edges (Morris et al., 2020)."""

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module", params=SETS)
def dataset(request: pytest.FixtureRequest) -> TuDataset:
    file = FOLDER / f"{request.param}.zip"
    if not file.is_file():
        pytest.fail(f"{file} is missing: this check needs the shared data folder")
    return read_tu(file)


def test_sizes_equal_those_of_the_collection(dataset: TuDataset) -> None:
    graphs, classes, nodes, edges = SETS[dataset.name]
    corpus = dataset.corpus
    assert (corpus.size, len(dataset.classes)) == (graphs, classes)
    assert corpus.atoms.mean() == pytest.approx(nodes, abs=0.006)
    assert len(corpus.source) / 2 / graphs == pytest.approx(edges, abs=0.006)


def test_the_split_is_stratified(dataset: TuDataset) -> None:
    split = dataset.split()
    assert sorted(np.concatenate(split).tolist()) == list(range(dataset.corpus.size))
    shares = np.bincount(dataset.labels) / dataset.corpus.size
    for part, share in zip(split, (0.8, 0.1, 0.1), strict=True):
        assert len(part) == pytest.approx(share * dataset.corpus.size, abs=2)
        np.testing.assert_allclose(np.bincount(dataset.labels[part]), shares * len(part), atol=2)
