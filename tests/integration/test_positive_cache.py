"""The cache of positive sets with other processes, kills and full disks."""

import subprocess
import sys
from contextlib import closing

import numpy as np

from graphkin.protocol.policy import Policy
from graphkin.store.positives import PositiveCache
from graphkin.store.records import Graph
from graphkin.store.sampling.snapshot import SnapshotSampler


def python(script, *arguments):
    return subprocess.run(
        [sys.executable, "-c", PREAMBLE + script, *map(str, arguments)], capture_output=True, text=True
    )


PREAMBLE = """
import os, resource, signal, sys
from pathlib import Path
import numpy as np
from graphkin.protocol.errors import StoreError
from graphkin.store.positives import PositiveCache
from graphkin.store.records import Graph
from graphkin.protocol.policy import Policy
from graphkin.store.sampling.snapshot import SnapshotSampler
ends = np.arange(4000, dtype=np.int32) ^ 1
graph = Graph(np.arange(4001, dtype=np.int64), ends, np.full(4000, 0.5, np.float32))
folder, policy = Path(sys.argv[1]), Policy.from_name("first_order", k=1)
"""


def test_processes_share_a_cache_folder(tmp_path):
    process = python(
        "PositiveCache(folder, 10**6).build(SnapshotSampler(graph, 'g'), 'g', 4000, policy, 0, 0)", tmp_path
    )
    assert process.returncode == 0, process.stderr
    edgeless = Graph(np.zeros(4001, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    empty_sampler = SnapshotSampler(edgeless, "g")
    with closing(PositiveCache(tmp_path, 10**6)) as cache:
        sets = cache.get(empty_sampler, "g", 4000, Policy.from_name("first_order", k=1), 0, 0)
        assert np.array_equal(sets.positives[:, 0], np.arange(4000) ^ 1)


def test_leftovers_of_a_killed_build_are_removed(tmp_path):
    script = """
class Dying(SnapshotSampler):
    def positives(self, anchors, policy, seed, epoch):
        if anchors[0] > 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().positives(anchors, policy, seed, epoch)
PositiveCache(folder, 10**6, block=1000).build(Dying(graph, "g"), "g", 4000, policy, 0, 0)
"""
    assert python(script, tmp_path).returncode == -9
    assert len(list(tmp_path.glob("*.partial"))) == 1
    with closing(PositiveCache(tmp_path, 10**6)):
        assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_full_disk_raises_an_error_and_leaves_nothing(tmp_path):
    script = """
cache = PositiveCache(folder, 10**6)
sampler = SnapshotSampler(graph, "g")
cache.build(sampler, "g", 400, policy, 0, 0)
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
try:
    cache.build(sampler, "g", 4000, policy, 0, 0)
except StoreError as error:
    print(error.detail, error.hint)
print(len([path for path in folder.iterdir() if path.is_dir()]))
"""
    process = python(script, tmp_path)
    assert process.returncode == 0, process.stderr
    assert "cannot write the cache of positive sets" in process.stdout
    assert "free space" in process.stdout
    assert process.stdout.split()[-1] == "1"


def test_unusable_folder_raises_an_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    script = """
try:
    PositiveCache(folder / "file" / "cache", 10**6)
except StoreError as error:
    print(error.detail)
"""
    assert "cannot write the cache of positive sets" in python(script, tmp_path).stdout
