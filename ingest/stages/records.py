"""The stages that divide each file into parts, and parse each part."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.ingest.parsing import Chunk, ChunkParser, Parsed
from graphkin.ingest.pool import ParserPool, RecordTimer
from graphkin.ingest.readers import open_source
from graphkin.ingest.stages.files import local_files
from graphkin.ingest.stages.job import Job
from graphkin.ingest.workspace import Workspace
from graphkin.similarity.columns import fixed_width_array
from graphkin.store.lake.layout import Part
from graphkin.store.lake.parts import table_buffer, write_table

_MAX_PARTS_PER_FILE = 100_000


def read(job: Job, file: int) -> dict[str, Any]:
    """Divide a file into parts, and return its inputs and the size of each part."""
    parts = count(file * _MAX_PARTS_PER_FILE)
    batches: list[pa.RecordBatch] = []
    rows, sizes = 0, []
    with ExitStack() as stack:
        name, names = job.files[file]
        stack.enter_context(local_files([path for path in (name, names) if path is not None], job.folder))
        source = stack.enter_context(closing(open_source(name, job.kind.file_formats, job.options.read, names=names)))
        for piece in _slices(source, job.sizes.records):
            batches.append(piece)
            rows += piece.num_rows
            if rows >= job.sizes.records:
                job.write("records", next(parts), pa.Table.from_batches(batches))
                sizes.append(rows)
                batches, rows = [], 0
        if batches:
            job.write("records", next(parts), pa.Table.from_batches(batches))
            sizes.append(rows)
    inputs = [digest.model_dump(mode="json") for digest in source.inputs()]
    return {"name": source.name, "notation": source.notation, "sizes": sizes, "inputs": inputs}


def _slices(batches: Iterable[pa.RecordBatch], max_rows: int) -> Iterator[pa.RecordBatch]:
    return (batch.slice(start, max_rows) for batch in batches for start in range(0, batch.num_rows, max_rows))


def list_parts(files: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    """Return the number, the source and the notation of each part, in the order of the input.

    Args:
        files: Results of `read`, by file.
    """
    return [
        (number * _MAX_PARTS_PER_FILE + place, file["name"], file["notation"])
        for number, file in enumerate(files)
        for place in range(len(file["sizes"]))
    ]


def parse(parts: list[tuple[int, str, str]], groups: int, job: Job, part: int) -> dict[str, Any]:
    """Parse the records of one part, and scatter the digests and names of their items to groups.

    Args:
        parts: The result of `list_parts`.
        groups: Number of groups. Items with equal digests are in the same group.
        job: The job.
        part: Index of the part in `parts`.
    """
    number, name, notation = parts[part]
    parsed = _parse_chunks(job, [Chunk(name, notation, batch) for batch in job.read("records", number).to_batches()])
    items = pa.Table.from_batches([chunk.items for chunk in parsed])
    rejections = pa.Table.from_batches([chunk.rejections for chunk in parsed])
    job.write("parsed", part, items)
    job.write("rejected", part, rejections)
    rows = np.arange(len(items), dtype=np.int32)
    places = {"part": pa.array(np.full(len(items), part, np.int32)), "row": pa.array(rows)}
    table = pa.table({"digest": items["digest"], "name": items["name"], **places})
    first = fixed_width_array(items["digest"], "<u8")[::2] if len(items) else np.empty(0, np.uint64)
    job.scatter("parse", part, table, (first % np.uint64(groups)).astype(np.int64), groups)
    return {"read": len(items) + len(rejections), "rejected": len(rejections)}


def _parse_chunks(job: Job, chunks: Sequence[Chunk]) -> list[Parsed]:
    """Parse chunks in this process, or in a worker process if a process that ran the task before was lost.

    The worker process makes it possible to reject a record that crashes the process.
    """
    describer, max_size = job.kind.describer, job.options.max_size or job.kind.max_size
    if job.is_retry:
        with (
            TemporaryDirectory() as folder,
            ParserPool(describer, job.recipe, max_size, 1, Workspace(Path(folder))) as pool,
        ):
            pool.start(chunks)
            return list(pool.results())
    parser, timer = ChunkParser(describer(job.recipe, max_size)), RecordTimer()
    try:
        return [parser.parse(chunk, lambda _: timer.next()) for chunk in chunks]
    finally:
        timer.stop()


def reject(parts: int, job: Job, task: int) -> dict[str, Any]:  # noqa: ARG001 - the stage has one task
    """Write the rejected records of all parts in the layout of the Parquet export."""
    lake_parts: list[Part] = []
    buffer = table_buffer(
        lambda rows: lake_parts.append(write_table(job.export_folder, job.run, "rejections", len(lake_parts), rows))
    )
    for part in range(parts):
        buffer.add(job.read("rejected", part))
    buffer.finish()
    return {"parts": {"rejections": [part.model_dump() for part in lake_parts]}}
