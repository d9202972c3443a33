"""Notes: sentences that tell the user about unexpected values in the columns of the source."""

import re
from collections.abc import Iterable

from graphkin.ingest.progress import Progress
from graphkin.protocol.manifest import ColumnValues, DifferingValues, Provenance
from graphkin.protocol.parameters import parameter
from graphkin.protocol.values import Duplicates

_COMMA_NUMBER = re.compile(r"[<>=≤≥~]*\s*[+-]?\d+,\d+")


def report_notes(progress: Progress, sentences: Iterable[str]) -> None:
    """Pass each sentence to the progress report."""
    for sentence in sentences:
        progress.note(sentence)


def column_notes(provenance: Provenance) -> list[str]:
    """Return sentences about columns with missing, censored or mixed values, and about differing values."""
    sentences = []
    for name, values in provenance.columns.items():
        if provenance.properties.get(name) == "number":
            sentences += _number_notes(name, values, provenance.qualifiers.get(name))
        elif values.numbers + values.censored > values.texts or _has_comma(values):
            sentences.append(f"column {name} is text: {_describe_texts(values)}")
    return [*sentences, *differing_notes(provenance.differing, provenance.duplicates)]


def _number_notes(name: str, values: ColumnValues, qualifier: str | None) -> list[str]:
    counts = []
    if values.missing:
        counts.append(f"{values.missing:,} missing")
    if values.censored:
        counts.append(f"{values.censored:,} censored (sign in {qualifier})")
    return [f"column {name}: {', '.join(counts)}, of {_value_count(values):,} values"] if counts else []


def _describe_texts(values: ColumnValues) -> str:
    are = "is no number" if values.texts == 1 else "are no numbers"
    advice = (
        f" (numbers have a decimal point; {parameter('--decimal', ',')} reads a comma)" if _has_comma(values) else ""
    )
    return f"{values.texts:,} of {_value_count(values):,} values {are}, first: {values.example!r}{advice}"


def _has_comma(values: ColumnValues) -> bool:
    """Whether the first text is a number with a comma, as spreadsheets of many countries write it."""
    return values.example is not None and _COMMA_NUMBER.fullmatch(values.example.strip()) is not None


def _value_count(values: ColumnValues) -> int:
    return values.numbers + values.missing + values.censored + values.texts


_OUTCOMES: dict[Duplicates, str] = {
    "first": "those of the first record, which are kept",
    "mean": "those of earlier records; items keep the mean of numbers, and the first of other values",
    "median": "those of earlier records; items keep the median of numbers, and the first of other values",
    "list": "those of earlier records; all of them are in the columns NAME_values",
    "reject": "those of earlier records, and all records of these items were rejected",
}


def differing_notes(differing: DifferingValues, duplicates: Duplicates) -> list[str]:
    """Return sentences about values of later records that differ from the first record of their item."""
    if not differing.counts:
        return []
    counts = ", ".join(f"{count:,} of {name}" for name, count in differing.counts.items())
    sentence = f"values of repeated items differ from {_OUTCOMES[duplicates]}"
    return [f"{sentence}: {counts} (`graphkin info --differing` lists the first 100)"]


def change_notes(before: Provenance, after: Provenance) -> list[str]:
    """Return sentences about columns that have another type, or another column of signs, than before a change.

    Args:
        before: Provenance of the previous generation.
        after: Provenance of the new generation.
    """
    sentences = []
    for name, type in after.properties.items():
        if before.properties.get(name, type) == type:
            continue
        change = "holds numbers now; it was text before" if type == "number" else "is text now; it held numbers before"
        sentences.append(f"column {name} {change}")
    for name, qualifier in before.qualifiers.items():
        renamed = after.qualifiers.get(name, qualifier)
        if renamed != qualifier:
            reason = ", which is a column of the source now" if qualifier in after.properties else ""
            sentences.append(
                f"the signs of column {name} are in {renamed} now; they were in {qualifier} before{reason}"
            )
    return sentences
