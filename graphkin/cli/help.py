"""The classes of commands: examples, groups of options and commands, and the look of the help.

rich-click prints the help. `rich` itself is imported when a help is printed. Without rich-click, as on a machine that
only trains, click prints the help.
"""

import re
import traceback
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from graphkin.cli.output import discard_output, is_verbose, set_verbosity
from graphkin.protocol.errors import GraphkinError
from graphkin.protocol.parameters import set_command_options

try:
    from rich_click import RichCommand, RichGroup, RichHelpConfiguration, RichOption
except ModuleNotFoundError:
    from graphkin.cli.plain import PlainCommand, PlainGroup, PlainOption

    RichCommand, RichGroup, RichOption = PlainCommand, PlainGroup, PlainOption  # type: ignore[assignment,misc]
    _HAS_RICH = False
else:
    _HAS_RICH = True

if TYPE_CHECKING:
    from rich_click import RichContext, RichHelpFormatter
    from rich_click.rich_help_rendering import RichPanelRow
    from rich_click.rich_panel import RichOptionPanel

SECTIONS = (
    *("Collection", "Model", "Source", "Target", "Input", "Query", "Conditions", "Clustering", "Recipe", "Similarity"),
    *("Data", "Training", "Sampling", "Server", "Access", "Execution", "Output"),
)
"""Groups of options, in the order of the help. Options without a group come last."""

_FIRST, _LAST = ("url", "store_location", "collection", "generation"), ("as_json",)
"""Names of the parameters that come first or last in their group."""

_LONGEST_METAVAR = 28  # maximum length of the accepted values that the help shows next to the name of an option

_AMERICAN = {"standardise": "standardize", "centre": "center"}
"""American spellings, which the help shows, by the British spelling that the command line also accepts."""


def american(token: str) -> str:
    """Return the American spelling of an option or a value. A word without another spelling is returned unchanged."""
    return _AMERICAN.get(token, token)


HELP_SETTINGS: dict[str, Any] = {
    "show_default": True,
    "max_content_width": 100,
    "token_normalize_func": american,
}
if _HAS_RICH:
    HELP_SETTINGS["rich_help_config"] = RichHelpConfiguration(
        theme="default-slim",
        force_terminal=None,  # rich decides: it reads FORCE_COLOR and NO_COLOR
        text_markup=None,
        style_helptext="",
        text_paragraph_linebreaks="\n\n",
        padding_helptext_first_line=(0, 0, 1, 0),
        commands_before_options=True,
        default_string="\\[default: {}]",
        envvar_string="\\[env: {}]",
        append_range_help_string="",
        options_table_help_sections=["help", "default", "required", "envvar"],
    )


class Example(NamedTuple):
    """An example of a command.

    Attributes:
        purpose: What the example does, as an imperative without a period.
        command: The command line. It can be pasted.
    """

    purpose: str
    command: str


class Option(RichOption):
    """An option in a group of options, `panel`. The help shows an integer value as N and other numbers as X."""

    def make_metavar(self, ctx: click.Context) -> str:
        if self.metavar is None and self.nargs == 1:
            if isinstance(self.type, click.types.IntParamType):
                return "N"
            if isinstance(self.type, click.types.FloatParamType):
                return "X"
        return super().make_metavar(ctx)

    def get_rich_table_row(
        self, ctx: "RichContext", formatter: "RichHelpFormatter", panel: "RichOptionPanel | None" = None
    ) -> "RichPanelRow":
        """Return the row of the help. Long accepted values, the range and the default are notes after the text."""
        shown = copy(self)
        notes = [self.help]
        choices = [american(str(choice)) for choice in getattr(self.type, "choices", ())]
        if choices and (self.metavar is not None or len("|".join(choices)) > _LONGEST_METAVAR):
            shown.metavar = self.metavar or str(self.name).upper()
            notes.append(f"[one of: {', '.join(choices)}]")
        if (maximum := getattr(self.type, "max", None)) is not None and not getattr(self.type, "min_open", False):
            notes.append(f"[{getattr(self.type, 'min', 0)} to {maximum}]")
        if isinstance(self.show_default, str):
            notes.append(f"[default: {self.show_default}]")
            shown.show_default = False
        shown.help = " ".join(note for note in notes if note)
        return RichOption.get_rich_table_row(shown, ctx, formatter, panel)

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        from graphkin.cli.usage import invalid_value

        try:
            return super().type_cast_value(ctx, value)
        except click.BadParameter as error:
            raise invalid_value(self, ctx, value, error) from None


