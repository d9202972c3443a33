"""Ingest of the nodes of big graphs: time, memory, known counts, and what the edges say about classes."""

import resource
from pathlib import Path

import numpy as np
import pytest

from benchmarks.nodes import NODES, SOURCES
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.similarity.verify import verify
from graphkin.store import open_store
from studies.node_similarity import measure

pytestmark = pytest.mark.shared

COUNTS = [(22_470, 170_823), (37_700, 289_003), (9_498, 153_138), (6_549, 112_666)]
"""Nodes and edges of each graph.

179 of Facebook's 171,002 edges are loops, and two of Twitch FR's nodes have no edge.
"""


def test_four_graphs_become_one_collection_in_time_and_memory(tmp_path: Path) -> None:
    files = [str(NODES / f"{source}_edges.csv.gz") for source in SOURCES]
    labels = [str(NODES / f"{source}_labels.csv.gz") for source in SOURCES]
    with open_store(tmp_path / "store", create=True) as store:
        manifest = ingest(store, "nodes", files, resolve_nodes(), IngestOptions(workers=2, labels=labels))
        assert sum(manifest.times.values()) < 300
        counts = manifest.counts
        assert (counts.read, counts.kept, counts.rejected) == (76_219, sum(nodes for nodes, _ in COUNTS), 2)
        with store.open("nodes") as generation:
            links = generation.links()
            assert links is not None
            degrees, begin = np.diff(links.indptr), 0
            for nodes, edges in COUNTS:
                assert degrees[begin : begin + nodes].sum() == 2 * edges
                begin += nodes
            assert verify(generation, 300) == []
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    assert peaks[0] + 2 * peaks[1] < 4 * 2**20


def test_neighbors_of_airports_tell_the_class_better_than_the_degree() -> None:
    result = measure(NODES, "usa-airports")
    assert result.accuracy.mean() > result.degree.mean() > result.majority
    assert result.same > result.permuted.max()
    assert result.stability > 0.8
