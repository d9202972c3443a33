"""JSON output of commands."""

import json
from typing import Any

import click


def print_json(value: Any) -> None:
    """Print a value as JSON on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))
