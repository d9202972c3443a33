"""Options that several commands share: click decorators, and checks of combinations of options.

Some decorators add a group of options, and pass their values to the command as one mapping.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from graphkin.cli.help import option
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import BUTINA_THRESHOLD, MAX_SEED, ClusterMethod, Duplicates, Pad, PolicyName, Rank

Command = TypeVar("Command", bound=Callable[..., Any])

STORE_VARIABLE, COLLECTION_VARIABLE = "GRAPHKIN_STORE", "GRAPHKIN_COLLECTION"
"""Environment variables with the default store and the default collection."""

_STORE_OPTION: dict[str, Any] = {
    "metavar": "STORE",
    "envvar": STORE_VARIABLE,
    "show_envvar": True,
    "panel": "Collection",
    "help": "Folder of a store or of a lake, URL of a lake, or neo4j://HOST or bolt://HOST of a Neo4j server.",
}
store = option("--store", "store_location", required=True, **_STORE_OPTION)
optional_store = option("--store", "store_location", **_STORE_OPTION)
_COLLECTION_OPTION: dict[str, Any] = {
    "metavar": "NAME",
    "envvar": COLLECTION_VARIABLE,
    "show_envvar": True,
    "panel": "Collection",
}
collection = option("--collection", required=True, help="Name of the collection.", **_COLLECTION_OPTION)
optional_collection = option("--collection", help="Name of the collection. [default: all]", **_COLLECTION_OPTION)
generation = option(
    "--generation",
    metavar="ID",
    panel="Collection",
    help="Generation, by its id or the beginning of it. [default: current]",
)
purge = option(
    "--purge",
    is_flag=True,
    panel="Collection",
    help="In Neo4j: also delete entities that no generation has, with your data on them.",
)
as_json = option("--json", "as_json", is_flag=True, panel="Output", help="Print JSON.")
min_similarity = option(
    "--min-similarity",
    type=float,
    metavar="X",
    panel="Similarity",
    help="Smallest similarity. [default: the stored threshold]",
)
complete = option(
    "--complete",
    is_flag=True,
    panel="Similarity",
    help="Compare all pairs again, so that pairs beyond the top-k limit are included. --min-similarity may then be "
    "below the stored threshold.",
)
numeric_property = option(
    "--property",
    "name",
    required=True,
    metavar="NAME",
    panel="Query",
    help="Numeric property, such as an activity, by its name in exports.",
)
conditions = option(
    "--filter",
    "conditions",
    metavar="CONDITION",
    multiple=True,
    panel="Conditions",
    help="Condition on a property, such as 'molwt>=300', 'class=acid' or 'names~acid'. Repeat it to require several.",
)
workers = option(
    "--workers",
    type=click.IntRange(min=1),
    panel="Execution",
    help="Number of processes and threads. [default: all cores]",
)
duplicates = option(
    "--duplicates",
    type=click.Choice(get_args(Duplicates)),
    default="first",
    panel="Input",
    help="Value of a column in which the records of an item differ. first: the first one; mean, median: of numbers; "
    "list: the first one, and all of them in a column NAME_values; reject: the records of the item are rejected.",
)
device = option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    panel="Execution",
    help="Processor that compares fingerprints. cuda needs graphkin[gpu]. The result is the same.",
)


def output_file(help: str) -> Any:
    """Return the option for the file that a command writes, with this help."""
    return option("--output", type=click.Path(path_type=Path), required=True, metavar="FILE", panel="Output", help=help)


output = output_file("CSV file to write, or - for standard output.")
columns = option(
    "--column",
    "columns",
    metavar="NAME",
    multiple=True,
    panel="Output",
    help="Column to write. Repeat it for several. [default: all]",
)
smiles_column = option(
    "--smiles-column",
    "structure_column",
    metavar="COLUMN",
    panel="Input",
    help="Column with the SMILES. [default: smiles, in any case]",
)
record_format = option(
    "--format",
    type=click.Choice(["smi", "csv", "tsv", "sdf", "parquet", "xlsx", "tu", "graphml", "jsonl"]),
    panel="Input",
    help="Format of the input. Standard input (-) needs it. [default: by file name]",
)
standardize = option(
    "--standardize",
    "standardise",
    metavar="STEP",
    type=click.Choice(["largest_fragment", "uncharge", "tautomer"]),
    multiple=True,
    panel="Recipe",
    help="Standardize every structure, also those of later searches. Repeat it for several steps, in their order.",
)
FEATURES = ("hu", "rich")
"""Names of the sets of features of molecules."""

features = option(
    "--features",
    type=click.Choice(FEATURES),
    default="hu",
    panel="Training",
    help="Features of atoms and bonds: those of Hu et al., or rich ones. Only for molecules.",
)
cache_dir = option(
    "--cache-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    envvar="GRAPHKIN_CACHE_DIR",
    show_envvar=True,
    show_default="the user's cache folder",
    panel="Execution",
    help="Folder that caches data of the server. An interrupted command continues from it.",
)
seed = option("--seed", type=click.IntRange(0, MAX_SEED), default=0, panel="Sampling", help="Random seed.")
master = option(
    "--master",
    metavar="URL",
    panel="Execution",
    help="Spark master, such as local[4] or spark://HOST:PORT. [default: as in spark-submit]",
)
names = option(
    "--names",
    "names_files",
    multiple=True,
    metavar="FILE",
    panel="Input",
    help="File with the name of each row of a .npy file, one per line.",
)
other_collection = option(
    "--beside",
    metavar="NAME[@GENERATION]",
    panel="Sampling",
    help="Second collection of the same items. Anchors are the items with neighbors in both.",
)

scaffold = option(
    "--scaffold",
    metavar="SMILES",
    panel="Conditions",
    help="Bemis-Murcko scaffold that molecules have exactly. Empty: molecules without rings.",
)

_SERIES_OPTIONS = ("cluster", "ids", "scaffold", "conditions", "substructure", "method", "threshold")
_TABLE_COLUMNS = ("structure_column", "fingerprint_column", "name_column", "properties")
_TABLE_OPTIONS = (*_TABLE_COLUMNS, "delimiter", "encoding", "decimal")
_RUN_OPTIONS = ("files", "collection", "workers", "max_rejected", "rejections_file", "as_json", "duplicates")
_POLICY_OPTIONS = ("policy", "k", "length", "walks", "p", "q", "p_end", "restart", "rank", "pad")
_TARGET_OPTIONS = ("store_location", "lake", "engine", "master")


def source_generation(command: Command) -> Command:
    """Add --store, --collection and --generation, which select the generation that a command reads."""
    return store(collection(generation(command)))


def clustering(*, required: bool) -> Callable[[Command], Command]:
    """Return a decorator that adds --method, --threshold and --workers, the options of a clustering.

    Args:
        required: Whether --method is required.
    """

    def decorate(command: Command) -> Command:
        return _method(required)(_threshold(workers(command)))

    return decorate


def _method(required: bool) -> Callable[[Command], Command]:
    return option(
        "--method",
        type=click.Choice(get_args(ClusterMethod)),
        required=required,
        panel="Clustering",
        help="butina: Taylor-Butina; scaffold: Bemis-Murcko scaffolds of molecules; single: single linkage of the "
        "stored edges.",
    )


_threshold = option(
    "--threshold",
    type=float,
    panel="Clustering",
    help="Smallest similarity of neighbors in butina and single. For single, at least the stored threshold. "
    f"[default: {BUTINA_THRESHOLD}; single: the smallest at which the largest cluster has a tenth of the items]",
)


def substructure(command: Callable[..., None]) -> Callable[..., None]:
    """Add --substructure and --substructure-smiles, of which at most one may be set.

    The command gets one argument, `substructure`: a pair of the text and its notation ("smarts" or "smiles"), or None.
    """

    @option("--substructure", metavar="SMARTS", panel="Conditions", help="Substructure of the molecules, as SMARTS.")
    @option(
        "--substructure-smiles",
        metavar="SMILES",
        panel="Conditions",
        help="Substructure of the molecules, as SMILES, which is matched differently from SMARTS.",
    )
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        texts = {"smarts": arguments.pop("substructure"), "smiles": arguments.pop("substructure_smiles")}
        patterns = [(text, notation) for notation, text in texts.items() if text is not None]
        if len(patterns) > 1:
            raise InvalidInput(
                "--substructure and --substructure-smiles cannot be combined",
                expected="at most one of them",
                hint="remove one of them",
            )
        command(substructure=patterns[0] if patterns else None, **arguments)

    return wrapper


def series(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select a series of molecules, and --workers.

    The command gets one mapping, `series`, with arguments of `conditions.parse_series`.
    """

    @option("--cluster", type=click.IntRange(1), metavar="N", panel="Conditions", help="Number of a cluster, from 1.")
    @option(
        "--id", "ids", type=click.IntRange(0), metavar="ID", multiple=True, panel="Conditions", help="Item; repeat it."
    )
    @scaffold
    @conditions
    @substructure
    @clustering(required=False)
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        command(series={name: arguments.pop(name) for name in _SERIES_OPTIONS}, **arguments)

    return wrapper


