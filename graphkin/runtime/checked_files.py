"""A record that the arrays in a folder have been compared with their checksums since the machine started.

The comparison reads every byte, which takes seconds for gigabytes. The files were not synced when they were written, so
a power cut can damage them. It ends all records as well: a record holds an id of the current run of the operating
system. Without such an id, as on macOS, no record is valid.
"""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from graphkin.runtime.folders import FILE_MODE

States: TypeAlias = dict[str, list[int]]
"""Size, time of the last change in nanoseconds, and inode of each file, by name."""

_RECORD = "checked.json"
_RUN_ID = Path("/proc/sys/kernel/random/boot_id")
_CLOCK_STEP = 1_000_000_000  # nanoseconds; two changes within a step can have the same time


def file_states(folder: Path) -> States:
    """Return the states of the .npy files in a folder."""
    statuses = {path.name: path.stat() for path in folder.glob("*.npy")}
    return {name: [status.st_size, status.st_mtime_ns, status.st_ino] for name, status in statuses.items()}


def record_check(folder: Path, states: States) -> None:
    """Record that the files match their checksums. `states` were read before the files were.

    If the record cannot be written, nothing happens.
    """
    record = {"run": _run_id(), "recorded_at": time.time_ns(), "files": states}
    with suppress(OSError):
        path = folder / _RECORD
        path.touch(mode=FILE_MODE)
        path.write_text(json.dumps(record), encoding="utf-8")


def is_checked(folder: Path, states: States) -> bool:
    """Return whether a record of the folder is from this run of the system, and its files are unchanged since then.

    A file that was changed just before it was recorded could have changed again without another time, so the record of
    such a file does not count.
    """
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        run, latest = record["run"], record["recorded_at"] - _CLOCK_STEP
        return (
            run is not None
            and run == _run_id()
            and record["files"] == states
            and all(changed_at < latest for _, changed_at, _ in states.values())
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _run_id() -> str | None:
    """Return the id of the current run of the operating system, or None if it has none."""
    try:
        return _RUN_ID.read_text(encoding="ascii").strip()
    except OSError:
        return None
