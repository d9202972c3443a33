"""Clustering of all items of a collection."""
