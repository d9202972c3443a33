"""Two machines, an object store that both reach, and a standalone Spark cluster on both."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import psutil
import pyspark

from benchmarks.command import OWN
from benchmarks.machines.machine import Machine, connect, machine
from benchmarks.machines.store import KEYS, PORT, ObjectStore, object_store

MASTER = "spark://one:7077"
ENVIRONMENT = {
    **KEYS,
    "AWS_ENDPOINT_URL_S3": f"http://store:{PORT}",
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(OWN),
    "SPARK_NO_DAEMONIZE": "1",
}
"""Environment of all processes on the machines."""

_DEPLOY = "org.apache.spark.deploy"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class Cluster:
    """Two machines with one core each.

    Attributes:
        one: The machine with the master and a worker, which also runs the commands.
        two: The machine with the other worker.
        store: The object store.
    """

    def __init__(self, one: Machine, two: Machine, store: ObjectStore) -> None:
        self.one, self.two, self.store = one, two, store

    def start(self, *arguments: str | Path) -> "subprocess.Popen[str]":
        """Start a command of graphkin on the first machine."""
        command = self.one.command(sys.executable, "-m", "graphkin", *arguments)
        return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)

    def kill_executor(self) -> None:
        """Kill the executor of the second machine. Its worker starts another."""
        (executor,) = (each for each in self.two.processes() if _EXECUTOR in _command(each))
        executor.kill()

    def unplug(self) -> None:
        """Disconnect the second machine. Connections to it stay open, but nothing arrives anymore."""
        for cable in ("one", "store"):
            self.two.run("ip", "link", "set", cable, "down")


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start the machines, the object store and Spark. This process and the store are the third machine.

    Bytes between a machine and the store, and those between both machines, pass through different cables.

    Args:
        folder: An empty folder.
    """
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with ExitStack() as stack:
        store = stack.enter_context(object_store(folder))
        hosts = {"one": "10.77.3.1", "two": "10.77.3.2"}
        machines = []
        for number, name in enumerate(hosts, 1):
            (folder / name).mkdir()
            known = {**hosts, "store": f"10.77.{number}.1"}
            each = stack.enter_context(machine(name, folder / name, known))
            connect(None, each, (name, "store"), (f"10.77.{number}.1", f"10.77.{number}.2"))
            machines.append(each)
        one, two = machines
        connect(one, two, ("two", "one"), (hosts["one"], hosts["two"]))
        log = stack.enter_context((folder / "spark.log").open("wb"))
        master = ("Master", "--host", "one", "--port", "7077", "--webui-port", "0")
        stack.enter_context(_spark(one, log, *master))
        for each in machines:
            worker = ("Worker", "--host", each.name, "--webui-port", "0", "--cores", "1", "--memory", "2g")
            stack.enter_context(_spark(each, log, *worker, "--work-dir", "/tmp/spark", MASTER))
        yield Cluster(one, two, store)


@contextmanager
def _spark(where: Machine, log: IO[bytes], service: str, *arguments: str) -> Iterator[None]:
    launch = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = where.command(launch, f"{_DEPLOY}.{service.lower()}.{service}", *arguments)
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=log, stderr=log) as process:
        try:
            yield
        finally:
            process.kill()


def _command(process: psutil.Process) -> list[Any]:
    try:
        return process.cmdline()
    except psutil.Error:  # the process has ended
        return []
