import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphkin.protocol.errors import Closed
from graphkin.trainer.feed.prefetch import Prefetch


class Loads:
    """Loads epochs once they are let through, and remembers which it was asked for."""

    def __init__(self, *open: int) -> None:
        self.gates = {epoch: threading.Event() for epoch in range(20)}
        self.begun = {epoch: threading.Event() for epoch in range(20)}
        self.asked: list[int] = []
        self.failing: set[int] = set()
        for epoch in open:
            self.gates[epoch].set()

    def __call__(self, epoch: int) -> str:
        self.asked.append(epoch)
        self.begun[epoch].set()
        self.gates[epoch].wait()
        if epoch in self.failing:
            raise ValueError(f"epoch {epoch} is lost")
        return f"epoch {epoch}"


def test_the_next_epoch_is_loaded_while_this_one_is_used() -> None:
    loads = Loads(0, 1)
    prefetch = Prefetch(loads, last=2)
    assert prefetch.get(0) == "epoch 0"
    assert loads.begun[1].wait(10)
    assert prefetch.get(1) == "epoch 1"
    assert loads.begun[2].wait(10)
    loads.gates[2].set()
    assert prefetch.get(2) == "epoch 2"
    prefetch.close()
    assert loads.asked == [0, 1, 2]


def test_the_first_epoch_may_be_begun_before_it_is_asked_for() -> None:
    loads = Loads(0)
    prefetch = Prefetch(loads, last=0)
    prefetch.start(0)
    prefetch.start(0)
    assert loads.begun[0].wait(10)
    assert prefetch.get(0) == "epoch 0"
    prefetch.close()
    assert loads.asked == [0]


def test_nothing_is_loaded_beyond_the_last() -> None:
    loads = Loads(*range(20))
    prefetch = Prefetch(loads, last=3)
    assert [prefetch.get(epoch) for epoch in range(4)] == [f"epoch {epoch}" for epoch in range(4)]
    prefetch.close()
    assert loads.asked == [0, 1, 2, 3]


def test_epochs_may_be_skipped_and_asked_for_again() -> None:
    loads = Loads(*range(20))
    prefetch = Prefetch(loads, last=19)
    assert [prefetch.get(epoch) for epoch in (7, 3, 3, 12)] == ["epoch 7", "epoch 3", "epoch 3", "epoch 12"]
    prefetch.close()


def test_an_error_is_raised_when_its_epoch_is_asked_for_and_then_tried_again() -> None:
    loads = Loads(0, 1, 2)
    loads.failing = {1}
    prefetch = Prefetch(loads, last=2)
    assert prefetch.get(0) == "epoch 0"
    assert loads.begun[1].wait(10)
    with pytest.raises(ValueError, match="epoch 1 is lost"):
        prefetch.get(1)
    loads.failing = set()
    assert [prefetch.get(1), prefetch.get(2)] == ["epoch 1", "epoch 2"]
    prefetch.close()
    assert loads.asked.count(1) == 2


def test_closing_wakes_who_waits_and_ends_the_thread() -> None:
    loads = Loads()
    prefetch = Prefetch(loads)
    with ThreadPoolExecutor(2) as pool:
        answer = pool.submit(prefetch.get, 0)
        assert loads.begun[0].wait(10)
        closing = pool.submit(prefetch.close)
        with pytest.raises(Closed):
            answer.result(10)
        loads.gates[0].set()
        closing.result(10)
    assert not any(thread.name == "prefetch" for thread in threading.enumerate())
    with pytest.raises(Closed):
        prefetch.get(0)


def test_closing_before_anything_was_asked_for() -> None:
    prefetch = Prefetch(Loads())
    prefetch.close()
    prefetch.close()
    with pytest.raises(Closed):
        prefetch.get(0)
