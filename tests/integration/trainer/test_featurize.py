"""Features computed by several processes."""

import numpy as np

from graphkin.trainer.features.featurize import featurize


def test_features_do_not_depend_on_the_number_of_workers(nci_smiles: list[str]) -> None:
    many = nci_smiles[:2000] * 3  # More than one block.
    by_one, by_two = featurize(many, "x", workers=1), featurize(many, "x", workers=2)
    for name, column in by_one.columns.items():
        assert column.dtype == by_two.columns[name].dtype
        np.testing.assert_array_equal(column, by_two.columns[name])
