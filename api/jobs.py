"""Jobs: processes that change the store for clients.

A job runs `python -m graphkin.ingest.job`, because the API builds nothing itself. Its folder holds all that is known
about it, so every process of a server, and a restarted server, sees the same jobs:

- request.json, the arguments of the job
- status.json, written by the job
- files/, the uploaded file
- rejections.csv, the rejected records, if there are any
- output, what the process printed
- pid, the process id
- canceled, an empty file once a client has canceled the job
- lock, locked as long as the process lives

The standard input of a job is a pipe from the server that started it. When the server ends, however it does, the pipe
closes, and the job stops.
"""

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from graphkin.api.settings import Settings
from graphkin.protocol.errors import Conflict, Forbidden, NotFound, StoreBusy, StoreError
from graphkin.protocol.replies import UploadLimits
from graphkin.protocol.uploads import PUBLISH, Job, JobError, too_much_memory
from graphkin.protocol.values import JobCommand
from graphkin.runtime.files import absolute_location
from graphkin.runtime.folders import FILE_MODE, make_private_folder

MAX_KEPT = 50
"""Maximum number of jobs whose folders are kept."""

_PATIENCE = 10.0  # seconds in which a job that was told to stop may end
_ID = re.compile("[0-9a-f]{16}")
_MAX_NAME = 150  # bytes of the name of an uploaded file
_INTERRUPTED = JobError(
    detail="the job was interrupted, because the server stopped or the process was killed; nothing was published",
    given=None,
    expected=None,
    hint="start it again; if it happens again, the machine may lack memory",
)
_NO_MEMORY = re.compile(rb"bad_alloc|MemoryError|out of memory|cannot allocate memory|malloc of size", re.IGNORECASE)
"""Last words of a process that a library has ended because it got no memory."""

_LAST_BYTES = 10_000  # bytes of the output in which these words are
_INTERRUPTED_PUBLISHING = JobError(
    detail="the process of the job was killed while it published",
    given=None,
    expected=None,
    hint="look at the latest generation of the collection; if it lacks the change, start the job again",
)


