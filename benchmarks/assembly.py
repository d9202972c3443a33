"""Batch assembly from flat arrays, compared with PyTorch Geometric's `Data` objects.

    python -m benchmarks.assembly [--molecules 50000] [--rounds 60]

Batches of 1,024 random molecules are assembled on the CPU in three ways, in turn and every other round in reverse
order: by `Assembler.batch`, by `Batch.from_data_list` from prebuilt objects, and by `Batch.from_data_list` from objects
built on the way. All three hold the same atoms, edges and bonds as int64, without self-loops, which is checked first.
The output is the median of the processor time, which hardly depends on other load.
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.data import molecules
from graphkin.trainer.features.corpus import DIRECTIONS, Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.batch import Assembler

with warnings.catch_warnings():  # its import uses torch.jit, which is deprecated
    warnings.simplefilter("ignore", FutureWarning)
    from torch_geometric.data import Batch, Data

_BATCH = 1024

Ways = dict[str, Callable[[np.ndarray], object]]


def data(corpus: Corpus, id: int) -> Data:
    """Return one molecule as x (type, chirality), edge_index and edge_attr (type, direction)."""
    atoms = slice(int(corpus.atom_offsets[id]), int(corpus.atom_offsets[id + 1]))
    edges = slice(int(corpus.edge_offsets[id]), int(corpus.edge_offsets[id + 1]))
    target = np.repeat(np.arange(atoms.stop - atoms.start), corpus.degree[atoms])
    bond = corpus.bond[edges]
    return Data(
        x=_columns(corpus.atom_type[atoms], corpus.chirality[atoms]).T,
        edge_index=_columns(corpus.source[edges], target),
        edge_attr=_columns(bond // DIRECTIONS, bond % DIRECTIONS).T,
    )


def _columns(one: np.ndarray, other: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.array([one, other], np.int64))


def require_same(corpus: Corpus, ids: np.ndarray) -> None:
    ours = Assembler(corpus).batch(ids)
    theirs = Batch.from_data_list([data(corpus, id) for id in ids])
    x, bond = torch.stack([ours.atom_type, ours.chirality], 1), theirs.edge_attr
    assert torch.equal(x, theirs.x)
    assert torch.equal(ours.graph, theirs.batch)
    assert torch.equal(ours.edge_index, theirs.edge_index)
    assert torch.equal(ours.bond, DIRECTIONS * bond[:, 0] + bond[:, 1])


def measure(ways: Ways, size: int, rounds: int) -> dict[str, float]:
    """Return the median milliseconds per batch. All three ways get the same molecules in a round."""
    random = np.random.default_rng(0)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(-2, rounds):
        ids = random.integers(size, size=_BATCH)
        for name in ways if number % 2 else reversed(ways):
            begin = time.process_time()
            ways[name](ids)
            if number >= 0:
                times[name].append(time.process_time() - begin)
    return {name: 1e3 * statistics.median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(1)  # as in the workers of a DataLoader, which collate batches
    source, lines = molecules(options.molecules)
    corpus = featurize([line.split()[0] for line in lines], source, os.cpu_count() or 1)
    require_same(corpus, np.arange(_BATCH))
    assembler, prebuilt = Assembler(corpus), [data(corpus, id) for id in range(corpus.size)]
    medians = measure(
        {
            "flat arrays": assembler.batch,
            "Data, made beforehand": lambda ids: Batch.from_data_list([prebuilt[id] for id in ids]),
            "Data, made on the way": lambda ids: Batch.from_data_list([data(corpus, id) for id in ids]),
        },
        corpus.size,
        options.rounds,
    )
    print(f"{corpus.size:,} molecules of {source}, {_BATCH:,} a batch, one thread")
    for name, median in medians.items():
        print(f"  {name:24} {median:8.2f} ms {median / medians['flat arrays']:8.1f} times as long")


if __name__ == "__main__":
    main()
