"""Worker pools of the server: their tasks, and the translation of their errors into `GraphkinError`."""

from graphkin.api.work.errors import unpack
from graphkin.protocol.errors import StoreBusy, StoreError
from graphkin.runtime.workers.fork_server import CannotStart, ForkServer
from graphkin.runtime.workers.pool import PoolFull, TaskFailed, WorkerEnded, WorkerPool

PATIENCE = 10.0
"""Seconds that a request waits for a busy processor before it gets `StoreBusy`."""

TASKS = {
    "read_query": "graphkin.api.work.queries",
    "read_queries": "graphkin.api.work.queries",
    "draw_molecule": "graphkin.depiction.molecule",
    "draw_graph": "graphkin.depiction.graph",
    "shared_atoms": "graphkin.depiction.molecule",
    "find_mcs": "graphkin.collection.clusters.mcs",
    "read_scaffold": "graphkin.collection.sar.scaffolds",
    "decompose": "graphkin.collection.sar.rgroups",
    "cut_molecule": "graphkin.collection.sar.matched_pairs.applying",
    "join_parts": "graphkin.collection.sar.matched_pairs.applying",
    "describe_molecule": "graphkin.collection.sar.descriptors",
    "export": "graphkin.api.work.exporting",
    "export_rgroups": "graphkin.api.work.exporting",
    "read_pattern": "graphkin.api.work.matching",
    "describe": "graphkin.api.work.matching",
    "match": "graphkin.api.work.matching",
    "preview_file": "graphkin.ingest.preview",
}
"""Module of each task. The task is the function of that name in the module."""


def new_fork_server() -> ForkServer:
    """Return a fork server for `TASKS`. It starts when a pool first needs a process."""
    return ForkServer(TASKS, "graphkin.api.work.errors:pack_error")


class WorkerLost(StoreError):
    """The worker process ended before it replied."""


class TaskError(StoreError):
    """The task raised an exception that is not a `GraphkinError`."""


def processors_busy(problem: str) -> StoreBusy:
    """Return the error for a request that ran out of time because the processors are busy."""
    return StoreBusy(f"{problem}: the processors are busy", hint="try again in 2 s", retry_after=2)


class Pool(WorkerPool):
    """Worker pool whose errors are instances of `GraphkinError`, including the errors that a task raises."""

    def translate(self, error: Exception) -> Exception:
        match error:
            case PoolFull():
                return StoreBusy("too many requests of this kind are waiting", hint="try again in 2 s", retry_after=2)
            case CannotStart():
                return StoreError(
                    f"the server cannot start worker processes: {error}",
                    hint="free memory on the server, or allow more processes",
                )
            case WorkerEnded():
                return WorkerLost(
                    "the worker process of this request ended before it replied",
                    hint="try again; if it happens again, send a smaller request",
                )
            case TaskFailed():
                return unpack(error.packed) or TaskError(error.packed["detail"])
        return error
