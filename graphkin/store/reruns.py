"""Records of the latest run that produced an already published generation: its counts and its rejected records.

A store keeps the record as one sealed file or value: a SHA-256, then an Arrow stream whose metadata hold the `Rerun`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pydantic import ValidationError

from graphkin.protocol.errors import Damage, StoreDamaged
from graphkin.protocol.manifest import Rerun
from graphkin.store.records import REJECTION_SCHEMA

_KEY = b"rerun"
_DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True)
class RerunRecord:
    """The record of a run.

    Attributes:
        rerun: The inputs and counts of the run.
        rejections: A table with the columns of `REJECTION_SCHEMA`, in input order.
    """

    rerun: Rerun
    rejections: pa.Table


def encode_rerun(rerun: Rerun, rejections: Sequence[pa.RecordBatch]) -> bytes:
    """Return the record as sealed bytes."""
    schema = REJECTION_SCHEMA.with_metadata({_KEY: rerun.model_dump_json()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        for batch in rejections:
            stream.write_batch(batch.replace_schema_metadata(schema.metadata))
    content = sink.getvalue().to_pybytes()
    return hashlib.sha256(content).digest() + content


def decode_rerun(name: str, sealed: bytes) -> RerunRecord:
    """Read a record that `encode_rerun` wrote.

    Args:
        name: The file or value, for the error.
        sealed: The bytes.

    Raises:
        StoreDamaged: The bytes differ from what was written.
    """
    digest, content = sealed[:_DIGEST], sealed[_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        raise StoreDamaged(Damage(name, "its SHA-256 differs; it only holds the rejections of a repeated run"))
    try:
        with pa.ipc.open_stream(content) as stream:
            table = stream.read_all()
        rerun = Rerun.model_validate_json(table.schema.metadata[_KEY])
    except (pa.ArrowException, ValidationError, KeyError, TypeError) as error:
        raise StoreDamaged(Damage(name, f"it is no record of a repeated run: {error}")) from error
    return RerunRecord(rerun, table.replace_schema_metadata(None))
