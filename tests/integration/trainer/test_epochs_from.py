"""`graphkin pretrain --epochs-from`: the run that the server's positives give, and the server draws none."""

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
from graphkin.store.lake.place import Place
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.epochs import EpochFolder
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.online import OnlineSource
from graphkin.trainer.strategy import Draws
from tests.integration.proxy import Proxy

Graphkin = Callable[..., Any]


@pytest.fixture(scope="module")
def drawn(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two epochs of first-order positives of seed 4, in three parts each."""
    folder = tmp_path_factory.mktemp("epochs")
    with open_store(store_folder) as store, store.open("nci") as opened:
        place, policy = Place(str(folder)), Policy.from_name("first_order")
        order = EpochsPlan(place, "nci", opened.id, opened.size, policy, 4, range(2), rows=150)
        sampler = opened.sampler()
        write_epochs(order, lambda missing: [order.write_part(sampler, task) for task in missing])
    return folder


def test_the_run_is_the_same_bit_for_bit(
    graphkin: Graphkin,
    url: str,
    drawn: Path,
    open_proxy: Callable[[str], AbstractContextManager[Proxy]],
    tmp_path: Path,
) -> None:
    """Of two epochs, of which the second is not trained to its end; a third was not drawn."""
    size = ("--encoder", "gcn", "--batch-size", 8, "--limit", 16)
    what = ("--collection", "nci", "--strategy", "hgc-fo", *size, "--seed", 4)
    asked = ("pretrain", "--api", url, *what, "--cache-dir", tmp_path / "one", "--output", tmp_path / "server")
    outcome = graphkin(*asked, "--max-steps", 3)
    assert outcome.code == 0, outcome.err
    with open_proxy(url) as proxy:
        there = ("--cache-dir", tmp_path / "two", "--epochs-from", f"file://{drawn}")
        read = ("pretrain", "--api", proxy.url, *what, *there, "--output", tmp_path / "folder", "--max-steps")
        outcome = graphkin(*read, 3)
        assert outcome.code == 0, outcome.err
        requests = [line for _, line in proxy.requests]
        longer = graphkin(*read, 5, "--output", tmp_path / "longer")
        assert (longer.code, "was not drawn" in longer.err) == (2, True)
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


def _source(url: str, place: str, tmp_path: Path, draws: Draws, last: int = 1) -> OnlineSource:
    cache = Cache(tmp_path / "cache", 2**30)
    return OnlineSource(url, "nci", draws, features, cache, last=last, epochs=EpochFolder(place))


FIRST = Draws.from_strategy("hgc-fo", seed=4)


def test_negatives_and_features_come_from_the_server_all_the_same(
    graphkin: Graphkin, url: str, store_folder: Path, tmp_path: Path
) -> None:
    """From objects in memory."""
    place = f"memory://{tmp_path.name}"
    where = ("--store", store_folder, "--collection", "nci", "--output", place)
    assert graphkin("epochs", *where, "--epochs", 1, "--policy", "random_walk").code == 0
    draws = Draws.from_strategy("hgc-ho", batch_size=180)
    with _source(url, place, tmp_path, draws, last=0) as read:
        epoch = read.epoch(0)
        assert len(read.corpus().atoms) == 400
    with OnlineSource(url, "nci", draws, features, Cache(tmp_path / "other", 2**30), last=0) as asked:
        expected = asked.epoch(0)
    fsspec.filesystem("memory").store.clear()
    for one, other in zip(epoch, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize(
    ("draws", "last", "reason"),
    [
        (Draws.from_strategy("hgc-fo", seed=5), 1, "another seed"),
        (Draws.from_strategy("hgc-fo", seed=4, preset="rc"), 1, "another policy"),
        (Draws.from_strategy("hgc-fo", seed=4, kind="node"), 1, "another policy"),  # k = 1
        (Draws.from_strategy("hgc-ho", seed=4), 1, "another policy"),
        (Draws.from_strategy("adam", seed=4), 1, "another policy"),
        (FIRST, 2, "was not drawn"),
    ],
)
def test_epochs_that_do_not_fit_are_refused(
    url: str, drawn: Path, tmp_path: Path, draws: Draws, last: int, reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason):
        _source(url, str(drawn), tmp_path, draws, last)


def test_epochs_of_another_generation_are_refused(
    serve: Callable[..., AbstractContextManager[str]], own_store: Path, drawn: Path, tmp_path: Path
) -> None:
    with serve(own_store) as url, pytest.raises(InvalidInput, match="another generation"):
        _source(url, str(drawn), tmp_path, FIRST)


def test_an_epoch_that_is_missing_is_told_when_it_is_asked_for(url: str, drawn: Path, tmp_path: Path) -> None:
    """Where nobody knows the last one before."""
    with OnlineSource(
        url, "nci", FIRST, features, Cache(tmp_path / "cache", 2**30), epochs=EpochFolder(str(drawn))
    ) as source:
        assert len(source.epoch(1).positives) == 400
        with pytest.raises(InvalidInput, match="was not drawn"):
            source.require(2)
        with pytest.raises(InvalidInput, match="was not drawn"):
            source.epoch(2)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), NotFound),
        (lambda folder: (folder / "manifest.json").write_text("{}"), Damaged),
        (lambda folder: (folder / "epoch=0" / "part-00002.parquet").unlink(), Damaged),
        (lambda folder: shutil.copy(*[folder / f"epoch={e}" / "part-00000.parquet" for e in (1, 0)]), Damaged),
        (lambda folder: _altered(folder, "seed", 5), Damaged),
    ],
)
def test_what_is_not_whole_is_told(
    url: str, drawn: Path, tmp_path: Path, damage: Callable[[Path], object], error: type[GraphkinError]
) -> None:
    folder = tmp_path / "copied"
    shutil.copytree(drawn, folder)
    damage(folder)
    with pytest.raises(error), _source(url, str(folder), tmp_path, FIRST) as source:
        source.epoch(0)


def _altered(folder: Path, name: str, value: object) -> None:
    """A manifest that says something else, and whose digest does not."""
    file = folder / "manifest.json"
    said = json.loads(file.read_text())
    assert Epochs.from_bytes(file.read_bytes())
    said["epochs"][name] = value
    file.write_text(json.dumps(said))


def test_where_they_cannot_be_used_the_command_says_so(graphkin: Graphkin, url: str, tmp_path: Path) -> None:
    offline = graphkin("pretrain", "--offline", "d", "--strategy", "hgc-fo", "--output", "o", "--epochs-from", "e")
    assert offline.code == 2
    what = ("--api", url, "--collection", "nci", "--strategy", "hgc-fo", "--output", "o", "--cache-dir", tmp_path)
    for given, code in (("nothing", 3), ("nowhere://there", 2)):
        outcome = graphkin("pretrain", *what, "--epochs-from", given)
        assert (outcome.code, "Traceback" in outcome.err) == (code, False)
