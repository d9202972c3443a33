"""`graphkin embed`: write the embeddings of molecules and graphs."""

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from click.core import ParameterSource

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.records import RecordKind, read_blocks, record_kind
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.generations import short_id

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.store.base import Generation
    from graphkin.store.embeddings import EmbeddingInfo, EmbeddingWriter
    from graphkin.trainer.downstream.embedding_file import EmbeddingFile
    from graphkin.trainer.model.encoder import Encoder

_EXCERPT = 4096  # characters of an unreadable record that the report shows
_STRUCTURES = {"molecule": ("smiles", "smiles"), "graph": ("structure", "graph")}
"""The column with the structures of each kind of items that can be embedded, and its notation."""


@command(
    examples=[
        (
            "Embed the molecules of a file",
            "graphkin embed --checkpoint runs/hgc --input small.smi --output embeddings.parquet",
        ),
        (
            "Build a collection of the embeddings",
            "graphkin ingest vectors embeddings.parquet --vector-column embedding --store s --collection embeddings",
        ),
        (
            "Embed the items of a collection in Neo4j, with a vector index",
            "graphkin embed --checkpoint runs/hgc --to neo4j://localhost --collection m",
        ),
    ]
)
@option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    panel="Model",
    help="Folder written by `graphkin pretrain` or `graphkin finetune --save-encoder`.",
)
@option(
    "--input",
    "source_path",
    metavar="FILE",
    panel="Input",
    help="Molecules as SMILES, CSV, TSV, SDF or Parquet, or graphs as TUDataset, GraphML or JSON Lines. They may be "
    "compressed.",
)
@option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    panel="Output",
    help="File to write: .npy or .parquet.",
)
@option(
    "--to",
    "target",
    metavar="STORE",
    panel="Collection",
    help="Store in Neo4j, neo4j://HOST or bolt://HOST, that gets an embedding of each item of a collection. It "
    "replaces --input and --output.",
)
@option(
    "--collection",
    metavar="NAME",
    envvar=options.COLLECTION_VARIABLE,
    show_envvar=True,
    panel="Collection",
    help="Name of the collection in --to.",
)
@options.generation
@option(
    "--property",
    "name",
    metavar="NAME",
    default="embedding",
    panel="Collection",
    help="Property of the items in --to that holds the vectors. Several models need several names.",
)
@options.record_format
@options.smiles_column
@option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", panel="Execution", help="Processor that encodes."
)
@options.as_json
def embed(
    checkpoint: Path,
    source_path: str | None,
    output: Path | None,
    target: str | None,
    collection: str | None,
    generation: str | None,
    name: str,
    device: str,
    as_json: bool,
    **read: Any,
) -> None:
    """Write the embeddings of molecules or graphs.

    The order is that of the input. An embedding is the mean of the vectors of the atoms or nodes, scaled to L2 norm 1,
    in float32, so the product of two embeddings is their cosine.

    A .npy file has one row per record, which is NaN if the record is invalid. A .parquet file has the columns row (from
    0), smiles (graphs: structure, as JSON) and embedding, for valid records. FILE.rejections.csv lists the invalid
    records with the columns row, line, input and reason, and is always written.

    Files are read as by `graphkin ingest molecules` and `graphkin ingest graphs`. The molecules of SD files have
    canonical SMILES. Encoders of molecules and of graphs both accept graphs, of which they use the edges.

    With --to, each item of a collection in Neo4j gets a property with its embedding. When all are written, the command
    creates a vector index, and prints its name and a query. Another run replaces both. The vectors stay with their
    generation: run the command again after an append.
    """
    if target is not None:
        _require_no_file(source_path, output)
        _embed_collection(checkpoint, target, collection, generation, name, device, as_json)
        return
    if source_path is None or output is None:
        raise InvalidInput(
            "`graphkin embed` reads and writes files, or embeds a collection in Neo4j",
            expected="either --input and --output, or --to and --collection",
            hint="add `--input FILE --output FILE`, or `--to neo4j://HOST --collection NAME`",
        )
    _require_no_collection()
    _embed_file(checkpoint, source_path, output, device, as_json, read)


def _require_no_file(source_path: str | None, output: Path | None) -> None:
    if source_path is not None or output is not None:
        raise InvalidInput(
            "--to embeds the items of a collection, not a file",
            given=" ".join(
                f"{key} {value}" for key, value in (("--input", source_path), ("--output", output)) if value
            ),
            expected="either --input and --output, or --to and --collection",
            hint="leave out --input and --output, or leave out --to",
        )


def _require_no_collection() -> None:
    context = click.get_current_context()
    names = {"collection": "--collection", "generation": "--generation", "name": "--property"}
    typed = [
        option for key, option in names.items() if context.get_parameter_source(key) is ParameterSource.COMMANDLINE
    ]
    if typed:
        raise InvalidInput(
            f"{typed[0]} needs --to, the store of the collection",
            given=" ".join(typed),
            expected="--to, or neither of --collection, --generation and --property",
            hint="add `--to neo4j://HOST`",
        )


def _load_encoder(checkpoint: Path, device: str) -> tuple["Encoder", str]:
    """Return an encoder of molecules or graphs, and the name of its set of features."""
    from graphkin.trainer.model.device import select_device
    from graphkin.trainer.pretraining.pretrained import load_encoder

    torch_device, pretrained = select_device(device), load_encoder(checkpoint)
    if pretrained.model.nodes is not None:
        raise Conflict(
            "this encoder was trained on nodes",
            given=str(checkpoint),
            expected="an encoder of molecules or graphs",
            hint="name another folder in --checkpoint",
        )
    return pretrained.encoder.to(torch_device), pretrained.model.features


