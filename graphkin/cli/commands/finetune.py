"""`graphkin finetune`: measure an encoder on labeled molecules, graphs or nodes."""

import csv
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json, progress
from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.strategy import ENCODERS

if TYPE_CHECKING:
    from graphkin.library.subgraphs import SubgraphRule
    from graphkin.trainer.downstream.labeled import LabeledGraphs
    from graphkin.trainer.downstream.molecules import MoleculeFile
    from graphkin.trainer.downstream.nodes import LabeledNodes
    from graphkin.trainer.downstream.partition import Partition
    from graphkin.trainer.downstream.saved_model import ModelFolder

_DATASETS = ("bace", "bbbp", "clintox", "esol", "freesolv", "hiv", "lipo", "sider", "tox21", "toxcast")
_EXAMPLES = [
    (
        "Measure an encoder on a MoleculeNet data set",
        "graphkin finetune --dataset bace --csv bace.csv.gz --checkpoint runs/hgc --output bace.json",
    ),
    (
        "Measure an untrained encoder on your own labels",
        "graphkin finetune --csv mine.csv --targets toxic --checkpoint none --encoder gin --output mine.json",
    ),
    (
        "Predict a measured value",
        "graphkin finetune --csv mine.csv --targets logS --checkpoint runs/hgc --output solubility.json",
    ),
    (
        "Predict one of several classes",
        "graphkin finetune --task classes --csv mine.csv --targets color --checkpoint runs/hgc --output color.json",
    ),
    (
        "Keep clusters of similar molecules in one part",
        "graphkin finetune --csv mine.csv --targets logS --checkpoint none --split cluster --output solubility.json",
    ),
    (
        "Train with labels, and keep the encoder",
        (
            "graphkin finetune --csv chembl.csv.gz --targets all --checkpoint runs/context --seeds 0 "
            "--save-encoder runs/supervised --output chembl.json"
        ),
    ),
    (
        "Keep the model for predictions",
        "graphkin finetune --csv mine.csv --targets toxic --checkpoint none --save-model model --output mine.json",
    ),
    (
        "Classify graphs",
        "graphkin finetune --task graphs --tu IMDB-BINARY.zip --checkpoint runs/hgc --output imdb.json",
    ),
    (
        "Classify nodes",
        "graphkin finetune --task nodes --edges usa.edgelist --labels usa.txt --checkpoint runs/hgc --output usa.json",
    ),
    (
        "Classify nodes by whether their number is above the median",
        (
            "graphkin finetune --task nodes --bins 2 --edges authors.csv --labels h-index.csv --checkpoint runs/hgc "
            "--output authors.json"
        ),
    ),
]


def _seeds(context: click.Context, parameter: click.Parameter, text: str | None) -> list[int] | None:  # noqa: ARG001
    if text is None:
        return None
    seeds = text.split(",")
    if not all(seed.strip().isdecimal() for seed in seeds) or len({*map(int, seeds)}) < len(seeds):
        raise InvalidInput(
            "invalid value for --seeds",
            given=text,
            expected="different whole numbers with commas, such as 0,1,2",
            hint="`graphkin finetune --help` describes the option",
        )
    return [int(seed) for seed in seeds]


def _targets(context: click.Context, parameter: click.Parameter, text: str | None) -> list[str] | None:  # noqa: ARG001
    """Return the value of --targets as a list of columns: an empty list for "all", None if the option is not set."""
    if text is None:
        return None
    return [] if text == "all" else next(csv.reader([text]))  # names that contain commas are quoted as in CSV


def _rule(context: click.Context, parameter: click.Parameter, text: str) -> str:  # noqa: ARG001
    kind, _, column = text.partition(":")
    if text not in ("scaffold", "random", "cluster") and not (kind in ("column", "time") and column):
        raise InvalidInput(
            "invalid value for --split",
            given=text,
            expected="scaffold, random, cluster, column:NAME or time:NAME",
            hint="`graphkin finetune --help` describes the option",
        )
    return text


