"""Errors on the command line, in the style of `GraphkinError`: the problem, the accepted values and the next step."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from graphkin.protocol.errors import InvalidInput, suggest

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_SUFFIXES = {"smiles": "smi", "cxsmiles": "smi", "txt": "smi", "sd": "sdf", "zip": "tu", "edges": "edgelist"}
"""Formats of files whose suffix is not the name of their format."""


def translate(error: click.ClickException) -> InvalidInput:
    """Return an error of click in the style of graphkin."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = "graphkin" if context is None else context.command_path
    help_hint = f"`{path} --help` shows the options"
    if isinstance(error, click.NoSuchOption):
        names = [] if context is None else _option_names(context)
        return InvalidInput(
            f"`{path}` has no option {error.option_name}", hint=suggest(error.option_name, names, help_hint, "`{}`")
        )
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return _missing(error.param, path, help_hint)
    if isinstance(error, click.BadOptionUsage):
        return InvalidInput(f"{error.option_name} needs a value", hint=help_hint)
    if isinstance(error, click.BadParameter) and error.param is not None and context is not None:
        return InvalidInput(f"{_name(error.param)}: {_sentence(error.message)}", hint=help_hint)
    if error.message.startswith("Got unexpected extra argument"):
        expected = None if context is None else " ".join(context.command.collect_usage_pieces(context))
        given = error.message.partition("(")[2].removesuffix(")")
        return InvalidInput(f"`{path}` has no such argument", given=given, expected=expected, hint=help_hint)
    return InvalidInput(_sentence(error.format_message()), hint=help_hint)


def invalid_value(
    parameter: click.Parameter, context: click.Context, value: object, error: click.BadParameter
) -> InvalidInput:
    """Return the error for a value that an option or argument does not accept."""
    choices = _choices(parameter, context)
    if choices:
        expected: str | None = _alternatives(choices)
    else:
        expected = _expected(parameter.type)
    hint = suggest(str(value), choices, f"`{context.command_path} --help` describes the option", "`{}`")
    given = " ".join(map(str, value)) if isinstance(value, tuple) else value
    return InvalidInput(
        f"invalid value for {_name(parameter)}",
        given=given,
        expected=expected or _sentence(error.message),
        hint=hint,
    )


def unknown_command(group: click.Group, context: click.Context, arguments: list[str]) -> InvalidInput:
    """Return the error for a command that does not exist.

    If its name is that of a file, the hint is a `graphkin ingest` command that reads the file.
    """
    name, path = arguments[0], context.command_path
    names = group.list_commands(context)
    kinds = _kinds_of_file(name)
    if kinds and path in ("graphkin", "graphkin ingest"):
        line = f"graphkin ingest {kinds[0]} {' '.join(arguments)}"
        options = "" if "--store" in arguments else " --store STORE --collection NAME"
        return InvalidInput(f"{name} is the name of a file, not a command", hint=f"try `{line}{options}`")
    if path == "graphkin" and name in ("molecules", "graphs", "nodes", "fingerprints", "vectors"):
        hint = f"did you mean `graphkin ingest {name}`?"
    else:
        hint = suggest(name, names, f"`{path} --help` lists the commands", f"`{path} {{}}`")
    return InvalidInput(
        f"`{path}` has no command {name!r}",
        expected=None if path == "graphkin" else _alternatives(names),
        hint=hint,
    )


def _missing(parameter: click.Parameter, path: str, help_hint: str) -> InvalidInput:
    name = _name(parameter)
    metavar = parameter.make_metavar(click.Context(click.Command(path)))
    description = getattr(parameter, "help", None)
    hint = f"add `{name} {metavar}`" if isinstance(parameter, click.Option) else help_hint
    if isinstance(parameter, click.Option) and isinstance(parameter.envvar, str):
        hint += f", or set the environment variable {parameter.envvar}"
    return InvalidInput(
        f"`{path}` needs {name}", expected=description and _sentence(description.partition(" [")[0]), hint=hint
    )


def _kinds_of_file(name: str) -> list[str]:
    """Return the subcommands of `graphkin ingest` that read files with the suffix of this name."""
    path = Path(name)
    suffix = (path.with_suffix("") if path.suffix in _COMPRESSED else path).suffix[1:].lower()
    if not suffix:
        return []
    from graphkin.similarity.kinds import kind_named

    format = _SUFFIXES.get(suffix, suffix)
    kinds = [kind_named(kind) for kind in ("molecule", "graph", "node", "fingerprint", "vector")]
    return [kind.plural for kind in kinds if format in kind.file_formats]


def _option_names(context: click.Context) -> list[str]:
    return [name for parameter in context.command.get_params(context) for name in parameter.opts]


def _name(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return str(parameter.metavar or str(parameter.name).upper()).strip("[]")


def _choices(parameter: click.Parameter, context: click.Context) -> list[str]:
    if not isinstance(parameter.type, click.Choice):
        return []
    return [parameter.type.normalize_choice(choice, context) for choice in parameter.type.choices]


def _alternatives(choices: Iterable[str]) -> str:
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last


def _expected(type: Any) -> str | None:
    """Return a description of the values that a type of click accepts; None if the type's own message has one."""
    if isinstance(type, click.types.IntParamType):
        noun = "a whole number"
    elif isinstance(type, click.types.FloatParamType):
        noun = "a number"
    elif isinstance(type, click.Path):
        return "an existing folder" if not type.file_okay else "an existing file" if not type.dir_okay else "a path"
    else:
        return None
    minimum, maximum = getattr(type, "min", None), getattr(type, "max", None)
    if getattr(type, "min_open", False):
        return f"{noun} above {minimum:,}" + ("" if maximum is None else f", at most {maximum:,}")
    if minimum is not None and maximum is not None:
        return f"{noun} from {minimum:,} to {maximum:,}"
    if minimum is not None:
        return f"{noun}, {minimum:,} or more"
    return noun


def _sentence(message: str) -> str:
    """Return a message without the period at its end."""
    return message.strip().removesuffix(".")