def _embed_file(
    checkpoint: Path, source_path: str, output: Path, device: str, as_json: bool, read: dict[str, Any]
) -> None:
    from graphkin.cli.output import atomic_file, print_json, progress
    from graphkin.ingest.readers import ReadOptions, open_source
    from graphkin.similarity.graphs.kind import GraphKind
    from graphkin.similarity.molecules.kind import MoleculeKind
    from graphkin.trainer.downstream.embedding_file import embedding_format

    output_format = embedding_format(output)
    encoder, features = _load_encoder(checkpoint, device)
    files = {**MoleculeKind.file_formats, **GraphKind.file_formats}
    rejections = output.with_suffix(".rejections.csv")
    with (
        closing(open_source(source_path, files, ReadOptions(**read))) as source,
        atomic_file(output) as file,
        atomic_file(rejections) as report,
    ):
        kind = record_kind(source.notation, features)
        with (
            output_format(file, encoder.width, kind.column) as embeddings,
            progress().stage("embedding", None, f"{kind.noun}s") as advance,
        ):
            records, embedded = _write_embeddings(source, kind, encoder, embeddings, report, advance)
        if not embedded:
            raise InvalidInput(
                f"none of {records:,} records is a {kind.noun}",
                given=source_path,
                expected=kind.expected,
                hint="check --format and --smiles-column",
            )
    if as_json:
        counts = {"records": records, "embeddings": embedded, "dimensions": encoder.width}
        print_json({"output": str(output), "rejections": str(rejections), **counts})
        return
    click.echo(f"{output}: {embedded:,} embeddings of {encoder.width} dimensions")
    if embedded < records:
        click.echo(f"{rejections}: {records - embedded:,} of {records:,} records are not {kind.noun}s")


def _embed_collection(
    checkpoint: Path,
    target: str,
    collection: str | None,
    generation: str | None,
    name: str,
    device: str,
    as_json: bool,
) -> None:
    from graphkin.cli.output import progress
    from graphkin.store import open_store

    if collection is None:
        raise InvalidInput("`graphkin embed --to` needs --collection", hint="add `--collection NAME`")
    encoder, features = _load_encoder(checkpoint, device)
    with open_store(target) as store, store.open(collection, store.full_id(collection, generation)) as reader:
        kind = reader.manifest.kind
        if kind not in _STRUCTURES:
            raise Conflict(
                f"items of kind {kind} have no structure to embed",
                given=collection,
                expected="a collection of molecules or graphs",
                hint="name another collection with --collection",
            )
        column, notation = _STRUCTURES[kind]
        records = record_kind(notation, features)
        writer = store.embedding_writer(collection, reader.id, name, encoder.width, checkpoint.name)
        with progress().stage("embedding", reader.size, f"{records.noun}s") as advance:
            _write_vectors(reader, column, records, encoder, writer, advance)
        with progress().stage("indexing", None, "vectors"):
            embedding = writer.finish()
        _report_embedding(collection, reader.size, embedding, as_json)


def _write_vectors(
    reader: "Generation",
    column: str,
    kind: RecordKind,
    encoder: "Encoder",
    writer: "EmbeddingWriter",
    advance: Callable[[int], object],
) -> None:
    """Write the embedding of each item whose structure can be read."""
    import numpy as np

    from graphkin.trainer.downstream.embed import embed

    first = 0
    for batch in reader.columns([column]):
        block = kind.read([text or "" for text in batch[column].to_pylist()])
        writer.add((first + block.rows).astype(np.int32), embed(encoder, block.corpus))
        first += batch.num_rows
        advance(batch.num_rows)


def _report_embedding(collection: str, size: int, embedding: "EmbeddingInfo", as_json: bool) -> None:
    from graphkin.cli.output import print_json

    if as_json:
        fields = {"collection": collection, "generation": embedding.generation, "items": size}
        counts = {"embeddings": embedding.items, "dimensions": embedding.dimensions}
        names = {"property": embedding.name, "index": embedding.index, "query": embedding.query}
        print_json({**fields, **counts, **names})
        return
    click.echo(
        f"{collection} generation {short_id(embedding.generation)}: {embedding.items:,} embeddings of "
        f"{embedding.dimensions} dimensions"
    )
    if embedding.items < size:
        click.echo(f"{size - embedding.items:,} of {size:,} items have no embedding")
    click.echo(f"property {embedding.name}, vector index {embedding.index}")
    click.echo(f"\nThe 10 items nearest to one item (:param id => 0):\n\n{embedding.query}")


def _write_embeddings(
    batches: "Iterable[pa.RecordBatch]",
    kind: RecordKind,
    encoder: "Encoder",
    embeddings: "EmbeddingFile",
    report: BinaryIO,
    advance: Callable[[int], object],
) -> tuple[int, int]:
    """Write the embeddings, and a report of the records that cannot be read.

    Returns:
        The number of all records, and the number of embeddings.
    """
    from graphkin.export.cells import csv_rows
    from graphkin.trainer.downstream.embed import embed
    from graphkin.trainer.downstream.embedding_file import Block

    report.write(csv_rows([("row", "line", "input", "reason")]))
    records = embedded = 0
    for lines, _, inputs, faults in read_blocks(batches):
        texts = ["" if fault else text for text, fault in zip(inputs, faults, strict=True)]
        block = kind.read(texts)
        embeddings.add(Block(records, block.texts, block.rows, embed(encoder, block.corpus)))
        rejected = sorted(block.faults.items())
        rows = ((records + row, lines[row], inputs[row][:_EXCERPT], faults[row] or fault) for row, fault in rejected)
        report.write(csv_rows(rows))
        records, embedded = records + len(texts), embedded + len(block.rows)
        advance(len(texts))
    return records, embedded
