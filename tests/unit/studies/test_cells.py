"""Finished cells are read and not computed again. Interrupted ones are computed again."""

from pathlib import Path

import pytest

from studies.cells import load_or_make


def test_cell_is_computed_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cell.json"
    assert load_or_make(path, lambda: {"auc": 0.75, "many": [1, 2]}) == {"auc": 0.75, "many": [1, 2]}
    assert load_or_make(path, lambda: {"auc": 0.0}) == {"auc": 0.75, "many": [1, 2]}


def test_failed_cell_leaves_nothing_and_is_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "cell.json"
    with pytest.raises(ZeroDivisionError):
        load_or_make(path, lambda: {"auc": 1 / 0})
    with pytest.raises(TypeError):
        load_or_make(path, lambda: {"auc": object()})
    assert not path.exists()
    assert load_or_make(path, lambda: {"auc": 0.5}) == {"auc": 0.5}
