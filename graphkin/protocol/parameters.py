"""Names of parameters in messages: options on the command line, arguments in Python."""

import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_ARGUMENTS: Final = {"smiles_column": "smiles", "name_column": "name"}
"""Arguments of Python functions whose names differ from those of the options."""

_is_command_line = False
_command_options: Collection[str] | None = None
_arguments: Mapping[str, str] = _ARGUMENTS


@contextmanager
def command_line_messages(enabled: bool = True) -> Iterator[None]:
    """Name options of the command line in all messages of this process, instead of arguments of Python functions.

    Args:
        enabled: False to name arguments again, inside such a context.

    Yields:
        None.
    """
    global _is_command_line, _command_options
    before, _is_command_line = (_is_command_line, _command_options), enabled
    try:
        yield
    finally:
        _is_command_line, _command_options = before


def name_fields() -> None:
    """Name fields of requests to a server in all messages of this process, instead of arguments of Python functions."""
    global _arguments
    _arguments = {}


def set_command_options(options: Collection[str]) -> None:
    """Set the options of the command that runs, so that hints of this process name no other ones."""
    global _command_options
    _command_options = options


def accepts(option: str) -> bool:
    """Return whether a hint may name an option: False only if the command that runs does not have it."""
    return not _is_command_line or _command_options is None or option in _command_options


def parameter(option: str, value: object = None) -> str:
    """Return a parameter as the user types it.

    Args:
        option: The option, such as "--smiles-column".
        value: The value to show with it, or None. True stands for an option without a value.

    Returns:
        The option with its value, such as `--smiles-column SMILES`, or the argument, such as `smiles="SMILES"`.
    """
    if _is_command_line:
        return option if value is None or value is True else f"{option} {shlex.quote(str(value))}"
    name = option.removeprefix("--").replace("-", "_")
    return f"{_arguments.get(name, name)}={'' if value is None else _literal(value)}"


def choose_wording(*, command_line: str, python: str) -> str:
    """Return the text for the command line or for Python, where more than the name of a parameter differs."""
    return command_line if _is_command_line else python


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) and '"' not in value else repr(value)
