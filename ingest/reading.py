"""Files to an item table: they are opened, their records parsed by worker processes, too many rejections refused."""

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from graphkin.ingest.items import ItemTable
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.parsing import Chunk
from graphkin.ingest.pool import ParserPool
from graphkin.ingest.progress import Clock
from graphkin.ingest.readers import Source, open_source
from graphkin.ingest.readers.networks import open_network
from graphkin.ingest.workspace import Workspace
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.kind import Kind
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Draft
from graphkin.store.records import REJECTION_SCHEMA


def opened(files: Sequence[str], kind: Kind[Recipe], recipe: Recipe, options: IngestOptions) -> Iterator[Source]:
    """The sources, one after the other. Raises `InvalidInput` for files that cannot be read."""
    if not isinstance(recipe, NodeRecipe):
        return (open_source(file, kind.files, options.read) for file in files)
    labels: Sequence[str | None] = options.labels or [None] * len(files)
    if len(labels) != len(files):
        raise InvalidInput(
            "labels are given for each file or for none",
            given=f"{len(files)} files, {len(labels)} of labels",
            expected="one --labels for each file, in the same order",
        )
    return (open_network(file, recipe, options.read, beside) for file, beside in zip(files, labels, strict=True))


def parsed(
    kind: Kind[Recipe],
    sources: list[Source],
    recipe: Recipe,
    options: IngestOptions,
    draft: Draft,
    workspace: Workspace,
    clock: Clock,
) -> ItemTable:
    """The items of all sources; what is rejected is the draft's. Raises `InvalidInput` for too many rejections."""
    table = ItemTable(kind.computed)
    max_size = options.max_size or kind.max_size
    pool = ParserPool(kind.describer, recipe, max_size, options.workers, workspace)
    total = sum(source.bytes_total or 0 for source in sources) or None
    rejected: list[pa.RecordBatch] = []
    with clock.stage("parse", total, "B") as advance:
        done = 0
        for parsed in pool.parse(_chunks(sources)):
            table.add(parsed)
            if parsed.rejections.num_rows:
                rejected.append(parsed.rejections)
                draft.append_rejections(parsed.rejections)
            reached = sum(source.bytes_read for source in sources)
            advance(reached - done)
            done = reached
    require_items(
        table.read,
        table.rejected,
        lambda: rejected[0].slice(0, 1).to_pylist()[0],
        options,
        partial(_saved, rejected, options.rejections_file) if options.rejections_file is not None else None,
    )
    return table


def _chunks(sources: list[Source]) -> Iterator[Chunk]:
    for source in sources:
        for records in source:
            yield Chunk(source.name, source.writing, records)


def require_items(
    read: int,
    rejected: int,
    first: Callable[[], dict[str, Any]],
    options: IngestOptions,
    saved: Callable[[], str] | None = None,
) -> None:
    """Raises `InvalidInput` unless records were kept, and no more rejected than allowed. `first` gives the first
    rejection; `saved` keeps all of them, and says where."""
    share = rejected / read if read else 0.0
    if read > rejected and share <= options.max_rejected:
        return
    if not read:
        raise InvalidInput("the input holds no record", expected="at least one")
    hint = "see what is wrong with them, or allow more with --max-rejected"
    if saved is not None:
        hint = f"{saved()}; mend them, or allow more with --max-rejected"
    row = first()
    raise InvalidInput(
        f"{rejected} of {read} records ({share:.1%}) were rejected; nothing was published",
        given=f"first: {row['source']}:{row['line']}: {row['reason'][:300]}",
        expected=f"one that is kept, and at most {options.max_rejected:.1%} rejected",
        hint=hint,
    )


def _saved(rejected: list[pa.RecordBatch], path: Path) -> str:
    """Write the rejections as CSV and say where they are."""
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(REJECTION_SCHEMA.names)
            for batch in rejected:
                writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except OSError as error:
        return f"they could not be saved in {path} ({error.strerror})"
    return f"they are listed in {path}"
