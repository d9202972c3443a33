"""Clusters of a collection that grew equal those of one ingest, of RDKit and of a join of all items."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator
from rdkit.ML.Cluster import Butina

from graphkin.collection.clusters.butina import butina_clusters, clusters_from_pairs
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.complete import exact_descriptors
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recipe import Recipe
from graphkin.similarity.vectors.recipe import resolve_vectors
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.identity import tie_ranks
from tests.integration.append.conftest import OPTIONS, grow, write_parts
from tests.integration.append.test_exact import GRAPHS, MEMORY, MOLECULES, as_json

pytestmark = pytest.mark.usefixtures("parse_inline", "small_blocks")

TOP_K = st.integers(0, 4)
THRESHOLDS = st.sampled_from([0.3, 0.4, 0.5, 0.55, 0.7, 1.0])


def assert_equal(clusters: Clusters, expected: Clusters) -> None:
    assert [each.tolist() for each in clusters] == [each.tolist() for each in expected]


def of_all_pairs(generation: Generation, threshold: float) -> Clusters:
    """Cluster the pairs of a join of all items, which reads no stored edge."""
    descriptors = exact_descriptors(generation, threshold)
    return clusters_from_pairs(descriptors.pairs(0, 1, lambda _: None), descriptors.tie)


def assert_grown_equals_rebuilt(parts: Sequence[Sequence[str]], ending: str, recipe: Recipe, threshold: float) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, open_store(Path(folder) / "store", create=True) as store:
        files = write_parts(Path(folder), parts, ending)
        grow(store, "grown", files, recipe)
        ingest(store, "rebuilt", files, recipe, OPTIONS)
        with store.open("grown") as grown, store.open("rebuilt") as rebuilt:
            clusters = butina_clusters(grown, threshold, 1)
            assert_equal(clusters, butina_clusters(rebuilt, threshold, 1))
            assert_equal(clusters, of_all_pairs(rebuilt, threshold))


def rdkit_clusters(generation: Generation, threshold: float) -> set[tuple[int, frozenset[int]]]:
    """Return RDKit's clusters as pairs of center and members. RDKit takes the last of equally large ones."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    vectors = [generator.GetFingerprint(Chem.MolFromSmiles(each)) for each in generation.structures()]
    recipe = kind_of(generation).recipe(generation.manifest.recipe)
    ranked = np.argsort(tie_ranks(kind_of(generation).digests(generation, recipe)), kind="stable").tolist()
    similar = [DataStructs.TanimotoSimilarity(vectors[a], vectors[b]) for n, a in enumerate(ranked) for b in ranked[:n]]
    distances = [float(each < threshold) for each in similar]
    clusters = Butina.ClusterData(distances, len(ranked), 0.5, isDistData=True)
    return {(ranked[members[0]], frozenset(ranked[each] for each in members)) for members in clusters}


@given(
    st.lists(st.lists(st.sampled_from(MOLECULES[:-1]), min_size=1, max_size=20), min_size=2, max_size=3),
    TOP_K,
    THRESHOLDS,
)
@settings(max_examples=5)
def test_clusters_of_molecules_that_were_appended_equal_a_rebuild(
    parts: Sequence[Sequence[str]], top_k: int, threshold: float
) -> None:
    assert_grown_equals_rebuilt(parts, "smi", resolve(threshold=0.4, top_k=top_k), threshold)


@given(
    st.lists(st.lists(st.integers(0, len(GRAPHS) - 1), min_size=1, max_size=12), min_size=2, max_size=2),
    TOP_K,
    THRESHOLDS,
)
@settings(max_examples=5)
def test_clusters_of_graphs_that_were_appended_equal_a_rebuild(
    parts: Sequence[Sequence[int]], top_k: int, threshold: float
) -> None:
    lines = [[as_json(number, "", {}) for number in part] for part in parts]
    assert_grown_equals_rebuilt(lines, "jsonl", resolve_graphs(threshold=0.4, top_k=top_k), threshold)


@pytest.mark.parametrize(("top_k", "threshold"), [(0, 0.3), (1, 0.2), (2, 0.3), (5, 0.2)])
def test_appended_real_molecules_have_the_clusters_of_rdkit(
    nci_smiles: list[str], tmp_path: Path, top_k: int, threshold: float
) -> None:
    with open_store(tmp_path / "store", create=True) as store:
        files = write_parts(tmp_path, [nci_smiles[:120], nci_smiles[120:200]], "smi")
        grow(store, "c", files, resolve(threshold=0.2, top_k=top_k))
        with store.open("c") as generation:
            assert (generation.manifest.dropped == 0) == (top_k == 0)
            clusters = butina_clusters(generation, threshold, 1)
            members = enumerate(clusters.centre.tolist())
            own = {(center, frozenset(clusters.members(number).tolist())) for number, center in members}
            assert own == rdkit_clusters(generation, threshold)


def test_similarity_that_rounds_up_to_the_threshold_does_not_reach_it(tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], np.float32))
    with open_store(tmp_path / "store", create=True) as store:
        ingest(store, "c", [str(tmp_path / "vectors.npy")], resolve_vectors(threshold=0.5, dimension=3), OPTIONS)
        with store.open("c") as generation:
            similarity = np.sqrt(1 / 2)
            for threshold, size in ((similarity - 1e-12, 3), (similarity + 1e-12, 2)):
                assert np.float32(threshold) == np.float32(similarity)
                clusters = butina_clusters(generation, threshold, 1)
                assert clusters.sizes[0] == size
                assert_equal(clusters, of_all_pairs(generation, threshold))
