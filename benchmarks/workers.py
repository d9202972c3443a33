"""Request rate of several serving processes compared with one, over the same store, in turns.

    python -m benchmarks.workers [--workers 2] [--seconds 5] [--rounds 2] [--users 16] [--molecules 20000]
                                 [--searches 0.5]

Users send requests without pause over persistent connections: for an item's neighbors (50 at most) or, by default half
of the time, for the 10 items most similar to a structure. Users and servers share the processors, so the report
includes the users' processor time. The servers can be compared by what is left. Turns alternate (ABBA).
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import uvloop

from benchmarks.command import COLLECTION, OWN, Address, build_store, ready, served
from benchmarks.data import molecules
from benchmarks.machine import processor_seconds
from tests.rigs.load import mixed
from tests.rigs.mix import Ask, Mix
from tests.rigs.users import Users


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5, help="of a turn")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--searches", type=float, default=0.5, help="the share of them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        label, lines = molecules(options.molecules)
        store = build_store(OWN, Path(folder), options.molecules)
        servers = [running.enter_context(_served(store, number)) for number in (1, options.workers)]
        for address, _ in servers:
            _turn(address, None, options, 1.0)  # warms up
        rates: list[list[float]] = [[], []]
        searches = f"{options.searches:.0%} searches"
        print(f"{len(lines):,} of {label}, {options.users} users, {searches}, {os.cpu_count()} processors")
        print("| processes | neighbours and searches /s | processor time of the servers | of the users | failed |")
        print("|---|---|---|---|---|")
        for number in range(2 * options.rounds):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                address, pid = servers[side]
                rate, server, own, failed = _turn(address, pid, options, options.seconds)
                rates[side].append(rate)
                print(
                    f"| {(1, options.workers)[side]} | {rate:,.0f} | {server:.2f} | {own:.2f} | {failed} |", flush=True
                )
        single, several = (statistics.median(each) for each in rates)
        print(f"medians: {single:,.0f}/s and {several:,.0f}/s, {several / single:.2f} times")


@contextmanager
def _served(store: Path, workers: int) -> Iterator[tuple[Address, int]]:
    """Yield address and process id once all serving processes are ready."""
    with served(OWN, store, "--workers", str(workers)) as (address, pid):
        for _ in range(20):  # new connections, so that each process gets one
            while not ready(address):
                time.sleep(0.1)
        yield address, pid


def _turn(
    address: Address, pid: int | None, options: argparse.Namespace, seconds: float
) -> tuple[float, float, float, int]:
    """Return replies per second, processor seconds per second of the server and of the users, and failures."""
    mix: Mix = mixed(address, COLLECTION, Random(0))

    def draw(random: Random) -> tuple[str, Ask]:
        return "asked", (mix.search if random.random() < options.searches else mix.neighbors)(random)

    users = Users(address, draw, options.users, seed="0")
    server, user_time = processor_seconds(pid), time.process_time()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(users.work(seconds))
    answered = sum(each.outcome == "answered" for each in users.log)
    failed = sum(each.outcome in ("failed", "refused") for each in users.log)
    return (
        answered / seconds,
        (processor_seconds(pid) - server) / seconds,
        (time.process_time() - user_time) / seconds,
        failed,
    )


if __name__ == "__main__":
    main()
