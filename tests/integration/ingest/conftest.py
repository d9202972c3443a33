"""Fixtures with RDKit as the reference."""

from tests.unit.conftest import generators, recorder, similarities

__all__ = ["generators", "recorder", "similarities"]  # fixtures
