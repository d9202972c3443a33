"""`graphkin predict`: write predictions of a fine-tuned model, with the evidence for them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.records import RecordBlock, RecordKind, read_blocks, record_kind
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.values import MAX_HITS

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.ingest.readers import Source
    from graphkin.trainer.downstream.nodes import LabeledNodes
    from graphkin.trainer.downstream.saved_model import SavedModel

_FORMATS = (".csv", ".parquet")
_NODES = 4096  # nodes per block
_NOT_FOR_NODES = {
    "--format": "format",
    "--smiles-column": "structure_column",
    "--name-column": "name_column",
    "--store": "store_location",
    "--collection": "collection",
}
"""Options that do not apply to models of nodes, and their parameters."""
_NOUNS = {"molecules": "molecule", "graphs": "graph"}
"""The noun of the records that a model predicts, by the kind of the model."""

Evidence = Callable[[Sequence[str]], "dict[str, pa.Array]"]
"""A function that returns columns for molecules as SMILES, or graphs as JSON."""


@command(
    examples=[
        (
            "Predict the molecules of a file",
            "graphkin predict --model model --input new.smi --output predictions.csv",
        ),
        (
            "Show the most similar items of a collection as well",
            "graphkin predict --model model --input new.csv --output new.parquet --store s --collection m",
        ),
        (
            "Read SMILES from standard input",
            "echo CCO | graphkin predict --model model --input - --format smi --output -",
        ),
        (
            "Predict the classes of graphs",
            "graphkin predict --model model --input graphs.jsonl --output classes.csv",
        ),
        (
            "Predict all nodes of a network",
            "graphkin predict --model model --input usa.edgelist --output nodes.csv",
        ),
    ]
)
@option(
    "--model",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    panel="Model",
    help="Folder written by `graphkin finetune --save-model`.",
)
@option(
    "--input",
    "source_path",
    required=True,
    metavar="FILE",
    panel="Input",
    help="Molecules as SMILES, CSV, TSV, SDF or Parquet, graphs in the layout of TUDataset, GraphML or JSONL, or - for "
    "standard input. For nodes, the edges of a network, as for `graphkin finetune`. Files may be compressed.",
)
@options.record_format
@options.smiles_column
@option(
    "--name-column",
    metavar="COLUMN",
    panel="Input",
    help="Column with the name. [default: as in `graphkin ingest`]",
)
@options.optional_store
@option(
    "--collection",
    metavar="NAME",
    panel="Collection",
    help="Collection of molecules or graphs to search for each record of the input.",
)
@option(
    "--nearest",
    type=click.IntRange(0, MAX_HITS),
    default=3,
    panel="Output",
    help="Number of training items, and of items of the collection, for each prediction.",
)
@option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    panel="Output",
    help="File to write: .csv or .parquet, or - for CSV on standard output.",
)
@option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", panel="Execution", help="Processor that predicts."
)
@options.as_json
def predict(
    folder: Path,
    source_path: str,
    output: Path,
    store_location: str | None,
    collection: str | None,
    nearest: int,
    device: str,
    as_json: bool,
    **read: Any,
) -> None:
    """Predict molecules, graphs or nodes with a fine-tuned model.

    The file has one row for each record of the input, in the same order. Its columns are row (from 0), name, smiles
    (graphs: structure, as JSON), error, and the predictions. probability_TARGET is the probability of class 1.
    predicted_TARGET is a value in the units of the training data, or the most probable class, and then
    probability_CLASS is the probability of each class. A record that cannot be read has its reason in error, and no
    prediction.

    nearest_1_similarity, nearest_1_smiles and nearest_1_measured_TARGET describe the most similar molecule that the
    model was trained on: the Tanimoto similarity of the Morgan fingerprints, the molecule, and its measured value. A
    prediction without a similar training molecule deserves less trust. Training molecules of equal similarity are in
    the order of the training data.

    For graphs, nearest_1_structure is the most similar training graph, by the Weisfeiler-Lehman kernel with the default
    settings of `graphkin ingest graphs`: the cosine of the numbers of subtrees.

    A model of nodes predicts every node of a network, which can be that of the training or another one. The columns are
    row, node, and the predictions. nearest_1_node is the labeled node of the training whose subgraph is the most
    similar, by the recipe of the model's subgraphs; for the random walks of gcc, by the default of `graphkin ingest
    nodes`. A node that the model was trained on is its own nearest node.

    With --store and --collection, collection_1_similarity, collection_1_id, collection_1_smiles and collection_1_names
    describe the most similar item of that collection, by the fingerprint or the kernel of the collection.

    Everything comes from the folder of the model: no server and no network is needed.
    """
    from graphkin.cli.file_search import encode_tables
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.ingest.readers import ReadOptions, open_source
    from graphkin.similarity.graphs.kind import GraphKind
    from graphkin.similarity.molecules.kind import MoleculeKind
    from graphkin.trainer.downstream.saved_model import load_model
    from graphkin.trainer.model.device import select_device

    suffix = ".csv" if str(output) == "-" else output.suffix.lower()
    if suffix not in _FORMATS:
        raise InvalidInput(
            "invalid name of --output",
            given=str(output),
            expected="- or a name that ends with .csv or .parquet",
            hint="the end of the name selects the format, as in `--output predictions.csv`",
        )
    require_json_apart(output, as_json)
    select_device(device)
    model = load_model(folder, device)
    if model.subgraphs is not None:
        _predict_nodes(model, source_path, output, suffix, nearest, as_json)
        return
    files = {**MoleculeKind.file_formats, **GraphKind.file_formats}
    with ExitStack() as resources:
        source = resources.enter_context(closing(open_source(source_path, files, ReadOptions(**read))))
        _require_kind(model, source)
        evidence = _evidence(model, store_location, collection, nearest, resources)
        stream = resources.enter_context(atomic_file(output))
        advance = resources.enter_context(progress().stage("prediction", None, model.kind))
        prediction = _FilePrediction(model, source, evidence, advance)
        for piece in encode_tables(prediction.tables(), suffix):
            stream.write(piece)
    text = f"{output}: predictions for {prediction.predicted:,} of {prediction.records:,} records"
    report_file(output, as_json, text, records=prediction.records, predictions=prediction.predicted)


def _predict_nodes(model: "SavedModel", edges: str, output: Path, suffix: str, nearest: int, as_json: bool) -> None:
    """Write the predictions for all nodes of a network."""
    from graphkin.cli.file_search import encode_tables
    from graphkin.cli.output import atomic_file, progress, report_file
    from graphkin.trainer.downstream.nodes import read_all_nodes

    for name, parameter in _NOT_FOR_NODES.items():
        if options.is_on_command_line(parameter):
            raise InvalidInput(
                "this option does not apply to a model of nodes",
                given=name,
                expected="--model, --input, --nearest and --output",
                hint="leave the option out",
            )
    nodes = read_all_nodes(Path(edges))
    with atomic_file(output) as file, progress().stage("prediction", len(nodes.nodes), "nodes") as advance:
        for piece in encode_tables(_node_tables(model, nodes, nearest, advance), suffix):
            file.write(piece)
    count = len(nodes.nodes)
    report_file(output, as_json, f"{output}: predictions for {count:,} nodes", records=count, predictions=count)


def _node_tables(
    model: "SavedModel", nodes: "LabeledNodes", nearest: int, advance: Callable[[int], object]
) -> "Iterator[pa.Table]":
    """Yield a table of one row per node for each block of nodes."""
    import pyarrow as pa

    from graphkin.library.evidence import GraphEvidence, node_texts
    from graphkin.library.subgraphs import comparison_recipe, rule_from_json, subgraphs_of

    assert model.subgraphs is not None, "models of nodes have a rule"
    rule = rule_from_json(model.subgraphs)
    recipe, subgraphs = comparison_recipe(rule), subgraphs_of(rule)
    evidence = GraphEvidence(model.items, nearest, recipe)
    for start in range(0, len(nodes.nodes), _NODES):
        block = replace(nodes, nodes=nodes.nodes[start : start + _NODES])
        rows = range(start, start + len(block.nodes))
        predictions = model.predict(subgraphs.around(block))
        yield pa.table(
            {
                "row": pa.array(rows, pa.int64()),
                "node": pa.array([nodes.names[node] for node in block.nodes], pa.string()),
                **{name: pa.array(column) for name, column in predictions.items()},
                **(evidence.columns(node_texts(block, recipe)) if nearest else {}),
            }
        )
        advance(len(rows))


def _require_kind(model: "SavedModel", source: "Source") -> None:
    noun = record_kind(source.notation, model.features).noun
    if noun != _NOUNS.get(model.kind):
        raise Conflict(
            f"this model predicts {model.kind}",
            given=f"{source.name}, a file of {noun}s",
            expected=f"a file of {model.kind}",
            hint="name another file in --input, or another model in --model",
        )


def _evidence(
    model: "SavedModel", store_location: str | None, collection: str | None, limit: int, resources: ExitStack
) -> list[Evidence]:
    """Return the functions that compute the evidence. `resources` closes the collection."""
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.library.evidence import CollectionEvidence, GraphEvidence, TrainingEvidence
    from graphkin.store import open_generation

    is_explicit = options.is_on_command_line("store_location")
    if (collection is None and is_explicit) or (collection is not None and store_location is None):
        missing = "--collection" if collection is None else "--store"
        raise InvalidInput("--store and --collection belong together", hint=f"add {missing}")
    if not limit:
        return []
    is_graphs = model.kind == "graphs"
    training = (
        GraphEvidence(model.items, limit) if is_graphs else TrainingEvidence(model.items, model.fingerprint, limit)
    )
    evidence: list[Evidence] = [training.columns]
    if collection is not None and store_location is not None:
        reader = resources.enter_context(open_generation(store_location, collection, None))
        evidence.append(CollectionEvidence(OpenCollection(reader), _NOUNS[model.kind], limit).columns)
    return evidence


@dataclass
class _FilePrediction:
    """Predictions for all records of a file. They are computed while `tables` is read, which also updates the counts.

    Attributes:
        model: The model.
        source: The records.
        evidence: The functions that compute the evidence.
        advance: A function that is called with the number of records of each block.
        records: Number of records so far.
        predicted: Number of records with a prediction.
    """

    model: "SavedModel"
    source: "Source"
    evidence: Sequence[Evidence]
    advance: Callable[[int], object]
    records: int = 0
    predicted: int = 0

    def tables(self) -> "Iterator[pa.Table]":
        """Yield a table of one row per record for each block of records.

        Raises:
            InvalidInput: No record can be read.
        """
        kind = record_kind(self.source.notation, self.model.features)
        for records in read_blocks(self.source):
            yield self._table(kind, records)
            self.advance(len(records.inputs))
        if not self.predicted:
            raise InvalidInput(
                f"none of {self.records:,} records is a {kind.noun}",
                given=self.source.name,
                expected=kind.expected,
                hint="check --format and --smiles-column",
            )

    def _table(self, kind: RecordKind, records: RecordBlock) -> "pa.Table":
        import numpy as np
        import pyarrow as pa

        count = len(records.inputs)
        texts = ["" if fault else text for text, fault in zip(records.inputs, records.faults, strict=True)]
        block = kind.read(texts)
        readable = [block.texts[row] for row in block.rows]
        columns = {name: pa.array(column) for name, column in self.model.predict(block.corpus).items()}
        for evidence in self.evidence:
            columns |= evidence(readable)
        position = np.full(count, -1, np.int32)
        position[block.rows] = np.arange(len(block.rows), dtype=np.int32)
        places = pa.array(position, mask=position < 0)
        first = self.records
        self.records, self.predicted = first + count, self.predicted + len(readable)
        return pa.table(
            {
                "row": pa.array(range(first, first + count), pa.int64()),
                "name": pa.array(records.names, pa.string()),
                kind.column: pa.array(
                    [block.texts[row] or text for row, text in enumerate(records.inputs)], pa.string()
                ),
                "error": pa.array(
                    [fault or block.faults.get(row) for row, fault in enumerate(records.faults)], pa.string()
                ),
                **{name: column.take(places) for name, column in columns.items()},
            }
        )