class _WithExamples(click.Command):
    """Base class of commands and groups: their examples and the look of their help.

    Attributes:
        examples: The examples that the help shows, the most common one first.
    """

    examples: list[Example]

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.context_settings = {"help_option_names": ["-h", "--help"], **self.context_settings}
        self.examples = [Example(*example) for example in examples]

    def get_help(self, ctx: click.Context) -> str:
        return "\n".join(line.rstrip() for line in super().get_help(ctx).splitlines())

    def format_epilog(self, ctx: "RichContext", formatter: "RichHelpFormatter") -> None:  # type: ignore[override]  # noqa: ARG002
        _write_examples(self.examples, formatter)
        _write_block(self.epilog, formatter)

    def main(self, *args: Any, **settings: Any) -> Any:
        return click.Command.main(self, *args, **settings)  # rich-click prints errors in its own style


class Command(_WithExamples, RichCommand):
    """A command with examples, and with options that change how much it prints."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params = sorted(self.params, key=_rank) + _verbosity_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        set_command_options({name for parameter in self.params for name in parameter.opts})
        try:
            return super().invoke(ctx)
        except GraphkinError:
            if is_verbose():
                traceback.print_exc()
            raise
        except BrokenPipeError:  # click would exit with code 1
            discard_output()


class Group(_WithExamples, RichGroup):  # type: ignore[misc]  # as in rich-click itself
    """A group of commands with examples."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)  # in the order of their definition

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from graphkin.cli.usage import unknown_command

        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand:
            raise unknown_command(self, ctx, args) from None


def option(*names: str, panel: str | None = None, **settings: Any) -> Any:
    """Return a decorator that adds an option to a command, in a group of `SECTIONS`."""
    return click.option(*names, cls=Option, panel=panel, **settings)


def command(name: str | None = None, *, examples: Sequence[tuple[str, str]], **settings: Any) -> Any:
    """Return a decorator that makes a function a command.

    Args:
        name: The name of the command. The default is the name of the function.
        examples: At least one purpose and command line.
        **settings: Further arguments of `click.command`.
    """
    return click.command(name, cls=Command, examples=examples, **settings)


def group(*, examples: Sequence[tuple[str, str]], **settings: Any) -> Any:
    """Return a decorator that makes a function a group of commands, with at least one example."""
    return click.group(cls=Group, examples=examples, **settings)


def _rank(parameter: click.Parameter) -> tuple[int, int, bool]:
    """Return a key that sorts parameters in the order of the help: by group, and required ones first."""
    section, name = getattr(parameter, "panel", None), str(parameter.name)
    place = _FIRST.index(name) - len(_FIRST) if name in _FIRST else int(name in _LAST)
    return len(SECTIONS) if section is None else SECTIONS.index(section), place, not parameter.required


def _verbosity_options() -> list[click.Parameter]:
    def change(context: click.Context, parameter: click.Parameter, is_set: bool) -> None:
        if is_set:
            set_verbosity(context, str(parameter.name))

    settings: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": change}
    return [
        Option(["-q", "--quiet"], help="Print no progress and no notes, only results and errors.", **settings),
        Option(["-v", "--verbose"], help="Print the time of each stage, and the traceback of an error.", **settings),
    ]


def _write_examples(examples: Sequence[Example], formatter: "RichHelpFormatter") -> None:
    if not examples:
        return
    if not _HAS_RICH:
        formatter.write("\nExamples:\n")
        for purpose, line in examples:
            formatter.write(f"  # {purpose}\n  {line}\n")
        return
    from rich.text import Text

    formatter.write(Text("Examples:", style=formatter.config.style_options_panel_title_style))
    for purpose, line in examples:
        formatter.write(Text(f"  # {purpose}", style="dim"))
        for part in _fold(line, formatter.console.width - len(" \\")):
            formatter.write(Text(part, style=formatter.config.style_command))
    formatter.write(Text(""))


def _fold(line: str, width: int) -> list[str]:
    """Break a command line before its options into lines of at most `width` characters.

    All lines but the last end with a backslash, so that a shell reads them as one command.
    """
    first, *options = re.split(r" (?=--)", line)
    lines = [f"  {first}"]
    for word in options:
        if len(lines[-1]) + 1 + len(word) > width:
            lines.append("      " + word)
        else:
            lines[-1] += " " + word
    return [*(f"{part} \\" for part in lines[:-1]), lines[-1]]


def _write_block(text: str | None, formatter: "RichHelpFormatter") -> None:
    if text and not _HAS_RICH:
        formatter.write(f"\n{text}")
    elif text:
        from rich.text import Text

        formatter.write(Text(text, no_wrap=True, overflow="ignore"))
