"""Write the commands' help into docs/cli.md. Run by `make docs`."""

from pathlib import Path

import click

from graphkin.cli import graphkin

PAGE = Path(__file__).with_name("cli.md")

MARK = "<!-- From here on made by `make docs`. -->\n"


def page() -> str:
    """Return the page: its hand-written text up to the mark, followed by the help of every command."""
    text, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return text + MARK + "".join(_sections(graphkin, "graphkin", None))


def _sections(command: click.Command, name: str, parent: click.Context | None) -> list[str]:
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=100, max_content_width=100, show_default=True,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    sections = [f"\n## {context.command_path}\n\n```\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            subcommand = command.get_command(context, child)
            if subcommand is not None:
                sections += _sections(subcommand, child, context)
    return sections


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
