"""Molecular descriptors of the molecules of a generation, computed by RDKit once and cached on disk.

The cache (`graphkin.collection.block_cache`) holds blocks of `BLOCK` molecules. After an append, only the last block of
a collection and the new ones are computed again.
"""

import math
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from rdkit import Chem, rdBase

from graphkin.collection.block_cache import BlockCache
from graphkin.collection.processes import map_in_processes
from graphkin.collection.structures import require_molecules
from graphkin.protocol.descriptors import DESCRIPTORS
from graphkin.runtime.array_cache import Key
from graphkin.similarity.kind import BLOCK, Advance
from graphkin.store.base import Generation
from graphkin.store.records import Float64, Int32, Int64

_CACHE_BYTES = 4 * 2**30  # maximum size of the cached descriptors of all collections, in bytes
_CHUNK = 256  # molecules that a worker process describes at a time, about half a second of work
_IN_PROCESS = 512  # missing molecules up to which starting worker processes takes longer than the work

_POSITION = {name: position for position, name in enumerate(DESCRIPTORS)}

_tables: "WeakKeyDictionary[Generation, DescriptorTable]" = WeakKeyDictionary()
_lock = threading.Lock()


class DescriptorTable(NamedTuple):
    """The descriptors of N molecules.

    Attributes:
        blocks: Arrays of (n, 11) float64, one for each block of molecules. The columns have the order of `DESCRIPTORS`.
            NaN stands for a descriptor that RDKit cannot compute. The arrays are memory maps of cached files.
    """

    blocks: Sequence[Float64]

    def column(self, name: str) -> Float64:
        """Return one descriptor of all molecules, (N,) float64."""
        return np.concatenate([np.empty(0), *(block[:, _POSITION[name]] for block in self.blocks)])

    def rows(self, ids: Int32 | Int64) -> Float64:
        """Return all descriptors of some molecules, (n, 11) float64, in the order of `ids`."""
        rows = np.empty((len(ids), len(DESCRIPTORS)))
        blocks = ids // BLOCK
        for block in np.unique(blocks).tolist():
            within = blocks == block
            rows[within] = self.blocks[block][ids[within] - block * BLOCK]
        return rows


@cache
def _functions() -> list[Callable[[Chem.Mol], float]]:
    """Return the functions of the descriptors, in the order of `DESCRIPTORS`.

    Their modules take 0.2 s to import, so programs that need no descriptors do not import them.
    """
    from rdkit.Chem import QED, Descriptors, rdMolDescriptors

    functions: dict[str, Callable[[Chem.Mol], float]] = {
        "descriptor.molecular_weight": Descriptors.MolWt,
        "descriptor.heavy_atoms": Chem.Mol.GetNumHeavyAtoms,
        "descriptor.rings": rdMolDescriptors.CalcNumRings,
        "descriptor.clogp": Descriptors.MolLogP,
        "descriptor.tpsa": rdMolDescriptors.CalcTPSA,
        "descriptor.hbd": rdMolDescriptors.CalcNumHBD,
        "descriptor.hba": rdMolDescriptors.CalcNumHBA,
        "descriptor.rotatable_bonds": rdMolDescriptors.CalcNumRotatableBonds,
        "descriptor.qed": QED.qed,
        "descriptor.fsp3": rdMolDescriptors.CalcFractionCSP3,
        "descriptor.formal_charge": Chem.GetFormalCharge,
    }
    return [functions[name] for name in DESCRIPTORS]


def describe_molecule(smiles: str) -> list[float | None]:
    """Return the descriptors of a molecule in the order of `DESCRIPTORS`, None where RDKit cannot compute one."""
    return [None if math.isnan(value) else value for value in _describe(smiles)]


def describe_smiles(smiles: Iterable[str]) -> list[list[float]]:
    """Return the descriptors of molecules in the order of `DESCRIPTORS`.

    NaN stands for a descriptor that RDKit cannot compute.
    """
    return [_describe(text) for text in smiles]


