"""Importing this module loads all code that describes a graph, by describing one.

The fork server imports the module, so that the worker processes that it forks start with the compiled code in memory.
"""

from graphkin.similarity.graphs.describer import GraphDescriber
from graphkin.similarity.graphs.recipe import resolve_graphs

GraphDescriber(resolve_graphs(), max_nodes=2).describe('{"edges": [[0, 1]]}', "graph", None)
