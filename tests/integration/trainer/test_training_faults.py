"""A server that is killed during training costs no step and changes no batch."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.online import open_online
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.pretrain import pretrain

CONFIG = replace(
    PretrainConfig.from_strategy("hgc-ho", batch_size=64, epochs=3, seed=5), model=Model(layers=2, width=8)
)
HALF_A_STREAM = 8_000  # Bytes, of about 15,000.


def train(url: str, folder: Path) -> None:
    with open_online(url, "nci", CONFIG.draws, features, Cache(folder, 2**30), last=CONFIG.epochs - 1) as source:
        pretrain(CONFIG, source, folder / "run")


def losses(folder: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]


def weights(folder: Path) -> bytes:
    (file,) = (folder / "run").glob("step-*/model.safetensors")
    return file.read_bytes()


@pytest.mark.long
def test_killed_servers_do_not_change_the_weights(
    url: str, store_folder: Path, tmp_path: Path, serve_apart: Any, open_proxy: Any
) -> None:
    """One server is killed in the stream of epoch 0, which is awaited, and the next in that of epoch 1, which is loaded
    ahead.
    """
    undisturbed, disturbed = tmp_path / "calm", tmp_path / "rough"

    @contextmanager
    def server_killed_during(path: str, proxy: Any) -> Iterator[None]:
        """Run a server that is killed when half of the reply to a request for this path has passed."""
        with serve_apart(store_folder, tmp_path / path.replace("/", "-")) as (proxy.server_url, process):
            proxy.hold_in(path, HALF_A_STREAM)
            proxy.come_back()
            yield
            proxy.held.wait()
            process.kill()
            process.wait()
            proxy.vanish()
            proxy.release()

    with open_online(url, "nci", CONFIG.draws, features, Cache(disturbed, 2**30)) as source:
        source.corpus()  # The source is cached from here on, so that only epochs are requested.
        source.twins()
    with ThreadPoolExecutor(1) as training, open_proxy(url) as proxy:  # A single thread computes both runs.
        training.submit(train, url, undisturbed).result()
        with server_killed_during("/epochs/0", proxy):
            answer = training.submit(train, proxy.url, disturbed)
        with server_killed_during("/epochs/1", proxy):
            pass
        with serve_apart(store_folder, tmp_path / "last") as (proxy.server_url, _):
            proxy.come_back()
            answer.result()
    assert len(losses(undisturbed)) == 3 * 5
    assert losses(disturbed) == losses(undisturbed)
    assert weights(disturbed) == weights(undisturbed)
