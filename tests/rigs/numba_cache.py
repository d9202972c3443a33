"""Damage the cache of compiled kernels. Each damaged file must be compiled again, and no run may fail.

`python -m tests.rigs.numba_cache --rounds 200 --seed 0`
"""

import argparse
import os
import random
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory


def damage(cache: Path, rounds: int, seed: int) -> Counter[str]:
    """Count the outcomes of the rounds by kind of damage.

    Each round runs in a process forked from this one before it has loaded a kernel.

    Args:
        cache: The cache of this process (`NUMBA_CACHE_DIR`).
        rounds: Number of rounds.
        seed: Seed of the damage.
    """
    chance = random.Random(seed)
    _run()
    whole = {path: path.read_bytes() for path in sorted(cache.rglob("*.nb[ci]"))}
    outcomes: Counter[str] = Counter({f"VIOLATION: only {len(whole)} files": len(whole) < 4})
    for _ in range(rounds):
        path = chance.choice([*whole])
        kind, content = _damaged(whole[path], chance)
        path.write_bytes(content)
        status = _run()
        if status:
            outcomes[f"VIOLATION: {path.suffix} {kind}: the run ends with {status}"] += 1
        elif path.read_bytes() == content:
            outcomes[f"VIOLATION: {path.suffix} {kind}: it is not compiled again"] += 1
        else:
            outcomes[f"{path.suffix} {kind}: compiled again"] += 1
        for each, before in whole.items():
            each.write_bytes(before)
    return +outcomes


def _damaged(content: bytes, chance: random.Random) -> tuple[str, bytes]:
    position = chance.randrange(len(content))
    match chance.choice(("flipped", "cut", "empty", "zeros")):
        case "flipped":
            damaged = bytearray(content)
            damaged[position] ^= 1 << chance.randrange(8)
            return "flipped bit", bytes(damaged)
        case "cut":
            return "cut short", content[:position]
        case "zeros":
            return "zeros at the end", content[:position].ljust(len(content), b"\0") + b"\0"
    return "empty", b""


def _run() -> int:
    """Run two kernels in a child process and return its exit code, which is negative if a signal ends it."""
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            status = _kernels()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _kernels() -> int:
    import numpy as np

    from graphkin.similarity.popcount import common_with
    from graphkin.store.sampling.ranking import count_visits

    rows, ids = np.array([[2, 1, 2]], np.int32), np.empty(3, np.int32)
    visits = np.empty(3, np.int32)
    count = count_visits(rows, np.int32(0), ids, visits)
    words = np.array([[0b1011], [0b0110]], np.uint64)
    shared = common_with(words, words[0])
    expected = 2, [1, 2], [3, 1]
    return int((count, sorted(ids[:count].tolist()), shared.tolist()) != expected)


def violations(outcomes: Counter[str]) -> int:
    return sum(count for outcome, count in outcomes.items() if outcome.startswith("VIOLATION"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder  # numba reads it when it is imported
        import graphkin.similarity.popcount
        import graphkin.store.sampling.ranking  # noqa: F401 - imported before the forks, compiled in them

        outcomes = damage(Path(folder), arguments.rounds, arguments.seed)
    for outcome, count in outcomes.most_common():
        print(f"{count:5}  {outcome}")
    return 1 if violations(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
