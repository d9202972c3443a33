"""Random graphs for training."""

from tests.unit.trainer.conftest import random_corpus

__all__ = ["random_corpus"]  # a fixture
