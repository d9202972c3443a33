"""An object store that speaks S3, in a process of its own, and what machines requested of it."""

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from s3fs import S3FileSystem  # type: ignore[import-untyped]

from benchmarks.machine import processor_seconds

PORT = 9000
BUCKET = "bucket"
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
"""Environment of the clients. The server accepts any keys."""

_PATIENCE = 60.0  # seconds until the server must have started
_POLL_SECONDS = 0.02
_REQUEST = re.compile(
    r'^(?P<client>[\d.]+) - - \[[^]]*\] "(?:\x1b\[[\d;]*m)?(?P<method>[A-Z]+) (?P<path>\S+)', re.MULTILINE
)


class ObjectStore:
    """A running server. It keeps its objects in memory.

    Attributes:
        files: Its file system, for this process.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process, self._log = process, log
        self.files = S3FileSystem(
            key=KEYS["AWS_ACCESS_KEY_ID"], secret=KEYS["AWS_SECRET_ACCESS_KEY"], endpoint_url=_url()
        )

    def seconds(self) -> float:
        """Return the processor time of the server."""
        return processor_seconds(self._process.pid)

    def position(self) -> int:
        """Return the end of the server's log."""
        return self._log.stat().st_size

    def requests(self, position: int) -> Counter[str]:
        """Count the requests since a position of the log, by the address of the client."""
        return count_requests(self._read(position))

    def wait_for(self, pattern: str, position: int, process: "subprocess.Popen[Any]") -> None:
        """Wait until a line of the log since a position matches a pattern.

        Raises:
            RuntimeError: The process ends earlier.
        """
        while not re.search(pattern, self._read(position)):
            if process.poll() is not None:
                raise RuntimeError(f"the ingest ended before a request matched {pattern}")
            time.sleep(_POLL_SECONDS)

    def _read(self, position: int) -> str:
        with self._log.open("rb") as file:
            file.seek(position)
            return file.read().decode()


def count_requests(log: str) -> Counter[str]:
    """Count the requests in a log of the server, by the address of the client."""
    return Counter(match["client"] for match in _REQUEST.finditer(log))


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """Start a server with an empty bucket, which listens on every address of this machine.

    Args:
        folder: Folder for the log.
    """
    log = folder / "store.log"
    command = [sys.executable, "-m", "moto.server", "--host", "0.0.0.0", "--port", str(PORT)]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _create_bucket(process)
            yield ObjectStore(process, log)
        finally:
            process.kill()


def _create_bucket(process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:
            httpx.put(f"{_url()}/{BUCKET}").raise_for_status()
        except httpx.TransportError:
            time.sleep(_POLL_SECONDS)
        else:
            return
    raise RuntimeError("the object store does not start")


def _url() -> str:
    return f"http://127.0.0.1:{PORT}"
