"""Describes one graph: workers forked from a process that has imported this need load nothing that is compiled."""

from graphkin.similarity.graphs.describer import GraphDescriber
from graphkin.similarity.graphs.recipe import resolve_graphs

GraphDescriber(resolve_graphs(), max_nodes=2).describe('{"edges": [[0, 1]]}', "graph", None)
