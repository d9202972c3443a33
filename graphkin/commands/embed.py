"""`graphkin embed`: molecules as vectors."""

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.trainer.downstream.embedding_file import EmbeddingFile
    from graphkin.trainer.model.encoders import Encoder

_BATCHES = 32  # of the reader a block: at most 32,000 records and 128 million characters
_COLUMNS = ("line", "text", "fault")
_NO_MOLECULE = "no molecule with atoms that RDKit reads"


@click.command()
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Folder of `graphkin pretrain`, or of `graphkin finetune --save-encoder`.",
)
@click.option(
    "--input", "source_path", required=True, metavar="FILE", help="SMILES, CSV, TSV or Parquet, also gzipped."
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
    type=click.Choice(["smi", "csv", "tsv", "parquet"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name]',
)
@click.option("--smiles-column", metavar="COLUMN", help="Column with the SMILES.  [default: smiles, in any case]")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", help="Where to encode.")
def embed(
    checkpoint: Path, source_path: str, output: Path, format: str | None, smiles_column: str | None, device: str
) -> None:
    """Write the embeddings of molecules, in the order of the input.

    An embedding is the mean of the molecule's atom vectors, made a unit vector (L2 norm 1), in float32: the products of
    embeddings are cosines. Records are counted from 0. A .npy file has a row for each of them, NaN where it is no
    molecule; a .parquet file has the columns row, smiles and embedding, for molecules only. What is no molecule is
    listed with its reason in FILE.rejections.csv (row, line, input, reason), which is always written.
    """
    from graphkin.ingest.readers import ReadOptions, open_source
    from graphkin.output import whole_file
    from graphkin.progress import terminal_progress
    from graphkin.protocol.errors import InvalidInput
    from graphkin.similarity.molecules.kind import MoleculeKind
    from graphkin.trainer.downstream.embedding_file import embedding_format
    from graphkin.trainer.model.device import chosen_device
    from graphkin.trainer.pretraining.pretrained import load_encoder

    place = chosen_device(device)
    output_format, encoder = embedding_format(output), load_encoder(checkpoint).encoder
    encoder.to(place)
    rejections = output.with_suffix(".rejections.csv")
    with (
        closing(open_source(source_path, MoleculeKind.files, ReadOptions(format, smiles_column))) as source,
        whole_file(output) as file,
        whole_file(rejections) as report,
        output_format(file, encoder.width) as embeddings,
        terminal_progress().stage("embedding", None, "molecules") as advance,
    ):
        if source.writing != "smiles":
            raise InvalidInput("embeddings are made from SMILES", given=source_path, expected="no SD file")
        records, molecules = _write(source, encoder, embeddings, report, advance)
        if not molecules:
            raise InvalidInput(f"none of {records:,} records is a molecule", given=source_path, expected="SMILES")
    click.echo(f"{output}: {molecules:,} embeddings of {encoder.width} dimensions")
    if molecules < records:
        click.echo(f"{rejections}: {records - molecules:,} of {records:,} records are no molecules")


def _write(
    batches: "Iterable[pa.RecordBatch]",
    encoder: "Encoder",
    embeddings: "EmbeddingFile",
    report: BinaryIO,
    advance: Callable[[int], object],
) -> tuple[int, int]:
    """Write the embeddings and the report; how many records there were, and how many of them are molecules."""
    from graphkin.trainer.downstream.embed import embed
    from graphkin.trainer.downstream.embedding_file import Block
    from graphkin.trainer.features.featurize import featurize_readable

    report.write(_csv([("row", "line", "input", "reason")]))
    records = molecules = 0
    for lines, inputs, faults in _blocks(batches):
        smiles = ["" if fault else each for each, fault in zip(inputs, faults, strict=True)]
        corpus, readable = featurize_readable(smiles, "", os.cpu_count() or 1)
        embeddings.add(Block(records, smiles, readable, embed(encoder, corpus)))
        found = set(readable.tolist())
        rejected = [place for place in range(len(smiles)) if place not in found]
        report.write(_csv((records + at, lines[at], inputs[at], faults[at] or _NO_MOLECULE) for at in rejected))
        records, molecules = records + len(smiles), molecules + len(found)
        advance(len(smiles))
    return records, molecules


class _Records(NamedTuple):
    """Where records begin, what they hold, and why the reader rejects them."""

    lines: list[int]
    inputs: list[str]
    faults: list[str | None]


def _blocks(batches: "Iterable[pa.RecordBatch]") -> Iterator[_Records]:
    rest = iter(batches)
    while block := [*islice(rest, _BATCHES)]:
        columns: Any = ([each for batch in block for each in batch[name].to_pylist()] for name in _COLUMNS)
        yield _Records(*columns)


def _csv(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
