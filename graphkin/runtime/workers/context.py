"""A `multiprocessing` context whose processes do not run the program's main module.

Normally, a new process runs the main module before its work. A script without `if __name__ == "__main__"` would then
start all over in each process, and a program from standard input cannot be run again. The workers of graphkin only run
functions of its own modules, so they do not need the main module.
"""

import io
import os
from multiprocessing import context, forkserver, popen_forkserver, process, reduction, spawn, util
from typing import Any


class _Popen(popen_forkserver.Popen):
    """Starts a process like the base class, but does not send it the location of the main module or the start method.

    `multiprocessing` has no option for this, so `_launch` repeats the code of the base class. The start method of this
    process may be one of another library that the new process does not know, such as "loky" in a worker of joblib.
    """

    def _launch(self, child: Any) -> None:
        unsent = {"init_main_from_name", "init_main_from_path", "start_method"}
        preparation = {key: value for key, value in spawn.get_preparation_data(child.name).items() if key not in unsent}
        message = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump(preparation, message)
            reduction.dump(child, message)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, writer = forkserver.connect_to_new_process(self._fds)  # type: ignore[attr-defined]
        alive = os.dup(writer)  # stays open while this process lives, so that the child can notice its end
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
"""The context for worker processes, as in `ProcessPoolExecutor(4, CONTEXT)`."""
