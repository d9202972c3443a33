"""Translation of pydantic's validation errors into `InvalidInput`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.policy import Policy


@contextmanager
def translate_validation_errors() -> Iterator[None]:
    """Translate the first validation error of the `with` block into `InvalidInput`."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = "".join(f"{each}: " for each in [".".join(map(str, first["loc"]))] if each)
        raise InvalidInput(f"{field}{first['msg'].removeprefix('Value error, ')}", given=first["input"]) from error


def parse_policy(name: str, **parameters: Any) -> Policy:
    """Return a validated policy, with defaults for parameters that are None.

    Raises:
        InvalidInput: A parameter is invalid. The error names the parameter.
    """
    with translate_validation_errors():
        return Policy.from_name(name, **parameters)
