"""Clusters computed in the background: how far they are, what waits for what, and what is remembered."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from graphkin.api.generations import clusterings
from graphkin.api.generations.clusterings import Clusterings
from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.errors import InvalidInput, StoreBusy, StoreError
from graphkin.store.base import Generation


class Computing:
    """In place of what computes clusters: it is at 3 items, and goes on when `go` is set, or fails."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.at = threading.Event()
        self.asked: list[tuple[str, float | None]] = []
        self.failure: Exception | None = None

    def __call__(self, generation: Any, method: str, threshold: float, threads: int, advance: Any, pairs: int) -> Any:
        self.asked.append((method, threshold))
        advance(3)
        self.at.set()
        self.go.wait()
        advance(1)
        if self.failure is not None:
            raise self.failure
        return Clusters.from_labels(np.zeros(generation.size, np.int32), np.zeros(1, np.int32))


@pytest.fixture
def computing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Computing]:
    made = Computing()
    monkeypatch.setattr(clusterings, "cached_clusters", made)
    monkeypatch.setattr(Clusterings, "patience", 0.01)
    yield made
    made.go.set()


@pytest.fixture
def molecules(generation: Callable[..., Any], nci_molecules: list[Any]) -> Generation:
    made: Generation = generation(nci_molecules[:5])
    return made


async def ready(all_of_them: Clusterings, molecules: Generation, threshold: float) -> Clusters:
    while True:
        try:
            return await all_of_them.get(molecules, "butina", threshold)
        except StoreBusy:
            await asyncio.sleep(0.01)


def test_one_is_computed_at_a_time_and_says_how_far_it_is(computing: Computing, molecules: Generation) -> None:
    async def story(all_of_them: Clusterings) -> None:
        with pytest.raises(StoreBusy, match="computing clusters"):
            await all_of_them.get(molecules, "butina", 0.7)
        computing.at.wait()
        for method, threshold in (("butina", 0.7), ("butina", 0.8), ("scaffold", None)):
            with pytest.raises(StoreBusy, match="3 of 5") as raised:
                await all_of_them.get(molecules, method, threshold)  # type: ignore[arg-type]
            assert raised.value.retry_after == 1
        assert computing.asked == [("butina", 0.7)]
        computing.go.set()
        found = await ready(all_of_them, molecules, 0.7)
        assert found.sizes.tolist() == [5]
        assert await all_of_them.get(molecules, "butina", 0.7) is found
        assert (await ready(all_of_them, molecules, 0.8)).sizes.tolist() == [5]
        assert computing.asked == [("butina", 0.7), ("butina", 0.8)]

    all_of_them = Clusterings()
    asyncio.run(story(all_of_them))
    all_of_them.close()


def test_single_linkage_waits_for_no_other(computing: Computing, molecules: Generation) -> None:
    async def story(all_of_them: Clusterings) -> None:
        with pytest.raises(StoreBusy):
            await all_of_them.get(molecules, "butina", 0.7)
        with pytest.raises(StoreBusy):
            await all_of_them.get(molecules, "single", 0.7)
        while len(computing.asked) < 2:
            await asyncio.sleep(0.01)

    all_of_them = Clusterings()
    asyncio.run(story(all_of_them))
    computing.go.set()
    all_of_them.close()


def test_what_cannot_be_computed_is_remembered_and_other_failures_are_not(
    computing: Computing, molecules: Generation
) -> None:
    async def story(all_of_them: Clusterings) -> None:
        computing.go.set()
        computing.failure = InvalidInput("too many pairs")
        for _ in range(2):
            with pytest.raises(InvalidInput, match="too many pairs"):
                await ready(all_of_them, molecules, 0.2)
        assert len(computing.asked) == 1
        computing.failure = StoreError("a full disk")
        with pytest.raises(StoreError, match="a full disk"):
            await ready(all_of_them, molecules, 0.3)
        computing.failure = None
        assert (await ready(all_of_them, molecules, 0.3)).sizes.tolist() == [5]

    all_of_them = Clusterings()
    asyncio.run(story(all_of_them))
    all_of_them.close()


def test_failure_after_the_last_request_is_not_logged_as_never_retrieved(
    computing: Computing, molecules: Generation, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(all_of_them: Clusterings) -> None:
        with pytest.raises(StoreBusy, match="computing clusters"):
            await all_of_them.get(molecules, "butina", 0.2)
        computing.go.set()
        (job,) = all_of_them._jobs.values()
        assert str(job.future.exception()) == "a full disk"
        await asyncio.sleep(0)  # asyncio passes the exception on

    computing.failure = StoreError("a full disk")
    all_of_them = Clusterings()
    asyncio.run(story(all_of_them))
    all_of_them.close()
    computing.failure = None
    del all_of_them
    gc.collect()  # a future logs its exception when it is collected
    assert not caplog.records


@pytest.mark.parametrize("end", ["closed", "forgotten"])
def test_what_nobody_waits_for_is_given_up(computing: Computing, molecules: Generation, end: str) -> None:
    all_of_them = Clusterings()
    with pytest.raises(StoreBusy):
        asyncio.run(all_of_them.get(molecules, "butina", 0.7))
    (job,) = all_of_them._jobs.values()
    computing.at.wait()
    if end == "forgotten":
        job.abandoned_after = 0
    else:
        threading.Timer(0.05, computing.go.set).start()
        all_of_them.close()
    computing.go.set()
    with pytest.raises(StoreBusy, match="was stopped"):
        job.future.result()
    all_of_them.close()
