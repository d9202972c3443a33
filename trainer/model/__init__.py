"""Encoders and their parts: batches, sums, normalization, ranks, and weights on disk."""
