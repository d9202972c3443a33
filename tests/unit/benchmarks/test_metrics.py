"""T17's distance against networkx, and the other metrics against their definitions."""

from collections.abc import Callable

import networkx
import numpy as np
import pytest
import torch

from benchmarks.metrics import clustered_mean, masked_accuracy, masked_distance, retrieval
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler


@pytest.mark.parametrize("seed", range(5))
def test_masked_distances_are_the_shortest_paths_of_networkx(random_corpus: Callable[..., Corpus], seed: int) -> None:
    sizes = [1, 3, 12, 25, 40, 40, 18]
    batch = Assembler(random_corpus(sizes, extra=seed, seed=seed)).batch(np.arange(len(sizes)))
    mask = torch.rand(batch.atoms, generator=torch.Generator().manual_seed(seed)) < 0.15
    graph = networkx.Graph()
    graph.add_nodes_from(range(batch.atoms))
    graph.add_edges_from(batch.edge_index.T.tolist())
    masked = set(mask.nonzero().flatten().tolist())
    expected = np.full(batch.atoms, np.nan)
    for atom in masked:
        lengths = networkx.single_source_shortest_path_length(graph, atom)
        others = [length for other, length in lengths.items() if other in masked and other != atom]
        if others:
            expected[atom] = min(others)
    np.testing.assert_array_equal(masked_distance(batch, mask).numpy(), expected)
    assert np.isfinite(expected).sum() > 5


def test_masked_atoms_of_fragments_do_not_reach_each_other(assembler: Assembler, smiles: tuple[str, ...]) -> None:
    salt = assembler.batch(np.array([smiles.index("[Na+].[Cl-]")]))
    assert masked_distance(salt, torch.tensor([True, True])).isnan().all()
    assert masked_distance(salt, torch.tensor([False, False])).isnan().all()


def test_clustered_errors() -> None:
    """With one value a cluster it is the usual standard error; copies of values add nothing."""
    values = torch.tensor([1.0, 4.0, 2.0, 8.0, 5.0])
    mean, error = clustered_mean(values, torch.arange(5), 5)
    assert mean == pytest.approx(4)
    assert error == pytest.approx(np.std(values.numpy(), ddof=1) / np.sqrt(5))
    again = clustered_mean(values.repeat_interleave(3), torch.arange(5).repeat_interleave(3), 5)
    assert again == pytest.approx((mean, error))
    holes = torch.cat([values, torch.full((2,), torch.nan)])
    assert clustered_mean(holes, torch.arange(7), 7) == pytest.approx((mean, error))


def test_clustered_errors_cover_the_truth() -> None:
    """500 samples of clusters with a shared effect: the true mean lies within two errors about 95 times in 100."""
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(500):
        cluster = np.repeat(np.arange(40), random.integers(1, 6, size=40))
        values = random.normal(size=40)[cluster] + random.normal(size=len(cluster))
        mean, error = clustered_mean(torch.from_numpy(values), torch.from_numpy(cluster), 40)
        covered += abs(mean) < 2 * error
    assert 0.90 < covered / 500 < 0.99


def test_masked_accuracy_counts_masked_atoms_only() -> None:
    logits = torch.eye(4)[[0, 1, 2, 0]]
    assert masked_accuracy(logits, torch.tensor([0, 0, 2, 3]), torch.tensor([True, True, False, True])) == 1 / 3


def test_retrieval_needs_the_positive_strictly_first() -> None:
    z = torch.eye(3)
    assert retrieval(z, z) == 1
    assert retrieval(z, z[[1, 0, 2]]) == pytest.approx(1 / 3)
    assert retrieval(z, z[[0, 0, 2]]) == pytest.approx(1 / 3)  # a tie is no first place
