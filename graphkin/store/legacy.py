"""Items as generations of format 1 hold them: the properties of one in a JSON object."""

import hashlib
import json
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.protocol.manifest import Provenance
from graphkin.store.columns import ID, ITEM_SCHEMA, item_schema, titles

LEGACY_SCHEMA = pa.schema([ID, *ITEM_SCHEMA, pa.field("properties", pa.string(), nullable=False)])
"""`properties` with sorted keys."""


def as_columns(items: pa.RecordBatch, provenance: Provenance) -> pa.RecordBatch:
    """Rows of `LEGACY_SCHEMA` with a column for each property."""
    schema = pa.schema([ID, *item_schema(provenance)])
    rows = [json.loads(text) for text in items["properties"].to_pylist()]
    columns = [items[name] for name in (ID.name, *ITEM_SCHEMA.names)]
    for name, title in titles(provenance.properties).items():
        columns.append(pa.array([row.get(name) for row in rows], schema.field(title).type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def legacy_id(items: Iterable[pa.RecordBatch], provenance: Provenance) -> str:
    """The generation id of rows of `LEGACY_SCHEMA`: SHA-256 over recipe, RDKit version and the lengths and the bytes
    of each column's values."""
    rows = 0
    names = [*LEGACY_SCHEMA.names[1:], "names.count"]
    streams = {name: (hashlib.sha256(), hashlib.sha256()) for name in names}
    for batch in items:
        rows += batch.num_rows
        for name in ("smiles", "structure", "inchikey", "properties"):
            _feed(streams[name], batch[name])
        streams["names.count"][0].update(np.asarray(batch["names"].value_lengths(), dtype="<i4").tobytes())
        _feed(streams["names"], batch["names"].flatten())
    table = {name: [stream.hexdigest() for stream in pair] for name, pair in sorted(streams.items())}
    content = {"recipe": provenance.recipe, "rdkit": provenance.versions.get("rdkit"), "rows": rows, "items": table}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _feed(stream: tuple["hashlib._Hash", "hashlib._Hash"], values: pa.StringArray) -> None:
    lengths, data = stream
    sizes = pc.binary_length(values.cast(pa.binary())).fill_null(-1)
    lengths.update(np.asarray(sizes, dtype="<i4").tobytes())
    data.update("".join(values.drop_null().to_pylist()).encode())
