"""Both sources give the same arrays, whatever happens to the server meanwhile."""

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
from graphkin.trainer.feed.online import OnlineSource
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.strategy import LEARNED_BY, Draws, Strategy

EPOCHS = 3


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "local", 2**30)


@pytest.fixture
def other_cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "other", 2**30)


def same(one: Epoch, other: Epoch) -> bool:
    return all(np.array_equal(a, b) and a.dtype == b.dtype == np.int32 for a, b in zip(one, other, strict=True))


def same_corpus(one: Corpus, other: Corpus) -> bool:
    columns = other.columns
    return one.identity == other.identity and all(
        np.array_equal(array, columns[name]) and array.dtype == columns[name].dtype
        for name, array in one.columns.items()
    )


@pytest.mark.parametrize("strategy", LEARNED_BY["molecule"])
def test_online_is_what_the_api_says(url: str, cache: Cache, strategy: Strategy) -> None:
    draws = Draws.from_strategy(strategy, preset="rc", batch_size=64, seed=11)
    with OnlineSource(url, "nci", draws, features, cache, last=1) as source, httpx.Client(base_url=url) as plain:
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
    assert same_corpus(corpus, featurize([item["smiles"] for item in items], generation.id))


@pytest.mark.parametrize("strategy", LEARNED_BY["molecule"])
def test_offline_is_what_online_was(url: str, cache: Cache, tmp_path: Path, strategy: Strategy) -> None:
    draws = Draws.from_strategy(strategy, batch_size=64)
    with OnlineSource(url, "nci", draws, features, cache, last=EPOCHS - 1) as online:
        write_offline(online, EPOCHS, tmp_path)
        with OfflineSource(tmp_path, draws, last=EPOCHS - 1) as offline:
            assert offline.generation == online.generation
            assert same_corpus(offline.corpus(), online.corpus())
            np.testing.assert_array_equal(offline.twins(), online.twins())
            for epoch in (*range(EPOCHS), 1, 0):
                assert same(offline.epoch(epoch), online.epoch(epoch))


def test_pairs_are_the_edges_of_the_hierarchy(url: str, store_folder: Path, cache: Cache, tmp_path: Path) -> None:
    with open_store(store_folder) as store, store.open("nci") as generation:
        graph = generation.graph()
        source, target = np.repeat(np.arange(graph.nodes), graph.degrees()), graph.indices
        pairs = np.stack([source, target], axis=1)[source < target]
        twins = np.stack([source, target], axis=1)[(source < target) & (graph.similarity == 1)]
    assert len(twins)
    with OnlineSource(url, "nci", Draws.from_strategy("hgc-fo"), features, cache, last=0) as online:
        np.testing.assert_array_equal(online.edges(), pairs)
        np.testing.assert_array_equal(online.twins(), twins)
        write_offline(online, 0, tmp_path)
    with OfflineSource(tmp_path, Draws.from_strategy("hgc-fo")) as offline:
        np.testing.assert_array_equal(offline.twins(), twins)
        with pytest.raises(InvalidInput, match="edges"):
            offline.edges()


def test_larger_batches_take_the_first_of_those_fetched(url: str, cache: Cache, tmp_path: Path) -> None:
    with OnlineSource(url, "nci", Draws.from_strategy("hgc-ho", batch_size=64), features, cache, last=0) as online:
        write_offline(online, 1, tmp_path)
    larger = Draws.from_strategy("hgc-ho", batch_size=256)
    with OnlineSource(url, "nci", larger, features, cache, last=0) as online, OfflineSource(tmp_path, larger) as off:
        assert len(off.epoch(0).negatives) == 2
        assert same(off.epoch(0), online.epoch(0))


