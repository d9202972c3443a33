"""Similarity join of ZINC250k on the GPU at four thresholds, compared with the ingest's join on all cores.

The payload does not include nvMolKit. Its wheel for CPython 3.12 (0.6.0) has 80.6 MB, and requires another release of
RDKit and the runtime of CUDA 12.
"""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from benchmarks.gpu_join import Bits
from graphkin.similarity.join import similar_pairs
from studies.gpu.fingerprints import fingerprint_file, write_fingerprints
from studies.gpu.molecules import molecules_file
from studies.gpu.setting import Parts, Piece, Setting

THRESHOLDS = ("0.4", "0.5", "0.6", "0.7")


def pieces(setting: Setting) -> Sequence[Piece]:  # noqa: ARG001  (the same for all settings)
    return [Piece(threshold, ("join",), inputs=("fingerprints",)) for threshold in THRESHOLDS]


def prepare(setting: Setting, name: str) -> None:  # noqa: ARG001  (it has one input)
    lines = molecules_file(setting, "zinc.smi").read_text().splitlines()
    write_fingerprints(fingerprint_file(setting, "zinc"), [line.split()[0] for line in lines], setting.workers)


def measure(setting: Setting, piece: Piece) -> Parts:
    words = np.load(fingerprint_file(setting, "zinc"))
    threshold = float(piece.unit)
    bits = Bits(words, setting.device)
    bits.join(threshold)  # compiles
    result = bits.join(threshold)
    list(similar_pairs(words[:1000], threshold, 1))
    begin = perf_counter()
    pairs = sum(len(each) for each in similar_pairs(words, threshold, setting.workers))
    seconds = perf_counter() - begin
    pair_count = bits.size * (bits.size - 1) / 2
    yield (
        "join",
        {
            "molecules": bits.size,
            "pairs": result.pairs,
            "processor_pairs": pairs,
            "picoseconds": 1e12 * result.seconds / pair_count,
            "processor_picoseconds": 1e12 * seconds / pair_count,
            "processor_threads": setting.workers,
            "multiplied": result.multiplied / pair_count,
        },
    )