class Jobs:
    """The jobs of a store.

    Args:
        settings: Settings of the server.

    Attributes:
        upload_bytes: Maximum size of the body of an upload.
    """

    def __init__(self, settings: Settings) -> None:
        self._location = absolute_location(str(settings.store))
        key = hashlib.sha256(self._location.encode()).hexdigest()[:16]
        self._folder = settings.cache_dir / "jobs" / key
        self._max_running = settings.jobs
        self._enabled = settings.accepts_writes
        self._seconds = settings.upload_seconds
        self._memory = settings.job_bytes
        self.upload_bytes = settings.upload_bytes
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()

    @property
    def limits(self) -> UploadLimits | None:
        """The limits of uploads; None if the server accepts none."""
        return UploadLimits(max_bytes=self.upload_bytes, max_seconds=self._seconds) if self._enabled else None

    def require_enabled(self) -> None:
        """Raise `Forbidden` if clients may not change the store."""
        if not self._enabled:
            raise Forbidden(
                "this server does not let clients change collections",
                expected="a server that only this machine reaches, or one that is started with GRAPHKIN_WRITES=true",
                hint="ingest files on the server with `graphkin ingest`, or ask its administrator for `graphkin serve "
                "--writes`",
            )

    @contextmanager
    def slot(self) -> Iterator[int]:
        """Reserve a slot for a job while the block runs, and yield its file descriptor.

        A job that is started with the descriptor keeps the slot until its process ends.

        Raises:
            StoreBusy: All slots are taken.
            StoreError: The cache folder cannot be used.
        """
        with _translate_errors():
            make_private_folder(self._folder)
            descriptors = (_try_lock(self._folder / f"slot-{number}") for number in range(self._max_running))
            descriptor = next((each for each in descriptors if each is not None), None)
        if descriptor is None:
            raise StoreBusy(
                "other jobs are changing the store",
                expected=f"at most {self._max_running} at once",
                hint="wait until one of them ends, or cancel one",
                retry_after=5,
            )
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def start(
        self,
        slot: int,
        command: JobCommand,
        collection: str,
        source: str,
        arguments: Mapping[str, Any],
        file: BinaryIO | None = None,
    ) -> str:
        """Start a job, and return its id.

        Args:
            slot: File descriptor of a reserved slot.
            command: Command to run.
            collection: Collection to change.
            source: Name of the uploaded file, or a phrase that names the list.
            arguments: Other arguments of the command.
            file: The uploaded file.

        Raises:
            StoreError: The cache folder cannot be written.
        """
        with self._lock, _translate_errors():
            self._reap()
            self._sweep()
            id = secrets.token_hex(8)
            folder = self._folder / id
            make_private_folder(folder / "files")
            lock = _try_lock(folder / "lock")
            assert lock is not None, "no other process knows the id"
            name = None if file is None else safe_name(source)
            if file is not None and name is not None:
                with (folder / "files" / name).open("wb") as target:
                    shutil.copyfileobj(file, target)
            request = {
                "command": command,
                "collection": collection,
                "source": source if name is None else name,
                "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "store": self._location,
                "memory": self._memory,
                "arguments": arguments,
            }
            (folder / "request.json").write_text(json.dumps(request))
            try:
                self._processes.append(_run(folder, (slot, lock)))
            finally:
                os.close(lock)
        return id

    def get(self, id: str) -> Job:
        """Return a job.

        Raises:
            NotFound: There is no such job.
        """
        return _read_job(self._job_folder(id))

    def all(self) -> list[Job]:
        """Return the jobs whose folders are kept, newest first."""
        jobs = []
        for folder in self._folder.glob("[0-9a-f]*"):
            with suppress(NotFound):
                jobs.append(_read_job(folder))
        return sorted(jobs, key=lambda job: (job.started_at, job.id), reverse=True)

    def rejections(self, id: str) -> bytes:
        """Return the rejected records of a job as CSV.

        Raises:
            NotFound: There is no such job, or it rejected no records.
        """
        try:
            return (self._job_folder(id) / "rejections.csv").read_bytes()
        except FileNotFoundError:
            raise NotFound(
                "this job has no rejected records",
                given=id,
                expected="a job that has ended and rejected records",
                hint="`rejected` of the job counts them",
            ) from None

    def cancel(self, id: str) -> Job:
        """Stop a job, and return it. It runs until its process has ended, some seconds at most.

        A job in the stage `publish` does not stop, and ends as `done`.

        Raises:
            NotFound: There is no such job.
            Conflict: The job has ended.
        """
        job, folder = self.get(id), self._job_folder(id)
        if job.state != "running":
            raise Conflict(
                "this job has ended",
                given=job.state,
                expected="a running job",
                hint="remove what the job added with a removal, or leave it as it is",
            )
        with _translate_errors():
            (folder / "canceled").touch(FILE_MODE)
        with suppress(OSError, ValueError):  # It has just ended.
            os.kill(int((folder / "pid").read_text()), signal.SIGTERM)
        return _read_job(folder)

    def close(self) -> None:
        """Stop the jobs that this process has started, and wait until they have ended."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
                continue
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _reap(self) -> None:
        """Release the processes that have ended."""
        for process in [each for each in self._processes if each.poll() is not None]:
            assert process.stdin is not None
            process.stdin.close()
            self._processes.remove(process)

    def _job_folder(self, id: str) -> Path:
        if _ID.fullmatch(id) is None or not (self._folder / id / "request.json").is_file():
            raise NotFound(
                "there is no such job",
                given=id,
                expected="the id of one of the latest jobs",
                hint="GET /v1/jobs lists them",
            )
        return self._folder / id

    def _sweep(self) -> None:
        """Remove the oldest jobs that have ended, and the uploaded files of all that have."""
        ended = [job.id for job in self.all() if job.state != "running"]
        for position, id in enumerate(ended):
            shutil.rmtree(self._folder / id / ("" if position >= MAX_KEPT - 1 else "files"), ignore_errors=True)


def safe_name(name: str) -> str:
    """Return the name of an uploaded file without folders and special characters.

    The name never begins with a dot or a dash, and never ends like a Python module.
    """
    bare = re.sub(r"[^\w.()+, -]", "_", name.replace("\\", "/").rpartition("/")[2]).lstrip(".-_ ").rstrip()
    end = bare.encode()[-_MAX_NAME:].decode(errors="ignore")
    stem, dot, extension = end.lstrip(".-_ ").rpartition(".")
    if extension.lower() in ("py", "pyc", "so"):
        extension = "txt"
    return f"{stem}{dot}{extension}" or "upload"


def _run(folder: Path, inherited: tuple[int, ...]) -> subprocess.Popen[bytes]:
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "graphkin.ingest.job", str(folder)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=folder / "files",
            start_new_session=True,  # Ctrl-C in a terminal reaches only the server, which then closes the pipe.
            pass_fds=inherited,
        )
    (folder / "pid").write_text(str(process.pid))
    return process


def _read_job(folder: Path) -> Job:
    try:
        request = json.loads((folder / "request.json").read_text())
    except (OSError, ValueError):
        raise NotFound(
            "this job has been removed",
            given=folder.name,
            expected=f"the id of one of the latest {MAX_KEPT} jobs",
            hint="GET /v1/jobs lists them",
        ) from None
    is_alive = _is_locked(folder / "lock")  # first, because the job writes its last status before it ends
    try:
        status = json.loads((folder / "status.json").read_text())
    except (OSError, ValueError):
        status = {"state": "running"}
    if status["state"] == "running" and not is_alive:
        status |= _interruption(folder, status.get("stage"), request.get("memory", 0))
    start = {"stage": "start", "done": 0} | dict.fromkeys(
        ("of", "unit", "note", "items", "rejected", "generation", "error")
    )
    shown = {name: request[name] for name in ("command", "collection", "source", "started_at")}
    return Job(id=folder.name, **shown, **{**start, **status})


def _interruption(folder: Path, stage: str | None, memory: int) -> dict[str, Any]:
    """Return the state, and the error, of a job whose process has ended without a result."""
    if stage == PUBLISH:
        return {"state": "failed", "error": _INTERRUPTED_PUBLISHING}
    if (folder / "canceled").exists():
        return {"state": "canceled"}
    if _NO_MEMORY.search((folder / "output").read_bytes()[-_LAST_BYTES:]):
        return {"state": "failed", "error": too_much_memory(memory)}
    return {"state": "failed", "error": _INTERRUPTED}


def _try_lock(path: Path) -> int | None:
    """Lock a file, and return its descriptor; None if another process has locked it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"the job cannot be started: {error.strerror}",
            expected="a writable cache folder with free space",
            hint="ask the administrator of the server to check GRAPHKIN_CACHE_DIR",
        ) from error
