"""Features made by several processes."""

import numpy as np

from graphkin.trainer.features.featurize import featurize


def test_the_same_whatever_the_number_of_workers(nci_smiles: list[str]) -> None:
    many = nci_smiles[:2000] * 3  # more than one block
    alone, together = featurize(many, "x", workers=1), featurize(many, "x", workers=2)
    for name, column in alone.columns.items():
        assert column.dtype == together.columns[name].dtype
        np.testing.assert_array_equal(column, together.columns[name])
