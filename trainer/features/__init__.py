"""Molecules and graphs as arrays of features."""
