"""Nodes of big graphs, each compared by the structure around it (docs/method.md)."""
