"""Readers: files of every known format as one stream of columnar record batches (`RECORD_SCHEMA`)."""

from ingest.readers.records import MAX_RECORD, RECORD_SCHEMA
from ingest.readers.source import EXTENSIONS, FORMATS, STDIN, ReadOptions, Source, TextFormat, open_source

__all__ = [
    "EXTENSIONS",
    "FORMATS",
    "MAX_RECORD",
    "RECORD_SCHEMA",
    "STDIN",
    "ReadOptions",
    "Source",
    "TextFormat",
    "open_source",
]
