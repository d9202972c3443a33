"""Let two processes write one lake concurrently, in a folder and on S3. Exactly one of them must succeed.

`python -m tests.rigs.lake_writers --rounds 50 --seed 0`
"""

import argparse
import logging
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import httpx
from moto.server import ThreadedMotoServer
from s3fs import S3FileSystem  # type: ignore[import-untyped]

from graphkin.protocol.errors import GraphkinError
from graphkin.store.contract.hierarchies import GRAPHS, MOLECULES
from graphkin.store.lake.export_folder import ExportFolder
from graphkin.store.lake.layout import MANIFEST, parse_manifest
from graphkin.store.lake.store import LakeStore

_WRITTEN = {"molecules": MOLECULES, "graphs": GRAPHS}
NAMES = tuple(_WRITTEN)
_SKEW = 0.02  # maximum seconds between the starts of both writers


@contextmanager
def s3_bucket() -> Iterator[str]:
    """Yield the URL of an empty bucket on an S3 server in this process, and point the environment to that server."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
    with patch.dict(os.environ, {**keys, "AWS_ENDPOINT_URL_S3": url}):
        assert httpx.put(f"{url}/bucket", timeout=60).status_code == 200  # the server first imports its models of S3
        yield "s3://bucket"
    S3FileSystem.clear_instance_cache()  # a cached instance refers to this server
    server.stop()


def race(root: str, cache: Path, rounds: int, seed: int) -> Counter[str]:
    """Count the outcomes of the rounds. Each round has its own folder below the URL."""
    chance = random.Random(seed)
    outcomes: Counter[str] = Counter()
    spawning = multiprocessing.get_context("spawn")
    barrier = spawning.Barrier(2)
    with ExitStack() as stack:
        writers = []
        for name in NAMES:
            ours, theirs = spawning.Pipe()
            process = spawning.Process(target=_write, args=(name, cache, barrier, theirs), daemon=True)
            process.start()
            stack.callback(process.join)
            stack.callback(ours.send, None)
            writers.append(ours)
        for number in range(rounds):
            url = f"{root}/{number}"
            for writer in writers:
                writer.send((url, chance.random() * _SKEW))
            outcomes[_outcome(url, cache, [writer.recv() for writer in writers])] += 1
    return outcomes


def _write(name: str, cache: Path, barrier: Barrier, orders: Connection) -> None:
    """Publish a collection of this name at each requested URL, and reply with the exit code and the message."""
    while (order := orders.recv()) is not None:
        url, wait = order
        store = LakeStore(url, create=True, cache=cache)
        barrier.wait()
        time.sleep(wait)
        try:
            _WRITTEN[name].publish(store, name)
            orders.send((0, ""))
        except GraphkinError as error:
            orders.send((error.exit_code, error.detail))


def _outcome(url: str, cache: Path, replies: list[tuple[int, str]]) -> str:
    codes = [code for code, _ in replies]
    if codes.count(0) != 1:
        return f"VIOLATION: exit codes {codes}"
    winner = codes.index(0)
    code, message = replies[1 - winner]
    if not (code == 4 or (code == 2 and "a lake is written once" in message)):
        return f"VIOLATION: the loser exits {code}: {message}"
    with LakeStore(url, cache=cache).open(NAMES[winner]) as generation:
        if generation.check():
            return "VIOLATION: a damaged lake is published"
    export_folder = ExportFolder(url)
    listed = {part.name for part in parse_manifest(export_folder.read(MANIFEST)).all_parts()}
    if set(export_folder.names()) != {MANIFEST, *listed}:
        return "VIOLATION: files are left that the manifest does not list"
    return f"one wins, the other: {message}"


def violations(outcomes: Counter[str]) -> int:
    return sum(count for outcome, count in outcomes.items() if outcome.startswith("VIOLATION"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failed = 0
    with TemporaryDirectory() as folder, s3_bucket() as bucket:
        for kind, root in (("folder", f"{folder}/lakes"), ("S3", bucket)):
            outcomes = race(root, Path(folder) / "cache", arguments.rounds, arguments.seed)
            for outcome, count in outcomes.most_common():
                print(f"{kind:6} {count:5}  {outcome}")
            failed += violations(outcomes)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
