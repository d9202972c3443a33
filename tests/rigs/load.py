"""Load test: latency for many concurrent users, and resources of the server.

    python -m tests.rigs.load [--clients 200] [--seconds 60] [--molecules 85271] [--json FILE]
    python -m tests.rigs.load --tree FOLDER                       the server of another checkout
    python -m tests.rigs.load --url URL --collection NAME [--pid PID]     a running server

After one warm-up request of each kind that is not heavy, there are three phases. Alone: one user requests an item and
an item's neighbors in turn. Load: all users sample from the mix of `tests.rigs.mix` without a pause; a twentieth of
them closes the connection after 0.2 to 1 s. Then the server idles for half a minute. Beside heavy: 20 users send only
drawing and heavy requests, and one more user behaves as in the first phase.

Times cover whole responses, to their last byte. Percentiles include requests that were pending at the end, with their
waiting time. The store is created once and kept in --cache; positive sets are sampled again. The users share the
machine with the server, so the report has the processor time of both.
"""

import argparse
import asyncio
import http.client
import json
import tempfile
import time
from dataclasses import asdict
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import uvloop

from benchmarks.command import COLLECTION, OWN, Address, build_store, served
from benchmarks.machine import memory, processor_seconds
from tests.rigs.exchange import Connection
from tests.rigs.load_report import Phase, Results, report
from tests.rigs.mix import SHARES, Mix
from tests.rigs.users import Draw, Users

_ALONE = 5.0  # maximum seconds of the first phase
_SATURATING = {"drawing": 0.5, "heavy": 0.5}
_SATURATING_USERS = 20
_STRUCTURES = 500  # items whose structures are requested


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60, help="of the load, and of the last phase")
    parser.add_argument("--quiet", type=float, default=30, help="seconds from the load to the last look at the memory")
    parser.add_argument("--molecules", type=int, default=85_271)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tree", type=Path, default=OWN, help="checkout that makes the store and serves it")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "graphkin-load")
    parser.add_argument("--url")
    parser.add_argument("--collection", default=COLLECTION, help="with --url")
    parser.add_argument("--pid", type=int, help="with --url: process id, or else its memory is not measured")
    parser.add_argument("--json", type=Path, help="file for every single request")
    options = parser.parse_args()
    if options.url:
        url = urlsplit(options.url)
        results = measured((url.hostname or "", url.port or 80), options.pid, options)
    else:
        tree = options.tree.resolve()
        with served(tree, build_store(tree, options.cache, options.molecules)) as (address, pid):
            results = measured(address, pid, options)
    print(report(results))
    if options.json:
        options.json.write_text(json.dumps(asdict(results)))


def _read(address: Address, target: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(*address, timeout=120)
    try:
        connection.request("GET", target)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def measured(address: Address, pid: int | None, options: argparse.Namespace) -> Results:
    mix = mixed(address, options.collection, Random(options.seed))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measured(address, mix, pid, options))


def mixed(address: Address, collection: str, random: Random) -> Mix:
    """Return the mix for a collection, whose contents are requested from the server."""
    base = f"/v1/collections/{collection}"
    manifest = _read(address, base)[1]["manifest"]
    items = manifest["counts"]["kept"]
    ids = random.sample(range(items), min(_STRUCTURES, items))
    smiles = [_read(address, f"{base}/items/{id}")[1]["smiles"] for id in ids]
    return Mix("{}:{}".format(*address), collection, items, smiles, manifest["recipe"]["threshold"])


async def _measured(address: Address, mix: Mix, pid: int | None, options: argparse.Namespace) -> Results:
    def users(number: int, draw: Draw) -> Users:
        return Users(address, draw, number, str(options.seed))

    def cheap(name: str) -> Users:
        turns = cycle([mix.item, mix.neighbors])
        return users(1, lambda random: (name, next(turns)(random)))

    await _warm(address, mix, Random(options.seed))
    start = memory(pid)
    alone = await _phase(pid, min(_ALONE, options.seconds), cheap("alone"))
    load = await _phase(pid, options.seconds, users(options.clients, partial(mix.draw, shares=SHARES)))
    await asyncio.sleep(options.quiet)
    after = memory(pid)
    saturating = users(_SATURATING_USERS, partial(mix.draw, shares=_SATURATING))
    beside = await _phase(pid, options.seconds, cheap("beside heavy"), saturating)
    return Results(alone, load, beside, start, after)


async def _warm(address: Address, mix: Mix, random: Random) -> None:
    connection = await Connection.to(*address)
    for name, makes in mix.classes.items():
        if name != "heavy":
            for make in makes:
                await connection.ask(make(random).content)
    connection.close()


async def _phase(pid: int | None, seconds: float, *crowds: Users) -> Phase:
    highest = memory(pid)

    async def watch() -> None:
        nonlocal highest
        while True:
            await asyncio.sleep(0.25)
            highest = max(highest, memory(pid))

    server, own = processor_seconds(pid), time.process_time()
    watching = asyncio.create_task(watch())
    await asyncio.gather(*(crowd.work(seconds) for crowd in crowds))
    watching.cancel()
    log = [record for crowd in crowds for record in crowd.log]
    return Phase(seconds, processor_seconds(pid) - server, time.process_time() - own, highest, log)


if __name__ == "__main__":
    main()
