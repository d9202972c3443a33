"""Downstream evaluation of pre-training, and the tables of its results."""