@command(examples=_EXAMPLES)
@option(
    "--task",
    type=click.Choice(("molecules", "classes", "regression", "graphs", "nodes")),
    default="molecules",
    panel="Data",
    help="molecules: classify molecules by columns of 0 and 1; classes: classify molecules by a column of class names; "
    "graphs: classify the graphs of --tu; nodes: classify the nodes of --edges; "
    "regression: predict values of molecules or nodes, which is automatic if --targets holds numbers other than 0 and "
    "1, or --labels numbers that are not all whole.",
)
@option(
    "--csv",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    panel="Data",
    help="Table of labeled molecules with a header. Cells are separated by commas, semicolons, tabs or pipes. The file "
    "may be compressed (.gz, .bz2, .xz).",
)
@option(
    "--tu",
    type=click.Path(path_type=Path),
    metavar="FILE",
    panel="Data",
    help="Labeled graphs: a zip file or a folder in the layout of TUDataset.",
)
@option(
    "--node-attributes",
    is_flag=True,
    panel="Data",
    help="Also use the attributes and labels of nodes in --tu. Only with --checkpoint none.",
)
@option(
    "--edges",
    type=click.Path(path_type=Path),
    metavar="FILE",
    panel="Data",
    help="Edges of a big graph: `source target [weight]` per line, or a .csv with source,target. It may be .gz.",
)
@option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    panel="Data",
    help="Labels of nodes: `node label` per line, or a .csv. Nodes without a label are context.",
)
@option(
    "--subgraph",
    type=click.Choice(("ppr", "walks")),
    show_default="as in the pre-training; without pre-training: ppr",
    panel="Data",
    help="Subgraph around a node: the nodes with the highest PageRank, by the default of `graphkin ingest nodes`, or "
    "the nodes that random walks visit, as in gcc.",
)
@option(
    "--bins",
    type=click.IntRange(2),
    metavar="N",
    panel="Data",
    help="Group labels of nodes that are numbers into N classes at their quantiles. 2: up to the median, and above it.",
)
@option(
    "--dataset",
    type=click.Choice(_DATASETS),
    panel="Data",
    help="Name of the MoleculeNet data set. It selects the targets and the published scores.",
)
@option(
    "--smiles-column",
    metavar="COLUMN",
    show_default="smiles, else mol, in any case",
    panel="Data",
    help="Column with the SMILES.",
)
@option(
    "--targets",
    metavar="A,B|all",
    callback=_targets,
    show_default="those of --dataset, else all",
    panel="Data",
    help="Columns with 0 and 1, or with numbers. Unknown values are empty. all: every column with 0 and 1, or with "
    "--task regression every column with numbers.",
)
@option(
    "--split",
    "rule",
    metavar="RULE",
    default="scaffold",
    callback=_rule,
    panel="Data",
    help="How molecules are divided into train, valid and test: scaffold, random, cluster, column:NAME or time:NAME.",
)
@option(
    "--checkpoint",
    metavar="DIR|none",
    required=True,
    panel="Model",
    help="Folder of `graphkin pretrain` or --save-encoder, or none for random weights.",
)
@option(
    "--encoder",
    metavar="NAME",
    show_default="gin",
    panel="Training",
    help=f"Encoder: {', '.join(ENCODERS)}, gin-gcc for nodes, or one of an installed package. Only with "
    "--checkpoint none.",
)
@option(
    "--features",
    type=click.Choice(options.FEATURES),
    show_default="hu",
    panel="Training",
    help="Features of atoms and bonds: those of Hu et al., or rich ones. Only for molecules with --checkpoint none.",
)
@option(
    "--frozen",
    is_flag=True,
    panel="Training",
    help="Keep the encoder, and train a logistic regression on its embeddings. Only for graphs and nodes.",
)
@option(
    "--seeds",
    metavar="N,N",
    show_default="0,1,2; with --save-model or nodes: 0",
    callback=_seeds,
    panel="Training",
    help="Random seeds, with one run each (nodes: ten runs each).",
)
@option("--epochs", type=click.IntRange(1), default=100, panel="Training", help="Passes over the training data.")
@option(
    "--lr",
    "learning_rate",
    type=float,
    show_default="0.001; nodes: 0.005",
    panel="Training",
    help="Learning rate of Adam.",
)
@option(
    "--batch-size", type=click.IntRange(2), default=32, panel="Training", help="Molecules, graphs or nodes per step."
)
@option("--dropout", type=float, show_default="0.5; nodes: 0", panel="Training", help="Dropout after each layer.")
@option(
    "--pooling",
    type=click.Choice(("mean", "sum", "center", "readout")),
    show_default="mean; encoders with a readout of their own: readout",
    panel="Training",
    help="How the vectors of nodes become the vector of a graph. center: the vector of the node that a subgraph "
    "surrounds; readout: as the encoder does in pre-training.",
)
@option(
    "--class-weights",
    type=click.Choice(("balanced", "none")),
    default="none",
    callback=lambda context, parameter, value: None if value == "none" else value,  # noqa: ARG005
    panel="Training",
    help="balanced: rare classes count more, so that all classes have the same total weight in training.",
)
@option(
    "--tune",
    "trials",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    panel="Training",
    help="Number of trials that tune these settings on validation. The published studies use at most 400.",
)
@option("--device", type=click.Choice(("cpu", "cuda")), default="cpu", panel="Execution", help="Processor that trains.")
@option(
    "--save-encoder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    panel="Output",
    help="Folder for the fine-tuned encoder, for --checkpoint. Needs one seed, and molecules or graphs.",
)
@option(
    "--save-model",
    type=click.Path(path_type=Path),
    metavar="DIR",
    panel="Output",
    help="New folder for the fine-tuned model and its training items, for `graphkin predict`. Needs one seed, and no "
    "--node-attributes. Nodes: the model of fold 0.",
)
@option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE.json",
    panel="Output",
    help="Results, written after each seed. Seeds in an existing file are kept.",
)
@options.as_json
def finetune(
    task: str,
    file: Path | None,
    tu: Path | None,
    node_attributes: bool,
    edges: Path | None,
    labels: Path | None,
    bins: int | None,
    subgraph: Any,
    dataset: str | None,
    smiles_column: str | None,
    targets: list[str] | None,
    rule: str,
    checkpoint: str,
    encoder: str | None,
    features: str | None,
    frozen: bool,
    seeds: list[int] | None,
    trials: int,
    device: str,
    save_encoder: Path | None,
    save_model: Path | None,
    output: Path,
    as_json: bool,
    **training: Any,
) -> None:
    """Fine-tune an encoder on labeled data, and print its scores.

    The encoder gets a linear head.

    Molecules are split 8:1:1 by scaffold. --split random ignores their structure. --split cluster keeps each
    Taylor-Butina cluster of Morgan fingerprints, at similarity 0.4, in one part. --split time:NAME trains on the oldest
    molecules and tests on the newest, by the numbers or dates in column NAME. --split column:NAME takes the parts from
    a column that holds train, valid or test.

    Classification is scored by ROC-AUC, averaged over the targets that have both classes in the part. Regression is
    scored by RMSE and MAE in the units of the values, averaged over the targets. --task classes is scored by accuracy
    and macro-F1.

    Graphs are split 9:1 into training and test, and the training graphs 8:1 into training and validation, stratified by
    class. The score is the accuracy. For molecules and graphs, the test score is that of the epoch with the best
    validation score.

    Nodes are classified by the subgraphs around them, ten times with different tenths as test, stratified by class.
    The score is the accuracy after the last epoch, or the RMSE and MAE of predicted values.

    --save-model keeps the encoder and the head of the epoch whose score counts, for `graphkin predict`. With several
    scores, it is the epoch of the first one. For nodes, it is the model of fold 0, which is trained on nine tenths of
    the labeled nodes. --save-encoder keeps the encoder of the same epoch. It can be fine-tuned again, or used by
    `graphkin embed`.
    """
    is_regression = task == "regression"
    data_kind = ("molecules" if edges is None else "nodes") if is_regression else task.replace("classes", "molecules")
    _require_data(
        data_kind,
        molecules=(file, dataset, smiles_column, targets, rule if rule != "scaffold" else None),
        graphs=(tu,),
        nodes=(edges, labels),
    )
    if subgraph is not None and data_kind != "nodes":
        raise InvalidInput(
            "--subgraph needs nodes",
            given=f"--task {task}",
            expected="--edges and --labels, with --task nodes or regression",
            hint="remove --subgraph, which represents the nodes of a big graph",
        )
    if bins is not None and (data_kind != "nodes" or is_regression):
        raise InvalidInput(
            "--bins needs --task nodes",
            given=f"--task {task}",
            hint="remove --bins, which turns the numbers of nodes into classes",
        )
    if node_attributes and tu is None:
        raise InvalidInput("--node-attributes needs --task graphs", hint="remove --node-attributes")
    for option_name, value in (
        ("encoder", encoder),
        ("features", features),
        ("node-attributes", node_attributes or None),
    ):
        if checkpoint != "none" and value is not None:
            raise InvalidInput(
                f"--{option_name} needs --checkpoint none",
                given=value,
                hint=f"remove --{option_name}: a checkpoint contains its encoder and the features",
            )

    from graphkin.library.subgraphs import rule_for, subgraphs_of
    from graphkin.trainer.downstream.finetune import NODES, FinetuneOptions, InitialEncoder
    from graphkin.trainer.downstream.nodes import read_nodes, select_classes, select_values
    from graphkin.trainer.downstream.study import Study, table
    from graphkin.trainer.downstream.tu import read_tu
    from graphkin.trainer.model.device import select_device
    from graphkin.trainer.pretraining.config import Model

    select_device(device)
    defaults = NODES if data_kind == "nodes" else FinetuneOptions()
    model = Model.from_kind(data_kind.removesuffix("s"), encoder or "gin", features or "hu")
    start = InitialEncoder(model) if checkpoint == "none" else InitialEncoder.from_checkpoint(Path(checkpoint))
    defaults = replace(defaults, pooling=start.pooling)
    finetune_options = replace(defaults, **{name: value for name, value in training.items() if value is not None})
    data: LabeledGraphs
    node_source: tuple[LabeledNodes, SubgraphRule] | None = None
    if tu is not None:
        data = graphs = read_tu(tu, node_attributes or start.model.attributes > 0)
        if node_attributes:
            start = InitialEncoder(replace(start.model, attributes=graphs.attributes))
        name: str | None = graphs.name
    elif edges is not None and labels is not None:
        nodes = read_nodes(edges, labels)
        has_values = is_regression or (bins is None and nodes.are_measured)
        subgraph_rule = rule_for(start, subgraph)
        subgraphs, node_source = subgraphs_of(subgraph_rule), (nodes, subgraph_rule)
        data = labeled = select_values(nodes, subgraphs) if has_values else select_classes(nodes, subgraphs, bins)
        name = labeled.name
    else:
        assert file is not None
        data, name = (
            _read_molecules(file, dataset, smiles_column, targets, task, rule, start.model.features),
            dataset,
        )
    model_folder = None if save_model is None else _model_folder(save_model, data, node_source)
    study = Study(data, name, start, finetune_options, trials, device, frozen, save_encoder, model_folder)
    run_seeds = seeds or ([0] if data_kind == "nodes" or save_model is not None else [0, 1, 2])
    document = study.run(run_seeds, output, progress().stage)
    if as_json:
        print_json(document)
    else:
        click.echo(table(document))


