"""Features of nodes of big graphs: the subgraph around each node (docs/concepts/method.md)."""

from collections.abc import Sequence

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.graphs import read_structures
from graphkin.trainer.features.surroundings import surroundings


def featurize_nodes(structures: Sequence[str], identity: str) -> Corpus:
    """Return the features of nodes in the server's format; item i is structures[i].

    Raises the errors of `read_structures`.
    """
    nodes, counts, edges, centre = read_structures(structures, is_centered=True)
    assert centre is not None
    return surroundings(identity, nodes, counts, edges, centre)
