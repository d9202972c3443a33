"""`graphkin embed`: write the embeddings of molecules and graphs."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from graphkin.cli.help import command, option

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from graphkin.trainer.downstream.embedding_file import EmbeddingFile
    from graphkin.trainer.features.corpus import Corpus
    from graphkin.trainer.model.encoders import Encoder

_BATCHES = 32  # batches of the reader per block: at most 32,000 records and 128 million characters
_COLUMNS = ("line", "text", "fault")  # columns of the reader, in the order of the fields of `_RecordBlock`
_EXCERPT = 4096  # characters of an unreadable record that the report shows
_NOT_A_MOLECULE = "no molecule with atoms that RDKit reads"


class _FeaturizedBlock(NamedTuple):
    """The features of a block of records.

    Attributes:
        corpus: The features of the n readable records.
        rows: (n,) int64 positions of the readable records in the block.
        faults: The reasons why the other records cannot be read, by position in the block.
        texts: The text to write with the embedding, for each record of the block.
    """

    corpus: "Corpus"
    rows: "NDArray[np.int64]"
    faults: dict[int, str]
    texts: Sequence[str]


class _RecordKind(NamedTuple):
    """A kind of records to embed.

    Attributes:
        noun: The name of one record in messages.
        column: The name of the output column with the texts.
        expected: The expected input in error messages.
        read: A function that computes the features of a block of texts.
    """

    noun: str
    column: str
    expected: str
    read: Callable[[Sequence[str]], _FeaturizedBlock]


def _read_smiles(texts: Sequence[str]) -> _FeaturizedBlock:
    from graphkin.trainer.features.featurize import featurize_readable

    corpus, rows = featurize_readable(texts, "", os.cpu_count() or 1)
    faults = dict.fromkeys({*range(len(texts))}.difference(rows.tolist()), _NOT_A_MOLECULE)
    return _FeaturizedBlock(corpus, rows, faults, texts)


def _read_molblocks(texts: Sequence[str]) -> _FeaturizedBlock:
    from graphkin.similarity.describer import Rejected
    from graphkin.similarity.molecules.reader import MoleculeReader
    from graphkin.similarity.molecules.recipe import resolve

    reader = MoleculeReader(resolve())
    smiles, faults = [""] * len(texts), dict[int, str]()
    for row, text in enumerate(texts):
        try:
            smiles[row] = reader.describe(reader.read(text, "molblock")).smiles
        except Rejected as error:
            faults[row] = str(error)
    block = _read_smiles(smiles)
    return block._replace(faults={**block.faults, **faults})


def _read_graphs(texts: Sequence[str]) -> _FeaturizedBlock:
    import numpy as np

    from graphkin.similarity.describer import Rejected
    from graphkin.similarity.graphs.structure import Structure
    from graphkin.trainer.features.graphs import featurize_graphs

    structures: dict[int, str] = {}
    faults: dict[int, str] = {}
    for row, text in enumerate(texts):
        try:
            structures[row] = Structure.read(text).text
        except Rejected as error:
            faults[row] = str(error)
    return _FeaturizedBlock(
        featurize_graphs([*structures.values()], ""), np.array([*structures], np.int64), faults, texts
    )


_RECORD_KINDS = {
    "smiles": _RecordKind("molecule", "smiles", "SMILES", _read_smiles),
    "molblock": _RecordKind("molecule", "smiles", "SD records", _read_molblocks),
    "graph": _RecordKind("graph", "structure", "graphs with nodes", _read_graphs),
}
"""The kinds of records, by notation of the text."""


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
@option(
    "--format",
    "format",
    type=click.Choice(["smi", "csv", "tsv", "sdf", "parquet", "tu", "graphml", "jsonl"]),
    panel="Input",
    help="Format of the input. Standard input (-) needs it. [default: by file name]",
)
@option(
    "--smiles-column", metavar="COLUMN", panel="Input", help="Column with the SMILES. [default: smiles, in any case]"
)
@option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", panel="Execution", help="Processor that encodes."
)
@option("--json", "as_json", is_flag=True, panel="Output", help="Print JSON.")
def embed(
    checkpoint: Path,
    source_path: str,
    output: Path,
    format: str | None,
    smiles_column: str | None,
    device: str,
    as_json: bool,
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
        closing(open_source(source_path, files, ReadOptions(format, smiles_column))) as source,
        atomic_file(output) as file,
        atomic_file(rejections) as report,
    ):
        kind = _RECORD_KINDS[source.notation]
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
    kind: _RecordKind,
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
    for lines, inputs, faults in _read_blocks(batches):
        texts = ["" if fault else text for text, fault in zip(inputs, faults, strict=True)]
        block = kind.read(texts)
        embeddings.add(Block(records, block.texts, block.rows, embed(encoder, block.corpus)))
        rejected = sorted(block.faults.items())
        rows = ((records + row, lines[row], inputs[row][:_EXCERPT], faults[row] or fault) for row, fault in rejected)
        report.write(csv_rows(rows))
        records, embedded = records + len(texts), embedded + len(block.rows)
        advance(len(texts))
    return records, embedded


class _RecordBlock(NamedTuple):
    """A block of records, as columns.

    Attributes:
        lines: Number of the line on which the record begins.
        inputs: Text of the record.
        faults: The reason why the reader rejects the record, or None.
    """

    lines: list[int]
    inputs: list[str]
    faults: list[str | None]


def _read_blocks(batches: "Iterable[pa.RecordBatch]") -> Iterator[_RecordBlock]:
    remaining = iter(batches)
    while block := [*islice(remaining, _BATCHES)]:
        columns: Any = ([value for batch in block for value in batch[name].to_pylist()] for name in _COLUMNS)
        yield _RecordBlock(*columns)
