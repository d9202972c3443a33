"""Molecules, graphs and nodes as arrays of features."""
