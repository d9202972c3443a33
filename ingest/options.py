"""How an ingest is run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from graphkin.ingest.readers import ReadOptions


@dataclass(frozen=True)
class IngestOptions:
    """How to run, none of it deciding the edges. `workers`: processes that parse, and threads of the join.
    `max_size`: atoms or nodes of the largest item that is kept; None: as many as the kind has by default."""

    read: ReadOptions = field(default_factory=ReadOptions)
    max_size: int | None = None
    max_rejected: float = 0.1  # share of records
    labels: Sequence[str] = ()  # files with labels of nodes, for each file with a big graph
    names: Sequence[str] = ()  # files with names of rows, for each file with an array
    workers: int = os.cpu_count() or 1
    rejections_file: Path | None = None  # where the rejections of a run that failed by them are left
