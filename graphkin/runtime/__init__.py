"""Processes and files that any package may use."""
