"""Preloads everything needed to describe a node, by describing one on import.

Worker processes forked after this import need not load compiled code.
"""

from graphkin.similarity.nodes.describer import NodeDescriber
from graphkin.similarity.nodes.recipe import resolve_nodes

_TEXT = (
    '{"graph":"","node":0,"neighbors":[1],"self_loops":0,"repeated_edges":0,"num_nodes":2,"edges":[[0,1]],"centre":0}'
)
NodeDescriber(resolve_nodes(), max_size=2).describe(_TEXT, "graph", None)
