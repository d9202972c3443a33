"""Nodes of big graphs to features: of each the subgraph around it (docs/method.md)."""

from collections.abc import Sequence

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.graphs import read_structures
from graphkin.trainer.features.surroundings import surroundings


def featurize_nodes(structures: Sequence[str], identity: str) -> Corpus:
    """The features of nodes as the server writes them, item i being structures[i]. Raises as `read_structures`."""
    nodes, counts, edges, centre = read_structures(structures, centred=True)
    assert centre is not None
    return surroundings(identity, nodes, counts, edges, centre)
