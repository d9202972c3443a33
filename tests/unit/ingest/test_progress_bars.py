"""Progress bars of the library appear on terminals, and only for stages that last."""

import io
import sys

import numpy as np
import pytest

import graphkin
from graphkin.ingest.progress_bars import library_progress


class Terminal(io.StringIO):
    """A text file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("delay", "appears"), [(0, True), (3600, False)])
def test_bar_appears_after_its_delay(delay: float, appears: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with library_progress(delay).stage("join", 100, "items") as advance:
        advance(100)
    assert ("join: 100%" in terminal.getvalue()) == appears


def test_short_stages_of_the_library_show_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    graphkin.similar_pairs(np.eye(4, dtype=bool), 0.5)
    assert "join" not in terminal.getvalue()


def test_no_bar_appears_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with library_progress().stage("join", 100, "items") as advance:
        advance(100)
    assert capsys.readouterr().err == ""
