"""Larger-than-memory ingest: stages of numbered tasks that any runner can execute, on one machine or many."""
