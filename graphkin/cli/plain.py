"""Stand-ins for the classes of rich-click, on a machine that only trains and has no rich-click."""

from typing import Any

import click


class PlainOption(click.Option):
    """An option that ignores its group in the help."""

    def __init__(self, *args: Any, panel: str | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.panel = panel


class PlainCommand(click.Command):
    """A command whose help click prints."""

    panel: str | None = None


class PlainGroup(click.Group):
    """A group of commands whose help click prints."""

    panel: str | None = None
