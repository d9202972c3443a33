"""A store with a server of several processes, the commands that write to it, and the disk that holds it."""

import asyncio
import os
import shutil
import signal
import subprocess
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import psutil

from benchmarks.command import free_port, graphkin
from benchmarks.machine import family
from tests.rigs.exchange import Connection

_TREE = Path(__file__).parents[2]
_SIZE = 2 << 30  # maximum bytes of the file system in memory
_PAUSE = 0.05  # seconds between two polls


class Disk:
    """A file system in memory, mounted at `folder` until `close`.

    If this process may not mount file systems, the folder stays on the machine's disk, and `full` limits the file sizes
    of commands instead.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "graphkin-chaos", str(folder)]
        self.mounted = shutil.which("mount") is not None and not subprocess.run(mount, capture_output=True).returncode

    @contextmanager
    def full(self, left: int, largest: int) -> Iterator[Sequence[str]]:
        """Fill the disk until `left` bytes are free, and yield a command prefix that imposes the limit.

        Args:
            left: Free bytes.
            largest: Bytes of the largest file that commands write.
        """
        if not self.mounted:
            yield "prlimit", f"--fsize={min(left, largest - 1)}"
            return
        usage, ballast = os.statvfs(self._folder), self._folder / "ballast"
        try:
            with ballast.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(1, usage.f_bavail * usage.f_frsize - left))
            yield ()
        finally:
            ballast.unlink()

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", self._folder], check=True)


@dataclass
class Ended:
    """The result of a command. `code` is its exit code, or minus the signal that killed it."""

    code: int
    out: str
    err: str
    seconds: float


class Site:
    """A server and commands on one store.

    Args:
        store: A folder or a URL.
        cache: Cache folder of the server.
        workers: Number of server processes.
        environment: Environment variables of all processes.
    """

    def __init__(self, store: Path | str, cache: Path, workers: int, environment: Mapping[str, str]) -> None:
        self.store = store
        self._workers = workers
        self._environment = {**os.environ, "PYTHONPATH": str(_TREE), "OMP_NUM_THREADS": "1", **environment}
        self._cache = cache
        self.address: tuple[str, int] = ("127.0.0.1", free_port())
        self._server: Process | None = None
        self._running: set[Process] = set()

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self.address)

    # the server

    async def serve(self, *, ready: bool = True) -> None:
        """Start the server and wait until it is ready, or only alive if `ready` is False.

        A server over a damaged store never becomes ready. A server that exits is restarted, as a supervisor would do.
        """
        while True:
            if self._server is None or self._server.returncode is not None:
                await self._launch()
            if len(self.listening()) >= self._workers and await self._answers("/readyz" if ready else "/livez"):
                return
            await asyncio.sleep(_PAUSE)

    async def _launch(self) -> None:
        several = ["--workers", str(self._workers)] if self._workers > 1 else []
        port = ["--host", self.address[0], "--port", str(self.address[1])]
        self._server = await asyncio.create_subprocess_exec(
            *graphkin("serve", "--store", self.store, *port, *several),
            stdout=DEVNULL,
            stderr=DEVNULL,
            cwd=_TREE,
            env={**self._environment, "GRAPHKIN_CACHE_DIR": str(self._cache)},
            start_new_session=True,
        )

    async def _answers(self, path: str) -> bool:
        try:
            connection = await Connection.to(*self.address)
        except OSError:
            return False
        asked = await connection.ask(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        connection.close()
        return asked.status == 200

    async def kill_server(self, whole: bool = True) -> None:
        """Kill all processes of the server, as the kernel may when memory runs out, or only the first one.

        The other processes end with the first one.
        """
        assert self._server is not None
        members = family(self._server.pid)
        for each in members if whole else members[:1]:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        await self._server.wait()

    def listening(self) -> list[psutil.Process]:
        """Return the server's processes that listen on a socket."""
        assert self._server is not None
        found = []
        for each in family(self._server.pid):
            with suppress(psutil.Error):
                if any(c.status == psutil.CONN_LISTEN for c in each.net_connections("tcp")):
                    found.append(each)
        return found

    async def all_listen(self) -> None:
        while len(self.listening()) < self._workers:
            await asyncio.sleep(_PAUSE)

    # commands

    async def run(self, *arguments: str | Path, within: Sequence[str] = (), store: bool = True) -> Ended:
        """Run a command to its end."""
        return await self.killed(None, *arguments, within=within, store=store)

    async def killed(
        self,
        after: float | None,
        *arguments: str | Path,
        alone: bool = False,
        within: Sequence[str] = (),
        store: bool = True,
    ) -> Ended:
        """Run a command and kill it after a number of seconds, `alone` or with all its child processes."""
        where = ["--store", self.store] if store else []
        begin = perf_counter()
        process = await asyncio.create_subprocess_exec(
            *within,
            *graphkin(*arguments, *where),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            cwd=_TREE,
            env=self._environment,
            start_new_session=True,
        )
        self._running.add(process)
        telling = asyncio.create_task(process.communicate())
        if after is not None:
            await asyncio.wait([telling], timeout=after)
            if not telling.done():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL) if alone else os.killpg(process.pid, signal.SIGKILL)
        out, err = await telling
        self._running.discard(process)
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode(errors="replace"), perf_counter() - begin)

    async def close(self) -> None:
        """Kill all running processes."""
        for each in self._running:
            with suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
        if self._server is not None and self._server.returncode is None:
            await self.kill_server()
