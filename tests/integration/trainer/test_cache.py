"""The local cache with several processes and with kills."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphkin.trainer.feed.cache import Arrays, Cache

SIZE_LIMIT = 10**7


def arrays_of(number: int, rows: int = 100) -> dict[str, NDArray[Any]]:
    draws = np.random.default_rng(number)
    return {"ids": draws.integers(0, 2**31, (rows, 3), np.int32), "empty": np.empty((rows, 0), np.uint8)}


def is_same(actual: Arrays, expected: Arrays) -> bool:
    return actual.keys() == expected.keys() and all(
        np.array_equal(actual[name], expected[name]) and actual[name].dtype == expected[name].dtype for name in expected
    )


def folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def unfinished(folder: Path) -> list[Path]:
    return [*folder.glob(".*.partial")]


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


PROCESS = """
import os, signal, sys
from pathlib import Path
import numpy as np
from graphkin.trainer.feed.cache import Cache

folder, log, room, rounds, seed = Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:6])
cache = Cache(folder, room)

def arrays_of(number):
    draws = np.random.default_rng(number)
    return {"ids": draws.integers(0, 2**31, (100, 3), np.int32), "empty": np.empty((100, 0), np.uint8)}

def make(number):
    with open(log, "a") as file:
        file.write(f"{number}\\n")
    return arrays_of(number)

print("ready", flush=True)
sys.stdin.readline()
for number in np.random.default_rng(seed).integers(0, 20, rounds).tolist():
    found = cache.get({"n": number}, lambda: make(number))
    assert np.array_equal(found["ids"], arrays_of(number)["ids"]), number
"""


def run_concurrently(folder: Path, log: Path, size_limit: int, rounds: int, processes: int = 4) -> None:
    """Run several processes that request the same twenty entries at the same time."""
    command = [sys.executable, "-W", "error", "-c", PROCESS, folder, log, size_limit, rounds]
    processes_started = [
        subprocess.Popen([*map(str, command), str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for seed in range(processes)
    ]
    for process in processes_started:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes_started:
        process.communicate("go\n", timeout=120)
    assert [process.returncode for process in processes_started] == [0] * processes


def test_processes_compute_each_entry_once(tmp_path: Path) -> None:
    run_concurrently(tmp_path / "cache", tmp_path / "log", SIZE_LIMIT, 60)
    computed = (tmp_path / "log").read_text().split()
    assert sorted(computed) == sorted(set(computed))
    assert len(folders(tmp_path / "cache")) == len(computed)


def test_processes_keep_the_size_limit(tmp_path: Path) -> None:
    size_limit = 3 * 14_000
    run_concurrently(tmp_path / "cache", tmp_path / "log", size_limit, 100)
    assert len((tmp_path / "log").read_text().split()) > 20
    assert size_of(tmp_path / "cache") <= size_limit


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from graphkin.trainer.feed.cache import Cache

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Fatal(dict):
    def items(self):
        for name, array in super().items():
            yield name, array
            die()

def make():
    print("making", flush=True)
    sys.stdin.readline()
    if sys.argv[2] == "making":
        die()
    return Fatal(ids=np.arange(7), other=np.arange(9))

Cache(Path(sys.argv[1]), 10**7).get({}, make)
"""


@pytest.mark.parametrize("when", ["making", "writing"])
def test_killed_process_does_not_block_others(tmp_path: Path, when: str) -> None:
    """Another process waits for the entry."""
    killed = subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path, when], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout
    assert killed.stdout.readline() == "making\n"
    with ThreadPoolExecutor(1) as pool:
        waiting_result = pool.submit(Cache(tmp_path, SIZE_LIMIT).get, {}, lambda: arrays_of(1))
        killed.communicate("go\n", timeout=60)
        assert killed.returncode == -signal.SIGKILL
        assert is_same(waiting_result.result(60), arrays_of(1))
    assert unfinished(tmp_path) == []
    (entry,) = folders(tmp_path)
    assert json.loads((entry / "key.json").read_text())["columns"].keys() == {"ids", "empty"}


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path, "writing"], input="go\n", text=True, capture_output=True)
    assert len(unfinished(tmp_path)) == 1
    Cache(tmp_path, SIZE_LIMIT)
    assert (folders(tmp_path), unfinished(tmp_path)) == ([], [])
