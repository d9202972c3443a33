"""Nodes of big graphs, each compared by the subgraph around it (docs/method.md)."""
