"""Both sources give the same arrays, even if the server changes or fails."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from graphkin.protocol.errors import Closed, Conflict, Damaged, Deleted, InvalidInput, NotFound, Unavailable
from graphkin.store import open_store
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.offline import OfflineSource, write_offline
from graphkin.trainer.feed.online import open_online
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.strategy import LEARNED_BY, Sampling, Strategy

EPOCHS = 3


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "local", 2**30)


@pytest.fixture
def other_cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "other", 2**30)


def is_same(first: Epoch, second: Epoch) -> bool:
    return all(np.array_equal(a, b) and a.dtype == b.dtype == np.int32 for a, b in zip(first, second, strict=True))


def is_same_corpus(first: Corpus, second: Corpus) -> bool:
    columns = second.columns
    return first.identity == second.identity and all(
        np.array_equal(array, columns[name]) and array.dtype == columns[name].dtype
        for name, array in first.columns.items()
    )


@pytest.mark.parametrize("strategy", LEARNED_BY["molecule"])
def test_online_source_equals_the_api(url: str, cache: Cache, strategy: Strategy) -> None:
    draws = Sampling.from_strategy(strategy, preset="rc", batch_size=64, seed=11)
    with open_online(url, "nci", draws, features, cache, last=1) as source, httpx.Client(base_url=url) as plain:
        epochs = [source.epoch(0), source.epoch(1)]
        generation, corpus = source.generation, source.corpus()
        base = "/v1/collections/nci/"
        items = plain.get(base + "items", params={"limit": 1000}).json()["items"]
        for number, epoch in enumerate(epochs):
            positives, negatives = np.empty((generation.size, 0)), np.empty((0, 0))
            if draws.policy is not None:
                query = {"policy": draws.policy.name, "seed": 11, **draws.policy.parameters()}
                lines = plain.get(f"{base}positives/epochs/{number}", params=query).text.splitlines()[:-1]
                positives = np.array([json.loads(line)["positives"] for line in lines])
            if draws.negatives:
                query = {"seed": 11, "epoch": number, "batches": 7, "count": 255}
                lines = plain.get(base + "negatives", params=query).text.splitlines()
                negatives = np.array([json.loads(line)["ids"] for line in lines])
            np.testing.assert_array_equal(epoch.positives, positives)
            np.testing.assert_array_equal(epoch.negatives, negatives)
        assert (generation.collection, generation.kind, generation.size) == ("nci", "molecule", len(items))
        isolated = np.array([item["degree"] == 0 for item in items])
        if draws.policy is not None:
            np.testing.assert_array_equal((epochs[0].positives == -1).all(axis=1), isolated)
            assert (epochs[0].positives[~isolated] >= 0).all()
    assert is_same_corpus(corpus, featurize([item["smiles"] for item in items], generation.id))


@pytest.mark.parametrize("strategy", LEARNED_BY["molecule"])
def test_offline_source_equals_online(url: str, cache: Cache, tmp_path: Path, strategy: Strategy) -> None:
    draws = Sampling.from_strategy(strategy, batch_size=64)
    with open_online(url, "nci", draws, features, cache, last=EPOCHS - 1) as online:
        write_offline(online, EPOCHS, tmp_path)
        with OfflineSource(tmp_path, draws, last=EPOCHS - 1) as offline:
            assert offline.generation == online.generation
            assert is_same_corpus(offline.corpus(), online.corpus())
            np.testing.assert_array_equal(offline.twins(), online.twins())
            for epoch in (*range(EPOCHS), 1, 0):
                assert is_same(offline.epoch(epoch), online.epoch(epoch))


def test_pairs_equal_the_edges_of_the_collection(url: str, store_folder: Path, cache: Cache, tmp_path: Path) -> None:
    with open_store(store_folder) as store, store.open("nci") as generation:
        graph = generation.graph()
        source, target = np.repeat(np.arange(graph.nodes), graph.degrees()), graph.indices
        pairs = np.stack([source, target], axis=1)[source < target]
        twins = np.stack([source, target], axis=1)[(source < target) & (graph.similarity == 1)]
    assert len(twins)
    with open_online(url, "nci", Sampling.from_strategy("hgc-fo"), features, cache, last=0) as online:
        np.testing.assert_array_equal(online.edges(), pairs)
        np.testing.assert_array_equal(online.twins(), twins)
        write_offline(online, 0, tmp_path)
    with OfflineSource(tmp_path, Sampling.from_strategy("hgc-fo")) as offline:
        np.testing.assert_array_equal(offline.twins(), twins)
        with pytest.raises(InvalidInput, match="edges"):
            offline.edges()


def test_larger_batches_use_the_first_negatives(url: str, cache: Cache, tmp_path: Path) -> None:
    with open_online(url, "nci", Sampling.from_strategy("hgc-ho", batch_size=64), features, cache, last=0) as online:
        write_offline(online, 1, tmp_path)
    larger = Sampling.from_strategy("hgc-ho", batch_size=256)
    with (
        open_online(url, "nci", larger, features, cache, last=0) as online,
        OfflineSource(tmp_path, larger) as offline,
    ):
        assert len(offline.epoch(0).negatives) == 2
        assert is_same(offline.epoch(0), online.epoch(0))


def test_cached_arrays_need_no_server(serve: Any, store_folder: Path, open_proxy: Any, cache: Cache) -> None:
    with serve(store_folder) as url, open_proxy(url) as proxy:
        draws = Sampling.from_strategy("hgc-ho", batch_size=64)
        with open_online(proxy.url, "nci", draws, features, cache, last=2) as source:
            first = [source.epoch(epoch) for epoch in range(3)]
            corpus = source.corpus()
        request_count = len(proxy.requests)
        with open_online(proxy.url, "nci", draws, features, cache, last=2) as source:
            proxy.vanish()
            assert all(is_same(source.epoch(epoch), first[epoch]) for epoch in range(3))
            assert is_same_corpus(source.corpus(), corpus)
        assert len(proxy.requests) == request_count + 2  # Requests of the version and the collection.


def test_kind_without_features_is_refused(url: str, cache: Cache) -> None:
    with (
        open_online(url, "dots", Sampling.from_strategy("hgc-fo"), features, cache) as source,
        pytest.raises(Conflict, match=r"(?s)no features.*dots, of kind dot"),
    ):
        source.corpus()


@pytest.mark.long
def test_server_killed_during_a_stream_changes_no_epoch(
    url: str, store_folder: Path, tmp_path: Path, serve_apart: Any, open_proxy: Any, cache: Cache, other_cache: Cache
) -> None:
    """One server is killed in the stream of epoch 0, which is awaited, and one in that of epoch 1, which is loaded
    ahead.
    """
    draws = Sampling.from_strategy("hgc-fo", seed=5)
    with open_online(url, "many", draws, features, cache, last=2) as direct:
        expected = [direct.epoch(epoch) for epoch in range(3)]
    with serve_apart(store_folder, tmp_path / "a") as (first, process), open_proxy(first) as proxy:
        with open_online(proxy.url, "many", draws, features, other_cache, last=2) as source:
            proxy.hold_after(2_500_000)
            with ThreadPoolExecutor(1) as training:
                pending_epoch = training.submit(source.epoch, 0)
                proxy.held.wait()
                process.kill()
                process.wait()
                proxy.vanish()
                proxy.release()
                with serve_apart(store_folder, tmp_path / "b") as (second, process):
                    proxy.server_url = second
                    proxy.hold_in("/epochs/1", 2_500_000)
                    proxy.come_back()
                    assert is_same(pending_epoch.result(), expected[0])
                    proxy.held.wait()
                    process.kill()
                    process.wait()
                    proxy.vanish()
                    proxy.release()
                with serve_apart(store_folder, tmp_path / "c") as (third, _):
                    proxy.server_url = third
                    proxy.come_back()
                    assert is_same(source.epoch(1), expected[1])
                    assert is_same(source.epoch(2), expected[2])
        continued = [line for _, line in proxy.requests if "start=65536" in line]
        assert any("/epochs/0?" in line for line in continued)
        assert any("/epochs/1?" in line for line in continued)


def test_error_while_loading_ahead_is_raised_on_request(
    serve: Any, own_store: Path, publish: Callable[[Path, int], str], cache: Cache
) -> None:
    with serve(own_store) as url, open_online(url, "nci", Sampling.from_strategy("hgc-fo"), features, cache) as source:
        source.epoch(0)
        source.epoch(1)
        publish(own_store, 80)
        with open_store(own_store) as store:
            store.delete("nci", source.generation.id)
        with pytest.raises(Deleted):
            [source.epoch(epoch) for epoch in range(2, 10_000)]  # The server caches its catalog for a moment.
        with pytest.raises(Deleted):
            source.corpus()
    with serve(own_store) as url, pytest.raises(Deleted):
        open_online(url, "nci", Sampling.from_strategy("hgc-fo"), features, cache, generation=source.generation.id)


def test_close_ends_a_waiting_request(proxy: Any, cache: Cache) -> None:
    source = open_online(proxy.url, "many", Sampling.from_strategy("hgc-fo", seed=77), features, cache)
    proxy.hold_after(1)
    with ThreadPoolExecutor(1) as training:
        pending_epoch = training.submit(source.epoch, 0)
        proxy.held.wait()
        source.close()
        with pytest.raises(Closed):
            pending_epoch.result()
    with pytest.raises(Closed):
        source.epoch(0)


def test_missing_server_or_collection_is_reported(url: str, cache: Cache) -> None:
    with pytest.raises(NotFound, match="nobody"):
        open_online(url, "nobody", Sampling.from_strategy("hgc-fo"), features, cache)
    with pytest.raises(Unavailable):
        open_online("http://127.0.0.1:9", "nci", Sampling.from_strategy("hgc-fo"), features, cache)


@pytest.fixture(scope="module")
def offline_folder(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fetched")
    cache = Cache(tmp_path_factory.mktemp("cache"), 2**30)
    with open_online(url, "nci", Sampling.from_strategy("hgc-ho", batch_size=100), features, cache, last=1) as source:
        write_offline(source, 2, folder)
    return folder


@pytest.mark.parametrize(
    "draws",
    [
        Sampling.from_strategy("hgc-fo", batch_size=100),
        Sampling.from_strategy("hgc-ho", batch_size=100, seed=1),
        Sampling.from_strategy("hgc-ho", batch_size=100, preset="rc"),
        Sampling.from_strategy("hgc-ho", batch_size=100, encoder="gcn"),
        Sampling.from_strategy("hgc-ho", batch_size=50),
    ],
)
def test_folder_for_other_samples_is_refused(offline_folder: Path, draws: Sampling) -> None:
    with pytest.raises(InvalidInput, match="this folder was fetched for other settings") as refused:
        OfflineSource(offline_folder, draws)
    assert json.loads(str(refused.value.expected)) == draws.as_json()


def test_epochs_that_were_not_fetched_are_refused(offline_folder: Path) -> None:
    draws = Sampling.from_strategy("hgc-ho", batch_size=100)
    with pytest.raises(InvalidInput, match="not fetched") as refused:
        OfflineSource(offline_folder, draws, last=2)
    assert (refused.value.given, refused.value.expected) == (2, "0 to 1")
    with OfflineSource(offline_folder, draws) as source, pytest.raises(InvalidInput):
        source.epoch(2)


def test_missing_offline_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="not written by `graphkin fetch`"):
        OfflineSource(tmp_path, Sampling.from_strategy("hgc-fo"))


def copy_folder(offline_folder: Path, folder: Path) -> Path:
    for file in offline_folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def read_all(folder: Path) -> list[Any]:
    with OfflineSource(folder, Sampling.from_strategy("hgc-ho", batch_size=100)) as source:
        return [source.corpus(), source.epoch(0), source.epoch(1)]


@pytest.mark.parametrize("name", ["manifest.json", "corpus.npz", "epoch-00001.npz"])
def test_damage_is_detected(offline_folder: Path, tmp_path: Path, name: str) -> None:
    file = copy_folder(offline_folder, tmp_path) / name
    original = file.read_bytes()
    for damaged in (
        b"",
        original[:-2],
        original[: len(original) // 2],
        original[1:],
        bytes(len(original)),
        b"{}",
        b"[]",
    ):
        file.write_bytes(damaged)
        with pytest.raises((Damaged, InvalidInput)) as detected:
            read_all(tmp_path)
        assert detected.value.hint
    file.unlink()
    with pytest.raises((Damaged, NotFound)):
        read_all(tmp_path)


@pytest.mark.parametrize("name", ["corpus.npz", "epoch-00001.npz"])
def test_flipped_bits_are_detected_or_change_nothing(offline_folder: Path, tmp_path: Path, name: str) -> None:
    file = copy_folder(offline_folder, tmp_path) / name
    corpus, *epochs = read_all(tmp_path)
    original = file.read_bytes()
    detected = 0
    for position in np.random.default_rng(0).integers(0, len(original), 200).tolist():
        file.write_bytes(
            original[:position] + bytes([original[position] ^ 1 << position % 8]) + original[position + 1 :]
        )
        try:
            read = read_all(tmp_path)
        except Damaged:
            detected += 1
        else:
            assert is_same_corpus(read[0], corpus)
            assert all(is_same(first, second) for first, second in zip(read[1:], epochs, strict=True))
    assert detected == 200
