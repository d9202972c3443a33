"""Parsing of options into requests: conditions, substructures, clusterings and measures."""

import re
import sys
from collections.abc import Sequence

from graphkin.protocol.descriptors import DESCRIPTORS, MOLAR_DIGITS, ActivityName
from graphkin.protocol.errors import InvalidInput, require
from graphkin.protocol.filters import Filter
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.measure import Measure
from graphkin.protocol.requests import ClusteringFields, ClusterSource, QueryFields, Substructure
from graphkin.protocol.validation import translate_validation_errors
from graphkin.protocol.values import ClusterMethod
from graphkin.store.columns import visible_columns

_SIGNS = {">=": "min", "<=": "max", "=": "equals", "~": "contains"}
_SIGN = re.compile("|".join(_SIGNS))
_SIGN_AND_VALUE = re.compile(rf"\s*({_SIGN.pattern})\s*(.*)", re.DOTALL)


def read_argument(text: str | None) -> str | None:
    """Return the value of an argument or option, or the content of standard input if the value is "-"."""
    return sys.stdin.buffer.read().decode(errors="surrogateescape").strip() if text == "-" else text


def parse_query(
    manifest: Manifest, conditions: Sequence[str], substructure: tuple[str, str] | None
) -> QueryFields | None:
    """Return the query for --filter and --substructure, or None if neither is set.

    Args:
        manifest: The manifest of the collection.
        conditions: The values of --filter, such as `molwt>=300`.
        substructure: A text and its notation, "smarts" or "smiles".

    Raises:
        InvalidInput: If a condition or the substructure is invalid.
    """
    if not conditions and substructure is None:
        return None
    filters = [parse_filter(manifest, condition) for condition in conditions]
    with translate_validation_errors():
        return QueryFields(filters=filters, substructure=parse_substructure(substructure))


def parse_series(
    manifest: Manifest,
    *,
    cluster: int | None,
    ids: Sequence[int],
    scaffold: str | None,
    conditions: Sequence[str],
    substructure: tuple[str, str] | None,
    method: ClusterMethod | None,
    threshold: float | None,
) -> QueryFields:
    """Return the query that selects a series of molecules, for the options of `options.series`.

    Raises:
        InvalidInput: If several sources are set, --method or --threshold without --cluster, or an option is invalid.
    """
    require(
        cluster is not None or (method is None and threshold is None),
        "clustering without a cluster",
        f"--{'method' if threshold is None else 'threshold'}",
        "--cluster with --method and --threshold",
        hint="add `--cluster N`, a number of `graphkin cluster`",
    )
    clustering = {"id": cluster, "method": method or "butina", "threshold": threshold}
    with translate_validation_errors():
        return QueryFields(
            filters=[parse_filter(manifest, condition) for condition in conditions],
            substructure=parse_substructure(substructure),
            scaffold=scaffold,
            cluster=None if cluster is None else ClusterSource.model_validate(clustering),
            ids=[*ids] or None,
        )


def parse_substructure(substructure: tuple[str, str] | None) -> Substructure | None:
    """Return the substructure for a text and its notation, "smarts" or "smiles"."""
    if substructure is None:
        return None
    text, notation = substructure
    return Substructure(**{notation: text})


def parse_clustering(method: ClusterMethod, threshold: float | None) -> ClusteringFields:
    """Return the clustering for --method and --threshold.

    Raises:
        InvalidInput: If a threshold is set and the method has none.
    """
    with translate_validation_errors():
        return ClusteringFields(method=method, threshold=threshold)


def parse_filter(manifest: Manifest, condition: str) -> Filter:
    """Return the filter for a condition such as `molwt>=300`.

    Names of properties may contain comparison signs. If the condition begins with the names of several properties, the
    longest name is the property.

    Raises:
        InvalidInput: If the text is not a condition.
    """
    kinds = {title: column.kind for title, column in visible_columns(manifest).items()}
    activities = (ActivityName(unit, title).text for title in kinds for unit in MOLAR_DIGITS)
    kinds |= dict.fromkeys([*DESCRIPTORS, *activities], "number")
    prefixes = [name for name in (*kinds, "names") if condition.startswith(name)]
    properties = [name for name in prefixes if _SIGN_AND_VALUE.match(condition.removeprefix(name))]
    property = max(properties, key=len) if properties else _SIGN.split(condition, maxsplit=1)[0].strip()
    match = _SIGN_AND_VALUE.fullmatch(condition.removeprefix(property).lstrip())
    if match is None:
        raise InvalidInput(
            "invalid condition of --filter",
            given=condition,
            expected="a property, a comparison (>= <= = or ~) and a value",
            hint="write it in quotes, as in --filter 'molwt>=300'",
        )
    sign, value = match.groups()
    is_number = sign in (">=", "<=") or (sign == "=" and kinds.get(property) == "number")
    try:
        return Filter.model_validate({"property": property, _SIGNS[sign]: float(value) if is_number else value})
    except ValueError as error:
        raise InvalidInput(
            "invalid condition of --filter",
            given=condition,
            expected=f"a number after {sign}",
            hint="use ~ to search for a part of a text",
        ) from error


def parse_measure(tversky: tuple[float, float] | None, *, dice: bool, cosine: bool, counts: bool) -> Measure | None:
    """Return the similarity measure for --tversky, --dice, --cosine or --counts, or None if none of them is set.

    Raises:
        InvalidInput: Several of them are set, or a weight is invalid.
    """
    options = {"tversky": tversky is not None, "dice": dice, "cosine": cosine, "counts": counts}
    names = [name for name, is_set in options.items() if is_set]
    if len(names) > 1:
        raise InvalidInput(
            "a search has one similarity measure",
            given=" ".join(f"--{name}" for name in names),
            expected="at most one of --tversky, --dice, --cosine and --counts",
            hint="keep one of them",
        )
    if not names:
        return None
    alpha, beta = tversky or (None, None)
    with translate_validation_errors():
        return Measure.model_validate({"name": names[0], "alpha": alpha, "beta": beta})


def require_search_similarity(min_similarity: float | None) -> None:
    """Raise `InvalidInput` unless the similarity is above 0 and at most 1."""
    if min_similarity is not None and not 0 < min_similarity <= 1:
        raise InvalidInput(
            "invalid --min-similarity",
            given=min_similarity,
            expected="a number above 0 and at most 1",
            hint="leave it out to get the most similar items, up to --limit",
        )
