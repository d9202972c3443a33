"""Exact similarity join on a GPU, with the pairs, similarities and interface of `graphkin.similarity.join`."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.similarity.cuda.blocks import BlockLoader, BlockPairs
from graphkin.similarity.cuda.device import require_cuda
from graphkin.similarity.cuda.fingerprints import SortedFingerprints
from graphkin.similarity.cuda.launch import Launcher, TileHits
from graphkin.similarity.cuda.share import Share
from graphkin.similarity.cuda.sizes import Sizes
from graphkin.similarity.join import AppendJoin, Pairs
from graphkin.store.records import UInt64


class _Launch(NamedTuple):
    """Consecutive tasks of one pair of blocks: its tiles [start, stop)."""

    pair: int
    start: int
    stop: int


class DeviceJoin:
    """The join of two sets of fingerprints, or of one with itself, on a device.

    Fingerprints are sorted by popcount and cut into blocks. Two blocks, unpacked to one byte per bit, and one buffer of
    pairs are on the device at one time, whatever the number of fingerprints. A task is some thousand tiles of one pair
    of blocks. Tasks, their order and their results depend only on the fingerprints, the threshold and the sizes.

    Args:
        rows: Fingerprints of the rows.
        columns: Fingerprints of the columns. None joins the rows with themselves. Then each unordered pair occurs once,
            and its left item is the one with the lower row of `words`.
        threshold: Lowest similarity τ, 0 < τ ≤ 1.
        device: The device of torch. On a CPU the kernel needs Triton's interpreter, which is for tests.
        sizes: Sizes of tiles, tasks and buffers.
    """

    def __init__(
        self,
        rows: SortedFingerprints,
        columns: SortedFingerprints | None,
        threshold: float,
        device: torch.device,
        sizes: Sizes | None = None,
    ) -> None:
        self._is_self = columns is None
        self._rows, self._columns = rows, rows if columns is None else columns
        self._device, self._sizes = device, sizes or Sizes()
        largest_sum = sum(int(each.popcounts.max(initial=1)) for each in (self._rows, self._columns))
        self._share = Share.from_threshold(threshold, largest_sum)
        self._blocks = BlockPairs(rows, columns, self._share, self._sizes)
        task_counts = -(-self._blocks.tile_counts // self._sizes.tiles_per_task)
        self._first_tasks = np.append(0, np.cumsum(task_counts))
        self._first_tiles = np.append(0, np.cumsum(self._blocks.tile_counts))

    @property
    def task_count(self) -> int:
        """Number of tasks."""
        return int(self._first_tasks[-1])

    def progress(self, task: int) -> int:
        """Return the progress before `task` as a number of rows, weighted by the tiles of each task.

        It stays at the number of rows after the last task, because `AppendJoin` counts the tasks of two joins.
        """
        task = min(task, self.task_count)
        pair = int(np.searchsorted(self._first_tasks, task, side="right")) - 1
        tiles = self._first_tiles[pair] + (task - self._first_tasks[pair]) * self._sizes.tiles_per_task
        return int(len(self._rows.words) * tiles // max(self._first_tiles[-1], 1))

    def pairs(
        self,
        first_task: int = 0,
        threads: int = 1,
        advance: Callable[[int], object] = lambda _: None,
    ) -> Iterator[Pairs]:
        """Yield the pairs of each task, in task order.

        The device computes the next tasks while the caller uses the pairs of the last ones.

        Args:
            first_task: First task to run.
            threads: Number of threads that read fingerprints for the device.
            advance: Called after each task with the number of rows that the task counts for.

        Raises:
            InvalidInput: The device has too little free memory.
        """
        try:
            for task, pairs in enumerate(self._run(first_task, threads), first_task):
                advance(self.progress(task + 1) - self.progress(task))
                yield pairs
        except torch.OutOfMemoryError as error:
            raise InvalidInput(
                "the GPU has too little free memory",
                given="device cuda",
                expected="about 3 GB of free GPU memory",
                hint=f"use {parameter('--device', 'cpu')}, which computes the same result",
            ) from error

    def _run(self, first_task: int, threads: int) -> Iterator[Pairs]:
        loader = BlockLoader(self._blocks, self._device, threads)
        launcher = Launcher(self._share, self._sizes, self._device)
        previous: tuple[_Launch, TileHits] | None = None
        for launch in self._launches(first_task):
            launcher.start(loader.load(launch.pair), launch.start, launch.stop)
            if previous is not None:
                yield from self._by_task(*previous)
            hits = launcher.finish()
            previous = None if hits is None else (launch, hits)
            if hits is None:
                yield from self._with_many_hits(launcher, loader, launch)
        if previous is not None:
            yield from self._by_task(*previous)

    def _launches(self, first_task: int) -> Iterator[_Launch]:
        """Yield the launches of the tasks from `first_task` on."""
        size, tasks = self._sizes.tiles_per_task, self._sizes.tasks_per_launch
        for pair, tiles in enumerate(self._blocks.tile_counts.tolist()):
            skipped = max(first_task - int(self._first_tasks[pair]), 0)
            for task in range(skipped, -(-tiles // size), tasks):
                yield _Launch(pair, task * size, min((task + tasks) * size, tiles))

    def _by_task(self, launch: _Launch, hits: TileHits) -> Iterator[Pairs]:
        size = self._sizes.tiles_per_task
        for start in range(0, launch.stop - launch.start, size):
            yield self._pairs(launch.pair, hits.part(start, start + size))

    def _with_many_hits(self, launcher: Launcher, loader: BlockLoader, launch: _Launch) -> Iterator[Pairs]:
        """Run the tasks of a launch one by one, because the buffer cannot hold the hits of all of them."""
        for start in range(launch.start, launch.stop, self._sizes.tiles_per_task):
            part = launch._replace(start=start, stop=min(start + self._sizes.tiles_per_task, launch.stop))
            yield Pairs.concatenate([self._pairs(launch.pair, hits) for hits in _halved(launcher, loader, part)])

    def _pairs(self, pair: int, hits: TileHits) -> Pairs:
        first_row, first_column = self._blocks.starts[pair]
        row, column = hits.row + first_row, hits.column + first_column
        sums = self._rows.popcounts[row] + self._columns.popcounts[column]
        left, right = self._rows.order[row], self._columns.order[column]
        if self._is_self:
            left, right = np.minimum(left, right), np.maximum(left, right)
        return Pairs(left, right, hits.common / (sums - hits.common))


def _halved(launcher: Launcher, loader: BlockLoader, launch: _Launch) -> Iterator[TileHits]:
    """Yield the hits of a launch, divided in halves as long as the buffer cannot hold them."""
    launcher.start(loader.load(launch.pair), launch.start, launch.stop)
    hits = launcher.finish()
    if hits is not None:
        yield hits
        return
    middle = (launch.start + launch.stop) // 2
    yield from _halved(launcher, loader, launch._replace(stop=middle))
    yield from _halved(launcher, loader, launch._replace(start=middle))


def self_join(fingerprints: SortedFingerprints, threshold: float) -> DeviceJoin:
    """Return the join of fingerprints with themselves on the GPU."""
    return DeviceJoin(fingerprints, None, threshold, require_cuda())


def append_join(words: UInt64, old_count: int, threshold: float) -> AppendJoin:
    """Return the join on the GPU that finds the pairs of new items; `words` holds the old items first."""
    device = require_cuda()
    old, new = (SortedFingerprints.from_words(part) for part in (words[:old_count], words[old_count:]))
    old_with_new = DeviceJoin(old, new, threshold, device)
    return AppendJoin(old_count, old_with_new, DeviceJoin(new, None, threshold, device))
