"""`graphkin split` and `graphkin leaks`: split a file without leaks, and find the leaks of any split."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import SplitMethod

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphkin.cli.parts import RecordFile
    from graphkin.library.inputs import FingerprintSet
    from graphkin.library.leakage import Leakage
    from graphkin.library.splits import Split
    from graphkin.similarity.join import Pairs

_PARTS = ("train", "test", "discarded")
_WORST = 5  # pairs that `graphkin leaks` prints
_BLOCK = 10_000  # pairs that are written at once

_threshold = option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True),
    required=True,
    metavar="X",
    panel="Similarity",
    help="Smallest Tanimoto similarity that counts, above 0 and at most 1.",
)
_existing_file = click.Path(exists=True, dir_okay=False)


def _test_size(context: click.Context, parameter: click.Parameter, text: str) -> float | int:  # noqa: ARG001
    """Read a share, such as 0.2, or a number of records, such as 200."""
    try:
        size = int(text) if text.isdecimal() else float(text)
    except ValueError:
        size = 0
    if not (size >= 1 if isinstance(size, int) else 0 < size < 1):
        raise InvalidInput(
            "invalid value for --test-size",
            given=text,
            expected="a share above 0 and below 1, or a number of records, 1 or more",
            hint="use --test-size 0.2, for example",
        )
    return size


@command(
    examples=[
        (
            "Put a fifth of the molecules into a test set without near neighbors in the training set",
            "graphkin split molecules.csv --threshold 0.6 --test-size 0.2 --output split",
        ),
        (
            "Keep the share of each class, and discard molecules between the two sets",
            "graphkin split molecules.csv --threshold 0.4 --stratify active --method min-discard --output split",
        ),
    ]
)
@click.argument("file", type=_existing_file)
@options.smiles_column
@_threshold
@option(
    "--test-size",
    callback=_test_size,
    default="0.2",
    metavar="X",
    panel="Data",
    help="Share of the records in the test set, or their number.",
)
@option(
    "--method",
    type=click.Choice(get_args(SplitMethod)),
    default="components",
    panel="Data",
    help="components: discard nothing. min-discard: discard as few records as possible where components are too large.",
)
@option("--stratify", metavar="COLUMN", panel="Data", help="Column with classes, which get the same share of each set.")
@options.seed
@options.workers
@option("--output", type=click.Path(path_type=Path), required=True, metavar="DIR", panel="Output", help="New folder.")
@options.as_json
def split(
    file: str,
    structure_column: str | None,
    threshold: float,
    test_size: float,
    method: SplitMethod,
    stratify: str | None,
    seed: int,
    workers: int | None,
    output: Path,
    as_json: bool,
) -> None:
    """Split a file so that no training molecule is similar to a test molecule.

    Every pair of molecules is compared, by the Tanimoto similarity of Morgan fingerprints with radius 2 and 2,048 bits.
    FILE is SMILES, CSV, TSV, SDF or Parquet, and may be compressed.

    The folder gets train, test and discarded in the format of FILE, with all records unchanged and in their order,
    rejected.csv with the records that cannot be read, and report.json. Nothing is written if the command fails.

    Connected components of similar molecules stay together. If one is larger than the training set, the command fails,
    unless --method is min-discard.
    """
    from graphkin.cli.output import atomic_folder, count_text, note, print_json, progress
    from graphkin.cli.parts import RecordFile
    from graphkin.library.leakage import leaking_pairs
    from graphkin.library.pairs import read_set, thread_count
    from graphkin.library.splits import Splitter
    from graphkin.similarity.molecules.recipe import FingerprintRecipe

    threads, stages = thread_count(workers), progress()
    with atomic_folder(output) as folder:
        records = RecordFile.read(file, structure_column, stratify)
        molecules = read_set(file, file, structure_column, FingerprintRecipe(), threads, stages)
        rows, words = _readable(molecules)
        classes = None if records.values is None else [records.values[row] for row in rows.tolist()]
        result = Splitter(words, threshold, seed, threads, stages).split(test_size, method, classes)
        train, test = result
        leaks = sum(len(pairs) for pairs in leaking_pairs(words[train], words[test], threshold, threads))
        report = {
            "file": file,
            **result.report,
            "rejected": len(molecules.rejected),
            "leaks": leaks,
            "stratify": stratify,
            "seed": seed,
            "fingerprint": molecules.type.name,
        }
        records.write_parts(folder, _PARTS, _parts(result, rows, len(molecules)))
        _write_report(folder, report, molecules, file, records)
    if as_json:
        print_json({"output": str(output), **report})
        return
    for name in _PARTS:
        click.echo(f"{output / name}.{records.format}: {count_text(report[name], 'record')}")
    click.echo(f"{count_text(leaks, 'pair')} across with similarity ≥ {threshold:g}")
    for each in report.get("classes", ()):
        numbers = ", ".join(f"{each[name]:,} {name}" for name in _PARTS)
        click.echo(f"  {stratify} {'(none)' if each['class'] is None else each['class']}: {numbers}")
    if len(molecules.rejected):
        note(f"{output / 'rejected.csv'}: {count_text(len(molecules.rejected), 'record')} that cannot be read")


def _readable(molecules: "FingerprintSet") -> "tuple[NDArray[np.int64], NDArray[np.uint64]]":
    """Return the positions of the records that can be read, and their fingerprints."""
    import numpy as np

    is_readable = np.ones(len(molecules), np.bool_)
    is_readable[molecules.rejected] = False
    return np.flatnonzero(is_readable), molecules.words[is_readable]


def _parts(result: "Split", rows: "NDArray[np.int64]", count: int) -> "NDArray[np.int8]":
    """Return the number of the part of each record, (count,) int8, or -1 for a record that cannot be read."""
    import numpy as np

    part = np.full(count, -1, np.int8)
    for number, name in enumerate(_PARTS):
        part[rows[getattr(result, name)]] = number
    return part


def _write_report(
    folder: Path, report: dict[str, Any], molecules: "FingerprintSet", file: str, records: "RecordFile"
) -> None:
    """Write report.json and rejected.csv."""
    import json

    from graphkin.export.cells import csv_rows
    from graphkin.store.records import MAX_REJECTED_INPUT, REJECTION_SCHEMA

    (folder / "report.json").write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    texts = molecules.structures or []
    rows = (
        (file, records.starts[position], texts[position][:MAX_REJECTED_INPUT], reason)
        for position, reason in zip(molecules.rejected.tolist(), molecules.reasons, strict=True)
    )
    (folder / "rejected.csv").write_bytes(csv_rows([REJECTION_SCHEMA.names, *rows]))


@command(
    examples=[
        ("Count the leaks of a split", "graphkin leaks train.csv test.csv --threshold 0.6"),
        ("Write all pairs", "graphkin leaks train.csv test.csv --threshold 0.6 --output pairs.csv"),
    ]
)
@click.argument("train", type=_existing_file)
@click.argument("test", type=_existing_file)
@options.smiles_column
@_threshold
@options.workers
@option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    panel="Output",
    help="CSV file to write with all pairs, the most similar first.",
)
@options.as_json
def leaks(
    train: str,
    test: str,
    structure_column: str | None,
    threshold: float,
    workers: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Find the test molecules that are similar to a training molecule.

    Every training molecule is compared with every test molecule. TRAIN and TEST are SMILES, CSV, TSV, SDF, Parquet or
    FPS files, and may be compressed. The exit code is 0 if no pair reaches the threshold, and 1 if one does.

    The first table counts, for the threshold and larger similarities, the pairs that reach it, the test molecules in
    these pairs and their share of the test set. The second one shows the most similar pairs, with the numbers of their
    records, from 1.

    The columns of --output are similarity, and for both sets the number of the record, its SMILES and its name.
    """
    from graphkin.cli.output import atomic_file, note, print_json, progress, require_json_apart
    from graphkin.library.leakage import Leakage, leaking_pairs, most_similar_first
    from graphkin.library.pairs import comparable_words, read_set, thread_count
    from graphkin.similarity.molecules.recipe import FingerprintRecipe

    if output is not None:
        require_json_apart(output, as_json)
    threads, stages, recipe = thread_count(workers), progress(), FingerprintRecipe()
    with ExitStack() as stack:
        pairs_file = None if output is None else stack.enter_context(atomic_file(output))
        left, right = (read_set(file, file, structure_column, recipe, threads, stages) for file in (train, test))
        for file, molecules in ((train, left), (test, right)):
            if rejected := len(molecules.rejected):
                note(f"{file}: {rejected:,} of {len(molecules):,} records cannot be read and are not compared")
        with stages.stage("compare", len(left), "molecules") as advance:
            pairs = leaking_pairs(*comparable_words(left, right), threshold, threads, advance)
            if pairs_file is None:
                leakage = Leakage.from_pairs(pairs, len(right), threshold, _WORST)
            else:
                ordered = most_similar_first(pairs)
                leakage = Leakage.from_pairs([ordered], len(right), threshold, _WORST)
                pairs_file.writelines(_pair_lines(ordered, left, right))
    test_count = len(right) - len(right.rejected)
    if as_json:
        print_json(_as_json(leakage, left, right, test_count, output))
    elif output is None or str(output) != "-":
        _print_leaks(leakage, left, right, test_count)
    if leakage.pairs[0]:
        raise click.exceptions.Exit(1)


