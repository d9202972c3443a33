"""The process that workers are forked from: what they need is imported there once."""

import signal
from multiprocessing import forkserver, resource_tracker

MOLECULES = "graphkin.similarity.molecules.describer"
"""What most workers describe records with."""

_WORKERS = ("graphkin.ingest.pool", "pandas")  # where it is installed, pyarrow imports it with the first array


def begin(*describing: str) -> None:
    """Start it, unless it runs, and go on while it imports modules that describe records. It never hears ctrl-C."""
    forkserver.set_forkserver_preload([*_WORKERS, *describing])
    resource_tracker.ensure_running()  # which unblocks the signal when it is first started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
