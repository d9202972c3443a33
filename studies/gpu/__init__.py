"""Prepared jobs for short periods of GPU time."""
