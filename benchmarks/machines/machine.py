"""Machines that share nothing but a network: Linux namespaces with a host name, files and processes of their own."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import psutil

TOOLS = ("ip", "java", "mount", "nsenter", "unshare")
_PATIENCE = 30.0  # seconds until a machine must have started

_START = """
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 machine "$1"
mkdir "$1/written" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/written,workdir=$1/work" overlay "$1/root"
cd "$1/root"
mount -t proc proc proc
mount --rbind /dev dev
mount --rbind /sys sys
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t tmpfs -o mode=1777 tmp tmp
mkdir -p "home/$2"
printf '%s\n' "127.0.0.1 localhost" "$3" > etc/hosts
hostname "$2"
ip link set lo up
exec chroot . sleep infinity
"""


class Unavailable(Exception):
    """This machine cannot hold others. The message says why."""


def run_in_namespaces(command: Sequence[str]) -> NoReturn:
    """Replace this process by a command that may create machines. They all end with it.

    Raises:
        Unavailable: A tool is missing, or this kernel or container allows no namespaces.
    """
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        raise Unavailable(f"this machine has no {' and no '.join(missing)}")
    isolated = [
        *("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"),
        "--mount-proc",
    ]
    trial = [*isolated, "sh", "-c", "ip link add name here type veth peer name there && ip link set lo up"]
    outcome = subprocess.run(trial, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise Unavailable(f"this machine allows no namespaces: {outcome.stderr.strip()}")
    sys.stdout.flush()
    os.execvp(isolated[0], [*isolated, *command])


class Link(NamedTuple):
    """Bytes that a network interface has received and sent."""

    received: int
    sent: int


class Machine:
    """A machine, as `machine` starts it.

    Attributes:
        name: Its host name.
        pid: Its first process. If this process is killed, all others of the machine end too.
    """

    def __init__(self, name: str, pid: int) -> None:
        self.name, self.pid = name, pid

    def command(self, *arguments: str | Path) -> list[str]:
        """Return a command line that runs a command on the machine, in its home folder."""
        enter = ["nsenter", "-t", str(self.pid), "-m", "-n", "-u", "-p", "-r", "-w"]
        home = f"/home/{self.name}"
        return [*enter, "env", "-C", home, f"HOME={home}", *map(str, arguments)]

    def run(self, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> str:
        """Run a command on the machine, and return what it prints."""
        outcome = subprocess.run(
            self.command(*arguments), env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return outcome.stdout

    def links(self) -> dict[str, Link]:
        """Return the counters of the machine's network interfaces, by their names."""
        listed: list[dict[str, Any]] = json.loads(self.run("ip", "-s", "-j", "link"))
        return {each["ifname"]: Link(each["stats64"]["rx"]["bytes"], each["stats64"]["tx"]["bytes"]) for each in listed}

    def path(self, path: str | Path) -> Path:
        """Return a path by which this machine reaches a file of the other."""
        return Path(f"/proc/{self.pid}/root", str(path).lstrip("/"))

    def processes(self) -> list[psutil.Process]:
        """Return the machine's processes."""
        return [each for each in psutil.process_iter() if _namespace(each.pid) == _namespace(self.pid)]


@contextmanager
def machine(name: str, folder: Path, hosts: Mapping[str, str]) -> Iterator[Machine]:
    """Start a machine, and end it after the block.

    It sees the files of this machine, such as Python and the checkout, but no temporary file, and its home folder is
    empty. Files that it writes are kept in memory, and only it sees them.

    Args:
        name: Its host name.
        folder: An empty folder.
        hosts: Addresses of hosts by name, which the machine knows.
    """
    table = "\n".join(f"{address} {host}" for host, address in hosts.items())
    isolated = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child"]
    with subprocess.Popen([*isolated, "sh", "-c", _START, "sh", str(folder), name, table]) as process:
        try:
            yield Machine(name, _first_process(process))
        finally:
            process.kill()


def _namespace(pid: int) -> str | None:
    """Return the namespace of process ids that a process belongs to, or None if it has ended."""
    with suppress(FileNotFoundError):
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    return None


def _first_process(process: "subprocess.Popen[bytes]") -> int:
    """Wait until the machine is ready, and return the process id of its first process."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        with suppress(psutil.Error):
            for child in psutil.Process(process.pid).children():
                if child.cmdline() == ["sleep", "infinity"]:
                    return child.pid
        time.sleep(0.01)
    raise Unavailable(f"a machine does not start: exit code {process.poll()}")


def connect(one: Machine | None, other: Machine, names: tuple[str, str], addresses: tuple[str, str]) -> None:
    """Connect two machines by a cable.

    Args:
        one: A machine, or None for this one.
        other: The other machine.
        names: Name of the interface on each side.
        addresses: Address of each side.
    """
    sides = [
        ["name", name, "netns", str(os.getpid() if each is None else each.pid)]
        for each, name in zip((one, other), names, strict=True)
    ]
    _run("ip", "link", "add", *sides[0], "type", "veth", "peer", *sides[1])
    for machine_here, name, address in zip((one, other), names, addresses, strict=True):
        for command in (("addr", "add", f"{address}/24", "dev", name), ("link", "set", name, "up")):
            _run(*([] if machine_here is None else machine_here.command()), "ip", *command)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
