"""Larger-than-memory ingest: stages of numbered tasks, which a runner executes on one machine or on many."""
