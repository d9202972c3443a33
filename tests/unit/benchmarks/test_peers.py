"""A benchmark retries peers that crash, and reports how often they crashed."""

from functools import partial
from pathlib import Path

import pytest

from benchmarks import peers
from tests.crashing import CrashAtFirst, fail


def test_report_counts_the_crashes_of_each_peer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One peer crashes once. Another one crashes in both of its tries. Both crash by a segmentation fault."""
    from benchmarks import join  # slow to import, and the measured processes do not need it

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


def test_python_error_of_a_peer_is_raised() -> None:
    with pytest.raises(ValueError, match="no join"):
        peers.measure(fail)
