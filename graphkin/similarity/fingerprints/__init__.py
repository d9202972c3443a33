"""Items that consist of a fingerprint only."""
