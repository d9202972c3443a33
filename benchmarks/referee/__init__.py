"""Approximate engines judged by the exact similarity graph; see `python -m benchmarks.referee --help`."""