def _require_data(task: str, **files: tuple[object, ...]) -> None:
    """Raise `InvalidInput` unless the options of this task are set, and none of another task.

    Args:
        task: "molecules", "graphs" or "nodes".
        **files: The values of the options of each task.
    """
    required = files[task][:1] if task == "molecules" else files[task]
    other_files = [value for other, options in files.items() if other != task for value in options]
    if None in required or any(value is not None for value in other_files):
        raise InvalidInput(
            f"the options do not fit --task {task}",
            expected="molecules: --csv; graphs: --task graphs and --tu; nodes: --task nodes, --edges and --labels, or "
            "--task regression with both",
            hint="`graphkin finetune --help` shows an example of each",
        )


def _read_molecules(
    file: Path,
    dataset: str | None,
    smiles_column: str | None,
    targets: Sequence[str] | None,
    task: str,
    rule: str,
    features: str,
) -> "LabeledGraphs":
    """Return molecules with labels for classification, or with measured values for regression.

    They have classes if the task is `classes`. They have measured values if it is `regression`, if those of the
    dataset are measured, or if the targets hold numbers other than 0 and 1.
    """
    from graphkin.trainer.downstream.dataset import CLASSIFICATION_TARGETS, holds_labels, select_labels
    from graphkin.trainer.downstream.measurements import REGRESSION_TARGETS, holds_numbers, select_measurements
    from graphkin.trainer.downstream.molecule_classes import select_class
    from graphkin.trainer.downstream.molecules import read_molecules

    dataset_columns = {**CLASSIFICATION_TARGETS, **REGRESSION_TARGETS}
    columns = dataset_columns[dataset] if targets is None and dataset is not None else targets or None
    molecules = read_molecules(file, smiles_column, os.cpu_count() or 1, features)
    partition = _split(molecules, rule)
    if task == "classes":
        return select_class(molecules, columns, partition)
    regression = task == "regression"
    if not regression and columns is not None and not all(holds_labels(molecules, name) for name in columns):
        regression = all(holds_numbers(molecules, name) for name in columns)
    if regression:
        return select_measurements(molecules, columns, partition)
    return select_labels(molecules, columns, partition)