_COLUMNS = ("similarity", *(f"{side}_{name}" for name in ("record", "smiles", "name") for side in ("train", "test")))


def _rows(pairs: "Pairs", left: "FingerprintSet", right: "FingerprintSet") -> Iterator[tuple[Any, ...]]:
    """Yield the cells of `_COLUMNS` of each pair."""
    for one, other, similarity in zip(
        pairs.left.tolist(), pairs.right.tolist(), pairs.similarity.tolist(), strict=True
    ):
        ends = ((left, one), (right, other))
        texts = (None if side.structures is None else _as_smiles(side.structures[row]) for side, row in ends)
        names = (None if side.names is None else side.names[row] for side, row in ends)
        yield (similarity, *(row + 1 for _, row in ends), *texts, *names)


@lru_cache(maxsize=1 << 16)
def _as_smiles(text: str) -> str:
    """Return the SMILES of a structure that could be read: the text itself, unless it is an SD record."""
    from rdkit import Chem

    return Chem.MolToSmiles(Chem.MolFromMolBlock(text)) if "\n" in text.strip() else text


def _pair_lines(pairs: "Pairs", left: "FingerprintSet", right: "FingerprintSet") -> Iterator[bytes]:
    """Yield the pairs as CSV, in blocks."""
    from graphkin.export.cells import csv_rows

    yield csv_rows([_COLUMNS])
    rows = _rows(pairs, left, right)
    while block := [*islice(rows, _BLOCK)]:
        yield csv_rows(block)


