"""What RDKit alone says of molecules."""

from tests.unit.conftest import generators, recorder, similarities

__all__ = ["generators", "recorder", "similarities"]  # fixtures
