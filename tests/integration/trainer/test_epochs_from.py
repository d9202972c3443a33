"""`graphkin pretrain --epochs-from` gives the same run as positives from the server, which samples none."""

import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from graphkin.export.epochs import EpochsPlan, write_epochs
from graphkin.protocol.epochs import Epochs
from graphkin.protocol.errors import Damaged, GraphkinError, InvalidInput, NotFound
from graphkin.protocol.policy import Policy
from graphkin.store import open_store
from graphkin.store.lake.export_folder import ExportFolder
from graphkin.trainer.feed.arrow import ArrowSource
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.epochs import EpochFolder
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.online import open_online
from graphkin.trainer.strategy import Sampling
from tests.integration.proxy import Proxy

Graphkin = Callable[..., Any]


@pytest.fixture(scope="module")
def epoch_folder(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two epochs of first-order positives of seed 4, in three parts each."""
    folder = tmp_path_factory.mktemp("epochs")
    with open_store(store_folder) as store, store.open("nci") as generation:
        export_folder, policy = ExportFolder(str(folder)), Policy.from_name("first_order")
        order = EpochsPlan(export_folder, "nci", generation.id, generation.size, policy, 4, range(2), rows=150)
        sampler = generation.sampler()
        write_epochs(order, lambda missing: [order.write_part(sampler, task) for task in missing])
    return folder


def test_run_is_the_same_bit_for_bit(
    graphkin: Graphkin,
    url: str,
    epoch_folder: Path,
    open_proxy: Callable[[str], AbstractContextManager[Proxy]],
    tmp_path: Path,
) -> None:
    """There are two epochs, the second of which is not trained to its end. A third one was not sampled."""
    size = ("--encoder", "gcn", "--batch-size", 8, "--limit", 16)
    data_options = ("--collection", "nci", "--strategy", "hgc-fo", *size, "--seed", 4)
    command = (
        "pretrain",
        "--api",
        url,
        *data_options,
        "--cache-dir",
        tmp_path / "one",
        "--output",
        tmp_path / "server",
    )
    outcome = graphkin(*command, "--max-steps", 3)
    assert outcome.code == 0, outcome.err
    with open_proxy(url) as proxy:
        folder_options = ("--cache-dir", tmp_path / "two", "--epochs-from", f"file://{epoch_folder}")
        source = (
            "pretrain",
            "--api",
            proxy.url,
            *data_options,
            *folder_options,
            "--output",
            tmp_path / "folder",
            "--max-steps",
        )
        outcome = graphkin(*source, 3)
        assert outcome.code == 0, outcome.err
        requests = [line for _, line in proxy.requests]
        longer = graphkin(*source, 5, "--output", tmp_path / "longer")
        assert (longer.code, "was not sampled" in longer.err) == (2, True)
    assert requests
    assert not [line for line in requests if "positives" in line]
    ends = [next((tmp_path / name).glob("step-*")) for name in ("server", "folder")]
    for file in ("model.safetensors", "optimizer.safetensors"):
        assert (ends[0] / file).read_bytes() == (ends[1] / file).read_bytes()
    losses = [
        [json.loads(line)["loss"] for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("server", "folder")
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 3


def _source(url: str, place: str, tmp_path: Path, draws: Sampling, last: int = 1) -> ArrowSource:
    cache = Cache(tmp_path / "cache", 2**30)
    return open_online(url, "nci", draws, features, cache, last=last, epochs=EpochFolder(place))


FIRST = Sampling.from_strategy("hgc-fo", seed=4)


def test_negatives_and_features_come_from_the_server(
    graphkin: Graphkin, url: str, store_folder: Path, tmp_path: Path
) -> None:
    """The folder is in memory."""
    place = f"memory://{tmp_path.name}"
    place_options = ("--store", store_folder, "--collection", "nci", "--output", place)
    assert graphkin("epochs", *place_options, "--epochs", 1, "--policy", "random_walk").code == 0
    draws = Sampling.from_strategy("hgc-ho", batch_size=180)
    with _source(url, place, tmp_path, draws, last=0) as source:
        epoch = source.epoch(0)
        assert len(source.corpus().atoms) == 400
    with open_online(url, "nci", draws, features, Cache(tmp_path / "other", 2**30), last=0) as command:
        expected = command.epoch(0)
    fsspec.filesystem("memory").store.clear()
    for one, other in zip(epoch, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize(
    ("draws", "last", "reason"),
    [
        (Sampling.from_strategy("hgc-fo", seed=5), 1, "another seed"),
        (Sampling.from_strategy("hgc-fo", seed=4, preset="rc"), 1, "another policy"),
        (Sampling.from_strategy("hgc-fo", seed=4, kind="node"), 1, "another policy"),  # k = 1
        (Sampling.from_strategy("hgc-ho", seed=4), 1, "another policy"),
        (Sampling.from_strategy("adam", seed=4), 1, "another policy"),
        (FIRST, 2, "was not sampled"),
    ],
)
def test_unsuitable_epochs_are_refused(
    url: str, epoch_folder: Path, tmp_path: Path, draws: Sampling, last: int, reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason):
        _source(url, str(epoch_folder), tmp_path, draws, last)


def test_epochs_of_another_generation_are_refused(
    serve: Callable[..., AbstractContextManager[str]], own_store: Path, epoch_folder: Path, tmp_path: Path
) -> None:
    with serve(own_store) as url, pytest.raises(InvalidInput, match="another generation"):
        _source(url, str(epoch_folder), tmp_path, FIRST)


def test_missing_epoch_is_reported_when_it_is_requested(url: str, epoch_folder: Path, tmp_path: Path) -> None:
    """The number of epochs is not known before."""
    with open_online(
        url, "nci", FIRST, features, Cache(tmp_path / "cache", 2**30), epochs=EpochFolder(str(epoch_folder))
    ) as source:
        assert len(source.epoch(1).positives) == 400
        with pytest.raises(InvalidInput, match="was not sampled"):
            source.require(2)
        with pytest.raises(InvalidInput, match="was not sampled"):
            source.epoch(2)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), NotFound),
        (lambda folder: (folder / "manifest.json").write_text("{}"), Damaged),
        (lambda folder: (folder / "epoch=0" / "part-00002.parquet").unlink(), Damaged),
        (lambda folder: shutil.copy(*[folder / f"epoch={e}" / "part-00000.parquet" for e in (1, 0)]), Damaged),
        (lambda folder: _alter_manifest(folder, "seed", 5), Damaged),
    ],
)
def test_incomplete_epochs_are_reported(
    url: str, epoch_folder: Path, tmp_path: Path, damage: Callable[[Path], object], error: type[GraphkinError]
) -> None:
    folder = tmp_path / "copied"
    shutil.copytree(epoch_folder, folder)
    damage(folder)
    with pytest.raises(error), _source(url, str(folder), tmp_path, FIRST) as source:
        source.epoch(0)


def _alter_manifest(folder: Path, name: str, value: object) -> None:
    """Change a manifest without its digest."""
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    assert Epochs.from_bytes(file.read_bytes())
    manifest["epochs"][name] = value
    file.write_text(json.dumps(manifest))


def test_unusable_epochs_from_is_refused(graphkin: Graphkin, url: str, tmp_path: Path) -> None:
    offline = graphkin("pretrain", "--offline", "d", "--strategy", "hgc-fo", "--output", "o", "--epochs-from", "e")
    assert offline.code == 2
    data_options = (
        "--api",
        url,
        "--collection",
        "nci",
        "--strategy",
        "hgc-fo",
        "--output",
        "o",
        "--cache-dir",
        tmp_path,
    )
    for folder_url, code in (("nothing", 3), ("nowhere://there", 2)):
        outcome = graphkin("pretrain", *data_options, "--epochs-from", folder_url)
        assert (outcome.code, "Traceback" in outcome.err) == (code, False)
