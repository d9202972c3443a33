"""`graphkin finetune`: measure an encoder on labeled molecules, graphs or nodes."""

import csv
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.trainer.strategy import ENCODERS

if TYPE_CHECKING:
    from graphkin.trainer.downstream.labeled import LabeledGraphs

_DATASETS = ("bace", "bbbp", "clintox", "esol", "freesolv", "hiv", "lipo", "sider", "tox21", "toxcast")
_EPILOG = """\b
Examples:
  graphkin finetune --dataset bace --csv bace.csv.gz --checkpoint runs/hgc --output bace.json
  graphkin finetune --csv mine.csv --targets toxic --checkpoint none --encoder gin --output mine.json
  graphkin finetune --csv mine.csv --targets logS --checkpoint runs/hgc --output solubility.json
  graphkin finetune --csv chembl.csv.gz --targets all --checkpoint runs/context --seeds 0 \\
    --save-encoder runs/supervised --output chembl.json
  graphkin finetune --task graphs --tu IMDB-BINARY.zip --checkpoint runs/hgc --output imdb.json
  graphkin finetune --task nodes --edges usa.edgelist --labels usa.txt --checkpoint runs/hgc --output usa.json
"""


def _seeds(context: click.Context, parameter: click.Parameter, text: str | None) -> list[int] | None:  # noqa: ARG001
    if text is None:
        return None
    seeds = text.split(",")
    if not all(seed.strip().isdecimal() for seed in seeds) or len({*map(int, seeds)}) < len(seeds):
        raise click.BadParameter("not a list of different whole numbers such as 0,1,2")
    return [int(seed) for seed in seeds]


def _targets(context: click.Context, parameter: click.Parameter, text: str | None) -> list[str] | None:  # noqa: ARG001
    """Return the value of --targets as a list of columns: an empty list for "all", None if the option is not set."""
    if text is None:
        return None
    return [] if text == "all" else next(csv.reader([text]))  # names that contain commas are quoted as in CSV


