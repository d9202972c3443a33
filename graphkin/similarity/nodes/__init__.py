"""Nodes of big graphs, each compared by the structure around it (method.md A5)."""