def _describe(smiles: str) -> list[float]:
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        return [_value(function, molecule) for function in _functions()]


def _value(compute: Callable[[Chem.Mol], float], molecule: Chem.Mol | None) -> float:
    if molecule is None:
        return float("nan")
    try:
        return float(compute(molecule))
    except (ValueError, RuntimeError, ZeroDivisionError):  # what RDKit raises for unusual elements and valences
        return float("nan")


def descriptor_table(
    generation: Generation, processes: int, advance: Advance = lambda _: None, in_process: int = _IN_PROCESS
) -> DescriptorTable:
    """Return the descriptors of all molecules from the cache of the user. Missing blocks are computed and cached.

    Args:
        generation: A generation of molecules.
        processes: The number of worker processes.
        advance: A function that is called with the number of molecules that have been processed.
        in_process: The largest number of missing molecules that this process describes itself.

    Raises:
        Conflict: The items are not molecules.
        StoreError: The operating system ended a worker process, for example for lack of memory.
    """
    require_molecules(generation.manifest, "molecular descriptors")
    with _lock:
        table = _tables.get(generation)
    if table is None:
        table = _compute_table(generation, processes, advance, in_process)
        with _lock:
            _tables[generation] = table
    return table


def descriptor_values(generation: Generation) -> Callable[[str], Float64]:
    """Return a function that returns one descriptor of all molecules, (N,) float64.

    The first call computes missing descriptors in this process. A caller that must not wait calls `descriptor_table`
    before, as `OpenCollection` does.
    """
    return lambda name: descriptor_table(generation, 1).column(name)


def _compute_table(generation: Generation, processes: int, advance: Advance, in_process: int) -> DescriptorTable:
    cache = _open_cache()
    blocks: list[Float64 | None] = []
    keys: list[Key] = []
    for smiles in _blocks(generation, range(0, generation.size, BLOCK)):
        keys.append(cache.key(smiles))
        blocks.append(cache.get(keys[-1], len(smiles)))
        if blocks[-1] is not None:
            advance(len(smiles))
    missing = [number for number, block in enumerate(blocks) if block is None]
    starts = [number * BLOCK for number in missing]
    sizes = [min(BLOCK, generation.size - start) for start in starts]
    chunks = (
        smiles[begin : begin + _CHUNK]
        for smiles in _blocks(generation, starts)
        for begin in range(0, len(smiles), _CHUNK)
    )
    with closing(_describe_chunks(chunks, 0 if sum(sizes) <= in_process else processes)) as described:
        for number, size in zip(missing, sizes, strict=True):
            rows: list[list[float]] = []
            while len(rows) < size:
                chunk = next(described)
                rows += chunk
                advance(len(chunk))
            values = np.array(rows, np.float64).reshape(size, len(DESCRIPTORS))
            cached = cache.add(keys[number], size, {"values": values})
            blocks[number] = values if cached is None else cached
    return DescriptorTable([block for block in blocks if block is not None])


def _describe_chunks(chunks: Iterable[list[str]], processes: int) -> Generator[list[list[float]], None, None]:
    """Yield the descriptors of each chunk. 0 processes describe them in this process."""
    if processes:
        yield from map_in_processes(describe_smiles, chunks, processes, "descriptors")
    else:
        yield from map(describe_smiles, chunks)


def _blocks(generation: Generation, starts: Iterable[int]) -> Iterator[list[str]]:
    """Yield the SMILES of the blocks of molecules that begin at the ids `starts`."""
    for start in starts:
        stop = min(start + BLOCK, generation.size)
        yield [text for batch in generation.columns(["smiles"], start, stop) for text in batch["smiles"].to_pylist()]


def _open_cache() -> BlockCache[Float64]:
    return BlockCache("descriptors", " ".join(DESCRIPTORS), _CACHE_BYTES, lambda values: values, _has_shape)


def _has_shape(values: Float64, molecules: int) -> bool:
    return (values.dtype, *values.shape) == (np.dtype(np.float64), molecules, len(DESCRIPTORS))
