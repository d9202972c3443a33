"""Similarity join of ZINC250k by `--device cuda` at four thresholds, compared with the join on all cores, and ingests.

Pairs, similarities, generation ids, graphs and forests must be equal. The payload does not include nvMolKit. Its wheel
for CPython 3.12 (0.6.0) has 80.6 MB, and requires another release of RDKit and the runtime of CUDA 12.
"""

import hashlib
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu_join import measure as measure_join
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.devices import Device
from graphkin.similarity.join import Pairs, similar_pairs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from studies.cells import Cell
from studies.gpu.fingerprints import fingerprint_file, join_device, write_fingerprints
from studies.gpu.molecules import molecules_file
from studies.gpu.setting import Parts, Piece, Setting

THRESHOLDS = ("0.4", "0.5", "0.6", "0.7")
_FILES = {"ingest": "zinc.smi", "ingest-two-million": "two-million.smi"}
_INGEST_THRESHOLD = 0.5


def pieces(setting: Setting) -> Sequence[Piece]:  # noqa: ARG001  (the same for all settings)
    joins = [Piece(threshold, ("join",), inputs=("fingerprints",)) for threshold in THRESHOLDS]
    return [*joins, *(Piece(name, ("device", "processor"), inputs=("fingerprints",)) for name in _FILES)]


def prepare(setting: Setting, name: str) -> None:  # noqa: ARG001  (it has one input)
    lines = molecules_file(setting, "zinc.smi").read_text().splitlines()
    write_fingerprints(fingerprint_file(setting, "zinc"), [line.split()[0] for line in lines], setting.workers)


def measure(setting: Setting, piece: Piece) -> Parts:
    if piece.unit in _FILES:
        for part in piece.parts:
            if not setting.is_over:
                cell = _ingest(setting, piece.unit, part)
                print(
                    f"{piece.unit}, {cell['device']}: {cell['ingest_seconds']:.1f} s, {cell['generation']}", flush=True
                )
                yield part, cell
    else:
        cell = _join(setting, float(piece.unit))
        is_equal = cell["sha256"] == cell["processor_sha256"]
        print(
            f"τ {piece.unit}: {cell['picoseconds']:.2f} ps a pair, {cell['kernel_picoseconds']:.2f} of the kernel, "
            f"{cell['processor_picoseconds']:.2f} on the processor; {cell['pairs']:,} pairs, "
            f"{'equal' if is_equal else 'DIFFERENT'}",
            flush=True,
        )
        yield "join", cell


def _join(setting: Setting, threshold: float) -> Cell:
    words = np.load(fingerprint_file(setting, "zinc"))
    result = measure_join(words, threshold, join_device(setting), setting.workers)
    list(similar_pairs(words[:1000], threshold, 1))
    begin = perf_counter()
    pairs = Pairs.concatenate([*similar_pairs(words, threshold, setting.workers)])
    seconds = perf_counter() - begin
    pair_count = len(words) * (len(words) - 1) / 2
    return {
        "molecules": len(words),
        "pairs": len(result.pairs),
        "processor_pairs": len(pairs),
        "sha256": _digest_of_pairs(result.pairs),
        "processor_sha256": _digest_of_pairs(pairs),
        "picoseconds": 1e12 * result.seconds / pair_count,
        "kernel_picoseconds": 1e12 * result.kernel_seconds / pair_count,
        "processor_picoseconds": 1e12 * seconds / pair_count,
        "processor_threads": setting.workers,
        "multiplied": result.multiplied / pair_count,
    }


def _ingest(setting: Setting, unit: str, part: str) -> Cell:
    """Ingest molecules into a store of its own, and return seconds by stage and digests of what it built."""
    device: Device = "cuda" if part == "device" and setting.device == "cuda" else "cpu"
    file = molecules_file(setting, _FILES[unit])
    options = IngestOptions(workers=setting.workers, device=device)
    begin = perf_counter()
    with open_store(setting.work / f"store-{unit}-{part}", create=True) as store:
        manifest = ingest(store, unit, [str(file)], resolve(threshold=_INGEST_THRESHOLD), options)
        seconds = perf_counter() - begin
        with store.open(unit) as generation:
            arrays = [*vars(generation.graph()).values(), *vars(generation.forest()).values(), generation.dropped()]
            return {
                "device": device,
                "molecules": generation.size,
                "edges": manifest.edges,
                "generation": generation.id,
                "sha256": _digest(arrays),
                "ingest_seconds": seconds,
                "stages": manifest.times,
            }


def _digest_of_pairs(pairs: Pairs) -> str:
    """Return the SHA-256 of pairs and similarities, in order of their items."""
    order = np.lexsort((pairs.right, pairs.left))
    return _digest(column[order] for column in vars(pairs).values())


def _digest(arrays: Iterable[NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()
