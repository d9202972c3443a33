"""Recipes of an ingest, which depend on options and on the content of the files."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from graphkin.ingest.readers import Input, ReadOptions
from graphkin.ingest.readers.widths import fingerprint_type, vector_dimension
from graphkin.ingest.reading import require_fingerprint_column
from graphkin.similarity.fingerprints.kind import FingerprintKind
from graphkin.similarity.fingerprints.recipe import BitsRecipe, resolve_bits
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.similarity.molecules.recipe import MoleculeRecipe, resolve_flat
from graphkin.similarity.vectors.kind import VectorKind
from graphkin.similarity.vectors.recipe import VectorRecipe, resolve_vectors

_TABLE_FORMATS = {each: "fingerprint" for each in MoleculeKind.file_formats if each in ("csv", "tsv", "parquet")}


def read_options(
    items: str,
    smiles_column: str | None = None,
    fingerprint_column: str | None = None,
    vector_column: str | None = None,
    **others: Any,
) -> ReadOptions:
    """Return the options for reading files of one kind of item.

    Args:
        items: Plural of the kind, such as "molecules".
        smiles_column: Column of tables with the SMILES of molecules.
        fingerprint_column: Column of tables with fingerprints, as items or as precomputed fingerprints of molecules.
        vector_column: Column of tables with vectors.
        others: Other fields of `ReadOptions`.
    """
    columns = {"molecules": smiles_column, "fingerprints": fingerprint_column, "vectors": vector_column}
    companion_column = fingerprint_column if items == "molecules" else None
    return ReadOptions(structure_column=columns.get(items), fingerprint_column=companion_column, **others)


def molecule_recipe(
    files: Sequence[Input], read: ReadOptions, preset: str = "default", **settings: Any
) -> MoleculeRecipe:
    """Return a recipe of molecules as `resolve_flat` does. The files decide the length of precomputed fingerprints.

    Raises:
        InvalidInput: The files do not show the length, or only one of `fingerprint="given"` and
            `read.fingerprint_column` is set.
    """
    column = read.fingerprint_column
    require_fingerprint_column(column, is_precomputed=settings.get("fingerprint") == "given")
    if column is not None and settings.get("bits") is None:
        column_options = replace(read, structure_column=column, fingerprint_column=None, properties=())
        settings["bits"] = fingerprint_type(files, _TABLE_FORMATS, column_options).bits
    return resolve_flat(preset, **settings)


def bits_recipe(files: Sequence[Input], read: ReadOptions, bits: int | None = None, **settings: Any) -> BitsRecipe:
    """Return a recipe of fingerprints as `resolve_bits` does. Without `bits`, the files decide the length.

    Raises:
        InvalidInput: The files do not show the length.
    """
    if bits is not None:
        return resolve_bits(bits=bits, **settings)
    fingerprint = fingerprint_type(files, FingerprintKind.file_formats, read)
    return resolve_bits(bits=fingerprint.bits, type=fingerprint.name, **settings)


def vector_recipe(
    files: Sequence[Input], read: ReadOptions, dimension: int | None = None, **settings: Any
) -> VectorRecipe:
    """Return a recipe of vectors as `resolve_vectors` does. Without `dimension`, the files decide the dimension.

    Raises:
        InvalidInput: The files do not show the dimension.
    """
    length = vector_dimension(files, VectorKind.file_formats, read) if dimension is None else dimension
    return resolve_vectors(dimension=length, **settings)
