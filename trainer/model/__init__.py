"""Encoders and what they compute with: batches, sums, norms, ranks, weights on the disk."""
