"""Peers that crash: they are tried again, and the benchmark says how often they crashed."""

from functools import partial
from pathlib import Path

import pytest

from benchmarks import peers
from tests.crashing import CrashAtFirst, fail


def test_the_report_says_how_often_a_peer_crashed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One crashes once, and another in all of its tries, here two; both do by a segmentation fault."""
    from benchmarks import join  # slow to import, and the measured processes need not do it

    ours, once, always = (tmp_path / name for name in ("ours", "once", "always"))
    for folder in (ours, once, always):
        folder.mkdir()
    monkeypatch.setattr(join, "ours", CrashAtFirst(ours, 0))
    monkeypatch.setattr(join, "measure", partial(peers.measure, tries=2))
    sample = join.Sample("3 molecules", [], tmp_path)
    seconds = join.together(sample, {"once": CrashAtFirst(once, 1), "always": CrashAtFirst(always, 9)}, 0.5, 1)
    assert seconds == {"once": 0.5}
    lines = capsys.readouterr().out.splitlines()
    assert "crashed" not in lines[1]
    assert lines[2].endswith("x ours, crashed in 1 of 2 tries")
    assert lines[3].split(maxsplit=1) == ["always", "crashed in 2 of 2 tries"]
    assert [len(list(folder.iterdir())) for folder in (ours, once, always)] == [1, 2, 2]


def test_an_error_is_no_crash() -> None:
    with pytest.raises(ValueError, match="no join"):
        peers.measure(fail)
