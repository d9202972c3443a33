"""The command `graphkin fetch`."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.offline import OfflineSource
from graphkin.trainer.feed.online import open_online
from graphkin.trainer.strategy import Sampling


@pytest.fixture
def fetch(graphkin: Any, url: str, tmp_path: Path) -> Any:
    """Return a function that fetches, by default from the shared server."""

    def call(*options: object, api: str = url, collection: str = "nci", output: Path = tmp_path / "out") -> Any:
        place = ("--api", api, "--collection", collection, "--output", output, "--cache-dir", tmp_path / "cache")
        return graphkin("fetch", *place, *options)

    return call


def test_fetched_folder_equals_the_online_source(fetch: Any, url: str, tmp_path: Path) -> None:
    options = ("--preset", "rc", "--encoder", "sage", "--batch-size", 64, "--seed", 9)
    outcome = fetch("--strategy", "hgc-ho", "--epochs", 3, *options)
    assert (outcome.code, outcome.err.splitlines()[-1][:9]) == (0, "fetching:")
    assert "400 items, 3 epochs" in outcome.out
    draws = Sampling.from_strategy("hgc-ho", preset="rc", encoder="sage", batch_size=64, seed=9)
    with (
        OfflineSource(tmp_path / "out", draws, last=2) as offline,
        open_online(url, "nci", draws, features, Cache(tmp_path / "other", 2**30), last=2) as online,
    ):
        for epoch in range(3):
            for fetched, drawn in zip(offline.epoch(epoch), online.epoch(epoch), strict=True):
                np.testing.assert_array_equal(fetched, drawn)
        for name, column in online.corpus().columns.items():
            np.testing.assert_array_equal(offline.corpus().columns[name], column)


def test_fetched_folder_for_masking_needs_no_epochs(fetch: Any, tmp_path: Path) -> None:
    assert fetch("--strategy", "adam", "--epochs", 0).code == 0
    with OfflineSource(tmp_path / "out", Sampling.from_strategy("adam")) as source:
        assert source.corpus().size == 400


@pytest.mark.parametrize(
    ("options", "arguments", "code", "message"),
    [
        ({"api": "localhost:8000"}, (), 2, "not the URL of a graphkin server"),
        ({"api": "http://127.0.0.1:9"}, (), 4, "graphkin serve"),
        ({"collection": "nobody"}, (), 3, "no collection 'nobody'"),
        ({"collection": "dots"}, (), 2, "no encoder can be trained on items of this kind"),
        ({"collection": "many"}, ("--strategy", "adam"), 2, "nothing to mask"),
        ({}, ("--generation", "0" * 64), 3, "has no generation with this id"),
        ({}, ("--strategy", "magic"), 2, "expected: hgc-fo, "),
    ],
)
def test_error_is_explained_and_leaves_nothing(
    fetch: Any, tmp_path: Path, options: dict[str, Any], arguments: tuple[str, ...], code: int, message: str
) -> None:
    outcome = fetch("--strategy", "hgc-fo", "--epochs", 1, *arguments, **options)
    assert outcome.code == code
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "out").exists()


def test_folder_with_other_files_is_not_changed(fetch: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("data")
    outcome = fetch("--strategy", "hgc-fo", "--epochs", 1)
    assert (outcome.code, "not empty" in outcome.err) == (2, True)
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["precious"]


@pytest.mark.parametrize("missing", ["httpx", "tenacity"])
def test_missing_extra_is_explained(missing: str) -> None:
    script = f"import sys; sys.modules['{missing}'] = None; from graphkin.cli import run; sys.exit(run(sys.argv[1:]))"
    options = ["--api", "http://x", "--collection", "c", "--strategy", "hgc-fo", "--epochs", "1", "--output", "x"]
    outcome = subprocess.run(
        [sys.executable, "-c", script, "fetch", *options], capture_output=True, text=True, check=False
    )
    hint = "pip install '.[trainer]' in a clone"
    assert (outcome.returncode, hint in outcome.stderr, "Traceback" in outcome.stderr) == (2, True, False)
