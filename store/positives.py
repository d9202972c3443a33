"""The positive-set cache: positives of every anchor for one (generation, policy, seed, epoch), materialised in bulk.

folder/
  <SHA-256 of the key>/   one entry: an .npy array per column of PositiveSets; key.json: the plain key, the SHA-256 of
                          each column
  .<...>.partial/         an entry being built, or left by a builder that died
  .index                  lock for moments: entries appear, vanish and are opened under it
  .building               lock for a whole build: one at a time, whatever the number of processes
"""

import hashlib
import json
import logging
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cachetools import FIFOCache
from filelock import FileLock, Timeout

from graphkin.protocol.errors import InvalidInput, StoreBusy, StoreError
from graphkin.protocol.policy import Policy
from graphkin.store.files import PARTIAL, ArrayWriter, map_array, partial, sha256, sha256_at, sweep
from graphkin.store.sampling.base import PositiveSets, Sampler

_FORMAT = 2  # part of the key: raise it when the engines draw differently or the columns change
_OVERHEAD = 4096  # bytes set aside for an entry's array headers and key.json
_POLL = 0.1  # seconds between looks at a lock held for a whole build, and at whether the build is still wanted
_DAMAGE = (OSError, ValueError, KeyError, TypeError)  # what reading an entry raises that is not whole

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Order:
    """What is to be materialised: the positives of anchors 0 to size - 1."""

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
    def name(self) -> str:
        return hashlib.sha256(json.dumps(self.key, sort_keys=True).encode()).hexdigest()

    @property
    def bytes(self) -> int:
        row = 4 + 2 + 1 + (4 + 2) * self.policy.k  # the columns of PositiveSets
        return self.size * row + _OVERHEAD


@dataclass(eq=False)
class _Build:
    """An order being carried out: how many anchors are done, and whether it is still wanted."""

    order: _Order
    background: bool
    done: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def require_wanted(self) -> None:
        if self.stop.is_set():
            raise StoreBusy(
                "the build of these positive sets was stopped: shutting down, or their generation was deleted"
            )


@dataclass(frozen=True)
class _Entry:
    folder: Path
    bytes: int
    generation: str
    built_at: int  # nanoseconds since 1970


