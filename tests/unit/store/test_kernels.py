"""Compiled loops in the cache that processes share."""

import os
import re
import subprocess
import sys
from pathlib import Path

COMPILE = """
import numpy as np
from graphkin.store.sampling.ranking import tally

ids = np.empty(1, np.int32)
tally(np.zeros((1, 1), np.int32), np.int32(0), ids, ids)
"""


def test_processes_name_helpers_differently(tmp_path: Path) -> None:
    """By one name a third process would take the first that it loads for both: numba issue 10486."""
    names = []
    for cache in ("one", "other"):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / cache)}
        subprocess.run([sys.executable, "-c", COMPILE], env=environment, check=True)
        (compiled,) = (tmp_path / cache).rglob("*tally*.nbc")
        names.append(set(re.findall(rb"_ZN\w*run_quicksort\w*", compiled.read_bytes())))
    assert all(names)
    assert not set.intersection(*names)
