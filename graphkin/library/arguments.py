"""Arguments that `graphkin.ingest` and `Collection.append` have in common."""

import os
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.readers import Input
    from graphkin.ingest.readers.columns import Decimal, Delimiter
    from graphkin.protocol.values import Duplicates
    from graphkin.similarity.devices import Device

File: TypeAlias = str | PathLike[str]


def read_arguments(
    kind: str,
    data: Any,
    *,
    smiles: str | None,
    name: str | None,
    properties: Sequence[str] | None,
    fingerprint_column: str | None,
    vector_column: str | None,
    names: File | Sequence[File],
    format: str | None,
    delimiter: "Delimiter | None",
    encoding: str | None,
    decimal: "Decimal",
    duplicates: "Duplicates" = "first",
    max_rejected: float,
    workers: int | None,
    device: "Device",
) -> "tuple[list[Input], IngestOptions]":
    """Return the inputs and the options of an ingest or an append from the arguments of the function.

    Args:
        kind: Plural of the kind of the items.
        data: The data.
        smiles: The other arguments are those of `ingest`.

    Raises:
        InvalidInput: The data cannot be read as items of this kind.
    """
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.recipes import read_options
    from graphkin.library.data import as_inputs

    inputs = as_inputs(data, kind, format=format, names=names)
    read = read_options(
        kind,
        smiles,
        fingerprint_column,
        vector_column,
        format=format,
        name_column=name,
        delimiter=delimiter,
        properties=None if properties is None else tuple(properties),
        encoding=encoding,
        decimal=decimal,
    )
    return inputs, IngestOptions(
        read=read,
        names=_paths(names) if all(isinstance(each, str) for each in inputs) else (),
        duplicates=duplicates,
        max_rejected=max_rejected,
        workers=workers or os.cpu_count() or 1,
        device=device,
    )


def _paths(files: File | Sequence[File]) -> list[str]:
    return [os.fspath(file) for file in ([files] if isinstance(files, str | PathLike) else files)]
