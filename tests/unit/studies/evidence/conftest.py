"""Fixtures with the labelled molecules of the trainer's tests."""

from tests.unit.trainer.downstream.conftest import dataset, labelled_file, split

__all__ = ["dataset", "labelled_file", "split"]
