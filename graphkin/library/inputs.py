"""Fingerprints of any data: files, tables, structures, arrays and collections."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.ingest.parsing import Chunk, ChunkParser, Parsed
from graphkin.ingest.pool import ParserPool
from graphkin.ingest.readers import Input, ReadOptions, open_source
from graphkin.ingest.readers.formats import extension
from graphkin.ingest.reading import chunks
from graphkin.ingest.recipes import bits_recipe
from graphkin.ingest.workspace import Workspace
from graphkin.library.collection import Collection
from graphkin.library.data import Files, arrange, as_inputs, read_bits
from graphkin.protocol.errors import Conflict
from graphkin.similarity.columns import fixed_width_array
from graphkin.similarity.describer import Describer
from graphkin.similarity.fingerprints.describer import BitsDescriber
from graphkin.similarity.fingerprints.kind import FingerprintKind
from graphkin.similarity.kind import Kind
from graphkin.similarity.kinds import kind_of
from graphkin.similarity.molecules.describer import FingerprintDescriber, MoleculeDescriber
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.similarity.molecules.recipe import FingerprintRecipe, MoleculeRecipe
from graphkin.similarity.packed import word_count
from graphkin.similarity.recipe import Recipe
from graphkin.store.records import FingerprintType, Int64, UInt64

_FINGERPRINT_FILES = (".fps", ".npy")
_FEW = 3  # chunks that this process parses before worker processes would have started


@dataclass(frozen=True)
class FingerprintSet:
    """Fingerprints of n records.

    Attributes:
        words: (n, W) uint64 packed fingerprints. A record that cannot be read has no bits.
        type: Number of bits of a fingerprint, and its type in the notation of chemfp, "" if it is not known.
        structures: The structure of each record as text; None for fingerprints without structures.
        names: The name of each record, or None; None if no record has a name.
        rejected: (m,) int64 positions of the records that cannot be read, ascending.
        reasons: The reason for each of them.
    """

    words: UInt64
    type: FingerprintType
    structures: list[str] | None
    names: list[str | None] | None
    rejected: Int64
    reasons: list[str]

    def __len__(self) -> int:
        return len(self.words)


def read_fingerprints(
    data: Any,
    *,
    smiles: str | None = None,
    recipe: FingerprintRecipe | MoleculeRecipe = FingerprintRecipe(),  # noqa: B008 - it is immutable
    workers: int | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> FingerprintSet:
    """Return the fingerprint of each record of some data.

    Args:
        data: Molecules or fingerprints: anything that `graphkin.ingest` accepts, or a collection, whose stored
            fingerprints are returned.
        smiles: Name of the column with SMILES, for tables. The default is "smiles".
        recipe: The fingerprint to compute of molecules. Stored and precomputed fingerprints are returned as they are.
            With a recipe of molecules, molecules are also standardized, and the structures are canonical SMILES.
        workers: Number of worker processes for many records. The default is the number of cores.
        advance: Called with the number of records that were read since the last call.

    Raises:
        InvalidInput: The data cannot be read as molecules or fingerprints.
        Conflict: The collection holds other items, or is on a server.
    """
    if isinstance(data, Collection):
        return _stored_fingerprints(data)
    content = arrange(data)
    if (bits := read_bits(content)) is not None:
        return FingerprintSet(bits.words, FingerprintType(bits.bits, ""), None, None, np.empty(0, np.int64), [])
    read = partial(_read, options=ReadOptions(structure_column=smiles), workers=workers, advance=advance)
    if isinstance(content, Files) and all(extension(path) in _FINGERPRINT_FILES for path in content):
        return read(content, FingerprintKind(), BitsDescriber, bits_recipe(content, ReadOptions()))
    inputs = as_inputs(content, "molecules")
    if isinstance(recipe, MoleculeRecipe):
        return read(inputs, MoleculeKind(), MoleculeDescriber, recipe)
    return read(inputs, MoleculeKind(), FingerprintDescriber, MoleculeRecipe(fingerprint=recipe))


def compute_fingerprints(smiles: Sequence[str], recipe: FingerprintRecipe = FingerprintRecipe()) -> UInt64:  # noqa: B008
    """Return the packed fingerprints of molecules, (n, W) uint64. A SMILES that cannot be read has no bits."""
    return read_fingerprints(pa.table({"smiles": pa.array(smiles, pa.string())}), recipe=recipe).words


def _read(
    inputs: Sequence[Input],
    kind: Kind[Any],
    describer: type[Describer[Any]],
    recipe: Recipe,
    *,
    options: ReadOptions,
    workers: int | None,
    advance: Callable[[int], object],
) -> FingerprintSet:
    """Return the fingerprints of the records of files or of data in memory."""
    type = kind.fingerprint(recipe)
    assert type is not None  # both kinds have fingerprints
    parts = _Parts(word_count(type.bits), advance)
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(open_source(each, kind.file_formats, options))) for each in inputs]
        unread = chunks(sources)
        first = [*islice(unread, _FEW + 1)]
        if len(first) <= _FEW:
            parser = ChunkParser(describer(recipe, kind.max_size))
            for chunk in first:
                parts.add(chunk, parser.parse(chunk))
        else:
            workspace = Workspace(Path(stack.enter_context(TemporaryDirectory(prefix="graphkin-"))))
            pool = ParserPool(describer, recipe, kind.max_size, workers or os.cpu_count() or 1, workspace)
            stack.enter_context(pool).start(chain(first, unread))
            deque(pool.results(parts.add), maxlen=0)
    return parts.result(type, has_structures=kind.name == "molecule")


class _Parts:
    """Collects the fingerprints of parsed chunks.

    Args:
        words_per_record: Number of words of a packed fingerprint.
        advance: Called with the number of records of each chunk.
    """

    def __init__(self, words_per_record: int, advance: Callable[[int], object]) -> None:
        self._advance = advance
        self._words_per_record = words_per_record
        self._count = 0
        self._words: list[UInt64] = []
        self._structures: list[str] = []
        self._names: list[str | None] = []
        self._rejected: list[Int64] = []
        self._reasons: list[str] = []

    def add(self, chunk: Chunk, parsed: Parsed) -> Parsed:
        """Add the next chunk, and return `parsed`."""
        records = chunk.records
        rejected = np.isin(np.asarray(records["line"]), np.asarray(parsed.rejections["line"]))
        words = np.zeros((records.num_rows, self._words_per_record), np.uint64)
        described = fixed_width_array(pa.chunked_array([parsed.items["fingerprint"]]), "<u8")
        words[~rejected] = described.reshape(-1, self._words_per_record)
        self._words.append(words)
        structures = np.array(records["text"].to_pylist(), np.object_)
        if "smiles" in parsed.items.schema.names:
            structures[~rejected] = parsed.items["smiles"].to_pylist()
        self._structures += structures.tolist()
        self._names += records["name"].to_pylist()
        self._rejected.append(np.flatnonzero(rejected) + self._count)
        self._reasons += parsed.rejections["reason"].to_pylist()
        self._count += records.num_rows
        self._advance(records.num_rows)
        return parsed

    def result(self, type: FingerprintType, *, has_structures: bool) -> FingerprintSet:
        """Return all fingerprints."""
        none = np.zeros((0, self._words_per_record), np.uint64)
        return FingerprintSet(
            words=np.concatenate([none, *self._words]),
            type=type,
            structures=self._structures if has_structures else None,
            names=self._names if any(name is not None for name in self._names) else None,
            rejected=np.concatenate([np.empty(0, np.int64), *self._rejected]),
            reasons=self._reasons,
        )


def _stored_fingerprints(collection: Collection) -> FingerprintSet:
    from graphkin.library.stored import StoredCollection

    if not isinstance(collection, StoredCollection) or collection.kind not in ("molecule", "fingerprint"):
        raise Conflict(
            "the fingerprints of this collection cannot be read",
            given=f"{collection.name!r}, a collection of {collection.kind}s",
            expected="a collection of molecules or fingerprints in a store that graphkin.open opened",
            hint="open the store of the collection, or pass the file of its molecules",
        )
    stored = collection.stored
    kind = kind_of(stored)
    type = kind.fingerprint(kind.recipe(stored.manifest.recipe))
    assert type is not None  # both kinds have fingerprints
    columns = collection.items(columns=[*(["smiles"] if collection.kind == "molecule" else []), "names"]).arrow
    names = [next(iter(each), None) for each in columns["names"].to_pylist()]
    return FingerprintSet(
        words=stored.fingerprints().words,
        type=type,
        structures=columns["smiles"].to_pylist() if collection.kind == "molecule" else None,
        names=names if any(name is not None for name in names) else None,
        rejected=np.empty(0, np.int64),
        reasons=[],
    )
