"""Options that several commands share: click decorators, and checks of combinations of options.

Some decorators add a group of options, and pass their values to the command as one mapping.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from graphkin.protocol.values import MAX_SEED, ClusterMethod, Pad, PolicyName, Rank

Command = TypeVar("Command", bound=Callable[..., Any])

STORE_VARIABLE, COLLECTION_VARIABLE = "GRAPHKIN_STORE", "GRAPHKIN_COLLECTION"
"""Environment variables with the default store and the default collection."""

_STORE_OPTION: dict[str, Any] = {
    "metavar": "STORE",
    "envvar": STORE_VARIABLE,
    "show_envvar": True,
    "help": "Folder of the store, neo4j://HOST or bolt://HOST of a Neo4j server, or the URL of a lake.",
}
store = click.option("--store", "store_location", required=True, **_STORE_OPTION)
optional_store = click.option("--store", "store_location", **_STORE_OPTION)
_COLLECTION_OPTION: dict[str, Any] = {"metavar": "NAME", "envvar": COLLECTION_VARIABLE, "show_envvar": True}
collection = click.option("--collection", required=True, help="Collection.", **_COLLECTION_OPTION)
optional_collection = click.option("--collection", help="Collection.  [default: all]", **_COLLECTION_OPTION)
generation = click.option(
    "--generation", metavar="ID", help="Generation id, or how one alone begins.  [default: the current one]"
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
min_similarity = click.option(
    "--min-similarity", type=float, metavar="X", help="Smallest similarity.  [default: the stored threshold]"
)
conditions = click.option(
    "--filter",
    "conditions",
    metavar="CONDITION",
    multiple=True,
    help="'molwt>=300', 'molwt<=500', 'class=acid', 'names~acid'; once for each, all of which hold.",
)
workers = click.option("--workers", type=click.IntRange(min=1), help="Processes and threads.  [default: all cores]")
device = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    help="Where fingerprints are compared: on the processor, or on an NVIDIA GPU, which needs graphkin[gpu]. The "
    "result is the same.",
)
output = click.option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="File to write; - for standard output.",
)
cache_dir = click.option(
    "--cache-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    envvar="GRAPHKIN_CACHE_DIR",
    show_default="the user's cache folder",
    help="Local cache of what was read from the server; an interrupted command continues from it.",
)
seed = click.option("--seed", type=click.IntRange(0, MAX_SEED), default=0, help="Seed of the draws.")
master = click.option(
    "--master",
    metavar="URL",
    help="Where Spark runs: local[N], spark://HOST:PORT, ...  [default: as spark-submit says]",
)
names = click.option(
    "--names", "names_files", multiple=True, metavar="FILE", help="Names of the rows of a .npy, one on each line."
)
other_collection = click.option(
    "--beside",
    metavar="NAME[@GENERATION]",
    help="Another collection of the same items: anchors are those linked in both.",
)

_TABLE_OPTIONS = ("structure_column", "fingerprint_column", "name_column", "delimiter")
_RUN_OPTIONS = ("files", "collection", "workers", "max_rejected", "rejections_file", "as_json")
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
    return click.option(
        "--method",
        type=click.Choice(get_args(ClusterMethod)),
        required=required,
        help="Taylor and Butina's; molecules by Bemis and Murcko's scaffolds; or single linkage in the stored "
        "hierarchy.",
    )


_threshold = click.option(
    "--threshold",
    type=float,
    help="Smallest similarity of neighbours, for butina and single; with single the stored threshold or more.  "
    "[default: 0.7; single: the smallest at which the largest cluster holds a tenth of all items]",
)


def substructure(command: Callable[..., None]) -> Callable[..., None]:
    """Add --substructure and --substructure-smiles, of which at most one may be set.

    The command gets one argument, `substructure`: a pair of the text and its notation ("smarts" or "smiles"), or None.
    """

    @click.option("--substructure", metavar="SMARTS", help="What molecules have in them.")
    @click.option("--substructure-smiles", metavar="SMILES", help="The same as a molecule, which is no SMARTS.")
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        texts = {"smarts": arguments.pop("substructure"), "smiles": arguments.pop("substructure_smiles")}
        patterns = [(text, notation) for notation, text in texts.items() if text is not None]
        if len(patterns) > 1:
            raise click.UsageError("one of --substructure and --substructure-smiles")
        command(substructure=patterns[0] if patterns else None, **arguments)

    return wrapper


def table_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that tell how to read tables of molecules.

    The command gets one mapping, `table_options`, with arguments of `ReadOptions`.
    """

    @click.option(
        "--smiles-column",
        "structure_column",
        metavar="COLUMN",
        help="Column with the SMILES.  [default: smiles, in any case]",
    )
    @click.option(
        "--fingerprint-column",
        metavar="COLUMN",
        help="Column of a table with given fingerprints: in hexadecimal as in FPS files, or in Parquet as bytes.",
    )
    @click.option(
        "--name-column",
        metavar="COLUMN",
        help="Column with the name.  [default: id, Compound ID, name and the like, if there; SDF: the title line]",
    )
    @click.option(
        "--delimiter",
        type=click.Choice(["comma", "tab", "semicolon", "pipe", "space"]),
        help="What separates the cells of a table.  [default: told by the header of .csv; .tsv: tab]",
    )
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        command(table_options={name: arguments.pop(name) for name in _TABLE_OPTIONS}, **arguments)

    return wrapper


