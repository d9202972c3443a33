"""Nodes of networks, each compared by the subgraph around it (docs/concepts/method.md).

A network is one big graph whose nodes are the items of a collection.
"""
