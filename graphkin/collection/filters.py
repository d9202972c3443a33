"""Filters of items by properties and names, applied to one batch of columns at a time."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.filters import Filter
from graphkin.store.base import Generation
from graphkin.store.columns import visible_columns
from graphkin.store.records import Int32, Mask

_NAMES = "names"
_POSSIBLE = {"number": ("min", "max", "equals", "among"), "text": ("equals", "among", "contains")}
_WRITTEN = {"among": "in"}
_COMPARISONS: dict[str, Callable[[pa.Array, Any], pa.Array]] = {
    "min": pc.greater_equal,
    "max": pc.less_equal,
    "equals": pc.equal,
    "among": lambda values, among: pc.is_in(values, value_set=among),
    "contains": lambda values, part: pc.match_substring(values, part.as_py()),
    "begins": lambda values, beginning: pc.starts_with(values, beginning.as_py()),
}


class _Condition(NamedTuple):
    """A comparison with the values of one stored column.

    Attributes:
        column: the stored column.
        kind: number, text or names.
        name: the comparison, a key of `_COMPARISONS`.
        value: the right side of the comparison.
        read: converts the stored values first.
    """

    column: str
    kind: str
    name: str
    value: pa.Scalar | pa.Array
    read: Callable[[pa.Array], pa.Array] = lambda column: column


def filter_mask(
    generation: Generation, filters: Sequence[Filter], beginning: str | None = None, ids: Int32 | None = None
) -> Mask:
    """Return which items pass every filter and have a name with this beginning, in any case.

    Args:
        generation: the generation.
        filters: the filters.
        beginning: the beginning of a name.
        ids: (n,) ids of the items to filter; by default all N.

    Returns:
        (n,) or (N,) bool.

    Raises:
        InvalidInput: A property does not exist, or it has no such condition; the message lists what is accepted.
    """
    conditions = [each for filter in filters for each in _conditions(generation, filter)]
    if beginning is not None:
        conditions.append(_Condition(_NAMES, _NAMES, "begins", _lower(beginning)))
    mask = np.ones(generation.size if ids is None else len(ids), np.bool_)
    begin = 0
    for batch in generation.scan(ids, [*dict.fromkeys(each.column for each in conditions)]) if conditions else ():
        rows = slice(begin, begin + batch.num_rows)
        for condition in conditions:
            mask[rows] &= _evaluate(condition, batch[condition.column])
        begin = rows.stop
    return mask


def _conditions(generation: Generation, filter: Filter) -> Iterator[_Condition]:
    columns = visible_columns(generation.manifest)
    if filter.property != _NAMES and filter.property not in columns:
        expected = f"one of {', '.join([_NAMES, *columns])}"
        raise InvalidInput("items have no such property", given=filter.property, expected=expected)
    column = columns.get(filter.property)
    kind = _NAMES if column is None else column.kind
    for name, value in filter.conditions().items():
        _require_possible(filter.property, kind, name, value)
        compared = _compared(kind, value)
        if column is None:
            yield _Condition(_NAMES, kind, name, compared)
        else:
            yield _Condition(column.stored, kind, name, compared, column.values)


def _require_possible(column: str, kind: str, name: str, value: Any) -> None:
    content = "number" if kind == "number" else "text"
    type, values = (str if content == "text" else int | float), value if isinstance(value, list) else [value]
    if name not in _POSSIBLE[content] or not all(isinstance(each, type) for each in values):
        possible = ", ".join(_WRITTEN.get(each, each) for each in _POSSIBLE[content])
        parameter = _WRITTEN.get(name, name)
        raise InvalidInput(
            f"{column} holds {content}s, of which this cannot be asked",
            given={"property": column, parameter: value if len(values) == 1 else values[:3]},
            expected=f"{content}s, for {possible}",
            hint="numbers are written without quotation marks" if content == "number" else "texts have no order here",
        )


def _compared(kind: str, value: Any) -> pa.Scalar | pa.Array:
    if kind == "number":
        return pa.array(value, pa.float64()) if isinstance(value, list) else pa.scalar(float(value))
    return pc.utf8_lower(pa.array(value, pa.string())) if isinstance(value, list) else _lower(value)


def _lower(text: str) -> pa.Scalar:
    return pc.utf8_lower(pa.scalar(text))


def _evaluate(condition: _Condition, column: pa.Array) -> Mask:
    compare = partial(_compare, condition)
    if condition.kind == "number":
        return compare(condition.read(column))
    if condition.kind == "text":
        return compare(pc.utf8_lower(condition.read(column)))
    owners = np.repeat(np.arange(len(column)), np.asarray(pc.list_value_length(column)))
    return np.bincount(owners[compare(pc.utf8_lower(pc.list_flatten(column)))], minlength=len(column)) > 0


def _compare(condition: _Condition, values: pa.Array) -> Mask:
    passed = _COMPARISONS[condition.name](values, condition.value)
    return pc.fill_null(passed, False).to_numpy(zero_copy_only=False)
