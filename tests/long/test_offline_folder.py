"""All of ZINC250k, with the positives of ten epochs, fits in a folder of 60 MiB (issue 6)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphkin.trainer.feed.offline import OfflineSource
from graphkin.trainer.strategy import Sampling

DATA = Path(__file__).parents[3] / "shared" / "data" / "molecules" / "zinc250k.smiles.gz"
COMMAND = Path(sys.executable).with_name("graphkin")


@pytest.mark.shared
def test_ten_epochs_of_zinc_fit_in_60_mib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not DATA.exists():
        pytest.fail(f"{DATA} is missing: this check needs the shared data folder")
    monkeypatch.setenv("GRAPHKIN_CACHE_DIR", str(tmp_path / "cache"))
    place = ["--store", str(tmp_path / "store"), "--collection", "zinc"]
    subprocess.run([COMMAND, "ingest", "molecules", DATA, "--format", "smi", *place], check=True)
    serve = [str(COMMAND), "serve", "--store", str(tmp_path / "store"), "--port", "0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, bufsize=1) as server:
        try:
            assert server.stdout
            url = re.search(r"http://\S+", server.stdout.readline())
            assert url
            what = ["--collection", "zinc", "--strategy", "hgc-fo", "--epochs", "10", "--output", str(tmp_path / "out")]
            subprocess.run([COMMAND, "fetch", "--api", url[0], *what], check=True)
        finally:
            server.kill()
    assert sum(file.stat().st_size for file in (tmp_path / "out").iterdir()) <= 60 * 2**20
    with OfflineSource(tmp_path / "out", Sampling.from_strategy("hgc-fo"), last=9) as source:
        assert source.corpus().size == source.generation.size > 245_000
        assert all(source.epoch(epoch).positives.shape == (source.generation.size, 3) for epoch in range(10))
