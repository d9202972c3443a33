"""`graphkin embed`: write the embeddings of molecules and graphs."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from graphkin.trainer.downstream.embedding_file import EmbeddingFile
    from graphkin.trainer.features.corpus import Corpus
    from graphkin.trainer.model.encoders import Encoder

_BATCHES = 32  # of the reader per block: at most 32,000 records and 128 million characters
_COLUMNS = ("line", "text", "fault")
_EXCERPT = 4096  # characters of an unreadable record in the report
_NOT_A_MOLECULE = "no molecule with atoms that RDKit reads"


class _Readable(NamedTuple):
    """The readable records of a block.

    Attributes:
        corpus: The features of the readable records.
        rows: The positions of the readable records in the block.
        faults: The reason for each unreadable record, by position.
        texts: The text to write beside each embedding, for all records.
    """

    corpus: "Corpus"
    rows: "NDArray[np.int64]"
    faults: dict[int, str]
    texts: Sequence[str]


class _Kind(NamedTuple):
    """A kind of records to embed.

    Attributes:
        noun: The name of one record in messages.
        column: The column of the texts.
        expected: The expected input, in error messages.
        read: The function that computes the features of texts.
    """

    noun: str
    column: str
    expected: str
    read: Callable[[Sequence[str]], _Readable]


def _molecules(texts: Sequence[str]) -> _Readable:
    from graphkin.trainer.features.featurize import featurize_readable

    corpus, rows = featurize_readable(texts, "", os.cpu_count() or 1)
    faults = dict.fromkeys({*range(len(texts))}.difference(rows.tolist()), _NOT_A_MOLECULE)
    return _Readable(corpus, rows, faults, texts)


def _molblocks(texts: Sequence[str]) -> _Readable:
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
    readable = _molecules(smiles)
    return readable._replace(faults={**readable.faults, **faults})


def _graphs(texts: Sequence[str]) -> _Readable:
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
    return _Readable(featurize_graphs([*structures.values()], ""), np.array([*structures], np.int64), faults, texts)


_KINDS = {
    "smiles": _Kind("molecule", "smiles", "SMILES", _molecules),
    "molblock": _Kind("molecule", "smiles", "SD records", _molblocks),
    "graph": _Kind("graph", "structure", "graphs with nodes", _graphs),
}
"""The kinds of records, by the notation of their text."""


@click.command()
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Folder of `graphkin pretrain`, or of `graphkin finetune --save-encoder`.",
)
@click.option(
    "--input",
    "source_path",
    required=True,
    metavar="FILE",
    help="Molecules: SMILES, CSV, TSV, SDF or Parquet; graphs: TUDataset, GraphML or JSON Lines; also compressed.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="File to write: .npy or .parquet.",
)
@click.option(
    "--format",
    "format",
    type=click.Choice(["smi", "csv", "tsv", "sdf", "parquet", "tu", "graphml", "jsonl"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name]',
)
@click.option("--smiles-column", metavar="COLUMN", help="Column with the SMILES.  [default: smiles, in any case]")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", help="Where to encode.")
def embed(
    checkpoint: Path, source_path: str, output: Path, format: str | None, smiles_column: str | None, device: str
) -> None:
    """Write the embeddings of molecules, or of graphs, in the order of the input.

    An embedding is the mean of the vectors of atoms, or nodes, made a unit vector (L2 norm 1), in float32: the products
    of embeddings are cosines. Records are counted from 0. A .npy file has a row for each of them, NaN where it is no
    molecule; a .parquet file has the columns row, smiles and embedding, for molecules only. What is no molecule is
    listed with its reason in FILE.rejections.csv (row, line, input, reason), which is always written. SD files are
    read as `graphkin ingest molecules` reads them; their molecules have canonical SMILES.

    Of graphs only the edges are seen, as in training: any encoder of molecules or graphs takes them. They are read as
    `graphkin ingest graphs` reads them; in place of smiles the .parquet file has structure, which is JSON.
    """
    from graphkin.cli.output import whole_file
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.ingest.readers import ReadOptions, open_source
    from graphkin.protocol.errors import Conflict, InvalidInput
    from graphkin.similarity.graphs.kind import GraphKind
    from graphkin.similarity.molecules.kind import MoleculeKind
    from graphkin.trainer.downstream.embedding_file import embedding_format
    from graphkin.trainer.model.device import chosen_device
    from graphkin.trainer.pretraining.pretrained import load_encoder

    torch_device = chosen_device(device)
    output_format, pretrained = embedding_format(output), load_encoder(checkpoint)
    if pretrained.model.nodes is not None:
        raise Conflict("this encoder is of nodes", given=str(checkpoint), expected="one of molecules or graphs")
    encoder = pretrained.encoder.to(torch_device)
    files = {**MoleculeKind.file_formats, **GraphKind.file_formats}
    rejections = output.with_suffix(".rejections.csv")
    with (
        closing(open_source(source_path, files, ReadOptions(format, smiles_column))) as source,
        whole_file(output) as file,
        whole_file(rejections) as report,
    ):
        kind = _KINDS[source.notation]
        with (
            output_format(file, encoder.width, kind.column) as embeddings,
            terminal_progress().stage("embedding", None, f"{kind.noun}s") as advance,
        ):
            records, embedded = _write(source, kind, encoder, embeddings, report, advance)
        if not embedded:
            raise InvalidInput(
                f"none of {records:,} records is a {kind.noun}", given=source_path, expected=kind.expected
            )
    click.echo(f"{output}: {embedded:,} embeddings of {encoder.width} dimensions")
    if embedded < records:
        click.echo(f"{rejections}: {records - embedded:,} of {records:,} records are no {kind.noun}s")


def _write(
    batches: "Iterable[pa.RecordBatch]",
    kind: _Kind,
    encoder: "Encoder",
    embeddings: "EmbeddingFile",
    report: BinaryIO,
    advance: Callable[[int], object],
) -> tuple[int, int]:
    """Write the embeddings and the report. Return the numbers of all records and of the readable ones."""
    from graphkin.export.cells import csv_rows
    from graphkin.trainer.downstream.embed import embed
    from graphkin.trainer.downstream.embedding_file import Block

    report.write(csv_rows([("row", "line", "input", "reason")]))
    records = embedded = 0
    for lines, inputs, faults in _blocks(batches):
        texts = ["" if fault else text for text, fault in zip(inputs, faults, strict=True)]
        readable = kind.read(texts)
        embeddings.add(Block(records, readable.texts, readable.rows, embed(encoder, readable.corpus)))
        rejected = sorted(readable.faults.items())
        rows = ((records + row, lines[row], inputs[row][:_EXCERPT], faults[row] or fault) for row, fault in rejected)
        report.write(csv_rows(rows))
        records, embedded = records + len(texts), embedded + len(readable.rows)
        advance(len(texts))
    return records, embedded


class _Records(NamedTuple):
    """A block of records, as columns.

    Attributes:
        lines: The line on which each record begins.
        inputs: The text of each record.
        faults: The reason why the reader rejects a record, or None.
    """

    lines: list[int]
    inputs: list[str]
    faults: list[str | None]


def _blocks(batches: "Iterable[pa.RecordBatch]") -> Iterator[_Records]:
    remaining = iter(batches)
    while block := [*islice(remaining, _BATCHES)]:
        columns: Any = ([value for batch in block for value in batch[name].to_pylist()] for name in _COLUMNS)
        yield _Records(*columns)
