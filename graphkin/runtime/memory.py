"""The memory that this process can still allocate."""

import os
from contextlib import suppress
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_CONTROL_GROUP = Path("/sys/fs/cgroup")  # of this process, inside a container


def available_memory(meminfo: Path = _MEMINFO, control_group: Path = _CONTROL_GROUP) -> int:
    """Return the number of bytes that can be allocated without swapping.

    It is what Linux estimates as available, or the limit of the container minus its use if that is less. Systems
    without these files have half of their physical memory.

    Args:
        meminfo: The file with the estimate of Linux.
        control_group: The folder of the control group (version 2) that limits this process.
    """
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2]
    with suppress(OSError, KeyError):
        sizes = [1024 * _numbers(meminfo)["MemAvailable:"]]
    with suppress(OSError, KeyError, ValueError):  # the limit is "max" if there is none
        limit, use = (int((control_group / f"memory.{name}").read_text()) for name in ("max", "current"))
        sizes.append(limit - use + _numbers(control_group / "memory.stat")["inactive_file"])
    return max(min(sizes), 0)


def _numbers(file: Path) -> dict[str, int]:
    """Return the number in each line of a file, by the word before it."""
    return {words[0]: int(words[1]) for line in file.read_text().splitlines() if len(words := line.split()) > 1}