def test_what_is_cached_needs_no_server(serve: Any, store_folder: Path, open_proxy: Any, cache: Cache) -> None:
    with serve(store_folder) as url, open_proxy(url) as proxy:
        draws = Draws.from_strategy("hgc-ho", batch_size=64)
        with OnlineSource(proxy.url, "nci", draws, features, cache, last=2) as source:
            first = [source.epoch(epoch) for epoch in range(3)]
            corpus = source.corpus()
        asked = len(proxy.requests)
        with OnlineSource(proxy.url, "nci", draws, features, cache, last=2) as source:
            proxy.vanish()
            assert all(same(source.epoch(epoch), first[epoch]) for epoch in range(3))
            assert same_corpus(source.corpus(), corpus)
        assert len(proxy.requests) == asked + 2  # version and collection


def test_a_kind_of_items_without_features_is_refused(url: str, cache: Cache) -> None:
    with (
        OnlineSource(url, "dots", Draws.from_strategy("hgc-fo"), features, cache) as source,
        pytest.raises(Conflict, match=r"(?s)no features.*dots, of kind dot"),
    ):
        source.corpus()


@pytest.mark.long
def test_a_server_killed_while_a_stream_is_open_changes_no_epoch(
    url: str, store_folder: Path, tmp_path: Path, serve_apart: Any, open_proxy: Any, cache: Cache, other_cache: Cache
) -> None:
    """It is killed in the stream of epoch 0, which is waited for, and in that of epoch 1, which is loaded ahead."""
    draws = Draws.from_strategy("hgc-fo", seed=5)
    with OnlineSource(url, "many", draws, features, cache, last=2) as straight:
        wanted = [straight.epoch(epoch) for epoch in range(3)]
    with serve_apart(store_folder, tmp_path / "a") as (first, process), open_proxy(first) as proxy:
        with OnlineSource(proxy.url, "many", draws, features, other_cache, last=2) as source:
            proxy.hold_after(2_500_000)
            with ThreadPoolExecutor(1) as training:
                answer = training.submit(source.epoch, 0)
                proxy.held.wait()
                process.kill()
                process.wait()
                proxy.vanish()
                proxy.release()
                with serve_apart(store_folder, tmp_path / "b") as (second, process):
                    proxy.beyond = second
                    proxy.hold_in("/epochs/1", 2_500_000)
                    proxy.come_back()
                    assert same(answer.result(), wanted[0])
                    proxy.held.wait()
                    process.kill()
                    process.wait()
                    proxy.vanish()
                    proxy.release()
                with serve_apart(store_folder, tmp_path / "c") as (third, _):
                    proxy.beyond = third
                    proxy.come_back()
                    assert same(source.epoch(1), wanted[1])
                    assert same(source.epoch(2), wanted[2])
        continued = [line for _, line in proxy.requests if "start=65536" in line]
        assert any("/epochs/0?" in line for line in continued)
        assert any("/epochs/1?" in line for line in continued)


def test_what_fails_ahead_of_time_is_raised_when_it_is_asked_for(
    serve: Any, own_store: Path, publish: Callable[[Path, int], str], cache: Cache
) -> None:
    with serve(own_store) as url, OnlineSource(url, "nci", Draws.from_strategy("hgc-fo"), features, cache) as source:
        source.epoch(0)
        source.epoch(1)
        publish(own_store, 80)
        with open_store(own_store) as store:
            store.delete("nci", source.generation.id)
        with pytest.raises(Deleted):
            [source.epoch(epoch) for epoch in range(2, 10_000)]  # a server believes its catalogue for a moment
        with pytest.raises(Deleted):
            source.corpus()
    with serve(own_store) as url, pytest.raises(Deleted):
        OnlineSource(url, "nci", Draws.from_strategy("hgc-fo"), features, cache, generation=source.generation.id)


def test_closing_never_hangs(proxy: Any, cache: Cache) -> None:
    source = OnlineSource(proxy.url, "many", Draws.from_strategy("hgc-fo", seed=77), features, cache)
    proxy.hold_after(1)
    with ThreadPoolExecutor(1) as training:
        answer = training.submit(source.epoch, 0)
        proxy.held.wait()
        source.close()
        with pytest.raises(Closed):
            answer.result()
    with pytest.raises(Closed):
        source.epoch(0)


