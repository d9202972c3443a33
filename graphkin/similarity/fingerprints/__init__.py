"""Items that are known by their fingerprints alone."""
