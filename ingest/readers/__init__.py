"""Readers of every supported file format, as one stream of columnar record batches (`RECORD_SCHEMA`)."""

from graphkin.ingest.readers.formats import EXTENSIONS, open_source
from graphkin.ingest.readers.memory import Input
from graphkin.ingest.readers.records import MAX_RECORD, RECORD_SCHEMA
from graphkin.ingest.readers.source import STDIN, ReadOptions, Source

__all__ = [
    "EXTENSIONS",
    "MAX_RECORD",
    "RECORD_SCHEMA",
    "STDIN",
    "Input",
    "ReadOptions",
    "Source",
    "open_source",
]
