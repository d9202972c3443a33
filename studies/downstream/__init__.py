"""Runs that measure what pre-training is worth downstream, and the tables made of them."""
