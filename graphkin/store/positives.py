"""The positive-set cache: precomputed positives of all anchors.

An entry of the cache holds the positives for one (generation, policy, seed, epoch), with one array per column of
`PositiveSets`.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from filelock import Timeout

from graphkin.protocol.errors import InvalidInput, StoreBusy, StoreError
from graphkin.protocol.policy import Policy
from graphkin.runtime.array_cache import ENTRY_OVERHEAD, ArrayCache
from graphkin.runtime.files import ArrayWriter
from graphkin.store.sampling.base import PositiveSets, Sampler

_FORMAT = 2  # a part of the key: increase it when the engines sample differently or the columns change
_POLL = 0.1  # seconds between attempts to lock the cache, and between checks whether the build was stopped

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Request:
    """The positive sets to compute: those of anchors 0 to size - 1."""

    sampler: Sampler
    generation: str
    size: int
    policy: Policy
    seed: int
    epoch: int

    @property
    def key(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "engine": self.sampler.engine,
            "generation": self.generation,
            "size": self.size,
            "policy": self.policy.canonical(),
            "seed": self.seed,
            "epoch": self.epoch,
        }

    @property
    def bytes(self) -> int:
        row = 4 + 2 + 1 + (4 + 2) * self.policy.k  # bytes of the columns of PositiveSets
        return self.size * row + ENTRY_OVERHEAD

    def read(self, **columns: Any) -> PositiveSets:
        """Return cached columns as `PositiveSets`, after a check of their names and sizes.

        Raises:
            ValueError: The columns have another size.
            TypeError: The columns have other names.
        """
        sets = PositiveSets(**columns)
        if sets.anchors.shape != (self.size,) or sets.positives.shape != (self.size, self.policy.k):
            raise ValueError(f"{sets.positives.shape} is not the requested size")
        return sets


@dataclass(eq=False)
class _Build:
    """A running computation of positive sets.

    Attributes:
        request: The sets to compute.
        background: Whether a background thread computes the sets, instead of the caller.
        done: The number of finished anchors.
        stop: An event that is set when the result is no longer needed.
    """

    request: _Request
    background: bool
    done: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def raise_if_stopped(self) -> None:
        if self.stop.is_set():
            raise StoreBusy(
                "the computation of these positive sets was stopped: the server stops, or the generation was deleted",
                hint="try again in 1 s",
            )


class PositiveCache:
    """Positive sets in a folder, at most `max_bytes` in total, stored in an `ArrayCache`.

    Damaged entries are computed again.

    Args:
        folder: The folder of the cache.
        max_bytes: The size limit.
        block: The number of anchors that are sampled and written at a time.
        setting: The name of the user's setting for `max_bytes`, for the error about a limit that is too small.
    """

    def __init__(self, folder: Path, max_bytes: int, *, block: int = 65_536, setting: str = "max_bytes") -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._block = block
        self._setting = setting
        self._state = threading.Lock()
        self._active: list[_Build] = []
        self._errors: dict[str, Exception] = {}
        self._thread: threading.Thread | None = None
        self._closed = False
        self.hits = self.misses = 0  # counts calls of `get`
        self.built = 0  # counts builds by this process
        with self._translate_disk_errors():
            self._cache = ArrayCache(folder, max_bytes)

    def get(self, sampler: Sampler, generation: str, size: int, policy: Policy, seed: int, epoch: int) -> PositiveSets:
        """Return the positive sets of anchors 0 to `size` - 1 as read-only memory maps.

        If they are missing, a background thread starts to compute them, unless it is already computing other sets.

        Raises:
            StoreBusy: The sets are not ready. The error reports the progress.
            InvalidInput: The sets do not fit into the cache.
            GraphkinError: An earlier background build of these sets failed. The error is raised once.
        """
        request = self._make_request(sampler, generation, size, policy, seed, epoch)
        with self._translate_disk_errors():
            sets = self._cache.open(request.key, request.read)
        with self._state:
            if sets is not None:
                self.hits += 1
                return sets
            self.misses += 1
            error = self._errors.pop(str(request.key), None)
            if error is not None:
                raise error
            build = next((build for build in self._active if build.background), None) or self._start(request)
            raise StoreBusy(
                f"building positive sets: {build.done} of {build.request.size}",
                hint="repeat the request in 1 s",
                retry_after=1,
            )

    def build(
        self, sampler: Sampler, generation: str, size: int, policy: Policy, seed: int, epoch: int
    ) -> PositiveSets:
        """Return the positive sets like `get`, but compute missing ones in the thread of the caller.

        Other running builds finish first.

        Raises:
            StoreError: The folder cannot be written.
            StoreBusy: `drop` or `close` stopped the build.
            InvalidInput: The sets do not fit into the cache.
        """
        request = self._make_request(sampler, generation, size, policy, seed, epoch)
        build = _Build(request, background=False)
        with self._state:
            self._register(build)
        try:
            return self._carry_out(build)
        finally:
            with self._state:
                self._active.remove(build)

    @property
    def bytes(self) -> int:
        """The size of all entries.

        Raises:
            StoreError: The folder cannot be read.
        """
        with self._translate_disk_errors():
            return self._cache.size

    def drop(self, generation: str) -> None:
        """Delete the entries of a generation and stop computing more of them."""
        with self._state:
            for build in self._active:
                if build.request.generation == generation:
                    build.stop.set()
        with self._translate_disk_errors():
            self._cache.delete_generation(generation)

    def close(self) -> None:
        """Stop all builds after their current block, and start no more. Finished entries stay readable."""
        with self._state:
            self._closed = True
            for build in self._active:
                build.stop.set()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _make_request(
        self, sampler: Sampler, generation: str, size: int, policy: Policy, seed: int, epoch: int
    ) -> _Request:
        request = _Request(sampler, generation, size, policy, seed, epoch)
        if request.bytes > self._max_bytes:
            raise InvalidInput(
                "these positive sets do not fit into the cache",
                given=f"{request.bytes} bytes for {size} anchors with k = {policy.k}",
                expected=f"at most {self._max_bytes} bytes",
                hint=f"request a smaller k, or raise {self._setting}",
            )
        return request

    def _register(self, build: _Build) -> None:
        if self._closed:
            raise StoreBusy("the server is stopping", hint="try again when the server runs again")
        self._active.append(build)

    def _start(self, request: _Request) -> _Build:
        build = _Build(request, background=True)
        self._register(build)
        self._thread = threading.Thread(target=self._run_in_background, args=(build,), name="positives", daemon=True)
        self._thread.start()
        return build

    def _run_in_background(self, build: _Build) -> None:
        failure = None
        try:
            self._carry_out(build)
        except Exception as error:
            if not build.stop.is_set():
                _log.exception("building positive sets failed: %s", build.request.key)
                failure = error
        with self._state:
            self._active.remove(build)
            if failure is not None:
                self._errors[str(build.request.key)] = failure

    def _carry_out(self, build: _Build) -> PositiveSets:
        with self._translate_disk_errors(), self._wait_for_lock(build):
            sets = self._cache.open(build.request.key, build.request.read)
            return self._compute(build) if sets is None else sets

    def _wait_for_lock(self, build: _Build) -> AbstractContextManager[Any]:
        """Acquire and return the lock that only one builder at a time can hold.

        Raises:
            StoreBusy: The build was stopped while it waited for the lock.
        """
        while True:
            build.raise_if_stopped()
            try:
                return self._cache.write_lock(_POLL)
            except Timeout:
                continue

    def _compute(self, build: _Build) -> PositiveSets:
        request = build.request
        sets = self._cache.add(
            request.key, request.bytes, partial(self._write, build), request.read, build.raise_if_stopped
        )
        self.built += 1  # no race: the lock admits one builder at a time
        return sets

    def _write(self, build: _Build, folder: Path) -> None:
        request = build.request
        with ExitStack() as files:
            writers = {
                name: files.enter_context(closing(ArrayWriter(folder / f"{name}.npy", dtype, width)))
                for name, (dtype, width) in _columns(request.policy.k).items()
            }
            for begin in range(0, request.size, self._block):
                build.raise_if_stopped()
                anchors = np.arange(begin, min(begin + self._block, request.size), dtype=np.int32)
                sets = request.sampler.positives(anchors, request.policy, request.seed, request.epoch)
                for name, writer in writers.items():
                    writer.append(getattr(sets, name))
                build.done = begin + len(anchors)

    @contextmanager
    def _translate_disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"cannot write the cache of positive sets: {error.strerror or error}",
                given=str(self._folder),
                expected="a writable folder with free space",
                hint=f"free space or fix the permissions; {self._setting} = {self._max_bytes} bounds the folder's size",
            ) from error


def _columns(k: int) -> dict[str, tuple[str, int | None]]:
    """Return the columns of `PositiveSets`: the type, and the width of columns with several values per row."""
    return {
        "anchors": ("int32", None),
        "counts": ("uint16", None),
        "isolated": ("bool", None),
        "positives": ("int32", k),
        "visits": ("uint16", k),
    }
