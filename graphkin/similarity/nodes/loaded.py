"""Describes one node: workers forked from a process that has imported this need load nothing that is compiled."""

from graphkin.similarity.nodes.describer import NodeDescriber
from graphkin.similarity.nodes.recipe import resolve_nodes

_TEXT = (
    '{"graph":"","node":0,"neighbors":[1],"self_loops":0,"repeated_edges":0,"num_nodes":2,"edges":[[0,1]],"centre":0}'
)
NodeDescriber(resolve_nodes(), max_size=2).describe(_TEXT, "graph", None)
