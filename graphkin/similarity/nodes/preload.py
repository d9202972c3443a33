"""Importing this module loads all code that describes a node, by describing one.

The fork server imports the module, so that the worker processes that it forks start with the compiled code in memory.
"""

from graphkin.similarity.nodes.describer import NodeDescriber
from graphkin.similarity.nodes.recipe import resolve_nodes

_TEXT = (
    '{"graph":"","node":0,"neighbors":[1],"self_loops":0,"repeated_edges":0,"num_nodes":2,"edges":[[0,1]],'
    '"labels":[1,1],"weights":[1,1],"centre":0}'
)
NodeDescriber(resolve_nodes(), max_size=2).describe(_TEXT, "graph", None)
