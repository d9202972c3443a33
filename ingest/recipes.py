"""Recipes of an ingest, resolved from options and from the contents of the files."""

from collections.abc import Sequence
from typing import Any

from graphkin.ingest.readers import ReadOptions
from graphkin.ingest.readers.widths import dimension as dimension_of
from graphkin.ingest.readers.widths import fingerprint_type
from graphkin.ingest.reading import require_fingerprint_column
from graphkin.similarity.fingerprints.kind import FingerprintKind
from graphkin.similarity.fingerprints.recipe import BitsRecipe, resolve_bits
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.similarity.molecules.recipe import MoleculeRecipe, resolve_flat
from graphkin.similarity.vectors.kind import VectorKind
from graphkin.similarity.vectors.recipe import VectorRecipe, resolve_vectors

_WITH_FINGERPRINTS = {each: "fingerprint" for each in MoleculeKind.file_formats if each in ("csv", "tsv", "parquet")}


def read_options(
    items: str,
    smiles_column: str | None = None,
    fingerprint_column: str | None = None,
    vector_column: str | None = None,
    **others: Any,
) -> ReadOptions:
    """Return how to read files of such items.

    The arguments choose the columns of tables that hold the item itself and, for molecules, a supplied fingerprint.

    Args:
        items: "molecules", "fingerprints", "vectors", ....
        others: Further fields of `ReadOptions`.
    """
    columns = {"molecules": smiles_column, "fingerprints": fingerprint_column, "vectors": vector_column}
    companion_column = fingerprint_column if items == "molecules" else None
    return ReadOptions(structure_column=columns.get(items), fingerprint_column=companion_column, **others)


def molecule_recipe(
    files: Sequence[str], read: ReadOptions, preset: str = "default", **settings: Any
) -> MoleculeRecipe:
    """Resolve a molecule recipe as `resolve_flat` does, with the length of supplied fingerprints taken from the files.

    Raises:
        InvalidInput: The files do not show the length, or fingerprints are supplied without a column that holds them,
            or the other way round.
    """
    column = read.fingerprint_column
    require_fingerprint_column(column, given=settings.get("fingerprint") == "given")
    if column is not None and settings.get("bits") is None:
        column_options = ReadOptions(format=read.format, structure_column=column, delimiter=read.delimiter)
        settings["bits"] = fingerprint_type(files, _WITH_FINGERPRINTS, column_options).bits
    return resolve_flat(preset, **settings)


def bits_recipe(files: Sequence[str], read: ReadOptions, bits: int | None = None, **settings: Any) -> BitsRecipe:
    """Resolve a fingerprint recipe as `resolve_bits` does, with the fingerprint length taken from the files.

    Raises:
        InvalidInput: The files do not show the length.
    """
    if bits is not None:
        return resolve_bits(bits=bits, **settings)
    fingerprint = fingerprint_type(files, FingerprintKind.file_formats, read)
    return resolve_bits(bits=fingerprint.bits, type=fingerprint.name, **settings)


def vector_recipe(
    files: Sequence[str], read: ReadOptions, dimension: int | None = None, **settings: Any
) -> VectorRecipe:
    """Resolve a vector recipe as `resolve_vectors` does, with the dimension taken from the files.

    Raises:
        InvalidInput: The files do not show the dimension.
    """
    length = dimension_of(files, VectorKind.file_formats, read) if dimension is None else dimension
    return resolve_vectors(dimension=length, **settings)
