"""Previews of uploaded files, computed by a process of its own, because the API reads no files of molecules itself."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from anyio import CapacityLimiter, to_thread

from graphkin.api.jobs import safe_name
from graphkin.api.work.errors import unpack
from graphkin.protocol.errors import InvalidInput, ServerFault
from graphkin.protocol.uploads import Preview

_RUNNING = 2  # at once
_SECONDS = 30.0


class Previews:
    """Computes previews. Their number at once, and the time of each, are limited."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(_RUNNING)

    async def preview(self, file: BinaryIO, name: str, fields: Mapping[str, Any]) -> Preview:
        """Return how a file would be read.

        Args:
            file: The file.
            name: Its name.
            fields: The fields of `PreviewForm` other than the file.

        Raises:
            InvalidInput: The file cannot be read, or not in time.
            ServerFault: The process failed.
        """
        async with self._limiter:
            with TemporaryDirectory(prefix="graphkin-preview-") as folder:
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
        raise InvalidInput(
            "the beginning of the file takes too long to read",
            given=path.name,
            expected=f"{_SECONDS:g} s at most",
            hint="upload it without a preview, or ingest it on the server with `graphkin ingest`",
        ) from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if not output:
        raise ServerFault("the preview failed", hint="the machine may lack memory; report it with the file")
    return output
