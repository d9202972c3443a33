"""Options of the command."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from studies.evidence.__main__ import evidence


@pytest.mark.parametrize(
    ("option", "value", "known"),
    [("--arms", "exact,window", "exact, augmented, shuffled, permuted, scratch"), ("--sets", "hiv", "bace, bbbp")],
)
def test_unknown_names_are_refused(
    option: str, value: str, known: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studies.downstream.sets.DATA", tmp_path)
    folders = ["--work", str(tmp_path / "work"), "--cells", str(tmp_path / "cells")]
    result = CliRunner().invoke(evidence, ["--plan", "2", *folders, option, value])
    assert result.exit_code == 2
    assert f"{value.split(',')[-1]}: give {known}" in " ".join(result.output.split())


def test_missing_data_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.downstream.sets.DATA", tmp_path / "missing")
    result = CliRunner().invoke(evidence, ["--plan", "2", "--work", str(tmp_path / "work")])
    assert result.exit_code == 1
    assert "missing is missing" in result.output
