"""Preloads everything needed to describe a graph, by describing one on import.

Worker processes forked after this import need not load compiled code.
"""

from graphkin.similarity.graphs.describer import GraphDescriber
from graphkin.similarity.graphs.recipe import resolve_graphs

GraphDescriber(resolve_graphs(), max_nodes=2).describe('{"edges": [[0, 1]]}', "graph", None)
