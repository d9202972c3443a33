"""Base class of all sets of labeled molecules: their split, and the parts of it that are scored."""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from graphkin.trainer.downstream.labeled import LabeledGraphs
from graphkin.trainer.downstream.molecules import Rejection
from graphkin.trainer.downstream.partition import Partition
from graphkin.trainer.downstream.scaffold import scaffolds
from graphkin.trainer.downstream.split import Rows, Split, group_split


class LabeledMolecules(LabeledGraphs):
    """N labeled molecules that RDKit can read.

    Attributes:
        smiles: (N,) SMILES as in the file, in the same order.
        rejected: Rejected records.
        partition: The split that the user chose; None for the published one, by scaffold.
    """

    smiles: tuple[str, ...]
    rejected: tuple[Rejection, ...]
    partition: Partition | None

    noun: ClassVar[str] = "molecules"

    def split(self) -> Split:
        return self._split

    @cached_property
    def _split(self) -> Split:
        return group_split(scaffolds(self.smiles)) if self.partition is None else self.partition.split

    @property
    def split_hint(self) -> str:
        """The next step after an error about a part of the split."""
        if self.partition is None or self.partition.rule == "cluster":
            group = "scaffold" if self.partition is None else "cluster"
            return f"use a larger or more varied set: molecules of one {group} stay in one part"
        return "use a larger set, or another --split"

    def scored_parts(self, split: Split) -> Iterator[tuple[str, Rows]]:
        """Yield the name and the rows of the parts to score. The user may leave the validation part empty."""
        if len(split.valid) or self.partition is None or not self.partition.may_lack_validation:
            yield "valid", split.valid
        yield "test", split.test

    @property
    def partition_summary(self) -> dict[str, str]:
        """The rule of a split that the user chose, for the document of the results."""
        return {} if self.partition is None else {"split_by": self.partition.rule}
