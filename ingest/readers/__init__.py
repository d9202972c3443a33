"""Readers: files of every known format as one stream of columnar record batches (`RECORD_SCHEMA`)."""

from graphkin.ingest.readers.graphs import GRAPH_EXTENSIONS, GRAPH_FORMATS, open_graphs
from graphkin.ingest.readers.records import MAX_RECORD, RECORD_SCHEMA
from graphkin.ingest.readers.source import EXTENSIONS, FORMATS, STDIN, ReadOptions, Source, TextFormat, open_source

__all__ = [
    "EXTENSIONS",
    "FORMATS",
    "GRAPH_EXTENSIONS",
    "GRAPH_FORMATS",
    "MAX_RECORD",
    "RECORD_SCHEMA",
    "STDIN",
    "ReadOptions",
    "Source",
    "TextFormat",
    "open_graphs",
    "open_source",
]