def table_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the columns and the delimiter of tables of molecules.

    The command gets one mapping, `table_options`, with arguments of `ReadOptions`.
    """

    @smiles_column
    @option(
        "--fingerprint-column",
        metavar="COLUMN",
        panel="Input",
        help="Column with fingerprints: in hexadecimal as in FPS files, or as bytes in Parquet.",
    )
    @option(
        "--name-column",
        metavar="COLUMN",
        panel="Input",
        help="Column with the name. [default: id, Compound ID, name, Code or similar, if present; SDF: the title line]",
    )
    @option(
        "--delimiter",
        type=click.Choice(["comma", "tab", "semicolon", "pipe", "space"]),
        panel="Input",
        help="Separator of the cells. [default: detected in the header of .csv; .tsv: tab]",
    )
    @option(
        "--properties", metavar="COLUMN", multiple=True, panel="Input", help="Column to keep; repeat it. [default: all]"
    )
    @option("--encoding", metavar="NAME", panel="Input", help="Encoding of text files. [default: utf-8]")
    @option("--decimal", type=click.Choice([".", ","]), default=".", panel="Input", help="Decimal separator in tables.")
    @option(
        "--unit",
        "units",
        metavar="COLUMN=UNIT",
        multiple=True,
        panel="Input",
        help="Unit of a column whose title lacks it or has a wrong one: mM, uM, nM, pM or none. It becomes part of "
        "the title, such as IC50 (nM). Repeat the option for several columns.",
    )
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        from graphkin.protocol.units import parse_units, titles_with_units

        table_options = {name: arguments.pop(name) for name in _TABLE_OPTIONS}
        table_options["properties"] = table_options["properties"] or None
        table_options["titles"] = tuple(titles_with_units(parse_units(arguments.pop("units"))).items())
        command(table_options=table_options, **arguments)

    return wrapper


def ingest_run(command: Callable[..., None]) -> Callable[..., None]:
    """Add FILE..., --collection and the options of every ingest. The command gets one mapping, `run_options`."""

    @as_json
    @workers
    @option(
        "--rejections-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        panel="Output",
        help="File for the rejected records of a run that fails. [default: NAME.rejections.csv]",
    )
    @option(
        "--max-rejected",
        type=click.FloatRange(0, 1),
        default=0.1,
        panel="Input",
        help="Largest share of rejected records. The run fails above it.",
    )
    @collection
    @click.argument("files", nargs=-1, required=True, metavar="FILE...")
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        run_options = {name: arguments.pop(name) for name in _RUN_OPTIONS if name in arguments}
        command(run_options=run_options, **arguments)

    return wrapper


def sampling_policy(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a sampling policy.

    The command gets one mapping, `policy_options`, with the arguments of `parse_policy`.
    """

    @_policy_option("--policy", type=click.Choice(get_args(PolicyName)), required=True, help="How to sample positives.")
    @_policy_option("--k", type=int, help="Number of positives. [default: 3; random_walk: 5]")
    @_policy_option("--length", type=int, help="Steps of a walk. [default: 2]")
    @_policy_option("--walks", type=int, help="Number of walks. [default: 5]")
    @_policy_option("--p", type=float, help="Return parameter of node2vec. [default: 1]")
    @_policy_option("--q", type=float, help="In-out parameter of node2vec. [default: 1]")
    @_policy_option("--p-end", type=float, help="Probability that a walk ends after a step. [default: 0]")
    @_policy_option("--restart", type=float, help="Probability that a walk returns to the anchor. [default: 0]")
    @_policy_option("--rank", type=click.Choice(get_args(Rank)), help="Weight of the visits. [default: exp]")
    @_policy_option(
        "--pad",
        type=click.Choice(get_args(Pad)),
        help="How to fill lists with fewer than k positives. [default: resample]",
    )
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        policy = {name: arguments.pop(name) for name in _POLICY_OPTIONS}
        command(policy_options={"name": policy.pop("policy"), **policy}, **arguments)

    return wrapper


