"""Ingest throughput, compared with a lower bound of RDKit in the same worker processes.

    python -m benchmarks.ingest [--molecules 20000] [--workers 2] [--repeat 3]

The floor is parsing and fingerprints alone. RDKit's own time covers every RDKit call that an ingest needs (parse,
canonical SMILES, fingerprint, weight, rings). Both run in the pool of the ingest, on the same chunks. The overhead is
the time of the ingest beyond RDKit's own, the join and JIT compilation.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from benchmarks.data import smiles_file
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.ingest.readers import ReadOptions, open_source
from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.similarity.molecules.reader import MoleculeReader
from graphkin.similarity.molecules.recipe import MoleculeRecipe, resolve
from graphkin.store import open_store


def parse_and_fingerprint(records: pa.RecordBatch) -> int:
    reader, fingerprinter = MoleculeReader(MoleculeRecipe()), Fingerprinter(MoleculeRecipe().fingerprint)
    return sum(len(fingerprinter.compute_packed(reader.read(text, "smiles"))) for text in records["text"].to_pylist())


def every_rdkit_call(records: pa.RecordBatch) -> int:
    reader, fingerprinter = MoleculeReader(MoleculeRecipe()), Fingerprinter(MoleculeRecipe().fingerprint)
    count = 0
    for text in records["text"].to_pylist():
        molecule = reader.read(text, "smiles")
        fingerprinter.compute_packed(molecule)
        reader.describe(molecule)
        count += 1
    return count


def timed_pool(work: Callable[[pa.RecordBatch], int], chunks: list[pa.RecordBatch], workers: int) -> float:
    """Return the seconds of `work` over all chunks, including the start of the processes, as in an ingest."""
    begin = time.perf_counter()
    context = get_context("forkserver")
    context.set_forkserver_preload(["graphkin.ingest.pool"])
    with ProcessPoolExecutor(workers, context) as pool:
        list(pool.map(work, chunks))
    return time.perf_counter() - begin


def timed_ingest(path: Path, workers: int) -> tuple[float, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store", create=True) as store:
        begin = time.perf_counter()
        manifest = ingest(store, "benchmark", [str(path)], resolve(), IngestOptions(workers=workers))
        return time.perf_counter() - begin, manifest.times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        label, path = smiles_file(Path(folder), options.molecules)
        chunks = list(open_source(str(path), MoleculeKind.file_formats, ReadOptions()))
        records = sum(chunk.num_rows for chunk in chunks)
        timed_pool(parse_and_fingerprint, chunks[:1], options.workers)  # starts the fork server
        runs = []
        for _ in range(options.repeat):
            floor = timed_pool(parse_and_fingerprint, chunks, options.workers)
            rdkit_seconds = timed_pool(every_rdkit_call, chunks, options.workers)
            total, stages = timed_ingest(path, options.workers)
            rest = total - rdkit_seconds - stages["join"] - stages["compile"]
            runs.append((total, floor, rdkit_seconds, stages["join"], stages["compile"], rest / rdkit_seconds))
    total, floor, rdkit_seconds, join, compiled, overhead = (
        statistics.median(column) for column in zip(*runs, strict=True)
    )
    print(f"{label}, {options.workers} workers, median of {options.repeat}")
    print(f"  ingest                     {total:6.2f} s  {records / total:8,.0f} molecules/s")
    print(f"  floor: parse + fingerprint {floor:6.2f} s  {records / floor:8,.0f} molecules/s")
    print(f"  ingest / floor             {total / floor:6.2f}")
    print(f"  RDKit's own                {rdkit_seconds:6.2f} s")
    print(f"  join                       {join:6.2f} s    JIT compilation {compiled:.2f} s")
    print(f"  everything else            {overhead:6.1%} of RDKit's own")


if __name__ == "__main__":
    main()
