"""The fragmentations of all molecules of a generation as arrays, cached in blocks of consecutive items.

After an append, only the new molecules and those of the last, incomplete block are cut.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase

from graphkin.collection.block_cache import BlockCache
from graphkin.collection.processes import map_in_processes
from graphkin.collection.sar.matched_pairs.attachments import symmetry
from graphkin.collection.sar.matched_pairs.fragmentation import MAX_VARIABLE, fragment, rejection
from graphkin.runtime.array_cache import Key
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation
from graphkin.store.records import Int32, UInt64

_BLOCK = 256  # items; an append cuts fewer old molecules than this again
_CACHE_BYTES = 2 * 2**30  # maximum size of all cached blocks

_ROW = np.dtype(
    [
        ("item", np.int32),
        ("key", np.uint64),
        ("hydrogenated", np.uint64),
        ("variable", np.int32),
        ("order", np.uint8),
        ("exchange", np.uint8),
    ]
)

Bytes = NDArray[np.uint8]


class Fragments(NamedTuple):
    """The F fragmentations of n molecules, with V distinct variable parts.

    Attributes:
        item: (F,) int32 positions of the molecules.
        key: (F,) uint64 hashes of the constant parts.
        hydrogenated: (F,) uint64 hashes of the only constant part with hydrogen, 0 after several cuts.
        variable: (F,) int32 numbers of the variable parts.
        order: (F,) uint8 numbers of the permutations from attachment points to constant parts.
        exchange: (F,) uint8 symmetries of the constant parts.
        structure: (n,) uint64 hashes of the molecules, 0 for those that are not cut.
        reason: (n,) uint8 positions in `fragmentation.REASONS`.
        symmetry: (V,) uint8 symmetries of the variable parts.
        text: (B,) uint8 SMILES of the variable parts, each followed by a line feed.
    """

    item: Int32
    key: UInt64
    hydrogenated: UInt64
    variable: Int32
    order: Bytes
    exchange: Bytes
    structure: UInt64
    reason: Bytes
    symmetry: Bytes
    text: Bytes

    @classmethod
    def from_smiles(cls, smiles: Sequence[str]) -> "Fragments":
        """Cut molecules."""
        rows = []
        symmetries: dict[str, int] = {}
        numbers: dict[str, int] = {}
        structures, reasons = [], []
        for item, text in enumerate(smiles):
            with rdBase.BlockLogs():
                molecule = Chem.MolFromSmiles(text)
            reasons.append(rejection(molecule))
            structures.append(0 if reasons[-1] else hash_text(Chem.MolToSmiles(molecule)))
            for part in [] if reasons[-1] else fragment(molecule):
                symmetries[part.variable] = part.symmetry
                number = numbers.setdefault(part.variable, len(numbers))
                with_hydrogen = 0 if part.with_hydrogen is None else hash_text(part.with_hydrogen)
                key = hash_text(".".join(part.constants))
                rows.append((item, key, with_hydrogen, number, part.order, symmetry(part.constants)))
        table = np.array(rows, _ROW)
        return cls(
            table["item"],
            table["key"],
            table["hydrogenated"],
            table["variable"],
            table["order"],
            table["exchange"],
            np.array(structures, np.uint64),
            np.array(reasons, np.uint8),
            np.array([*symmetries.values()], np.uint8),
            encode_lines(numbers),
        )

    def is_valid_for(self, items: int) -> bool:
        """Return whether the arrays are those of this number of molecules."""
        rows, variables = len(self.item), len(self.symmetry)
        return (
            all(len(column) == rows for column in self[:6])
            and len(self.structure) == len(self.reason) == items
            and (rows == 0 or (self.item.max() < items and self.variable.max() < variables))
            and int((self.text == ord("\n")).sum()) == variables
        )


def hash_text(text: str) -> int:
    """Return a hash of 64 bits that is not 0."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") or 1


def encode_lines(lines: Iterable[str]) -> Bytes:
    """Return texts as one array of bytes, with a line feed after each."""
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)


def decode_lines(text: Bytes) -> list[str]:
    """Return the texts that `encode_lines` encoded."""
    return text.tobytes().decode().splitlines()


def fragment_items(generation: Generation, processes: int, advance: Advance) -> Iterator[tuple[int, Fragments]]:
    """Yield the fragmentations of all molecules in blocks, each with the id of its first item.

    Blocks that the cache holds come first. The others are cut in worker processes.

    Args:
        generation: A generation of molecules.
        processes: The number of worker processes.
        advance: A function that is called with the number of items that have been processed.

    Raises:
        StoreError: The operating system ended a worker process, for example for lack of memory.
    """
    cache = _open_cache()
    missing: dict[int, Key] = {}
    for start in range(0, generation.size, _BLOCK):
        smiles = _block(generation, start)
        key = cache.key(smiles)
        block = cache.get(key, len(smiles))
        if block is None:
            missing[start] = key
        else:
            yield start, block
            advance(len(smiles))
    chunks = (_block(generation, start) for start in missing)
    with closing(map_in_processes(Fragments.from_smiles, chunks, processes, "fragments of molecules")) as blocks:
        for (start, key), block in zip(missing.items(), blocks, strict=True):
            cache.add(key, len(block.reason), block._asdict())
            yield start, block
            advance(len(block.reason))


def _block(generation: Generation, start: int) -> list[str]:
    stop = min(start + _BLOCK, generation.size)
    return [*generation.structures(np.arange(start, stop, dtype=np.int32))]


def _open_cache() -> BlockCache[Fragments]:
    settings = f"{' '.join(Fragments._fields)} {MAX_VARIABLE}"
    return BlockCache("fragments", settings, _CACHE_BYTES, Fragments, Fragments.is_valid_for)
