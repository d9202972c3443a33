"""Damaged files of a generation are detected before use, named, and never read out of bounds."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from graphkin.protocol.errors import Deleted, StoreDamaged, StoreError
from graphkin.protocol.manifest import Manifest
from graphkin.runtime import files
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from graphkin.store.embedded import integrity
from graphkin.store.embedded.generation import EmbeddedGeneration

USES: dict[str, Callable[[Generation], object]] = {
    "indptr.npy": lambda generation: generation.neighbors(0),
    "indices.npy": lambda generation: generation.subgraph(0, 1, 10, 10),
    "similarity.npy": lambda generation: generation.path(0, 2, 4),
    "fingerprints.npy": lambda generation: generation.fingerprints(),
    "popcounts.npy": lambda generation: generation.fingerprints(),
    "dropped.npy": lambda generation: generation.items([0]),
    "blocks.npy": lambda generation: cast(EmbeddedGeneration, generation).blocks,
    "forest.source.npy": lambda generation: generation.forest(),
    "forest.target.npy": lambda generation: generation.forest(),
    "forest.similarity.npy": lambda generation: generation.forest(),
    "items.arrow": lambda generation: generation.take(np.array([0], np.int32)),
    "rejections.arrow": lambda generation: list(generation.rejections()),
    "order.smiles.npy": lambda generation: generation.find("smiles", "C"),
    "order.inchikey.npy": lambda generation: generation.find("inchikey", "K1"),
    "order.names.npy": lambda generation: generation.find("name", "n1"),
}


@pytest.fixture
def whole(store: Store, folder: Path, publish: Callable[..., Manifest]) -> Path:
    """Return the folder of a published generation."""
    return folder / "collections" / "c" / publish(store).generation


def flip(path: Path, offset: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.parametrize("name", USES)
def test_flipped_bit_is_detected_before_the_file_is_used(store: Store, whole: Path, name: str) -> None:
    data = (whole / name).read_bytes()
    body = len(data) - np.load(whole / name).nbytes if name.endswith("npy") else len(data) // 2
    for offset in range(body, len(data), max(1, (len(data) - body) // 7)):
        flip(whole / name, offset, offset % 8)
        with store.open("c") as generation:
            for _ in range(2):  # the generation stays damaged
                with pytest.raises(StoreDamaged) as error:
                    USES[name](generation)
                damage = error.value.damage
                assert (damage.file, damage.collection, damage.generation) == (name, "c", whole.name)
                assert name in error.value.detail
                assert whole.name[:12] in error.value.detail
            assert generation.damage == damage
            assert any(problem.startswith(f"{name}: ") for problem in generation.check())
        assert store.damage("c") is not None
        (whole / name).write_bytes(data)
    with store.open("c") as generation:
        USES[name](generation)
        assert generation.damage is None


def test_intact_files_are_readable_beside_a_damaged_file(store: Store, whole: Path) -> None:
    flip(whole / "fingerprints.npy", -1)
    with store.open("c") as generation:
        assert generation.neighbors(0).total == 1
        assert generation.items([0])[0]["smiles"] == "C"
        assert generation.damage is None
        assert [*generation.scrub()] == [path.name for path in sorted(whole.iterdir())]
        assert generation.damage is not None
        assert generation.damage.file == "fingerprints.npy"


def test_scrub_rereads_files_only_with_again(store: Store, whole: Path) -> None:
    with store.open("c") as generation:
        assert len([*generation.scrub()]) == len(USES)
        flip(whole / "indptr.npy", -8)
        assert [*generation.scrub()]
        assert generation.damage is None
        assert [*generation.scrub(again=True)]
        assert generation.damage is not None
        assert generation.damage.file == "indptr.npy"


def test_open_generation_is_readable_after_its_deletion(store: Store, whole: Path) -> None:
    with store.open("c") as generation:
        store.delete("c", whole.name)
        assert not whole.exists()
        for use in USES.values():
            use(generation)
        assert [*generation.scrub(again=True)]
        assert generation.damage is None
    with pytest.raises(Deleted):
        store.damage("c", whole.name)


def test_concurrent_threads_verify_a_file_once(store: Store, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def sha256(file: BufferedReader) -> str:
        read.append(Path(file.name).name)
        return files.sha256(file)

    monkeypatch.setattr(integrity, "sha256", sha256)
    with store.open("c") as generation, ThreadPoolExecutor(16) as threads:
        for use in USES.values():
            list(threads.map(lambda _, use=use: use(generation), range(64)))
        list(generation.scrub())
    assert sorted(read) == sorted(USES)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("indptr", lambda array: array.astype(">i8")),
        ("indptr", lambda array: array.astype(np.int32)),
        ("indices", lambda array: array.astype(np.int64)),
        ("similarity", lambda array: array.astype(np.float64)),
        ("similarity", lambda array: array.reshape(-1, 1)),
        ("fingerprints", lambda array: array.reshape(-1)),
        ("fingerprints", lambda array: np.asfortranarray(array)),
        ("popcounts", lambda array: array.astype(object)),
        ("forest.target", lambda array: array[:-1]),
        ("forest.similarity", lambda array: array.astype(np.int32)),
        ("dropped", lambda array: np.array(0, np.int32)),
        ("blocks", lambda array: array[:, :-1]),
    ],
)
def test_other_dtype_or_shape_is_damage_at_opening(
    store: Store, whole: Path, name: str, wrong: Callable[[np.ndarray], np.ndarray]
) -> None:
    path = whole / f"{name}.npy"
    np.save(path, wrong(np.load(path)), allow_pickle=True)
    with pytest.raises(StoreDamaged) as error:
        store.open("c")
    assert error.value.damage.file == path.name


@pytest.mark.parametrize("name", [*USES])
def test_missing_truncated_or_unreadable_file_is_named_at_opening(store: Store, whole: Path, name: str) -> None:
    path = whole / name
    data = path.read_bytes()
    for keep in (0, 1, 60, len(data) - 1):
        path.write_bytes(data[:keep])
        if name.endswith(".npy"):  # tables are opened on first use
            with pytest.raises(StoreDamaged):
                store.open("c")
        damage = store.damage("c")
        assert damage is not None
        assert damage.file == name
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreDamaged, match=name):
        store.open("c")
    path.rmdir()
    with pytest.raises(StoreDamaged, match=f"{name}: it is missing"):
        store.open("c")


def test_exhausted_file_descriptors_are_not_damage(whole: Path, folder: Path) -> None:
    program = f"""