def _policy_option(name: str, **settings: Any) -> Any:
    return option(name, panel="Sampling", **settings)


def ingest_target(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select the engine of an ingest, and the store or lake that it writes.

    The command gets one mapping, `target_options`.
    """

    @option("--store", "store_location", **{**_STORE_OPTION, "help": _TARGET_HELP})
    @option("--lake", metavar="URL", panel="Collection", help="Folder or URL of a new lake to write.")
    @option(
        "--engine",
        type=click.Choice(["local", "tasks", "spark"]),
        default="local",
        panel="Execution",
        help="local: one stream in this process; tasks: larger-than-memory, by processes of this machine, into a lake; "
        "spark: the same tasks on Spark.",
    )
    @master
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        target = {name: arguments.pop(name) for name in _TARGET_OPTIONS}
        # With --lake, --store means that the lake is loaded into this store. GRAPHKIN_STORE alone does not mean that.
        if target["lake"] is not None and not is_on_command_line("store_location"):
            target["store_location"] = None
        require_engine_options(target["engine"], arguments["run_options"]["workers"], target["master"])
        _require_target(target["store_location"], target["lake"], target["engine"])
        command(target_options=target, **arguments)

    return wrapper


_TARGET_HELP = (
    "Folder of the store, made if there is none, or neo4j://HOST or bolt://HOST of a Neo4j server. With --lake, the "
    "store into which the lake is loaded."
)


def is_on_command_line(name: str) -> bool:
    """Return whether an option has its value from the command line, not from the environment or a default."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def require_engine_options(engine: str, workers: int | None, master: str | None) -> None:
    """Raise `InvalidInput` if an option is set that the engine does not have."""
    if engine == "spark" and workers is not None:
        raise InvalidInput(
            "--workers cannot be combined with --engine spark",
            given=workers,
            expected="--engine local or --engine tasks",
            hint="set the number of executors in Spark's configuration",
        )
    if engine != "spark" and master is not None:
        raise InvalidInput(
            "--master needs --engine spark",
            given=f"--engine {engine}",
            expected="--engine spark",
            hint="add `--engine spark`, or remove --master",
        )


def _require_target(store_location: str | None, lake: str | None, engine: str) -> None:
    """Raise `InvalidInput` unless --store or --lake is set, and --lake if the engine needs one."""
    if engine != "local" and lake is None:
        raise InvalidInput(
            f"--engine {engine} writes a lake", expected="--lake with a folder or URL", hint="add `--lake URL`"
        )
    if lake is None and store_location is None:
        raise InvalidInput(
            "the command needs a store or a lake to write",
            expected="--store or --lake",
            hint=f"add `--store STORE` or `--lake URL`, or set the environment variable {STORE_VARIABLE}",
        )
