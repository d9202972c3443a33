"""Worker processes that do not import the program's main module.

Processes of `multiprocessing` run the main module again before their work, so a script without a guard around its
calls would start everything a second time, and a program read from standard input cannot be run again at all. Our
workers need nothing of it: they run functions of graphkin's own modules.
"""

import io
import os
from multiprocessing import context, forkserver, popen_forkserver, process, reduction, spawn, util
from typing import Any


class _Popen(popen_forkserver.Popen):
    """Starts a process as the base class does, except that the child is not told where the main module is.

    `multiprocessing` has no option for this, so the start of a process is written out here.
    """

    def _launch(self, child: Any) -> None:
        main = {"init_main_from_name", "init_main_from_path"}
        preparation = {key: value for key, value in spawn.get_preparation_data(child.name).items() if key not in main}
        message = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump(preparation, message)
            reduction.dump(child, message)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, writer = forkserver.connect_to_new_process(self._fds)  # type: ignore[attr-defined]
        alive = os.dup(writer)  # the child sees its other end close when this process ends
        self.finalizer = util.Finalize(self, _close, (alive, self.sentinel))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(message.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class _Process(context.ForkServerProcess):
    @staticmethod
    def _Popen(child: process.BaseProcess) -> Any:  # noqa: N802 - the name that multiprocessing calls
        return _Popen(child)


class _Context(context.ForkServerContext):
    Process = _Process


CONTEXT = _Context()
"""The context to start worker processes in: `ProcessPoolExecutor(4, CONTEXT)`."""
