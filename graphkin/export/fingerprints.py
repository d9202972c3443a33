"""Packed fingerprints as FPS files, the format of chemfp, and as NPY files."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.store.base import Generation
from graphkin.store.records import FingerprintType, Int32

_ROWS = 4096  # fingerprints per chunk
_FORBIDDEN = frozenset("\t\n\r\0")  # characters that an identifier cannot contain


@dataclass(frozen=True)
class FingerprintSelection:
    """The fingerprints of some items.

    Attributes:
        generation: The generation to read.
        type: Type of the fingerprints.
        ids: Ids of the items, in the order of the export.
    """

    generation: Generation
    type: FingerprintType
    ids: Int32 | range

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def bytes(self) -> int:
        """Number of bytes per fingerprint."""
        return -(-self.type.bits // 8)

    def blocks(self) -> Iterator[tuple[Int32, NDArray[np.uint8]]]:
        """Yield blocks of ids, (n,) int32, and packed fingerprints, (n, bytes) uint8."""
        words = self.generation.fingerprints().words
        for start in range(0, len(self), _ROWS):
            ids = np.asarray(self.ids[start : start + _ROWS], np.int32)
            packed = np.ascontiguousarray(words[ids], "<u8").view(np.uint8)
            yield ids, packed[:, : self.bytes]


def fps(selection: FingerprintSelection) -> Iterator[bytes]:
    """Yield an FPS file: a header and one line per fingerprint, one chunk per block."""
    manifest = selection.generation.manifest
    software = [*(f"{name}/{manifest.versions[name]}" for name in manifest.libraries), "graphkin"]
    header = {"num_bits": selection.type.bits, "type": selection.type.name, "software": " ".join(software)}
    yield "".join(["#FPS1\n", *(f"#{key}={value}\n" for key, value in header.items() if value)]).encode()
    for ids, packed in selection.blocks():
        items = selection.generation.take(ids, ["id", "smiles", "names"])
        lines = zip(packed, _identifiers(items), strict=True)
        yield "".join(f"{bits.tobytes().hex()}\t{identifier}\n" for bits, identifier in lines).encode()


def npy(selection: FingerprintSelection) -> Iterator[bytes]:
    """Yield an NPY file with an array (n, bytes) of uint8."""
    head = io.BytesIO()
    shape = {"descr": "|u1", "fortran_order": False, "shape": (len(selection), selection.bytes)}
    np.lib.format.write_array_header_1_0(head, shape)
    yield head.getvalue()
    for _, packed in selection.blocks():
        yield packed.tobytes()


def _identifiers(items: pa.RecordBatch) -> Iterator[str]:
    """Yield the identifier of each item in an FPS file."""
    columns = (items[name].to_pylist() for name in ("id", "smiles", "names"))
    for id, smiles, names in zip(*columns, strict=True):
        yield next((name for name in names if name and _FORBIDDEN.isdisjoint(name)), None) or smiles or str(id)
