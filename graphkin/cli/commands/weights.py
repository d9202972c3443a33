"""`graphkin weights`: exchange the weights of encoders with other programs."""

from pathlib import Path
from typing import Any

import click

from graphkin.cli import options
from graphkin.cli.help import group, option
from graphkin.cli.output import atomic_file, atomic_folder, print_json
from graphkin.trainer.exchange.formats import FILE_FORMATS, FOLDER_FORMATS, IMPORT_FORMATS
from graphkin.trainer.strategy import ENCODERS


@group(
    examples=[
        (
            "Export an encoder for PyTorch Geometric",
            "graphkin weights export --checkpoint runs/hgc --format geometric --output encoder",
        ),
        (
            "Import weights of pretrain-gnns",
            "graphkin weights import --format pretrain-gnns --input contextpred.pth --output runs/contextpred",
        ),
    ]
)
def weights() -> None:
    """Export and import the weights of encoders."""


@weights.command(
    examples=[
        (
            "Write a module that computes embeddings without graphkin",
            "graphkin weights export --checkpoint runs/hgc --format geometric --output encoder",
        ),
        (
            "Write a folder to publish on Hugging Face",
            "graphkin weights export --checkpoint runs/hgc --format hugging-face --output model",
        ),
        (
            "Write the weights for code that was made for pretrain-gnns",
            "graphkin weights export --checkpoint runs/hgc --format pretrain-gnns --output hgc.pth",
        ),
    ]
)
@option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    panel="Model",
    help="Folder written by `graphkin pretrain`, `graphkin finetune --save-encoder` or `graphkin weights import`.",
)
@option(
    "--format",
    type=click.Choice(FILE_FORMATS + FOLDER_FORMATS),
    required=True,
    panel="Output",
    help="Files: state-dict, with the names of graphkin; pretrain-gnns, with those of Hu et al. Folders: geometric, a "
    "module for torch and torch-geometric; hugging-face, with safetensors, settings and a model card.",
)
@option(
    "--output", type=click.Path(path_type=Path), required=True, metavar="PATH", panel="Output", help="File or folder."
)
@options.as_json
def export(checkpoint: Path, format: Any, output: Path, as_json: bool) -> None:
    """Write the encoder of a checkpoint for other programs.

    Every format holds the same weights. pretrain-gnns and geometric exist for gin, gcn and sage of molecules and
    graphs. Nothing is uploaded.
    """
    from graphkin.trainer.exchange.exports import ExportedEncoder

    encoder = ExportedEncoder.from_checkpoint(checkpoint)
    if format in FILE_FORMATS:
        with atomic_file(output) as file:
            encoder.write_file(file, format)
    else:
        with atomic_folder(output) as folder:
            encoder.write_folder(folder, format)
    model = encoder.pretrained.model
    _print_result(output, as_json, model.encoder, model.layers, model.width)


@weights.command(
    "import",
    examples=[
        (
            "Import weights of pretrain-gnns",
            "graphkin weights import --format pretrain-gnns --input contextpred.pth --output runs/contextpred",
        ),
        (
            "Import weights of a GCN",
            "graphkin weights import --format pretrain-gnns --encoder gcn --input gcn.pth --output runs/gcn",
        ),
        (
            "Import a folder of graphkin weights export",
            "graphkin weights import --format hugging-face --input model --output runs/model",
        ),
    ],
)
@option(
    "--input",
    "source",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    panel="Input",
    help="File of pretrain-gnns with a state_dict, or folder in the layout of Hugging Face.",
)
@option("--format", type=click.Choice(IMPORT_FORMATS), required=True, panel="Input", help="Layout of the input.")
@option(
    "--encoder",
    type=click.Choice(ENCODERS),
    panel="Input",
    help="Encoder, for pretrain-gnns. Needed for gcn and sage (GraphSAGE), whose weights have the same names.",
)
@option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    panel="Output",
    help="Folder for --checkpoint of `graphkin finetune`, `graphkin embed` and `graphkin pretrain`.",
)
@options.as_json
def import_weights(source: Path, format: Any, encoder: str | None, output: Path, as_json: bool) -> None:
    """Read the weights of an encoder from another program.

    Names and shapes of the weights are checked. A file of pretrain-gnns must hold nothing but tensors, so reading it
    runs no code.
    """
    from graphkin.trainer.exchange.imports import read_encoder

    imported = read_encoder(source, format, encoder)
    with atomic_folder(output) as folder:
        imported.write(folder)
    _print_result(output, as_json, imported.model.encoder, imported.model.layers, imported.model.width)


def _print_result(output: Path, as_json: bool, encoder: str, layers: int, width: int) -> None:
    if as_json:
        print_json({"output": str(output), "encoder": encoder, "layers": layers, "width": width})
    else:
        click.echo(f"{output}: {encoder}, layers: {layers}, width: {width}")