@click.command(epilog=_EPILOG)
@click.option(
    "--task",
    type=click.Choice(("molecules", "regression", "graphs", "nodes")),
    default="molecules",
    help="What is classified: molecules of --csv, attribute-less graphs of --tu, or nodes of the graph of --edges. "
    "regression: values of molecules are predicted, as always where --targets holds other numbers than 0 and 1.",
)
@click.option(
    "--csv",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Labelled molecules: a table with a header and cells between commas, semicolons, tabs or pipes; plain, .gz, "
    ".bz2 or .xz.",
)
@click.option(
    "--tu",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Labelled graphs: zip or folder in the layout of the TU collection.",
)
@click.option(
    "--edges",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="One big graph: `source target [weight]` on each line, or a .csv of source,target; plain or .gz.",
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Labels of its nodes: `node label` on each line, or a .csv; the other nodes are context.",
)
@click.option(
    "--dataset",
    type=click.Choice(_DATASETS),
    help="Which MoleculeNet set it is: chooses the targets, and the published scores to print, if there are any.",
)
@click.option(
    "--smiles-column",
    metavar="COLUMN",
    show_default="smiles, or else mol, in any case",
    help="Column with the SMILES.",
)
@click.option(
    "--targets",
    metavar="A,B|all",
    callback=_targets,
    show_default="those of --dataset, or else all",
    help="Columns of 0 and 1, or of numbers, nothing where it is not known; all: every column of 0 and 1, "
    "with --task regression every one of numbers.",
)
@click.option(
    "--checkpoint",
    metavar="DIR|none",
    required=True,
    help="Folder of `graphkin pretrain`, or of --save-encoder, or none to start from random weights.",
)
@click.option("--encoder", type=click.Choice(ENCODERS), show_default="gin", help="Only with --checkpoint none.")
@click.option(
    "--frozen", is_flag=True, help="Do not train the encoder: logistic regression on its embeddings; graphs and nodes."
)
@click.option("--seeds", metavar="N,N", show_default="0,1,2; nodes: 0", callback=_seeds, help="One run each, or ten.")
@click.option("--epochs", type=click.IntRange(1), default=100, help="Passes over the training part.")
@click.option("--lr", "learning_rate", type=float, show_default="0.001; nodes: 0.005", help="Adam's learning rate.")
@click.option("--batch-size", type=click.IntRange(2), default=32, help="Molecules, graphs or nodes a step.")
@click.option("--dropout", type=float, show_default="0.5; nodes: 0", help="After each layer of the encoder.")
@click.option("--pooling", type=click.Choice(("mean", "sum")), default="mean", help="From nodes to graphs.")
@click.option(
    "--tune",
    "trials",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="First tune these on validation, in N trials.  [published: at most 400]",
)
@click.option("--device", type=click.Choice(("cpu", "cuda")), default="cpu", help="Where to compute.")
@click.option(
    "--save-encoder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder to keep the fine-tuned encoder in, for --checkpoint; of one seed, molecules or graphs.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE.json",
    help="Results, written after each seed; seeds that it has already are kept.",
)
def finetune(
    task: str,
    file: Path | None,
    tu: Path | None,
    edges: Path | None,
    labels: Path | None,
    dataset: str | None,
    smiles_column: str | None,
    targets: list[str] | None,
    checkpoint: str,
    encoder: Any,
    frozen: bool,
    seeds: list[int] | None,
    trials: int,
    device: str,
    save_encoder: Path | None,
    output: Path,
    **options: Any,
) -> None:
    """Fine-tune an encoder with a linear head, and print its scores.

    Molecules are split 8:1:1 by scaffold, and scored by ROC-AUC, averaged over the tasks that have both classes there,
    or values by RMSE and MAE in their own units, averaged over the tasks.
    Graphs are split 9:1 into train and test, and train 8:1 into train and validation, by class, and scored by accuracy.
    The test score is of the epoch that is best on validation. Nodes are classified by the subgraphs that random walks
    find around them, ten times, each with another tenth for test, by class; the score is the accuracy after the last
    epoch.

    --save-encoder keeps the encoder as it was after the epoch whose score counts, to be fine-tuned on something else
    or for `graphkin embed`. So encoders are pre-trained with labels.
    """
    data_kind = "molecules" if task == "regression" else task
    _require_data(data_kind, molecules=(file, dataset, smiles_column, targets), graphs=(tu,), nodes=(edges, labels))
    if checkpoint != "none" and encoder is not None:
        raise click.UsageError("--encoder is only for --checkpoint none: a checkpoint says itself what it is")

    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.trainer.downstream.finetune import NODES, FinetuneOptions, InitialEncoder
    from graphkin.trainer.downstream.nodes import read_nodes
    from graphkin.trainer.downstream.study import Study, table
    from graphkin.trainer.downstream.tu import read_tu
    from graphkin.trainer.model.device import select_device
    from graphkin.trainer.pretraining.config import Model

    select_device(device)
    defaults = NODES if task == "nodes" else FinetuneOptions()
    finetune_options = replace(defaults, **{name: value for name, value in options.items() if value is not None})
    model = Model.from_kind(data_kind.removesuffix("s"), encoder or "gin")
    start = InitialEncoder(model) if checkpoint == "none" else InitialEncoder.from_checkpoint(Path(checkpoint))
    data: LabeledGraphs
    if tu is not None:
        data = graphs = read_tu(tu)
        name: str | None = graphs.name
    elif edges is not None and labels is not None:
        data = nodes = read_nodes(edges, labels)
        name = nodes.name
    else:
        assert file is not None
        data, name = _read_molecules(file, dataset, smiles_column, targets, task == "regression"), dataset
    study = Study(data, name, start, finetune_options, trials, device, frozen, save_encoder)
    run_seeds = seeds or ([0] if task == "nodes" else [0, 1, 2])
    click.echo(table(study.run(run_seeds, output, terminal_progress().stage)))


def _require_data(task: str, **files: tuple[object, ...]) -> None:
    """Raise `UsageError` unless the options of this task are set, and none of another task.

    Args:
        task: "molecules", "graphs" or "nodes".
        **files: The values of the options of each task.
    """
    required = files[task][:1] if task == "molecules" else files[task]
    other_files = [value for other, options in files.items() if other != task for value in options]
    if None in required or any(value is not None for value in other_files):
        raise click.UsageError(
            "give --csv with its options for molecules, or --task graphs and --tu for graphs, or --task nodes, --edges "
            "and --labels for nodes"
        )


def _read_molecules(
    file: Path, dataset: str | None, smiles_column: str | None, targets: Sequence[str] | None, regression: bool
) -> "LabeledGraphs":
    """Return molecules with labels for classification, or with measured values for regression.

    They have measured values if `regression` is set, if those of the dataset are measured, or if the targets hold
    numbers other than 0 and 1.
    """
    from graphkin.trainer.downstream.dataset import CLASSIFICATION_TARGETS, holds_labels, select_labels
    from graphkin.trainer.downstream.measurements import REGRESSION_TARGETS, holds_numbers, select_measurements
    from graphkin.trainer.downstream.molecules import read_molecules

    dataset_columns = {**CLASSIFICATION_TARGETS, **REGRESSION_TARGETS}
    columns = dataset_columns[dataset] if targets is None and dataset is not None else targets or None
    molecules = read_molecules(file, smiles_column, workers=os.cpu_count() or 1)
    if not regression and columns is not None and not all(holds_labels(molecules, name) for name in columns):
        regression = all(holds_numbers(molecules, name) for name in columns)
    return select_measurements(molecules, columns) if regression else select_labels(molecules, columns)
