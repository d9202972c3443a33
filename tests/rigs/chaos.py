"""Chaos test: apply faults one by one while the server is used, and check all acknowledged data after each.

    python -m tests.rigs.chaos [--rounds 100] [--seed 0] [--faults api,worker,...] [--molecules 1200] [--witnesses 4]
                               [--workers 2] [--neo4j] [--json FILE]

    api      the server is killed, all its processes or the first one, and restarted
    worker   one of its processes is killed
    ingest   an ingest is killed, alone or with its worker processes, and run again
    append   an append is killed in the same way, and run again
    trainer  `graphkin pretrain` is killed and resumed, and must end with the weights of a run without faults
    disk     an ingest runs on a full disk, and again with free space
    damage   a bit of a file of the store is flipped before the server starts, which must report it and not use it
    clock    the time of day of all processes moves forward and back by up to 30 days, with an append meanwhile
    neo4j    with --neo4j: a Neo4j server is killed during an ingest, and restarted

Witnesses send requests without a pause. Responses about the collection that never changes must equal those before the
first fault, and neighbors in changing collections must equal RDKit's. After each round every acknowledged generation is
read and compared with RDKit's edges, and every request is sent once more. An error is not a wrong response: the
connection may break, and the server may report that it is busy or that a file is damaged. Ctrl-C ends the test with a
report of the rounds so far.

The exit code is 1 if data was lost, a response was wrong, a request failed, or the server did not recover.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter

from benchmarks.clock import Clock
from graphkin.protocol.keys import Quota, create_key
from graphkin.store import open_store
from tests.rigs.chaos_report import Chaos, Round, report
from tests.rigs.faults import FAULTS, GROWN, OTHER, PATIENCE, STILL, Place
from tests.rigs.load import mixed
from tests.rigs.site import Disk, Site
from tests.rigs.truth import Ledger, Truth
from tests.rigs.witnesses import Witnesses

_FEWEST = 300
_PLENTY = Quota(requests=10**7, rows=10**11)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", type=lambda text: tuple(text.split(",")), default=FAULTS, help="by default all")
    parser.add_argument("--molecules", type=int, default=1200)
    parser.add_argument("--witnesses", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2, help="processes of the server")
    parser.add_argument("--neo4j", action="store_true", help="kill one too: needs Java and Maven")
    parser.add_argument("--json", type=Path, help="file for every single round")
    options = parser.parse_args()
    if unknown := {*options.faults} - {*FAULTS}:
        parser.error(f"there is no fault {', '.join(unknown)}, only {', '.join(FAULTS)}")
    if options.molecules < _FEWEST:
        parser.error(f"--molecules {_FEWEST} at least: every collection is asked for its first 50")
    if options.workers < 2 and "worker" in options.faults:
        parser.error("one of several processes is killed: --workers 2, or --faults without worker")
    results = Chaos(options.seed, 0, [], [])
    with suppress(KeyboardInterrupt), asyncio.Runner() as runner:
        runner.run(_chaos(options, results))
    print(report(results))
    if options.json:
        options.json.write_text(json.dumps(asdict(results)))
    return 1 if results.problems else 0


async def _chaos(options: argparse.Namespace, results: Chaos) -> None:
    with tempfile.TemporaryDirectory(prefix="graphkin-chaos-") as name:
        folder = Path(name)
        with closing(Disk(folder)) as disk:
            faults = [*options.faults]
            clock = Clock(folder)
            if not clock.environment and "clock" in faults:
                faults.remove("clock")
                results.how.append("No clock was set: there is no C compiler.")
            if not disk.mounted:
                results.how.append("The full disk is a bound on the sizes of files: no file system could be mounted.")
            async with AsyncExitStack() as stack:
                place = await stack.enter_async_context(_open_place(folder, disk, clock, options))
                strikes: dict[str, Callable[[Random], Awaitable[tuple[bool, float]]]] = {
                    fault: getattr(place, fault) for fault in faults
                }
                if options.neo4j:
                    from tests.rigs.chaos_neo4j import struck

                    strikes["neo4j"] = await stack.enter_async_context(struck(folder / "neo4j", place))
                await place.prepare(strikes)
                begin = perf_counter()
                for number in range(options.rounds):
                    fault = _pick_fault(options.seed, number, [*strikes])
                    random = Random(f"{options.seed} {number}")
                    results.rounds.append(await place.round(fault, partial(strikes[fault], random)))
                    results.seconds = perf_counter() - begin
                    print(f"{number + 1}: {_describe(results.rounds[-1])}", file=sys.stderr)


def _pick_fault(seed: int, number: int, faults: Sequence[str]) -> str:
    """Return the fault of a round. All faults are equally frequent, in an order that depends on the seed."""
    turn, place = divmod(number, len(faults))
    return Random(f"{seed} turn {turn}").sample(faults, len(faults))[place]


def _describe(round: Round) -> str:
    seconds = "not recovered" if round.recovered is None else f"recovered in {round.recovered:.1f} s"
    return "; ".join([f"{round.fault}, {seconds}", *round.problems[:3]])


@asynccontextmanager
async def _open_place(folder: Path, disk: Disk, clock: Clock, options: argparse.Namespace) -> AsyncIterator["Place"]:
    secret, key = create_key("chaos", ["admin"], quota=_PLENTY)
    site = Site(folder / "store", folder / "cache", options.workers, {**clock.environment, "GRAPHKIN_API_KEY": secret})
    place = Place(folder, site, disk, clock, Ledger(await asyncio.to_thread(Truth, options.molecules)))
    try:
        await place.begin()
        async with asyncio.timeout(PATIENCE):
            await site.serve()
        mixes = [
            await asyncio.to_thread(mixed, site.address, name, Random(options.seed)) for name in (STILL, GROWN, OTHER)
        ]
        with open_store(folder / "store") as store:
            store.keys().add(key)
        still, *growing = (replace(mix, key=secret) for mix in mixes)
        place.witnesses = Witnesses(site.address, still, {mix.collection: mix for mix in growing}, place.ledger)
        await place.witnesses.learn()
        asking = [
            asyncio.create_task(place.witnesses.work(Random(f"{options.seed} witness {each}")))
            for each in range(options.witnesses)
        ]
        try:
            yield place
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
    finally:
        await site.close()


if __name__ == "__main__":
    sys.exit(main())
