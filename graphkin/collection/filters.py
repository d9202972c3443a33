"""Filters of items by properties and names, applied to one batch of columns at a time."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.collection.sar.descriptors import descriptor_values
from graphkin.protocol.errors import InvalidInput, suggest
from graphkin.protocol.filters import Filter
from graphkin.store.base import Generation
from graphkin.store.columns import VisibleColumn, column_titles, find_column
from graphkin.store.computed import read_columns
from graphkin.store.records import Int32, Mask

_NAMES = "names"
_CONDITIONS_BY_TYPE = {"number": ("min", "max", "equals", "among"), "text": ("equals", "among", "contains")}
_FIELD_NAMES = {"among": "in"}  # `in` is a keyword in Python
_COMPARISONS: dict[str, Callable[[pa.Array, Any], pa.Array]] = {
    "min": pc.greater_equal,
    "max": pc.less_equal,
    "equals": pc.equal,
    "among": lambda values, among: pc.is_in(values, value_set=among),
    "contains": lambda values, part: pc.match_substring(values, part.as_py()),
    "starts_with": lambda values, prefix: pc.starts_with(values, prefix.as_py()),
}


class _Condition(NamedTuple):
    """A comparison with the values of one column.

    Attributes:
        column: The column, None for the names of the items.
        name: The comparison, a key of `_COMPARISONS`.
        value: The right side of the comparison. Texts are in lower case.
    """

    column: VisibleColumn | None
    name: str
    value: pa.Scalar | pa.Array


def filter_mask(
    generation: Generation, filters: Sequence[Filter], name_prefix: str | None = None, ids: Int32 | None = None
) -> Mask:
    """Return a mask of the items that pass every filter and have a name with a prefix.

    Args:
        generation: The generation.
        filters: The filters.
        name_prefix: The prefix of a name, compared without regard to case. By default names do not matter.
        ids: (n,) ids of the items to filter. By default all N items.

    Returns:
        A mask, (n,) or (N,) bool.

    Raises:
        InvalidInput: A property does not exist, or a condition does not apply to its type. The error lists the
            accepted properties or conditions.
    """
    conditions = [each for filter in filters for each in _conditions(generation, filter)]
    if name_prefix is not None:
        conditions.append(_Condition(None, "starts_with", _lower(name_prefix)))
    mask = np.ones(generation.size if ids is None else len(ids), np.bool_)
    if not conditions:
        return mask
    columns = [*dict.fromkeys(each.column for each in conditions)]
    properties = [each for each in columns if each is not None]
    names = [_NAMES] if None in columns else []
    begin = 0
    for name_lists, values in read_columns(generation, names, properties, descriptor_values(generation), ids):
        batch = dict(zip([*names, *properties], [*name_lists, *values], strict=True))
        rows = slice(begin, begin + len(batch[conditions[0].column or _NAMES]))
        for condition in conditions:
            mask[rows] &= _evaluate(condition, batch[condition.column or _NAMES])
        begin = rows.stop
    return mask


def _conditions(generation: Generation, filter: Filter) -> Iterator[_Condition]:
    """Iterate over the conditions of a filter, after a check that they apply to the property."""
    column = None
    if filter.property != _NAMES:
        column = find_column(generation.manifest, filter.property)
        if column is None:
            accepted = [_NAMES, *column_titles(generation.manifest)]
            raise InvalidInput(
                "items have no property of this name",
                given=filter.property,
                expected=f"one of {', '.join(accepted)}",
                hint=suggest(filter.property, accepted, "use one of the accepted names; case matters"),
            )
    kind = _NAMES if column is None else column.kind
    for name, value in filter.conditions().items():
        _require_applicable(filter.property, kind, name, value)
        yield _Condition(column, name, _right_side(kind, value))


def _require_applicable(column: str, kind: str, name: str, value: Any) -> None:
    """Raise `InvalidInput` unless the condition `name` applies to columns of this kind, and `value` has their type."""
    content = "number" if kind == "number" else "text"
    type, values = (str if content == "text" else int | float), value if isinstance(value, list) else [value]
    if name not in _CONDITIONS_BY_TYPE[content] or not all(isinstance(each, type) for each in values):
        possible = ", ".join(_FIELD_NAMES.get(each, each) for each in _CONDITIONS_BY_TYPE[content])
        parameter = _FIELD_NAMES.get(name, name)
        raise InvalidInput(
            f"{column} holds {content}s, and the condition {parameter} does not apply to them",
            given=value if len(values) == 1 else values[:3],
            expected=f"{content}s, for {possible}",
            hint="write numbers without quotation marks"
            if content == "number"
            else "texts are not ordered: use equals, in or contains",
        )


def _right_side(kind: str, value: Any) -> pa.Scalar | pa.Array:
    if kind == "number":
        return pa.array(value, pa.float64()) if isinstance(value, list) else pa.scalar(float(value))
    return pc.utf8_lower(pa.array(value, pa.string())) if isinstance(value, list) else _lower(value)


def _lower(text: str) -> pa.Scalar:
    return pc.utf8_lower(pa.scalar(text))


def _evaluate(condition: _Condition, column: pa.Array) -> Mask:
    """Return whether each row of a stored column meets a condition. For names, one name of the row must meet it."""
    compare = partial(_compare, condition)
    if condition.column is None:
        owners = np.repeat(np.arange(len(column)), np.asarray(pc.list_value_length(column)))
        return np.bincount(owners[compare(pc.utf8_lower(pc.list_flatten(column)))], minlength=len(column)) > 0
    values = condition.column.values(column)
    return compare(values if condition.column.kind == "number" else pc.utf8_lower(values))


def _compare(condition: _Condition, values: pa.Array) -> Mask:
    passed = _COMPARISONS[condition.name](values, condition.value)
    return pc.fill_null(passed, False).to_numpy(zero_copy_only=False)
