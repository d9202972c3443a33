"""Check that a trainer rejects altered responses, offline folders and epoch files, and names them.

    python -m tests.rigs.lying_replies [--rounds N] [--seed S]

A real server responds, and a proxy alters one kind of response. Folders are altered after they were written, most of
them with matching checksums. Each lie must end `graphkin pretrain` with exit code 4 and a message that names the
response or the file, before the first step. `--rounds` limits the number of lies, sampled by the seed.
"""

import argparse
import http
import io
import random
import shutil
import sys
import tempfile
import threading
import traceback
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from rdkit import RDConfig

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.api.work.pool import new_fork_server
from graphkin.cli import run
from tests.rigs.lies import FIRST, HIGH, FolderLie, ReplyLie, epoch_lies, offline_lies, reply_lies

MOLECULES = 120
SMALL = ("--epochs", 1, "--batch-size", 16, "--set", "model.layers=2", "--set", "model.width=8")
_PASSED_ON = ("content-type", "graphkin-generation", "retry-after")


class Outcome(NamedTuple):
    code: int
    message: str


def graphkin(*arguments: object) -> Outcome:
    """Run the command in this process."""
    output = io.StringIO()
    with redirect_stderr(output), redirect_stdout(output):
        try:
            code = run([str(argument) for argument in arguments])
        except Exception:  # a user would see the same traceback and exit code 1
            return Outcome(1, traceback.format_exc())
    return Outcome(code, output.getvalue())


