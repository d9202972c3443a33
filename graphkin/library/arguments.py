"""Arguments that `graphkin.ingest` and `Collection.append` have in common."""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

from graphkin.protocol.errors import require

if TYPE_CHECKING:
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.readers import Input
    from graphkin.ingest.readers.columns import Decimal, Delimiter
    from graphkin.protocol.values import Duplicates
    from graphkin.similarity.devices import Device

File: TypeAlias = str | PathLike[str]

KINDS: Final = ("molecules", "graphs", "nodes", "fingerprints", "vectors")
"""Plurals of the kinds of items."""


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
    from graphkin.ingest.readers.columns import Decimal, Delimiter
    from graphkin.ingest.recipes import read_options
    from graphkin.library.data import as_inputs
    from graphkin.similarity.devices import Device

    require_one_of("decimal", decimal, get_args(Decimal))
    require_one_of("delimiter", delimiter, (None, *get_args(Delimiter)))
    require_one_of("device", device, get_args(Device))
    require(
        workers is None or (isinstance(workers, Integral) and workers > 0),
        "number of workers",
        workers,
        "1 or more",
        hint="leave workers out to use all cores",
    )
    require(
        isinstance(max_rejected, Real) and 0 <= max_rejected <= 1,
        "max_rejected",
        max_rejected,
        "a fraction from 0 to 1",
        hint="pass max_rejected=0.1 to accept up to 10 % rejected records",
    )
    inputs = as_inputs(data, kind, format=format, names=names)
    read = read_options(
        kind,
        _title(smiles),
        _title(fingerprint_column),
        _title(vector_column),
        format=format,
        name_column=_title(name),
        delimiter=delimiter,
        properties=None if properties is None else tuple(map(str, _as_list(properties))),
        encoding=encoding,
        decimal=decimal,
    )
    return inputs, IngestOptions(
        read=read,
        names=_paths(names) if all(isinstance(each, str) for each in inputs) else (),
        duplicates=duplicates,
        max_rejected=max_rejected,
        workers=int(workers or os.cpu_count() or 1),
        device=device,
    )


def _title(column: object) -> str | None:
    """Return the title of a column. A data frame without titles has numbers, which become text."""
    return None if column is None else str(column)


def _as_list(columns: Sequence[str]) -> Sequence[str]:
    return [columns] if isinstance(columns, str) else columns


def require_one_of(name: str, value: object, accepted: Sequence[str | None]) -> None:
    """Raise `InvalidInput` unless an argument is one of the accepted values."""
    names = [each for each in accepted if each is not None]
    similar = get_close_matches(str(value), names, 1) or names[:1]
    require(
        value in accepted,
        name,
        value,
        f"one of {' '.join(names) if name == 'decimal' else ', '.join(names)}",
        hint=f'pass {name}="{similar[0]}"',
    )


def _paths(files: File | Sequence[File]) -> list[str]:
    return [os.fspath(file) for file in ([files] if isinstance(files, str | PathLike) else files)]
