"""Translation of pydantic's validation errors into plain words and `InvalidInput`."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.policy import Policy

_EXPECTATIONS = {
    "missing": "a value",
    "extra_forbidden": "a name that is accepted here",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_parsing_size": "a shorter integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text",
    "string_unicode": "a text of Unicode characters",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "string_pattern_mismatch": "a text of the form {pattern}",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_short": "at least {min_length} elements",
    "too_long": "at most {max_length} elements",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "none_required": "no value",
    "path_type": "a path",
    "path_not_file": "the path of an existing file",
    "path_not_directory": "the path of an existing folder",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "datetime_type": "a date and time",
    "datetime_parsing": "a date and time",
    "datetime_from_date_parsing": "a date and time",
}
"""The accepted values by the type of a validation error. The names in braces are keys of the error's context."""

_MAX_GIVEN = 200  # characters of an invalid value that an error quotes


def expectation(error: Mapping[str, Any]) -> str:
    """Return the accepted values of an error of pydantic, in words that follow "expected"."""
    template = _EXPECTATIONS.get(error["type"])
    if template is None:  # the message of a validator of graphkin, or of a rare type
        message: str = error["msg"]
        return re.sub(r"^(Value error, |Input should be )", "", message)
    context = {name: _unquote(value) if name == "expected" else value for name, value in error.get("ctx", {}).items()}
    return template.format(**context)


def first_error(error: ValidationError) -> Mapping[str, Any]:
    """Return the first error of pydantic.

    If a value matches no type of a union, pydantic reports one error per type. These errors are combined into one,
    whose message lists the accepted values of all types.
    """
    first, *others = error.errors(include_url=False)
    *path, tag = first["loc"] or ("",)
    if not path or not isinstance(tag, str) or tag.isidentifier():
        return first
    # The last part names a type of the union, such as literal['paper'].
    branches = [first, *(other for other in others if list(other["loc"][:-1]) == path)]
    accepted = ", or ".join(dict.fromkeys(expectation(branch) for branch in branches))
    return {"type": "union", "loc": tuple(path), "msg": accepted, "input": first["input"]}


def describe(error: Mapping[str, Any], name: str) -> str:
    """Return what is wrong with the value called `name`, in one sentence."""
    match error["type"]:
        case "missing":
            return f"{name}: required, but missing"
        case "extra_forbidden":
            return f"{name}: unknown parameter"
    return f"{name}: expected {expectation(error)}"


def describe_first(error: ValidationError) -> str:
    """Return what is wrong with the first invalid value, in one sentence."""
    first = first_error(error)
    return describe(first, ".".join(map(str, first["loc"])) or "the content")


def next_step(error: Mapping[str, Any], name: str) -> str:
    """Return the hint of the error about the value called `name`."""
    if error["type"] == "value_error" and isinstance(error["input"], Mapping):
        fields = [str(field) for field, value in error["input"].items() if value is not None]
        return f"change or leave out {' or '.join(fields)}" if fields else f"add to {name} what is expected"
    match error["type"]:
        case "missing":
            return f"add {name}"
        case "extra_forbidden":
            return f"remove {name}, or correct its spelling"
    return f"correct {name}"


def quote(error: Mapping[str, Any]) -> Any:
    """Return the invalid value as an error quotes it: a number as it is, a text or an object in short form."""
    value = error["input"]
    if error["type"] == "missing":
        return None
    if isinstance(value, Mapping):
        value = ", ".join(f"{name} {each}" for name, each in value.items() if isinstance(each, str | int | float))
    elif isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    elif value is None or isinstance(value, bool | int | float):
        return value
    return value[:_MAX_GIVEN] if isinstance(value, str) else str(value)[:_MAX_GIVEN]


@contextmanager
def translate_validation_errors() -> Iterator[None]:
    """Translate the first validation error of the `with` block into `InvalidInput`."""
    try:
        yield
    except ValidationError as error:
        first = first_error(error)
        name = ".".join(map(str, first["loc"])) or "the arguments"
        raise InvalidInput(
            describe(first, name), given=quote(first), expected=expectation(first), hint=next_step(first, name)
        ) from error


def parse_policy(name: str, **parameters: Any) -> Policy:
    """Return a validated policy, with defaults for parameters that are None.

    Raises:
        InvalidInput: A parameter is invalid. The error names the parameter.
    """
    with translate_validation_errors():
        return Policy.from_name(name, **parameters)


def _unquote(choices: str) -> str:
    """Return "one of a, b, c" for pydantic's list of choices, "'a', 'b' or 'c'"."""
    names = re.findall(r"'([^']*)'", choices)
    return f"one of {', '.join(names)}" if len(names) > 1 else (names[0] if names else choices)
