"""The `graphkin` command. It runs subcommands, and turns errors into messages and exit codes."""

import gc
import sys
from importlib import import_module

import click

from graphkin.cli.help import HELP_SETTINGS, Command, Group
from graphkin.cli.output import discard_output, print_error

_COMMANDS = {
    "ingest": ("Build", "ingest"),
    "append": ("Build", "append"),
    "remove": ("Build", "remove"),
    "load": ("Build", "load"),
    "demo": ("Build", "demo"),
    "info": ("Query", "info"),
    "search": ("Query", "read"),
    "neighbors": ("Query", "read"),
    "query": ("Query", "query"),
    "positives": ("Query", "read"),
    "descriptors": ("Query", "descriptors"),
    "canonical": ("Query", "canonical"),
    "cluster": ("Analyze", "cluster"),
    "lineage": ("Analyze", "lineage"),
    "mcs": ("Analyze", "mcs"),
    "rgroups": ("Analyze", "rgroups"),
    "scaffolds": ("Analyze", "scaffolds"),
    "map": ("Analyze", "map"),
    "pick": ("Analyze", "pick"),
    "cliffs": ("Analyze", "cliffs"),
    "matched-pairs": ("Analyze", "matched_pairs"),
    "split": ("Analyze", "splits"),
    "leaks": ("Analyze", "splits"),
    "compare": ("Analyze", "compare"),
    "recall": ("Analyze", "check"),
    "export": ("Export", "export"),
    "epochs": ("Export", "epochs"),
    "fetch": ("Train", "fetch"),
    "pretrain": ("Train", "pretrain"),
    "finetune": ("Train", "finetune"),
    "predict": ("Train", "predict"),
    "embed": ("Train", "embed"),
    "weights": ("Train", "weights"),
    "serve": ("Serve", "serve"),
    "keys": ("Serve", "keys"),
    "mcp": ("Serve", "mcp"),
    "verify": ("Maintain", "check"),
    "doctor": ("Maintain", "doctor"),
    "compact": ("Maintain", "compact"),
    "prune": ("Maintain", "prune"),
    "delete": ("Maintain", "delete"),
    "projections": ("Maintain", "projections"),
    "carry": ("Maintain", "carry"),
    "backup": ("Maintain", "backup"),
    "restore": ("Maintain", "backup"),
}
"""The group of each command in the help, and the module of `graphkin.cli.commands` that defines it."""

_EXTRAS = {
    **dict.fromkeys(("httpx", "pydantic", "sklearn", "tenacity", "tomli_w", "torch", "torch_geometric"), "trainer"),
    **dict.fromkeys(("matplotlib", "scipy"), "studies"),
    "fsspec": "lake",
    "pyspark": "spark",
}
"""The extra that installs a package, by name of the package."""

_GC_THRESHOLD = 10_000
"""Net number of allocations that starts a garbage collection. The default of 700 makes imports noticeably slower."""

_EPILOG = """\
Environment variables:
  GRAPHKIN_STORE       the store of commands without --store
  GRAPHKIN_COLLECTION  the collection of commands without --collection
  NO_COLOR             print without colors, if it is set

Output:
  Results go to standard output, progress and notes to standard error.
  A terminal gets tables with headers, a pipe gets rows with tabs between the cells.
  --json prints JSON. Its field names are stable.

Exit codes:
  0    success
  1    verify or doctor found a problem, leaks found a similar pair,
       or graphkin itself failed
  2    the command line or the input is invalid
  3    the store, collection, generation or item does not exist
  4    the store is busy, full, not writable, damaged or of a newer version,
       or a server sent an unexpected reply
  130  interrupted
"""


class _LazyGroup(Group):
    """A group of commands. The module of a command is imported when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        section, module = _COMMANDS[cmd_name]
        command: Command | Group = getattr(import_module(f"graphkin.cli.commands.{module}"), cmd_name.replace("-", "_"))
        command.panel = section
        return command


@click.group(
    cls=_LazyGroup,
    epilog=_EPILOG,
    context_settings=HELP_SETTINGS,
    examples=[
        (
            "Build a similarity graph from a file of SMILES",
            "graphkin ingest molecules small.smi --store s --collection m",
        ),
        ("Find the molecules that are most similar to ethanol", "graphkin search CCO --store s --collection m"),
        ("Try it on real molecules, with a server and a page", "graphkin demo"),
    ],
)
@click.version_option(package_name="graphkin")
def graphkin() -> None:
    """Build, query and serve similarity graphs of molecules and graphs.

    GRAPHKIN_STORE and GRAPHKIN_COLLECTION in the environment replace --store and --collection in every command.
    """


def main() -> None:
    """Run the command line of this process, and exit."""
    gc.set_threshold(_GC_THRESHOLD)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str], command: click.Command = graphkin, name: str = "graphkin") -> int:
    """Run a command, and print errors to standard error.

    Args:
        arguments: The arguments on the command line, without the name of the program.
        command: The command to run.
        name: The name of the program in messages.

    Returns:
        The exit code. `_EPILOG` lists them.
    """
    from graphkin.cli.usage import translate
    from graphkin.protocol.errors import GraphkinError, install_hint
    from graphkin.protocol.parameters import command_line_messages

    try:
        with command_line_messages():
            code = command.main(arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except GraphkinError as error:
        print_error(str(error))
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        print_error(str(translate(error)))
        return error.exit_code
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "")
        if extra is None:
            raise
        print_error(f"this command needs {error.name}, which is not installed\n  hint: {install_hint(extra)}")
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        discard_output()
        return 0
    return code if isinstance(code, int) else 0
