"""Join of ten million generated molecules on the GPU, in strips of tasks that a later run does not repeat."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.molecules import generate
from graphkin.similarity.cuda.fingerprints import SortedFingerprints
from graphkin.similarity.cuda.join import DeviceJoin
from studies.cells import Cell, load_or_make
from studies.gpu.fingerprints import fingerprint_file, join_device, write_fingerprints
from studies.gpu.molecules import tiny_molecules
from studies.gpu.setting import MOLECULES, Parts, Piece, Setting

THRESHOLDS = ("0.6", "0.5")
_COUNT = 10_000_000
_BLOCK = 500_000  # molecules whose fingerprints are computed and saved together
_STRIPS = 64
_UNIT = "ten-million"


def pieces(setting: Setting) -> Sequence[Piece]:
    strips = tuple(f"strip-{number:02}" for number in range(2 if setting.tiny else _STRIPS))
    return [Piece(threshold, strips, inputs=("fingerprints",)) for threshold in THRESHOLDS]


def prepare(setting: Setting, name: str) -> None:  # noqa: ARG001  (it has one input)
    """Compute the fingerprints block by block, and save the time of each block."""
    for number, smiles in enumerate(_blocks(setting)):
        path = fingerprint_file(setting, f"{_UNIT}-{number:02}")

        def write(path: Path = path, smiles: list[str] = smiles) -> Cell:
            begin = perf_counter()
            write_fingerprints(path, smiles, setting.workers)
            return {"molecules": len(smiles), "seconds": perf_counter() - begin, "workers": setting.workers}

        load_or_make(path.with_suffix(".json"), write)


def measure(setting: Setting, piece: Piece) -> Parts:
    fingerprints = SortedFingerprints.from_words(_words(setting))
    join = DeviceJoin(fingerprints, None, float(piece.unit), join_device(setting))
    strips = len(next(each for each in pieces(setting) if each.unit == piece.unit).parts)
    next(join.pairs())  # compiles
    for part in piece.parts:
        if setting.is_over:
            return
        number = int(part.removeprefix("strip-"))
        first, stop = (join.task_count * each // strips for each in (number, number + 1))
        begin = perf_counter()
        pairs = sum(len(each) for each in islice(join.pairs(first, setting.workers), stop - first))
        yield (
            part,
            {
                "molecules": len(fingerprints.words),
                "tasks": [first, stop],
                "seconds": perf_counter() - begin,
                "pairs": pairs,
                "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if setting.device == "cuda" else None,
            },
        )


def _blocks(setting: Setting) -> Iterator[list[str]]:
    size = MOLECULES // 2 if setting.tiny else _BLOCK
    smiles = iter(tiny_molecules()) if setting.tiny else generate(_COUNT)
    while block := [*islice(smiles, size)]:
        yield block


def _words(setting: Setting) -> NDArray[np.uint64]:
    return np.concatenate([np.load(path) for path in sorted(setting.data.glob(f"{_UNIT}-*.npy"))])