def ingest_run(command: Callable[..., None]) -> Callable[..., None]:
    """Add FILE..., --collection and the options of every ingest. The command gets one mapping, `run_options`."""

    @as_json
    @workers
    @click.option(
        "--rejections-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Where a run that fails by rejections leaves them.  [default: NAME.rejections.csv]",
    )
    @click.option(
        "--max-rejected", type=click.FloatRange(0, 1), default=0.1, help="Share of rejected records that fails the run."
    )
    @collection
    @click.argument("files", nargs=-1, required=True, metavar="FILE...")
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        command(run_options={name: arguments.pop(name) for name in _RUN_OPTIONS}, **arguments)

    return wrapper


def sampling_policy(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a sampling policy.

    The command gets one mapping, `policy_options`, with the arguments of `parse_policy`.
    """

    @click.option("--policy", type=click.Choice(get_args(PolicyName)), required=True)
    @click.option("--k", type=int, help="Positives to draw.  [default: 3; random_walk: 5]")
    @click.option("--length", type=int, help="Steps of a walk.  [default: 2]")
    @click.option("--walks", type=int, help="Walks.  [default: 5]")
    @click.option("--p", type=float, help="node2vec return parameter.  [default: 1]")
    @click.option("--q", type=float, help="node2vec in-out parameter.  [default: 1]")
    @click.option("--p-end", type=float, help="Probability that a walk ends after a step.  [default: 0]")
    @click.option("--restart", type=float, help="Probability that a walk goes back to the anchor.  [default: 0]")
    @click.option("--rank", type=click.Choice(get_args(Rank)), help="How visits count.  [default: exp]")
    @click.option("--pad", type=click.Choice(get_args(Pad)), help="How short lists fill up.  [default: resample]")
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        policy = {name: arguments.pop(name) for name in _POLICY_OPTIONS}
        command(policy_options={"name": policy.pop("policy"), **policy}, **arguments)

    return wrapper


def ingest_target(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select the engine of an ingest, and the store or lake that it writes.

    The command gets one mapping, `target_options`.
    """

    @click.option(
        "--store",
        "store_location",
        metavar="STORE",
        envvar=STORE_VARIABLE,
        show_envvar=True,
        help="Folder of the store, neo4j://HOST or bolt://HOST of a Neo4j server, or the URL of a lake; beside --lake, "
        "where the lake is loaded then.",
    )
    @click.option("--lake", metavar="URL", help="Folder or URL to write a lake into, new or empty.")
    @click.option(
        "--engine",
        type=click.Choice(["local", "tasks", "spark"]),
        default="local",
        help="What does the work: this machine, in one stream; its processes, by tasks that each hold a part, into a "
        "lake; or Spark, by the same tasks.",
    )
    @master
    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        target = {name: arguments.pop(name) for name in _TARGET_OPTIONS}
        # With --lake, a store is where the lake is loaded. The environment variable only names the default store.
        if target["lake"] is not None and not is_on_command_line("store_location"):
            target["store_location"] = None
        require_engine_options(target["engine"], arguments["run_options"]["workers"], target["master"])
        _require_target(target["store_location"], target["lake"], target["engine"])
        command(target_options=target, **arguments)

    return wrapper


def is_on_command_line(name: str) -> bool:
    """Return whether an option has its value from the command line, not from the environment or a default."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def require_engine_options(engine: str, workers: int | None, master: str | None) -> None:
    """Raise `UsageError` if an option is set that the engine does not have."""
    if engine == "spark" and workers is not None:
        raise click.UsageError("--workers are of this machine: Spark's configuration says how many it has.")
    if engine != "spark" and master is not None:
        raise click.UsageError("--master is of --engine spark.")


def _require_target(store_location: str | None, lake: str | None, engine: str) -> None:
    """Raise `UsageError` unless a store or a lake is given that the engine can write."""
    if engine != "local" and lake is None:
        raise click.UsageError(f"--engine {engine} writes a lake: give --lake.")
    if lake is None and store_location is None:
        raise click.UsageError("Missing option '--store', or '--lake'.")
