import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest

from graphkin.protocol.errors import InvalidInput, NotFound, StoreBusy
from graphkin.protocol.policy import Policy
from graphkin.store.positives import PositiveCache
from graphkin.store.sampling.snapshot import SnapshotSampler

SIZE = 3000
POLICY = Policy.from_name("random_walk")
ENTRY = SIZE * (7 + 6 * 5)  # bytes of one entry's arrays; headers and key take less than 4,096 more


@pytest.fixture(scope="module")
def sampler(random_graph):
    return SnapshotSampler(random_graph, "g")


@pytest.fixture
def cache_of(tmp_path):
    """Return cache_of(entries), a cache over one folder with room for that many entries. The fixture closes all."""
    caches = []

    def cache(entries=4, **options):
        caches.append(PositiveCache(tmp_path / "cache", int(entries * (ENTRY + 4096)), **options))
        return caches[-1]

    yield cache
    for each in caches:
        each.close()


@pytest.fixture
def entries(tmp_path):
    """Return entries(), which lists the entries in the folder without the lock files."""
    return lambda: {path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()}


def same(first, second):
    return all(np.array_equal(getattr(first, part.name), getattr(second, part.name)) for part in fields(first))


def sample(sampler, policy=POLICY, seed=0, epoch=0):
    return sampler.positives(np.arange(SIZE, dtype=np.int32), policy, seed, epoch)


class Gated(SnapshotSampler):
    """A sampler that draws one block and then waits for `gate`. `inside` is set while it waits."""

    def __init__(self, graph):
        super().__init__(graph, "g")
        self.inside, self.gate = threading.Event(), threading.Event()

    def positives(self, anchors, policy, seed, epoch):
        if anchors[0] > 0:
            self.inside.set()
            assert self.gate.wait(60)
        return super().positives(anchors, policy, seed, epoch)


@pytest.mark.parametrize(
    "policy", [POLICY, Policy.from_name("first_order", k=2), Policy.from_name("second_order", pad="self")]
)
def test_cached_sets_equal_those_of_the_sampler(cache_of, sampler, policy):
    cache = cache_of(block=700)
    built = cache.build(sampler, "g", SIZE, policy, 1, 2)
    expected = sample(sampler, policy, 1, 2)
    assert same(built, expected)
    assert same(cache.get(sampler, "g", SIZE, policy, 1, 2), expected)
    for part in fields(built):
        column = getattr(built, part.name)
        assert column.dtype == getattr(expected, part.name).dtype
        assert isinstance(column.base, np.memmap)
        assert not column.flags.writeable


def test_empty_generation_has_an_empty_set(cache_of, graph_of):
    sets = cache_of().build(SnapshotSampler(graph_of(0, {}), "none"), "none", 0, POLICY, 0, 0)
    assert sets.positives.shape == (0, 5)


def test_each_key_has_its_own_entry(cache_of, sampler, entries):
    cache = cache_of(9)
    requests = [
        ("g", POLICY, 0, 0), ("h", POLICY, 0, 0), ("g", Policy.from_name("random_walk", q=2), 0, 0),
        ("g", POLICY, 1, 0), ("g", POLICY, 0, 1),
    ]  # fmt: skip
    for generation, policy, seed, epoch in requests:
        cache.build(sampler, generation, SIZE, policy, seed, epoch)
    assert len(entries()) == len(requests)
    cache.build(sampler, "g", SIZE, POLICY, 0, 0)
    assert len(entries()) == len(requests)


def test_get_builds_in_the_background_and_reports_progress(cache_of, random_graph):
    cache, sampler = cache_of(block=1000), Gated(random_graph)
    with pytest.raises(StoreBusy, match=r"building positive sets: (0|1000) of 3000") as busy:
        cache.get(sampler, "g", SIZE, POLICY, 0, 0)
    assert busy.value.retry_after == 1
    assert sampler.inside.wait(60)
    for epoch in (0, 1):  # a build of another key waits
        with pytest.raises(StoreBusy, match="1000 of 3000"):
            cache.get(sampler, "g", SIZE, POLICY, 0, epoch)
    sampler.gate.set()
    first = cache.build(sampler, "g", SIZE, POLICY, 0, 0)  # waits for the background to finish
    assert same(cache.get(sampler, "g", SIZE, POLICY, 0, 0), first)
    assert same(first, sample(sampler))


def test_many_threads_get_the_same_entry(cache_of, sampler, entries):
    cache = cache_of(block=100)

    def persist(number):
        while True:
            try:
                return cache.get(sampler, "g", SIZE, POLICY, number % 2, 0)
            except StoreBusy:
                continue

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(persist, range(16)))
    assert all(same(sets, sample(sampler, seed=number % 2)) for number, sets in enumerate(results))
    assert len(entries()) == 2


def test_failed_build_is_logged_and_raised_once(cache_of, sampler, entries, caplog):
    cache = cache_of()

    def outcome():
        while True:
            try:
                return cache.get(sampler, "g", SIZE + 5, POLICY, 0, 0)
            except StoreBusy:
                continue
            except NotFound as error:
                return error

    with pytest.raises(StoreBusy):
        cache.get(sampler, "g", SIZE + 5, POLICY, 0, 0)
    assert "no item 3000" in str(outcome())
    assert entries() == set()
    assert [record.exc_info[0] for record in caplog.records] == [NotFound]
    with pytest.raises(StoreBusy, match="0 of 3005"):
        cache.get(sampler, "g", SIZE + 5, POLICY, 0, 0)
    with pytest.raises(NotFound):
        cache.build(sampler, "g", SIZE + 5, POLICY, 0, 0)


