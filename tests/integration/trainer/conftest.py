"""Random graphs to train with."""

from tests.unit.trainer.conftest import random_corpus

__all__ = ["random_corpus"]  # a fixture