class _Liar(ThreadingHTTPServer):
    """A proxy of the server at `server_url` that alters the responses selected by `lie`.

    `alterations` counts altered responses.
    """

    daemon_threads = True

    def __init__(self, server_url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.server_url = server_url
        self.lie: ReplyLie | None = None
        self.alterations = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Write nothing: a client closes its connection once it has detected the lie."""


class _Handler(BaseHTTPRequestHandler):
    server: _Liar
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        request = urllib.request.Request(self.server.server_url + self.path, headers={"Accept": self.headers["Accept"]})
        try:
            reply = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:  # for example 503 while positives are sampled
            reply = error
        with reply:
            body = reply.read()
            headers = {name.title(): reply.headers[name] for name in _PASSED_ON if name in reply.headers}
        lie = self.server.lie
        if lie is not None and reply.status == http.HTTPStatus.OK and lie.request in f"{self.path}?":
            body = lie.alter(body, headers)
            self.server.alterations += 1
        self.send_response(reply.status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


class Rig:
    """A store, its server, a proxy that lies, an offline folder and a folder of epochs. All data is correct."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        molecules = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
        lines = molecules.read_text().splitlines()[: MOLECULES - 2]
        (folder / "nci.smi").write_text("\n".join([*lines, "C/C=C/CO trans", "C/C=C\\CO cis"]) + "\n")
        self.store = folder / "store"
        self._right(
            "ingest", "molecules", folder / "nci.smi", "--store", self.store, "--collection", "nci", "--workers", 1
        )

    @contextmanager
    def serving(self) -> Iterator["Rig"]:
        settings = Settings(store=self.store, port=0, cache_dir=self.folder / "server-cache")
        with (
            closing(new_fork_server()) as fork_server,
            Server(settings, fork_server).running() as url,
            _Liar(url) as self.liar,
        ):
            thread = threading.Thread(target=self.liar.serve_forever, name="liar")
            thread.start()
            try:
                self._write_folders(url)
                yield self
            finally:
                self.liar.shutdown()
                thread.join()

    def _write_folders(self, url: str) -> None:
        """Write both folders from the unaltered server and store."""
        self.offline, self.epochs = self.folder / "offline", self.folder / "epochs"
        where = ("--api", url, "--collection", "nci", "--cache-dir", self.folder / "cache")
        self._right("fetch", *where, *HIGH, "--batch-size", 16, "--epochs", 1, "--output", self.offline)
        drawn = ("--policy", "first_order", "--epochs", 1, "--output", self.epochs)
        self._right("epochs", "--store", self.store, "--collection", "nci", *drawn)

    @staticmethod
    def _right(*arguments: object) -> None:
        ended = graphkin(*arguments)
        if ended.code:
            raise RuntimeError(f"{arguments[0]}: {ended.message}")

    def train(self, *options: object) -> tuple[Outcome, int]:
        """Run a training in a new folder with a new cache, and return its outcome and the number of recorded steps."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            output = Path(name) / "run"
            ended = graphkin("pretrain", *options, *SMALL, "--output", output)
            metrics = output / "metrics.jsonl"
            steps = len(metrics.read_text().splitlines()) if metrics.exists() else 0
        return ended, steps

    def served(self, lie: ReplyLie | None, options: tuple[str, ...], *more: object) -> tuple[Outcome, int]:
        """Run a training with the server behind the proxy."""
        self.liar.lie, self.liar.alterations = lie, 0
        with tempfile.TemporaryDirectory(dir=self.folder) as cache:
            where = ("--api", self.liar.url, "--collection", "nci", "--cache-dir", cache)
            ended = self.train(*where, *options, *more)
        if lie is not None and not self.liar.alterations:
            raise RuntimeError(f"{lie.name}: no reply was altered")
        return ended

    def altered(self, whole: Path, lie: FolderLie, train: Callable[[Path], tuple[Outcome, int]]) -> tuple[Outcome, int]:
        """Run a training with an altered copy of a folder."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            copy = Path(name) / "copy"
            shutil.copytree(whole, copy)
            lie.alter(copy)
            return train(copy)


class Trial(NamedTuple):
    """A lie: its kind, its name, the name that the message must contain, and a training that encounters it."""

    kind: str
    name: str
    names: str
    train: Callable[[], tuple[Outcome, int]]


def campaign(rig: Rig) -> list[Trial]:
    """Return a trial for every lie."""

    def offline(copy: Path) -> tuple[Outcome, int]:
        return rig.train("--offline", copy, *HIGH)

    def epochs(copy: Path) -> tuple[Outcome, int]:
        return rig.served(None, FIRST, "--epochs-from", copy)

    return [
        *(Trial("reply", each.name, each.names, partial(rig.served, each, each.options)) for each in reply_lies()),
        *(
            Trial("offline folder", each.name, each.names, partial(rig.altered, rig.offline, each, offline))
            for each in offline_lies()
        ),
        *(
            Trial("folder of epochs", each.name, each.names, partial(rig.altered, rig.epochs, each, epochs))
            for each in epoch_lies()
        ),
    ]


def violations(folder: Path, rounds: int | None = None, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """Return the number of correctly rejected lies by kind, and descriptions of all violations."""
    refused, wrong = Counter[str](), []
    with Rig(folder).serving() as rig:
        wrong += _unbelieved("the offline folder", rig.train("--offline", rig.offline, *HIGH))
        wrong += _unbelieved("the server", rig.served(None, HIGH))
        wrong += _unbelieved("the folder of epochs", rig.served(None, FIRST, "--epochs-from", rig.epochs))
        lies = campaign(rig)
        if rounds is not None:
            lies = random.Random(seed).sample(lies, min(rounds, len(lies)))
        for kind, name, names, train in lies:
            ended, steps = train()
            if ended.code == 4 and names in ended.message and "Traceback" not in ended.message and not steps:
                refused[kind] += 1
            else:
                wrong.append(f"{kind}, {name}: exit {ended.code}, {steps} steps, {names}: {ended.message.strip()}")
    return refused, wrong


def _unbelieved(what: str, trained: tuple[Outcome, int]) -> list[str]:
    ended, steps = trained
    return [] if steps and not ended.code else [f"{what} is right and was refused: {ended.message}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="lies; by default all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        refused, wrong = violations(Path(folder), options.rounds, options.seed)
    for kind, count in refused.items():
        print(f"{kind}: {count} lies refused by name")
    print("\n".join(wrong) or "no lie was believed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
