"""Records of molecules and graphs in files, read in blocks of bounded memory and turned into features of an encoder."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from graphkin.trainer.features.corpus import Corpus

_BATCHES = 32  # batches of the reader per block: at most 32,000 records and 128 million characters
_COLUMNS = ("line", "name", "text", "fault")  # columns of the reader, in the order of the fields of `RecordBlock`
_NOT_A_MOLECULE = "no molecule with atoms that RDKit reads"


class FeaturizedBlock(NamedTuple):
    """The features of a block of records.

    Attributes:
        corpus: The features of the n readable records.
        rows: (n,) int64 positions of the readable records in the block.
        faults: The reasons why the other records cannot be read, by position in the block.
        texts: The text to write with the result, for each record of the block.
    """

    corpus: "Corpus"
    rows: "NDArray[np.int64]"
    faults: dict[int, str]
    texts: Sequence[str]


class RecordKind(NamedTuple):
    """A kind of records to encode.

    Attributes:
        noun: The name of one record in messages.
        column: The name of the output column with the texts.
        expected: The expected input in error messages.
        read: A function that computes the features of a block of texts.
    """

    noun: str
    column: str
    expected: str
    read: Callable[[Sequence[str]], FeaturizedBlock]


def _read_smiles(texts: Sequence[str], features: str) -> FeaturizedBlock:
    from graphkin.trainer.features.featurize import featurize_readable

    corpus, rows = featurize_readable(texts, "", os.cpu_count() or 1, features)
    faults = dict.fromkeys({*range(len(texts))}.difference(rows.tolist()), _NOT_A_MOLECULE)
    return FeaturizedBlock(corpus, rows, faults, texts)


def _read_molblocks(texts: Sequence[str], features: str) -> FeaturizedBlock:
    from graphkin.similarity.describer import Rejected
    from graphkin.similarity.molecules.reader import MoleculeReader
    from graphkin.similarity.molecules.recipe import resolve

    reader = MoleculeReader(resolve())
    smiles, faults = [""] * len(texts), dict[int, str]()
    for row, text in enumerate(texts):
        try:
            smiles[row] = reader.describe(reader.read(text, "molblock")).smiles
        except Rejected as error:
            faults[row] = str(error)
    block = _read_smiles(smiles, features)
    return block._replace(faults={**block.faults, **faults})


def _read_graphs(texts: Sequence[str]) -> FeaturizedBlock:
    import numpy as np

    from graphkin.similarity.describer import Rejected
    from graphkin.similarity.graphs.structure import Structure
    from graphkin.trainer.features.graphs import featurize_graphs

    structures: dict[int, str] = {}
    faults: dict[int, str] = {}
    for row, text in enumerate(texts):
        try:
            structures[row] = Structure.read(text).text
        except Rejected as error:
            faults[row] = str(error)
    return FeaturizedBlock(
        featurize_graphs([*structures.values()], ""), np.array([*structures], np.int64), faults, texts
    )


def record_kind(notation: str, features: str) -> RecordKind:
    """Return the kind of records whose texts have a notation: `smiles`, `molblock` or `graph`.

    Args:
        notation: The notation.
        features: Name of the set of features of molecules.
    """
    match notation:
        case "smiles":
            return RecordKind("molecule", "smiles", "SMILES", partial(_read_smiles, features=features))
        case "molblock":
            return RecordKind("molecule", "smiles", "SD records", partial(_read_molblocks, features=features))
        case _:
            return RecordKind("graph", "structure", "graphs with nodes", _read_graphs)


class RecordBlock(NamedTuple):
    """A block of records, as columns.

    Attributes:
        lines: Number of the line on which the record begins.
        names: Name of the record, or None.
        inputs: Text of the record.
        faults: The reason why the reader rejects the record, or None.
    """

    lines: list[int]
    names: list[str | None]
    inputs: list[str]
    faults: list[str | None]


def read_blocks(batches: "Iterable[pa.RecordBatch]") -> Iterator[RecordBlock]:
    """Yield the records of a reader in blocks."""
    remaining = iter(batches)
    while block := [*islice(remaining, _BATCHES)]:
        columns: Any = ([value for batch in block for value in batch[name].to_pylist()] for name in _COLUMNS)
        yield RecordBlock(*columns)