def _split(molecules: "MoleculeFile", rule: str) -> "Partition | None":
    """Return the split that --split names, or None for the default, by scaffold."""
    from graphkin.library.evidence import cluster_molecules
    from graphkin.trainer.downstream.partition import Partition, read_partition
    from graphkin.trainer.downstream.split import group_split

    if rule == "scaffold":
        return None
    if rule == "cluster":
        return Partition(rule, group_split(cluster_molecules(molecules.smiles).tolist()))
    return read_partition(molecules, rule)


def _model_folder(
    path: Path, data: "LabeledGraphs", nodes: "tuple[LabeledNodes, SubgraphRule] | None"
) -> "ModelFolder":
    """Return the folder for a model of these data, with the evidence for its predictions.

    Args:
        path: The folder.
        data: The data.
        nodes: The labeled nodes and the rule of their subgraphs, for nodes.
    """
    from graphkin.library.evidence import FINGERPRINT, graph_items, node_items, training_items
    from graphkin.library.subgraphs import comparison_recipe, rule_as_json
    from graphkin.trainer.downstream.labeled_molecules import LabeledMolecules
    from graphkin.trainer.downstream.saved_model import ModelFolder
    from graphkin.trainer.downstream.tu import TuDataset

    if isinstance(data, LabeledMolecules):
        return ModelFolder(path, data.noun, data.readout, FINGERPRINT, training_items(data.smiles, data.measured))
    if isinstance(data, TuDataset) and not data.attributes:
        return ModelFolder(path, data.noun, data.readout, None, graph_items(data.corpus, data.measured))
    if nodes is not None:
        labeled, rule = nodes
        items = node_items(labeled, comparison_recipe(rule), data.measured)
        readout = data.fitted(data.split()).readout
        return ModelFolder(path, data.noun, readout, None, items, rule_as_json(rule))
    raise InvalidInput(
        "a model with node attributes cannot be saved for predictions",
        given="--node-attributes, or an encoder with attributes",
        expected="molecules, nodes, or graphs without attributes",
        hint="leave --save-model out, or use --save-encoder",
    )
