"""Single options of a run by name, read from a file or a command line, and written back to a file.

The name of an option is its path in `PretrainConfig` (`masking.score`, `draws.policy.k`), or any suffix that is unique
among the options of the strategy (`score`, `policy.k`). Values are TOML, with "none" for null, which TOML lacks. The
strategy decides which options exist: without contrast there is no `contrast.temperature`.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import to_json

from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.protocol.validation import expectation
from graphkin.trainer.errors import SETTINGS_HINT
from graphkin.trainer.pretraining.config import PretrainConfig

Options = TypeVar("Options")
Assignment = tuple[str, Any]
"""A name and a value that was parsed as TOML."""

_NONE = "none"
_LITERALLY = ConfigDict(strict=True, allow_inf_nan=False)
_DERIVED = {
    "strategy": "--strategy",
    "preset": "--preset",
    "task.name": "--strategy",
    "draws.positives": "--positives",
}
"""Settings that decide which other settings exist, with the command-line option that selects them."""


class _Setting(NamedTuple):
    type: Any
    value: Any


def assigned(text: str) -> Assignment:
    """Parse `name=value`. A value that is not TOML is a string.

    Raises:
        InvalidInput: The name or the `=` is missing.
    """
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise InvalidInput(
            "this is not a setting",
            given=text,
            expected="NAME=VALUE",
            hint="write the name, an equals sign and the value, such as --set score=softmax",
        )
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def read_settings(path: Path) -> list[Assignment]:
    """Return the settings of a TOML file.

    Raises:
        NotFound: There is no such file.
        InvalidInput: The file is not TOML.
    """
    try:
        with path.open("rb") as file:
            return [*_flat(tomllib.load(file))]
    except FileNotFoundError:
        raise NotFound(
            "the file of settings does not exist",
            given=str(path),
            expected="the path of a TOML file",
            hint="check the path, or write such a file: `graphkin pretrain --show-config` prints the settings",
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"the file of settings cannot be read: {error}",
            given=str(path),
            expected="TOML with names and values of settings",
            hint="correct the file; `graphkin pretrain --show-config` prints a valid one",
        ) from error


def changed(config: PretrainConfig, assignments: Iterable[Assignment]) -> PretrainConfig:
    """Return the run with other values; the last assignment to a name wins.

    Raises:
        InvalidInput: A name matches no setting or several settings, a value has another type or is out of range, the
            values contradict each other, or a command-line option selects the setting.
    """
    settings = dict(_settings(config))
    values: dict[str, Any] = {}
    for short_name, value in assignments:
        name = _full_name(short_name, settings, config.strategy)
        values[name] = _validate(name, value, settings[name])
    return _replace_values(config, values)


def as_toml(config: PretrainConfig) -> str:
    """Return all settings in the format that `read_settings` reads."""
    import tomli_w

    tables: dict[str, Any] = {}
    for name, (_, value) in _settings(config):
        *parts, last = name.split(".")
        table = tables
        for part in parts:
            table = table.setdefault(part, {})
        table[last] = _NONE if value is None else value
    return tomli_w.dumps(tables)


def _settings(options: Any, within: str = "") -> Iterator[tuple[str, _Setting]]:
    """Yield every setting with its full name, except those of parts that the strategy lacks."""
    types = get_type_hints(type(options))
    for field in fields(options):
        name, type_, value = within + field.name, types[field.name], getattr(options, field.name)
        if is_dataclass(value):
            yield from _settings(value, f"{name}.")
        elif value is not None or not any(map(is_dataclass, get_args(type_))):
            yield name, _Setting(type_, value)


def _full_name(short_name: str, settings: Mapping[str, _Setting], strategy: str) -> str:
    """Return the full name of a setting."""
    matches = [name for name in settings if name == short_name] or [
        name for name in settings if name.endswith(f".{short_name}")
    ]
    if not matches:
        suggestions = get_close_matches(short_name, settings, len(settings), cutoff=0)
        raise InvalidInput(
            f"the strategy {strategy} has no setting of this name",
            given=short_name,
            expected=f"one of {', '.join(suggestions)}",
            hint=f"did you mean {suggestions[0]}? `graphkin pretrain --show-config` prints all settings",
        )
    if len(matches) > 1:
        raise InvalidInput(
            "several settings have names that end like this",
            given=short_name,
            expected=" or ".join(matches),
            hint="write the whole name",
        )
    return matches[0]


def _validate(name: str, value: Any, setting: _Setting) -> Any:
    """Validate a value against the type of its setting.

    Lists become tuples, and integers become floats where needed.
    """
    if value == _NONE and NoneType in get_args(setting.type):
        return None
    try:
        result = TypeAdapter(setting.type, config=_LITERALLY).validate_json(to_json(value))
    except ValidationError as error:
        raise InvalidInput(
            f"invalid value of the setting {name}",
            given=value,
            expected=expectation(error.errors(include_url=False)[0]),
            hint=SETTINGS_HINT,
        ) from error
    if name in _DERIVED and result != setting.value:
        raise InvalidInput(
            f"{name} is set by {_DERIVED[name]}",
            given=value,
            expected=str(setting.value),
            hint=f"leave {name} out, or change {_DERIVED[name]}",
        )
    return result


def _replace_values(options: Options, values: Mapping[str, Any], within: str = "") -> Options:
    """Return the options with all values replaced at once, so that validation sees only the result."""
    parts = {field.name: getattr(options, field.name) for field in fields(options)}  # type: ignore[arg-type]
    changes = {
        name: _replace_values(part, values, f"{within}{name}.")
        if is_dataclass(part)
        else values.get(within + name, part)
        for name, part in parts.items()
    }
    return replace(options, **changes)  # type: ignore[type-var]


def _flat(table: Mapping[str, Any], within: str = "") -> Iterator[Assignment]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{within}{name}.")
        else:
            yield within + name, value
