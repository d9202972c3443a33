"""The `graphkin` command. It runs subcommands, and turns errors into messages and exit codes."""

import gc
import os
import sys
from importlib import import_module

import click

_COMMANDS = {
    "ingest": "ingest",
    "append": "append",
    "remove": "remove",
    "compact": "compact",
    "info": "info",
    "neighbors": "read",
    "search": "read",
    "query": "query",
    "positives": "read",
    "export": "export",
    "load": "load",
    "epochs": "epochs",
    "cluster": "cluster",
    "mcs": "mcs",
    "map": "map",
    "pick": "pick",
    "cliffs": "cliffs",
    "recall": "check",
    "verify": "check",
    "delete": "delete",
    "prune": "prune",
    "backup": "backup",
    "restore": "backup",
    "doctor": "doctor",
    "serve": "serve",
    "keys": "keys",
    "fetch": "fetch",
    "pretrain": "pretrain",
    "finetune": "finetune",
    "embed": "embed",
    "demo": "demo",
}

_EXTRAS = {
    **dict.fromkeys(("httpx", "pydantic", "sklearn", "tenacity", "tomli_w", "torch", "torch_geometric"), "trainer"),
    **dict.fromkeys(("matplotlib", "scipy"), "studies"),
    "fsspec": "lake",
    "pyspark": "spark",
}
"""The extra that installs a package, by name of the package."""

_GC_THRESHOLD = 10_000
"""Net number of allocations that starts a garbage collection. The default of 700 makes imports noticeably slower."""

_EPILOG = """\b
Exit codes:
  0    done
  1    `verify` or `doctor` found something wrong, or an error of graphkin's own
  2    what was given is wrong: the command line, the input, the data it does not fit
  3    no such store, collection, generation or item
  4    the store cannot do it: busy, full, unwritable, foreign, newer or damaged;
       a reply or a file that is not what was requested
  130  interrupted
"""


class _LazyGroup(click.Group):
    """A group of commands. The module of a command is imported when the command is used."""

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"graphkin.cli.commands.{_COMMANDS[name]}"), name)
        return command


@click.group(
    cls=_LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(package_name="graphkin")
def graphkin() -> None:
    """A similarity store for molecules and graphs."""


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
    from graphkin.protocol.errors import GraphkinError

    try:
        code = command.main(arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except GraphkinError as error:
        click.echo(f"error: {error}", err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "")
        if extra is None:
            raise
        hint = f"pip install 'graphkin[{extra}]', or '.[{extra}]' in a clone"
        click.echo(f"error: this command needs {error.name}\n  hint: {hint}", err=True)
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The program that reads the output has ended, as `head` does, so the remaining output is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code if isinstance(code, int) else 0
