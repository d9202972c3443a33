"""Previews of uploaded files, computed by a process of its own, because the API reads no files of molecules itself."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from anyio import CapacityLimiter, to_thread

from graphkin.api.jobs import safe_name
from graphkin.api.work.errors import unpack
from graphkin.protocol.errors import InvalidInput, ServerFault, StoreError
from graphkin.protocol.uploads import Preview
from graphkin.protocol.values import PREVIEW_MEMORY

_RUNNING = 2  # at once
_SECONDS = 30.0


class Previews:
    """Computes previews. Their number at once, and the time and memory of each, are limited."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(_RUNNING)

    async def preview(self, file: BinaryIO, name: str, fields: Mapping[str, Any]) -> Preview:
        """Return how a file would be read.

        Args:
            file: The file.
            name: Its name.
            fields: The fields of `PreviewForm` other than the file.

        Raises:
            InvalidInput: The file cannot be read, or not within the limits of time and memory.
            ServerFault: The process failed.
            StoreError: The disk of temporary files is full.
        """
        async with self._limiter:
            with _translate_disk_errors(), TemporaryDirectory(prefix="graphkin-preview-") as folder:
                path = Path(folder) / safe_name(name)
                await to_thread.run_sync(_copy, file, path)
                output = await _run(path, json.dumps(fields))
        reply = json.loads(output)
        if "kind" not in reply:
            return Preview.model_validate(reply)
        raise unpack(reply) or ServerFault("the preview failed", hint="report it with the file")


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


async def _run(path: Path, fields: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "graphkin.ingest.preview", path.name, fields),
        cwd=path.parent,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        raise _too_expensive(path.name, "long", f"{_SECONDS:g} s at most") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if output:
        return output
    if (process.returncode or 0) < 0:  # A library aborts the process if it gets no memory.
        raise _too_expensive(path.name, "much memory", f"{PREVIEW_MEMORY // 2**20} MiB at most")
    raise ServerFault("the preview failed", hint="report it with the file")


def _too_expensive(name: str, cost: str, limit: str) -> InvalidInput:
    return InvalidInput(
        f"the beginning of the file takes too {cost} to read",
        given=name,
        expected=limit,
        hint="save it as CSV, or ingest it on the server with `graphkin ingest`",
    )
