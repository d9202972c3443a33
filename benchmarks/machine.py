"""What a process and its descendants take of the machine. No process takes nothing."""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TypeVar

import psutil

T = TypeVar("T")


class Memory(NamedTuple):
    """Bytes, summed over the processes.

    resident   all that is in memory, files mapped into several processes counted in each
    anonymous  the part that is no file's
    """

    resident: int
    anonymous: int


def memory(pid: int | None) -> Memory:
    told = _told(pid, psutil.Process.memory_info)
    return Memory(sum(each.rss for each in told), sum(each.rss - each.shared for each in told))


def proportional(pid: int | None) -> int:
    """Bytes in memory, those shared with other processes divided by their number (proportional set size)."""
    return sum(each.pss for each in _told(pid, psutil.Process.memory_full_info))


def descriptors(pid: int | None) -> int:
    """Files, sockets and pipes that are open."""
    return sum(_told(pid, psutil.Process.num_fds))


def processor_seconds(pid: int | None) -> float:
    """User and system time of all threads, children that ended and were waited for included."""
    told = _told(pid, psutil.Process.cpu_times)
    return sum(each.user + each.system + each.children_user + each.children_system for each in told)


def family(pid: int | None) -> list[psutil.Process]:
    """The process and its descendants."""
    if pid is None:
        return []
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _told(pid: int | None, tell: Callable[[psutil.Process], T]) -> list[T]:
    """What the members of a family that do not end meanwhile tell."""
    told = []
    for process in family(pid):
        with suppress(psutil.NoSuchProcess):
            told.append(tell(process))
    return told