def test_no_server_and_no_collection(url: str, cache: Cache) -> None:
    with pytest.raises(NotFound, match="nobody"):
        OnlineSource(url, "nobody", Draws.from_strategy("hgc-fo"), features, cache)
    with pytest.raises(Unavailable):
        OnlineSource("http://127.0.0.1:9", "nci", Draws.from_strategy("hgc-fo"), features, cache)


@pytest.fixture(scope="module")
def fetched(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fetched")
    cache = Cache(tmp_path_factory.mktemp("cache"), 2**30)
    with OnlineSource(url, "nci", Draws.from_strategy("hgc-ho", batch_size=100), features, cache, last=1) as source:
        write_offline(source, 2, folder)
    return folder


@pytest.mark.parametrize(
    "draws",
    [
        Draws.from_strategy("hgc-fo", batch_size=100),
        Draws.from_strategy("hgc-ho", batch_size=100, seed=1),
        Draws.from_strategy("hgc-ho", batch_size=100, preset="rc"),
        Draws.from_strategy("hgc-ho", batch_size=100, encoder="gcn"),
        Draws.from_strategy("hgc-ho", batch_size=50),
    ],
)
def test_a_folder_fetched_for_something_else_is_refused(fetched: Path, draws: Draws) -> None:
    with pytest.raises(InvalidInput, match="something else") as refused:
        OfflineSource(fetched, draws)
    assert json.loads(str(refused.value.expected)) == draws.as_json()


def test_epochs_that_were_not_fetched_are_refused(fetched: Path) -> None:
    draws = Draws.from_strategy("hgc-ho", batch_size=100)
    with pytest.raises(InvalidInput, match="not fetched") as refused:
        OfflineSource(fetched, draws, last=2)
    assert (refused.value.given, refused.value.expected) == (2, "0 to 1")
    with OfflineSource(fetched, draws) as source, pytest.raises(InvalidInput):
        source.epoch(2)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no offline folder"):
        OfflineSource(tmp_path, Draws.from_strategy("hgc-fo"))


def copied(fetched: Path, folder: Path) -> Path:
    for file in fetched.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def read_all(folder: Path) -> list[Any]:
    with OfflineSource(folder, Draws.from_strategy("hgc-ho", batch_size=100)) as source:
        return [source.corpus(), source.epoch(0), source.epoch(1)]


@pytest.mark.parametrize("name", ["manifest.json", "corpus.npz", "epoch-00001.npz"])
def test_damage_is_noticed(fetched: Path, tmp_path: Path, name: str) -> None:
    file = copied(fetched, tmp_path) / name
    whole = file.read_bytes()
    for damaged in (b"", whole[:-2], whole[: len(whole) // 2], whole[1:], bytes(len(whole)), b"{}", b"[]"):
        file.write_bytes(damaged)
        with pytest.raises((Damaged, InvalidInput)) as noticed:
            read_all(tmp_path)
        assert noticed.value.hint
    file.unlink()
    with pytest.raises((Damaged, NotFound)):
        read_all(tmp_path)


@pytest.mark.parametrize("name", ["corpus.npz", "epoch-00001.npz"])
def test_flipped_bits_are_noticed_or_change_nothing(fetched: Path, tmp_path: Path, name: str) -> None:
    file = copied(fetched, tmp_path) / name
    corpus, *epochs = read_all(tmp_path)
    whole = file.read_bytes()
    noticed = 0
    for at in np.random.default_rng(0).integers(0, len(whole), 200).tolist():
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        try:
            read = read_all(tmp_path)
        except Damaged:
            noticed += 1
        else:
            assert same_corpus(read[0], corpus)
            assert all(same(one, other) for one, other in zip(read[1:], epochs, strict=True))
    assert noticed == 200