class _Shelf(FIFOCache[str, _Entry]):
    """The finished entries, oldest first, at most `max_bytes` of them: what falls out is deleted from the disk."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        super().__init__(max_bytes, getsizeof=lambda entry: entry.bytes)
        for entry in sorted(_entries(folder), key=lambda entry: entry.built_at):
            if entry.bytes > max_bytes:
                shutil.rmtree(entry.folder)
            else:
                self[entry.folder.name] = entry

    def popitem(self) -> tuple[str, _Entry]:
        name, entry = super().popitem()
        shutil.rmtree(entry.folder)
        return name, entry


class PositiveCache:
    """Materialised positive sets in a folder, at most `max_bytes` of them; the oldest make room for new ones.

    Entries survive restarts. One is compared with its checksums when this process first opens it; a damaged one is
    removed and built again. Any number of threads and processes may share a folder; sets that were handed out are
    memory maps and stay readable after their entry is evicted. `block` anchors are drawn and written at a time.
    `setting` is what users call `max_bytes`, for the error that says it is too small.
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
        self._whole: dict[str, int] = {}  # when the entries were built that this process has found whole, by name
        self._index_mutex = threading.Lock()
        self._index_lock = FileLock(folder / ".index", poll_interval=0.005, thread_local=False)
        with self._disk():
            folder.mkdir(parents=True, exist_ok=True)
            self._sweep()
            with self._index():
                _Shelf(folder, max_bytes)

    def get(self, sampler: Sampler, generation: str, size: int, policy: Policy, seed: int, epoch: int) -> PositiveSets:
        """The positive sets of anchors 0 to `size` - 1 as read-only memory maps.

        Where they are not there yet, one thread in the background starts on them, unless it is busy with others, and
        `StoreBusy` says how far it is. What went wrong in a build is raised to the next caller, once.
        Raises `InvalidInput` if they would not fit into the cache.
        """
        order = self._ordered(sampler, generation, size, policy, seed, epoch)
        ready = self._open(order)
        if ready is not None:
            return ready
        with self._state:
            error = self._errors.pop(order.name, None)
            if error is not None:
                raise error
            build = next((build for build in self._active if build.background), None) or self._start(order)
            raise StoreBusy(f"building positive sets: {build.done} of {build.order.size}", retry_after=1)

    def build(
        self, sampler: Sampler, generation: str, size: int, policy: Policy, seed: int, epoch: int
    ) -> PositiveSets:
        """As `get`, but builds in the caller's thread where needed, after whatever is being built already.

        Raises `StoreError` if the folder cannot be written and `StoreBusy` if `drop` or `close` ended it.
        """
        order = self._ordered(sampler, generation, size, policy, seed, epoch)
        build = _Build(order, background=False)
        with self._state:
            self._register(build)
        try:
            return self._carry_out(build)
        finally:
            with self._state:
                self._active.remove(build)

    def drop(self, generation: str) -> None:
        """Delete the entries of a generation and stop building them."""
        with self._state:
            for build in self._active:
                if build.order.generation == generation:
                    build.stop.set()
        with self._index():
            for entry in _entries(self._folder):
                if entry.generation == generation:
                    shutil.rmtree(entry.folder)

    def close(self) -> None:
        """Stop all builds after the block being drawn, and start no more. What is ready stays readable."""
        with self._state:
            self._closed = True
            for build in self._active:
                build.stop.set()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _ordered(self, sampler: Sampler, generation: str, size: int, policy: Policy, seed: int, epoch: int) -> _Order:
        order = _Order(sampler, generation, size, policy, seed, epoch)
        if order.bytes > self._max_bytes:
            raise InvalidInput(
                "these positive sets do not fit into the cache",
                given=f"{order.bytes} bytes for {size} anchors with k = {policy.k}",
                expected=f"at most {self._max_bytes} bytes",
                hint=f"raise {self._setting}, or ask for a smaller k",
            )
        return order

    def _register(self, build: _Build) -> None:
        if self._closed:
            raise StoreBusy("the positive-set cache is shutting down")
        self._active.append(build)

    def _start(self, order: _Order) -> _Build:
        build = _Build(order, background=True)
        self._register(build)
        self._thread = threading.Thread(target=self._in_background, args=(build,), name="positives", daemon=True)
        self._thread.start()
        return build

    def _in_background(self, build: _Build) -> None:
        failure = None
        try:
            self._carry_out(build)
        except Exception as error:
            if not build.stop.is_set():
                _log.exception("building positive sets failed: %s", build.order.key)
                failure = error
        with self._state:
            self._active.remove(build)
            if failure is not None:
                self._errors[build.order.name] = failure

    def _carry_out(self, build: _Build) -> PositiveSets:
        with self._disk(), self._turn(build):
            ready = self._open(build.order)
            return self._built(build) if ready is None else ready

    def _turn(self, build: _Build) -> AbstractContextManager[Any]:
        """Wait for the lock that lets one builder at a time work, as long as the build is wanted."""
        lock = FileLock(self._folder / ".building")
        while True:
            build.require_wanted()
            try:
                return lock.acquire(timeout=_POLL)
            except Timeout:
                continue

    def _built(self, build: _Build) -> PositiveSets:
        order = build.order
        sweep(self._folder)
        folder = self._folder / order.name
        with self._index():  # room is made before it is taken, so the folder never outgrows its bound
            _Shelf(self._folder, self._max_bytes)[order.name] = _Entry(folder, order.bytes, order.generation, 0)
        with partial(folder) as made:
            self._write(build, made)
            with self._index():
                build.require_wanted()
                made.rename(folder)
                return self._mapped(folder, order)

    def _write(self, build: _Build, folder: Path) -> None:
        order = build.order
        folder.mkdir()
        with ExitStack() as files:
            writers = {
                name: files.enter_context(closing(ArrayWriter(folder / f"{name}.npy", dtype, width)))
                for name, (dtype, width) in _columns(order.policy.k).items()
            }
            for begin in range(0, order.size, self._block):
                build.require_wanted()
                anchors = np.arange(begin, min(begin + self._block, order.size), dtype=np.int32)
                sets = order.sampler.positives(anchors, order.policy, order.seed, order.epoch)
                for name, writer in writers.items():
                    writer.append(getattr(sets, name))
                build.done = begin + len(anchors)
        columns = {name: sha256_at(folder / f"{name}.npy") for name in writers}
        key = {**order.key, "columns": columns, "built_at": time.time_ns()}
        (folder / "key.json").write_text(json.dumps(key), encoding="utf-8")

    def _open(self, order: _Order) -> PositiveSets | None:
        folder = self._folder / order.name
        with self._index():
            if not folder.is_dir():
                return None
            try:
                return self._mapped(folder, order)
            except _DAMAGE as damage:  # files are not synced: a power cut may have emptied them
                _log.warning("removing a damaged entry of the positive-set cache: %s", damage)
                shutil.rmtree(folder)
                return None

    def _mapped(self, folder: Path, order: _Order) -> PositiveSets:
        """Raises one of `_DAMAGE` if the entry is not whole."""
        key = json.loads((folder / "key.json").read_text(encoding="utf-8"))
        unread = self._whole.get(order.name) != key["built_at"]
        columns = {}
        for name in _columns(order.policy.k):
            with (folder / f"{name}.npy").open("rb") as file:
                if unread and sha256(file) != key["columns"][name]:
                    raise ValueError(f"the SHA-256 of {name} is not that of its key")
                file.seek(0)
                columns[name] = map_array(file)
        sets = PositiveSets(**columns)
        if sets.anchors.shape != (order.size,) or sets.positives.shape != (order.size, order.policy.k):
            raise ValueError(f"{sets.positives.shape} is not the size that was asked for")
        self._whole[order.name] = key["built_at"]
        return sets

    def _sweep(self) -> None:
        """Remove what builders that died have left, unless some process is building now."""
        try:
            with FileLock(self._folder / ".building").acquire(timeout=0):
                sweep(self._folder)
        except Timeout:
            return

    @contextmanager
    def _index(self) -> Iterator[None]:
        with self._disk(), self._index_mutex, self._index_lock:  # the mutex spares threads the file lock's polling
            yield

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"cannot write the positive-set cache: {error}",
                given=str(self._folder),
                expected="a writable folder with free space",
                hint=f"free space or fix the permissions; {self._setting} = {self._max_bytes} bounds the folder's size",
            ) from error


def _columns(k: int) -> dict[str, tuple[str, int | None]]:
    """The columns of `PositiveSets`: type, and width where there are several values a row."""
    return {
        "anchors": ("int32", None),
        "counts": ("uint16", None),
        "isolated": ("bool", None),
        "positives": ("int32", k),
        "visits": ("uint16", k),
    }


def _entries(folder: Path) -> list[_Entry]:
    """The finished entries, in no order. One whose key cannot be read is half deleted: the rest of it goes too."""
    found = []
    for entry in folder.iterdir():
        if not entry.is_dir() or entry.suffix == PARTIAL:
            continue
        try:
            key = json.loads((entry / "key.json").read_text(encoding="utf-8"))
            size = sum(file.stat().st_size for file in entry.iterdir())
            found.append(_Entry(entry, size, key["generation"], key["built_at"]))
        except _DAMAGE:
            shutil.rmtree(entry)
    return found