def _as_json(
    leakage: "Leakage", left: "FingerprintSet", right: "FingerprintSet", test_count: int, output: Path | None
) -> dict[str, Any]:
    levels = zip(leakage.levels, leakage.pairs, leakage.test, strict=True)
    return {
        "threshold": leakage.levels[0],
        "pairs": leakage.pairs[0],
        "train": len(left) - len(left.rejected),
        "test": test_count,
        "rejected": {"train": len(left.rejected), "test": len(right.rejected)},
        "levels": [{"similarity": level, "pairs": pairs, "test": test} for level, pairs, test in levels],
        "worst": [dict(zip(_COLUMNS, row, strict=True)) for row in _rows(leakage.worst, left, right)],
        "output": None if output is None else str(output),
    }


def _print_leaks(leakage: "Leakage", left: "FingerprintSet", right: "FingerprintSet", test_count: int) -> None:
    from graphkin.cli.output import note, print_table

    headers = {"similarity ≥": "right", "pairs": "right", "test molecules": "right", "share": "right"}
    levels = zip(leakage.levels, leakage.pairs, leakage.test, strict=True)
    cells = [(f"{level:g}", f"{pairs:,}", f"{test:,}", f"{test / test_count:.1%}") for level, pairs, test in levels]
    print_table(headers, cells)
    if not leakage.pairs[0]:
        note(f"no training molecule has similarity ≥ {leakage.levels[0]:g} with a test molecule")
        return
    columns = dict.fromkeys(("similarity", "training record", "test record"), "right")
    rows = [
        (f"{similarity:.3f}", one, other, *(text or "" for text in texts))
        for similarity, one, other, *texts in (row[:5] for row in _rows(leakage.worst, left, right))
    ]
    print_table({**columns, "training SMILES": "left", "test SMILES": "left"}, rows)
