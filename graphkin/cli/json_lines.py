"""Answers of commands as JSON, for programs."""

import json
from typing import Any

import click


def print_json(answer: Any) -> None:
    """Print an answer on one line."""
    click.echo(json.dumps(answer, ensure_ascii=False))
