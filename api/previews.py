"""Previews of uploaded files, computed by workers, because the API reads no files of molecules itself."""

import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from anyio import CancelScope, to_thread

from graphkin.api.jobs import safe_name
from graphkin.api.work.pool import Pool, TaskError, WorkerLost
from graphkin.protocol.errors import InvalidInput, ServerFault, StoreBusy, StoreError
from graphkin.protocol.uploads import Preview

MEMORY = 1000 * 2**20
"""Maximum memory of a worker process that previews a file, in bytes.

It is less than the 1 GiB that the allocator of Arrow reserves at once if it may, which would leave no memory for
others.
"""

_SECONDS = 30.0
_MAX_WAITING = 8  # previews whose files arrive or wait, each with a file on the disk


class Previews:
    """Computes previews. The time and memory of each, and the number of those that wait, are limited.

    Args:
        readers: Workers. Their number is that of previews at once, and `MEMORY` their memory.
        max_waiting: Maximum number of previews whose files arrive or wait for a worker.
    """

    def __init__(self, readers: Pool, max_waiting: int = _MAX_WAITING) -> None:
        self._readers = readers
        self._max_waiting = max_waiting
        self._waiting: dict[CancelScope, None] = {}  # the oldest first

    @asynccontextmanager
    async def place(self) -> AsyncIterator[CancelScope]:
        """Count a preview as waiting while the block receives its file and waits for a worker. Yield its place.

        If too many wait, the oldest one ends: a client that changes a setting requests another preview.

        Raises:
            StoreBusy: Newer previews have taken the place of this one before a worker was free.
        """
        if len(self._waiting) >= self._max_waiting:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.cancel()
        with CancelScope() as scope:
            self._waiting[scope] = None
            try:
                yield scope
            finally:
                self._waiting.pop(scope, None)
        if scope.cancelled_caught:
            raise StoreBusy(
                "too many newer previews wait",
                expected=f"at most {self._max_waiting} that wait",
                hint="try again in 5 s",
                retry_after=5,
            )

    async def preview(self, place: CancelScope, file: BinaryIO, name: str, fields: Mapping[str, Any]) -> Preview:
        """Return how a file would be read.

        Args:
            place: The place of this preview.
            file: The file.
            name: Its name.
            fields: The fields of `PreviewForm` other than the file.

        Raises:
            InvalidInput: The file cannot be read, or not within the limits of time and memory.
            StoreError: The disk of temporary files is full, or no worker can be started.
            ServerFault: The preview failed.
        """
        safe = safe_name(name)
        async with self._readers.worker() as worker:
            self._waiting.pop(place, None)
            with _translate_disk_errors(), TemporaryDirectory(prefix="graphkin-preview-") as folder:
                await to_thread.run_sync(_copy, file, Path(folder) / safe)
                try:
                    reply = await worker.run("preview_file", _SECONDS, folder=folder, name=safe, fields=fields)
                except TimeoutError:
                    raise _too_expensive(safe, "long", f"{_SECONDS:g} s at most") from None
                except WorkerLost:  # The process ends if it gets no memory.
                    raise _too_expensive(safe, "much memory", f"{MEMORY // 2**20} MiB at most") from None
                except TaskError as error:
                    raise ServerFault("the preview failed", hint="report it with the file") from error
        return Preview.model_validate(reply)


def _copy(file: BinaryIO, path: Path) -> None:
    with path.open("wb") as target:
        shutil.copyfileobj(file, target)


@contextmanager
def _translate_disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"the preview cannot be started: {error.strerror}",
            expected="free space on the disk of temporary files of the server",
            hint="ask the administrator of the server to free space, or upload the file without a preview",
        ) from error


def _too_expensive(name: str, cost: str, limit: str) -> InvalidInput:
    return InvalidInput(
        f"the beginning of the file takes too {cost} to read",
        given=name,
        expected=limit,
        hint="save it as CSV, or ingest it on the server with `graphkin ingest`",
    )
