"""Open generations: their cache, background computations, and known damage."""
