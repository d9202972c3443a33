"""Resource use of a process and its descendants. Without a process it is 0."""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TypeVar

import psutil

T = TypeVar("T")


class Memory(NamedTuple):
    """Memory in bytes, summed over the processes.

    Attributes:
        resident: everything in memory. Files mapped into several processes count in each.
        anonymous: the part that belongs to no file.
    """

    resident: int
    anonymous: int


def memory(pid: int | None) -> Memory:
    infos = _read_each(pid, psutil.Process.memory_info)
    return Memory(sum(each.rss for each in infos), sum(each.rss - each.shared for each in infos))


def proportional(pid: int | None) -> int:
    """Return the proportional set size in bytes: shared memory divided by the number of its processes."""
    return sum(each.pss for each in _read_each(pid, psutil.Process.memory_full_info))


def descriptors(pid: int | None) -> int:
    """Return the number of open files, sockets and pipes."""
    return sum(_read_each(pid, psutil.Process.num_fds))


def processor_seconds(pid: int | None) -> float:
    """Return user and system time of all threads, including children that ended and were waited for."""
    times = _read_each(pid, psutil.Process.cpu_times)
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def family(pid: int | None) -> list[psutil.Process]:
    """Return the process and its descendants."""
    if pid is None:
        return []
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _read_each(pid: int | None, read: Callable[[psutil.Process], T]) -> list[T]:
    """Return the values of all members of a family that do not end in the meantime."""
    values = []
    for process in family(pid):
        with suppress(psutil.NoSuchProcess):
            values.append(read(process))
    return values