import resource
from graphkin.protocol.errors import StoreDamaged, StoreError
from graphkin.store import open_store
with open_store({str(folder)!r}) as store:
    store.open("c").close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
    try:
        store.open("c")
    except StoreDamaged:
        raise
    except StoreError as error:
        print(error.detail)
"""
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "cannot" in completed.stdout


def test_no_kernel_reads_out_of_bounds(whole: Path, folder: Path) -> None:
    """Offsets and ids far outside of the arrays used to crash the process."""
    program = f"""
import sys
from pathlib import Path
import numpy as np
from graphkin.protocol.errors import StoreDamaged
from graphkin.protocol.policy import Policy
from graphkin.store import open_store
from graphkin.store.components import Components
from graphkin.store.sampling.snapshot import SnapshotSampler

def walk(generation):
    sampler = SnapshotSampler(generation.graph(), generation.id, threads=1)
    for name in ("first_order", "random_walk", "second_order"):
        sampler.positives(np.arange(generation.size), Policy.from_name(name), 0, 0)

def join(generation):
    Components.from_forest(generation.graph(), generation.forest(), np.float32(0.4)).medoids(np.array([0], np.int32))

for name in sys.argv[1:]:
    path = Path({str(whole)!r}, name)
    data = path.read_bytes()
    width = 8 if name == "indptr.npy" else 4
    array = np.frombuffer(data[-2 * width :], f"<i{{width}}").copy()
    array[0] = 2 ** (8 * width - 3)
    path.write_bytes(data[: -2 * width] + array.tobytes())
    with open_store({str(folder)!r}) as store:
        for use in (walk, join, lambda generation: generation.path(0, 2, 8)):
            try:
                with store.open("c") as generation:
                    use(generation)
            except StoreDamaged as error:
                print(error.damage.file)
    path.write_bytes(data)
"""
    used = {"indptr.npy": 3, "indices.npy": 3, "forest.source.npy": 1}
    completed = subprocess.run([sys.executable, "-c", program, *used], capture_output=True, text=True)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout.split() == [name for name, times in used.items() for _ in range(times)]


def test_manifest_of_a_damaged_generation_is_readable(store: Store, whole: Path) -> None:
    shutil.rmtree(whole)
    assert store.manifest("c").generation == whole.name
    damage = store.damage("c")
    assert damage is not None
    assert damage.problem == "it is missing"
    with open_store(whole.parents[2]) as reopened, pytest.raises(StoreError):
        reopened.open("c")


def test_size_of_a_generation_is_known_after_close(store: Store, whole: Path) -> None:
    """A metric may count open generations while one closes."""
    with store.open("c") as generation:
        pass
    assert generation.file_bytes == sum(path.stat().st_size for path in whole.iterdir())
