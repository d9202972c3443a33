"""The fork server of the ingest, which imports the modules of the workers once and then forks the workers."""

import signal
from multiprocessing import forkserver, resource_tracker

MOLECULES = "graphkin.similarity.molecules.describer"
"""The module that describes molecules."""

_COMMON_MODULES = ("graphkin.ingest.pool", "pandas")  # pyarrow imports pandas, if installed, with the first array


def start_fork_server(*modules: str) -> None:
    """Start the fork server unless it is running. It ignores ctrl-C.

    The function returns at once. The fork server imports the modules in the meantime.

    Args:
        modules: Names of modules to import besides those that all workers need.
    """
    forkserver.set_forkserver_preload([*_COMMON_MODULES, *modules])
    resource_tracker.ensure_running()  # first, because its start unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
