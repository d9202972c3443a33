"""Killed builds of positive sets: by a server, and by two processes that share a folder."""

import subprocess
import sys
import time
from contextlib import contextmanager
from functools import cache

import httpx
import numpy as np
import pytest

from graphkin.protocol.policy import Policy
from graphkin.store import open_store
from graphkin.store.positives import PositiveCache
from tests.integration.conftest import publish_ring

KILLS, SERVERS, PAIRS = 5, 3, 3
ITEMS = 40_000
POLICY = {"length": 4, "walks": 32, "k": 8}  # expensive, so that a build takes a while
EPOCHS = 3
BUILDER = """
import sys
from pathlib import Path
from graphkin.store import open_store
from graphkin.store.positives import PositiveCache
from graphkin.protocol.policy import Policy

store, folder, *epochs = sys.argv[1:]
with open_store(store) as opened, opened.open("ring") as generation:
    cache = PositiveCache(Path(folder), 10**9, block=4096)
    policy = Policy.from_name("random_walk", POLICY)
    print("ready", flush=True)
    for epoch in epochs:
        cache.build(generation.sampler(threads=1), generation.id, generation.size, policy, 0, int(epoch))
""".replace("POLICY", ", ".join(f"{name}={value}" for name, value in POLICY.items()))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ring") / "store"
    with open_store(folder, create=True) as opened:
        publish_ring(opened, "ring", ITEMS)
    return folder


@pytest.fixture(scope="module")
def build_all(store):
    """Return a function that builds the missing sets of a folder and returns the columns of every epoch."""

    def build(folder):
        policy = Policy.from_name("random_walk", **POLICY)
        positive_cache = PositiveCache(folder, 10**9)
        with open_store(store) as opened, opened.open("ring") as generation:
            arguments = (generation.sampler(threads=1), generation.id, generation.size, policy, 0)
            sets = [positive_cache.build(*arguments, epoch) for epoch in range(EPOCHS)]
            return [
                np.array(getattr(each, name))
                for each in sets
                for name in ("anchors", "counts", "isolated", "positives", "visits")
            ]

    return build


@pytest.fixture(scope="module")
def builder(store):
    def start(folder, epochs):
        command = [sys.executable, "-c", BUILDER, store, folder, *map(str, epochs)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    return start


@pytest.fixture(scope="module")
def undisturbed_build(build_all, builder, tmp_path_factory):
    """Return undisturbed sets, and the seconds that a process takes to build them."""
    folder = tmp_path_factory.mktemp("alone")
    with builder(folder / "process", range(EPOCHS)) as process:
        assert process.stdout.readline() == "ready\n"
        begin = time.monotonic()
        process.wait()
        seconds = time.monotonic() - begin
    assert process.returncode == 0
    return build_all(folder / "here"), seconds


@pytest.mark.parametrize("block", range(PAIRS))
def test_surviving_process_completes_shared_positive_sets(block, undisturbed_build, build_all, builder, part, tmp_path):
    """The processes start at opposite ends. One is killed, and the other continues."""
    kills, (expected, seconds) = part("positive sets, two processes"), undisturbed_build
    for number, random in enumerate(kills.attempts(f"pair {block}", KILLS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with builder(folder, range(EPOCHS)) as first, builder(folder, reversed(range(EPOCHS))) as other:
            for each in (first, other):
                assert each.stdout.readline() == "ready\n"
            time.sleep(random.random() * seconds / 2)  # half of the time, because they share the work
            partial = any(folder.glob("*.partial"))
            first.kill()
        if first.returncode == 0:
            kills.late += 1
            continue
        kills.landed["building" if partial else "between builds"] += 1
        assert other.returncode == 0
        leftovers = [each.name for each in folder.glob("*.partial")]
        actual = build_all(folder)
        kills.diverging += [f"pair, block {block}, attempt {number}: {name} is left" for name in leftovers]
        if not all(np.array_equal(*each) for each in zip(actual, expected, strict=True)):
            kills.diverging.append(f"pair, block {block}, attempt {number}: other sets")


@pytest.fixture(scope="module")
def expected(store, serve):
    """Yield a function that returns an epoch of an undisturbed server, and the seconds of its build."""
    with serve(store) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield cache(lambda epoch: wait_for_epoch(client, epoch))


def request_epoch(client, epoch):
    headers = {"Accept": "application/vnd.apache.arrow.stream"}
    path = f"/v1/collections/ring/positives/epochs/{epoch}"
    return client.get(path, params={"policy": "random_walk", **POLICY}, headers=headers)


def wait_for_epoch(client, epoch):
    """Return the epoch once it is built, and the seconds until then."""
    begin = time.monotonic()
    while (reply := request_epoch(client, epoch)).status_code == 503:
        time.sleep(0.02)
    assert reply.status_code == 200
    return reply.content, time.monotonic() - begin


@pytest.mark.parametrize("block", range(SERVERS))
def test_killed_server_leaves_correct_positive_sets(block, store, expected, serve_apart, part, tmp_path):
    """Servers run one after the other over the same cache, and each is killed while it builds the next epoch."""
    kills = part("positive sets, server")

    @contextmanager
    def server():
        with serve_apart(store, tmp_path) as (url, process), httpx.Client(base_url=url, timeout=60) as client:
            yield client, process

    def compare(client, epoch):
        if wait_for_epoch(client, epoch)[0] != expected(epoch)[0]:
            kills.diverging.append(f"server, block {block}: epoch {epoch} is another")

    _, seconds = expected(0)
    epoch = 0
    for random in kills.attempts(f"server {block}", KILLS):
        with server() as (client, process):
            compare(client, epoch)
            epoch += 1
            assert request_epoch(client, epoch).status_code == 503
            time.sleep(random.random() * seconds)
            process.kill()
            process.wait()
        if any(tmp_path.rglob("*.partial")):
            kills.landed["building"] += 1
        else:
            kills.late += 1
            seconds /= 2
    with server() as (client, _):
        compare(client, epoch)
    assert not any(tmp_path.rglob("*.partial"))