def test_oldest_entries_make_room(cache_of, sampler, entries, tmp_path):
    cache = cache_of(3)
    first = cache.build(sampler, "g", SIZE, POLICY, 0, 0)
    for epoch in range(1, 6):
        cache.build(sampler, "g", SIZE, POLICY, 0, epoch)
        assert sum(file.stat().st_size for file in (tmp_path / "cache").rglob("*.*")) <= 3 * (ENTRY + 4096)
        assert len(entries()) == min(epoch + 1, 3)
    for epoch in (3, 4, 5):
        assert same(cache.get(sampler, "g", SIZE, POLICY, 0, epoch), sample(sampler, epoch=epoch))
    with pytest.raises(StoreBusy):
        cache.get(sampler, "g", SIZE, POLICY, 0, 2)
    assert same(first, sample(sampler)), "sets that were handed out stay readable"


def test_least_recently_used_entry_is_evicted_after_a_restart(cache_of, sampler, graph_of, entries):
    first = cache_of(2)
    for epoch in (0, 1):
        first.build(sampler, "g", SIZE, POLICY, 0, epoch)
    first.close()
    reopened = cache_of(2)
    silent = SnapshotSampler(graph_of(SIZE, {}), "g")  # samples nothing, so the sets come from the cache
    assert same(reopened.get(silent, "g", SIZE, POLICY, 0, 0), sample(sampler))
    before = entries()
    reopened.build(sampler, "g", SIZE, POLICY, 0, 2)
    assert len(entries() & before) == 1
    assert same(reopened.get(silent, "g", SIZE, POLICY, 0, 0), sample(sampler))


def test_smaller_bound_evicts_at_start(cache_of, sampler, entries):
    cache = cache_of(3)
    for epoch in range(3):
        cache.build(sampler, "g", SIZE, POLICY, 0, epoch)
    smaller = cache_of(1.5)
    assert len(entries()) == 1
    assert same(smaller.get(sampler, "g", SIZE, POLICY, 0, 2), sample(sampler, epoch=2))
    cache_of(0.5)
    assert entries() == set()


@pytest.mark.parametrize("victim", ["key.json", "positives.npy", "anchors.npy"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut"])
def test_damaged_entry_is_rebuilt(cache_of, sampler, tmp_path, victim, damage):
    cache_of().build(sampler, "g", SIZE, POLICY, 0, 0)
    (path,) = (tmp_path / "cache").glob(f"*/{victim}")
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: 0 if damage == "empty" else path.stat().st_size // 2])
    assert same(cache_of().build(sampler, "g", SIZE, POLICY, 0, 0), sample(sampler))


@pytest.mark.parametrize("column", ["anchors", "counts", "isolated", "positives", "visits"])
def test_entry_with_a_flipped_bit_is_rebuilt(cache_of, sampler, tmp_path, column):
    cache_of().build(sampler, "g", SIZE, POLICY, 0, 0)
    (path,) = (tmp_path / "cache").glob(f"*/{column}.npy")
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    cache = cache_of()
    assert same(cache.build(sampler, "g", SIZE, POLICY, 0, 0), sample(sampler))
    assert same(cache.get(sampler, "g", SIZE, POLICY, 0, 0), sample(sampler))


def test_sets_larger_than_the_cache_are_refused(cache_of, sampler, entries):
    cache = cache_of(0.9, setting="GRAPHKIN_CACHE_BYTES")
    for request in (cache.get, cache.build):
        with pytest.raises(InvalidInput) as error:
            request(sampler, "g", SIZE, POLICY, 0, 0)
        for word in (
            str(ENTRY + 4096),
            "3000 anchors",
            "k = 5",
            str(int(0.9 * (ENTRY + 4096))),
            "GRAPHKIN_CACHE_BYTES",
        ):
            assert word in str(error.value)
    assert entries() == set()
    assert cache.build(sampler, "g", SIZE, Policy.from_name("random_walk", k=1), 0, 0).positives.shape == (SIZE, 1)


def test_drop_removes_one_generation(cache_of, sampler, entries):
    cache = cache_of()
    cache.build(sampler, "g", SIZE, POLICY, 0, 0)
    remaining = entries()
    dropped = cache.build(sampler, "h", SIZE, POLICY, 0, 0)
    cache.drop("h")
    assert entries() == remaining
    assert same(dropped, sample(sampler))


@pytest.mark.parametrize("block", [500, 1500], ids=["midway", "in its last block"])
def test_drop_stops_a_running_build(cache_of, random_graph, entries, block):
    cache, sampler = cache_of(block=block), Gated(random_graph)
    with pytest.raises(StoreBusy):
        cache.get(sampler, "g", SIZE, POLICY, 0, 0)
    assert sampler.inside.wait(60)
    assert len(entries()) == 1
    cache.drop("g")
    sampler.gate.set()
    cache.close()
    assert entries() == set()


def test_close_stops_the_build(cache_of, random_graph, entries):
    cache, sampler = cache_of(block=1000), Gated(random_graph)
    with pytest.raises(StoreBusy):
        cache.get(sampler, "g", SIZE, POLICY, 0, 0)
    assert sampler.inside.wait(60)
    closer = threading.Thread(target=cache.close)
    closer.start()
    detail = ""
    while "stopping" not in detail:
        with pytest.raises(StoreBusy) as busy:
            cache.build(sampler, "g", SIZE, Policy.from_name("random_walk", k=1), 0, 0)
        detail = busy.value.detail
    sampler.gate.set()
    closer.join()
    assert entries() == set()
