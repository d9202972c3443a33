"""What a process and its descendants take of the machine, read from /proc. No process takes nothing."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_TIMES = slice(11, 15)  # utime, stime, cutime, cstime behind the name in /proc/PID/stat


class Memory(NamedTuple):
    """Bytes, summed over the processes.

    resident   all that is in memory, files mapped into several processes counted in each
    anonymous  the part that is no file's
    """

    resident: int
    anonymous: int


def memory(pid: int | None) -> Memory:
    resident = anonymous = 0
    for each in family(pid):
        for line in _read(each, "status").splitlines():
            name, _, value = line.partition(":")
            if name == "VmRSS":
                resident += 1024 * int(value.split()[0])
            elif name == "RssAnon":
                anonymous += 1024 * int(value.split()[0])
    return Memory(resident, anonymous)


def processor_seconds(pid: int | None) -> float:
    """User and system time of all threads, children that ended and were waited for included."""
    ticks = 0
    for each in family(pid):
        fields = _read(each, "stat").rpartition(")")[2].split()
        ticks += sum(map(int, fields[_TIMES]))
    return ticks / _TICKS


def family(pid: int | None) -> Iterator[int]:
    """The process and its descendants."""
    if pid is None:
        return
    yield pid
    for thread in _threads(pid):
        for child in _read(pid, f"task/{thread}/children").split():
            yield from family(int(child))


def _threads(pid: int) -> list[str]:
    try:
        return [folder.name for folder in Path(f"/proc/{pid}/task").iterdir()]
    except FileNotFoundError:  # it ended meanwhile
        return []


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
