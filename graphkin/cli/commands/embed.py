"""`graphkin embed`: write the embeddings of molecules and graphs."""

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.records import RecordKind, read_blocks, record_kind

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.trainer.downstream.embedding_file import EmbeddingFile
    from graphkin.trainer.model.encoder import Encoder

_EXCERPT = 4096  # characters of an unreadable record that the report shows


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
    required=True,
    metavar="FILE",
    panel="Input",
    help="Molecules as SMILES, CSV, TSV, SDF or Parquet, or graphs as TUDataset, GraphML or JSON Lines. They may be "
    "compressed.",
)
@option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    panel="Output",
    help="File to write: .npy or .parquet.",
)
@options.record_format
@options.smiles_column
@option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", panel="Execution", help="Processor that encodes."
)
@options.as_json
def embed(
    checkpoint: Path,
    source_path: str,
    output: Path,
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
    """
    from graphkin.cli.output import atomic_file, print_json, progress
    from graphkin.ingest.readers import ReadOptions, open_source
    from graphkin.protocol.errors import Conflict, InvalidInput
    from graphkin.similarity.graphs.kind import GraphKind
    from graphkin.similarity.molecules.kind import MoleculeKind
    from graphkin.trainer.downstream.embedding_file import embedding_format
    from graphkin.trainer.model.device import select_device
    from graphkin.trainer.pretraining.pretrained import load_encoder

    torch_device = select_device(device)
    output_format, pretrained = embedding_format(output), load_encoder(checkpoint)
    if pretrained.model.nodes is not None:
        raise Conflict(
            "this encoder was trained on nodes",
            given=str(checkpoint),
            expected="an encoder of molecules or graphs",
            hint="name another folder in --checkpoint",
        )
    encoder = pretrained.encoder.to(torch_device)
    files = {**MoleculeKind.file_formats, **GraphKind.file_formats}
    rejections = output.with_suffix(".rejections.csv")
    with (
        closing(open_source(source_path, files, ReadOptions(**read))) as source,
        atomic_file(output) as file,
        atomic_file(rejections) as report,
    ):
        kind = record_kind(source.notation, pretrained.model.features)
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
