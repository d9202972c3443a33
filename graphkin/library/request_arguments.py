"""Arguments of methods that become fields of requests: ids of items and JSON."""

import json
from collections.abc import Mapping, Set
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.protocol.errors import InvalidInput, require
from graphkin.store.records import Int64


def integer_ids(ids: Any) -> Int64:
    """Return ids of items as (n,) int64.

    Args:
        ids: One integer, or integers in a list, a set, an array, a Series, or a column or a value of a table.

    Raises:
        InvalidInput: If they are no integers, such as a mask of booleans.
    """
    plain_ids = ids.as_py() if isinstance(ids, pa.Scalar) else [*ids] if isinstance(ids, Set) else ids
    values = np.atleast_1d(np.asarray(plain_ids))
    if values.ndim > 1 or (values.size and values.dtype.kind not in "iu"):
        raise InvalidInput(
            "ids are integers",
            given=f"values of type {values.dtype}",
            expected="ids from 0 to the number of items - 1",
            hint="for a mask of booleans, pass numpy.flatnonzero(mask)",
        )
    return values.astype(np.int64)


def require_id(id: object) -> None:
    """Raise `InvalidInput` if the id of an item is neither None nor an integer."""
    require(
        id is None or isinstance(id, Integral),
        "id of an item",
        id,
        "an integer",
        hint="name an item of a structure with smiles=, and one of a name with name=",
    )


def request_json(fields: Mapping[str, Any]) -> str:
    """Return the fields of a request as JSON, without those that are None.

    Raises:
        InvalidInput: If JSON has no value of a field's type.
    """
    return json.dumps({name: value for name, value in fields.items() if value is not None}, default=_plain)


def _plain(value: object) -> Any:
    """Return a mapping, a NumPy number or an array as a value that JSON has."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise InvalidInput(
        "this argument has a value of an unknown type",
        given=f"a value of type {type(value).__name__}",
        expected="texts, numbers, lists and dictionaries",
        hint="pass a molecule as SMILES: Chem.MolToSmiles(molecule)",
    )
