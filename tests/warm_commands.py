"""A `graphkin` command that starts within milliseconds, for tests that run hundreds of real command lines.

The command is a script that hands its arguments, environment, folder and standard streams to a server. The server has
imported graphkin and loaded the compiled kernels. It forks, and the child runs the command as the real one does.

    python -m tests.warm_commands SOCKET
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

_SCRIPT = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(request).to_bytes(4, "big")], [0, 1, 2])
server.sendall(request)
code = server.recv(1)
sys.exit(code[0] if code else 70)
"""


@contextlib.contextmanager
def warm_commands(folder: Path) -> Iterator[Path]:
    """Run the server, and yield the folder with the command `graphkin`, which belongs first on PATH."""
    address, programs = folder / "server", folder / "bin"
    programs.mkdir()
    script = programs / "graphkin"
    script.write_text(_SCRIPT.format(python=sys.executable, address=str(address)))
    script.chmod(0o755)
    command = [sys.executable, "-m", "tests.warm_commands", str(address)]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n", "the server of commands did not start"
        try:
            yield programs
        finally:
            process.kill()


def _load() -> None:
    """Import the modules of commands and load the kernels, by commands on five molecules.

    torch is imported but computes nothing, because its threads would not survive the fork.
    """
    import graphkin.trainer.downstream.study
    import graphkin.trainer.pretraining.pretrain  # noqa: F401
    from graphkin.cli import run

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        file, store = Path(folder, "molecules.smi"), f"{folder}/store"
        file.write_text("CCO a\nCCCO b\nCCCCO c\nCCCCCO d\nc1ccccc1 e\n")
        place = ["--store", store, "--collection", "c"]
        for words in (
            ["ingest", "molecules", str(file), "--workers", "1"],
            ["info"],
            ["neighbors", "--id", "0"],
            ["search", "CCO", "--limit", "1"],
            ["query", "--output", f"{folder}/items.csv"],
        ):
            run([*words, *place])


def _end_with_client(connection: socket.socket) -> None:
    """Terminate this process when the script has ended, for instance by a signal, and kill it if it goes on."""
    if connection.recv(1) == b"":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
        os.kill(os.getpid(), signal.SIGKILL)


def _run(connection: socket.socket) -> int:
    """Run the command of a connection in this process, and return its exit code."""
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    request = b""
    while len(request) < int.from_bytes(size, "big"):
        request += connection.recv(1 << 16)
    arguments, folder, environment = json.loads(request)
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = ["graphkin", *arguments]
    # The fork server of ingests is a child of the server of commands, so this process cannot ask whether it runs.
    running: Any = forkserver
    running.ensure_running = running._forkserver.ensure_running = lambda: None
    threading.Thread(target=_end_with_client, args=[connection], daemon=True).start()
    from graphkin.cli import main

    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return 0


def main(address: str) -> None:
    """Answer connections until the process is killed, each in a child process."""
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes ended children
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                server.close()
                code = 70
                try:
                    code = _run(connection)
                except BaseException:
                    traceback.print_exc()
                finally:
                    connection.sendall(bytes([code]))
                    os._exit(code)
            connection.close()


if __name__ == "__main__":
    main(sys.argv[1])
