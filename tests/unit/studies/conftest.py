"""Fixtures with the graphs of the trainer's tests."""

from tests.unit.trainer.conftest import assembler, corpus, random_corpus, smiles

__all__ = ["assembler", "corpus", "random_corpus", "smiles"]
