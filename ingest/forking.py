"""The fork server of the ingest: it imports the modules of the workers once."""

import signal
from multiprocessing import forkserver, resource_tracker

MOLECULES = "graphkin.similarity.molecules.describer"
"""The module with which most workers describe records."""

_WORKERS = ("graphkin.ingest.pool", "pandas")  # pyarrow imports pandas with the first array, if it is installed


def start_fork_server(*modules: str) -> None:
    """Start the fork server unless it runs; return while it imports the modules. It ignores ctrl-C."""
    forkserver.set_forkserver_preload([*_WORKERS, *modules])
    resource_tracker.ensure_running()  # Its first start unblocks the signal.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
