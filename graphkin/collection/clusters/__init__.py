"""Clusters of a whole collection."""
