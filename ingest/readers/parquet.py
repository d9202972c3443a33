"""Parquet files: one record a row, columns by name."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.readers.columns import Columns
from ingest.readers.records import ...
