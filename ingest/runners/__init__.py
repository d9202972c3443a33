"""Runners of tasks."""
