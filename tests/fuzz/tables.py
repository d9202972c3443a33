"""Parquet files: odd types, odd shapes, damaged ones."""

import datetime
import decimal
import io
import uuid
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.archives import Made, flipped

_SMILES = ["CCO", "CC", None]
_VALUES: dict[str, Any] = {
    "int8": pa.array([-128, 127, None], pa.int8()),
    "uint64": pa.array([2**64 - 1, 0, None], pa.uint64()),
    "float16": pa.array([1.5, float("nan"), None], pa.float16()),
    "float64": pa.array([float("inf"), float("nan"), -0.0]),
    "decimal": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal(-(10**30))], pa.decimal128(38, 2)),
    "decimal256": pa.array([decimal.Decimal(10**60), None, None], pa.decimal256(76, 0)),
    "boolean": pa.array([True, False, None]),
    "date": pa.array([datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]),
    "date64": pa.array([2**50, -(2**50), None], pa.date64()),
    "time": pa.array([datetime.time(23, 59, 59, 999999), None, None]),
    "timestamp": pa.array([2**62, -(2**62), None], pa.timestamp("ns")),
    "timestamp-s": pa.array([2**40, -(2**40), None], pa.timestamp("s")),
    "timestamp-zone": pa.array([2**40, 0, None], pa.timestamp("us", "Asia/Kathmandu")),
    "timestamp-no-zone": pa.array([0, 0, None], pa.timestamp("us", "+14:00")),
    "duration": pa.array([2**60, -1, None], pa.duration("us")),
    "binary": pa.array([b"\xff\0\xfe", b"", None]),
    "fixed-binary": pa.array([b"\xff\0", b"ab", None], pa.binary(2)),
    "large-binary": pa.array([b"\xff\0\xfe", b"", None], pa.large_binary()),
    "text-nul": pa.array(["a\0b", "\ufeff", "\u202e"]),
    "text-long": pa.array(["x" * 999_000, "x" * 1_000_001, None]),
    "text-5-MB": pa.array(["x" * 5_000_000, "", None], pa.large_string()),
    "dictionary": pa.array(["a", "b", None]).dictionary_encode(),
    "list": pa.array([[1, None], [], None]),
    "list-fixed": pa.array([[1, 2], [3, 4], None], pa.list_(pa.int8(), 2)),
    "list-deep": pa.array([[[[[[[[["x"]]]]]]]], None, None]),
    "list-long": pa.array([list(range(300_000)), None, None]),
    "list-nan": pa.array([[float("nan"), float("inf")], None, None]),
    "list-binary": pa.array([[b"\xff"], None, None]),
    "struct": pa.array([{"a": 1, "b": {"c": None}}, None, {"a": None, "b": None}]),
    "struct-dates": pa.array([{"a": datetime.datetime(2020, 1, 1)}, None, None]),  # noqa: DTZ001
    "map": pa.array([[("k", 1), ("k", 2)], [], None], pa.map_(pa.string(), pa.int64())),
    "null": pa.nulls(3),
    "uuid": pa.array([uuid.UUID(int=1).bytes, None, None], pa.uuid()),
}
_BINARY_TEXT = pa.array([b"CCO\xff", b"\xed\xa0\x80", b"C\0"])


def tables() -> Iterator[Made]:
    """Every one."""
    for name, values in _VALUES.items():
        yield _made(f"column-{name}", {"smiles": pa.array(_SMILES), "x": values})
        yield _made(f"smiles-{name}", {"smiles": values})
    yield _made("smiles-text", {"smiles": pa.array(_SMILES), "id": pa.array(["a", None, ""])})
    yield _made("smiles-large-text", {"smiles": pa.array(_SMILES, pa.large_string())})
    yield _made("smiles-view", {"smiles": pa.array(_SMILES, pa.string_view())})
    yield _made("smiles-not-utf-8", {"smiles": pa.Array.from_buffers(pa.string(), 3, _BINARY_TEXT.buffers())})
    yield _made(
        "name-not-utf-8", {"smiles": _SMILES, "id": pa.Array.from_buffers(pa.string(), 3, _BINARY_TEXT.buffers())}
    )
    yield _made("dictionary-long", {"smiles": _repeated("C", 120), "x": _repeated("x" * 900_000, 120)})
    yield _made("dictionary-too-long", {"smiles": _repeated("C" * 1_500_000, 400)})
    yield _made("columns-2000", {"smiles": _SMILES, **{f"c{number}": _SMILES for number in range(2000)}})
    yield _made("columns-none", {})
    yield _made("columns-hostile", {"smiles": _SMILES, "": _SMILES, " ": _SMILES, "a\0b": _SMILES, "\u202e": _SMILES})
    yield _made("columns-case", {"SMILES": _SMILES, "Smiles": _SMILES})
    yield _made("rows-none", {"smiles": pa.array([], pa.string())})
    yield _made("groups-1000", {"smiles": _SMILES * 400}, row_group_size=1)
    yield _made("pages-small", {"smiles": _SMILES * 400}, data_page_size=1)
    for compression in ("gzip", "zstd", "brotli", "lz4"):
        yield _made(f"packed-{compression}", {"smiles": _SMILES * 100}, compression=compression)
    twice = pa.table([pa.array(_SMILES)] * 2, names=["smiles", "smiles"])
    yield "parquet/columns-twice", "twice.parquet", _written(twice)
    metadata = pa.table({"smiles": _SMILES}).replace_schema_metadata({"pandas": "{", b"\xff": b"\0" * 10**6})
    yield "parquet/metadata-hostile", "metadata.parquet", _written(metadata)
    whole = _written(pa.table({"smiles": _SMILES * 100, "x": list(range(300))}))
    for number in range(6):
        yield f"parquet/cut-{number}", f"cut-{number}.parquet", whole[: 1 + len(whole) * number // 6]
    for number in range(12):
        yield f"parquet/flipped-{number}", f"flipped-{number}.parquet", flipped(whole, Random(f"parquet {number}"))
    yield "parquet/magic-only", "magic.parquet", b"PAR1PAR1"
    yield "parquet/footer-huge", "footer.parquet", b"PAR1" + b"\0" * 99 + b"\xff\xff\xff\x7fPAR1"
    yield "parquet/encrypted", "encrypted.parquet", whole[:-4] + b"PARE"
    yield "parquet/arrow", "arrow.parquet", _arrow(pa.table({"smiles": _SMILES}))
    yield "parquet/text", "text.parquet", b"smiles,id\nC,a\n"


def _repeated(text: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), [text])


def _made(name: str, columns: dict[str, Any], **how: Any) -> Made:
    return f"parquet/{name}", f"{name}.parquet", partial(_written, pa.table(columns), **how)


def _written(table: pa.Table, **how: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **how)
    return buffer.getvalue()


def _arrow(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    with pa.ipc.new_file(buffer, table.schema) as file:
        file.write_table(table)
    return buffer.getvalue()
