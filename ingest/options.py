"""Options of an ingest run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from graphkin.ingest.readers import ReadOptions


@dataclass(frozen=True)
class IngestOptions:
    """Options that control a run without affecting the edges.

    Attributes:
        read: how to read the files.
        max_size: atoms or nodes of the largest item that is kept. None means the kind's default.
        max_rejected: highest accepted share of rejected records, 0 to 1.
        labels: files with node labels, one for each file with a big graph.
        names: files with row names, one for each file with an array.
        workers: number of parsing processes and of join threads.
        rejections_file: where a run that fails because of rejections writes them.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    max_size: int | None = None
    max_rejected: float = 0.1
    labels: Sequence[str] = ()
    names: Sequence[str] = ()
    workers: int = os.cpu_count() or 1
    rejections_file: Path | None = None
