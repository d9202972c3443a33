"""Compiled kernels in separate processes: for a generic processor, and in the cache that processes share."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import graphkin
from graphkin.similarity.join import Pairs, similar_pairs

COMPILE = """
import numpy as np
from graphkin.store.sampling.ranking import count_visits

ids = np.empty(1, np.int32)
count_visits(np.zeros((1, 1), np.int32), np.int32(0), ids, ids)
"""


def test_processes_name_helpers_differently(tmp_path: Path) -> None:
    """If both had one name, a third process would use the first that it loads for both (numba issue 10486)."""
    helper_names = []
    for cache in ("one", "other"):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / cache)}
        subprocess.run([sys.executable, "-c", COMPILE], env=environment, check=True)
        (compiled,) = (tmp_path / cache).rglob("*count_visits*.nbc")
        helper_names.append(set(re.findall(rb"_ZN\w*run_quicksort\w*", compiled.read_bytes())))
    assert all(helper_names)
    assert not set.intersection(*helper_names)


def test_damaged_cache_is_compiled_again() -> None:
    command = [sys.executable, "-m", "tests.rigs.numba_cache", "--rounds", "6"]
    process = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr


def _random(rows: int, width: int, density: float) -> np.ndarray:
    """Return random fingerprints of about this density in families, including empty, full and equal ones."""
    rng = np.random.default_rng([rows, width, int(100 * density)])
    bits = rng.random((rows // 20 + 1, 64 * width)) < density
    bits = bits[rng.integers(0, len(bits), rows)] ^ (rng.random((rows, 64 * width)) < 0.2 * min(density, 1 - density))
    bits[rng.integers(0, rows, 5)] = False
    bits[rng.integers(0, rows, 5)] = True
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def test_generic_processor_gives_the_same_pairs(tmp_path: Path) -> None:
    """The kernels are compiled for the most generic processor of this architecture."""
    words = _random(17_000, 4, 0.15)[:3000]
    np.save(tmp_path / "words.npy", words)
    code = (
        "import sys, numpy as np; from graphkin.similarity.join import similar_pairs; from numba.core import config\n"
        "assert config.CPU_NAME == 'generic'\n"
        "[pairs] = similar_pairs(np.load('words.npy'), 0.5, 1)\n"
        "np.savez('pairs.npz', **vars(pairs))"
    )
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    root = str(Path(graphkin.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env={**environment, "PYTHONPATH": root})
    with np.load(tmp_path / "pairs.npz") as saved:
        generic_pairs = Pairs(**saved)
    expected = Pairs.concatenate(list(similar_pairs(words, 0.5, 1)))
    assert len(expected) > 1000
    for name in ("left", "right", "similarity"):
        assert np.array_equal(getattr(generic_pairs, name), getattr(expected, name))
