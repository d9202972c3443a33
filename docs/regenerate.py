"""Write docs/reference/commands/. Run by `make docs`.

A page of a command is made from its help. The text after `MARK` is written by hand and kept.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from graphkin.cli import graphkin

FOLDER = Path(__file__).with_name("reference") / "commands"

MARK = "<!-- `make docs` writes the text above. The text below is written by hand. -->\n"

_CODE = re.compile(r"(`[^`]+`)")
_SPECIAL = re.compile(r"([\\*\[\]]|(?<!\w)_|_(?!\w))")
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|GRAPHKIN_[A-Z_]+)")
_MENTION = re.compile(r"`(graphkin (?:[a-z]+ ?)+)([^`]*)`")


def pages() -> dict[Path, str]:
    """Return the text of each page: its generated part, and the part that is written by hand."""
    commands = dict(_commands(graphkin, "graphkin", None))
    names = {context.command_path: _file_name(context) for context in commands.values()}
    texts = {names[path]: _page(context, names) for path, context in commands.items()}
    return {FOLDER / name: text + MARK + _written_part(FOLDER / name) for name, text in texts.items()}


def _written_part(path: Path) -> str:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text.partition(MARK)[2]


def _commands(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, click.Context]]:
    settings = {"show_default": True, **command.context_settings}
    context = command.context_class(command, info_name=name, parent=parent, **settings)
    yield context.command_path, context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            subcommand = command.get_command(context, child)
            if subcommand is not None and not subcommand.hidden:
                yield from _commands(subcommand, child, context)


def _file_name(context: click.Context) -> str:
    return "-".join(context.command_path.split()[1:] or ["index"]) + ".md"


def _page(context: click.Context, names: dict[str, str]) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    first, *others = _description(command.help, names)
    title = "Commands" if command is graphkin else context.command_path
    parts = [f"# {title}\n", first, f"```text\n{usage}\n```\n", *others]
    parts += _examples(command)
    if isinstance(command, click.Group):
        parts += _subcommands(command, context, names)
    parts += ["## Options\n", *_options(command, context, names)]
    parts += [f"```text\n{command.epilog.removeprefix(chr(8)).strip()}\n```\n"] if command.epilog else []
    return "\n".join(parts) + "\n"


def _description(text: str | None, names: dict[str, str]) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text or ""):
        if paragraph.startswith("\b"):
            yield "```text\n" + paragraph.removeprefix("\b").strip("\n") + "\n```\n"
        elif paragraph.strip():
            yield _markdown(" ".join(paragraph.split()), names) + "\n"


def _examples(command: click.Command) -> Iterator[str]:
    examples = getattr(command, "examples", ())
    if examples:
        yield "## Examples\n"
    for purpose, line in examples:
        yield f"{_markdown(purpose, {})}:\n\n```bash\n{line}\n```\n"


def _subcommands(group: click.Group, context: click.Context, names: dict[str, str]) -> Iterator[str]:
    sections: dict[str, list[str]] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            path = f"{context.command_path} {name}"
            row = f"| [`{path}`]({names[path]}) | {_cell(_summary(command), {})} |"
            sections.setdefault(getattr(command, "panel", None) or "Commands", []).append(row)
    for section, rows in sections.items():
        yield "\n".join([f"## {section}\n", "| Command | Purpose |", "|---|---|", *rows, ""])


def _summary(command: click.Command) -> str:
    return " ".join((command.short_help or re.split(r"\n\s*\n", command.help or "")[0]).split())


def _options(command: click.Command, context: click.Context, names: dict[str, str]) -> Iterator[str]:
    sections: dict[str | None, list[str]] = {}
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and not parameter.hidden:
            row = f"| {_option_names(parameter, context)} | {_cell(_option_help(parameter, context), names)} |"
            sections.setdefault(getattr(parameter, "panel", None), []).append(row)
    others = sections.pop(None, [])
    for section, rows in [*sections.items(), ("Other" if sections else None, others)]:
        if rows:
            yield "\n".join(
                [*([f"### {section}\n"] if section else []), "| Option | Meaning |", "|---|---|", *rows, ""]
            )


def _option_names(option: click.Option, context: click.Context) -> str:
    if option.is_flag or option.count:
        value = ""
    elif isinstance(option.type, click.Choice):
        value = f" {(option.name or '').upper()}" if option.metavar is None else f" {option.metavar}"
    else:
        value = f" {option.make_metavar(context)}"
    names = [f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts)]
    return "<br>".join(sorted(names, key=len, reverse=True))


def _option_help(option: click.Option, context: click.Context) -> str:
    text = re.sub(r" \[one of: [^\]]*\]$", "", " ".join((option.help or "").split()))
    text, _, written_default = text.removesuffix("]").partition(" [default: ")
    extra = option.get_help_extra(context)
    parts = [text if text.endswith((".", "?")) or not text else f"{text}."]
    if isinstance(option.type, click.Choice):
        shown = context.token_normalize_func or str
        parts.append("One of " + ", ".join(f"`{shown(str(choice))}`" for choice in option.type.choices) + ".")
    if written_default:
        parts.append(f"Default: {written_default}.")
    if "required" in extra:
        parts.append("Required.")
    if "default" in extra and not option.is_flag:
        default = str(extra["default"]).strip("()")
        parts.append(f"Default: `{default}`." if " " not in default else f"Default: {default}.")
    if "range" in extra:
        parts.append(f"Range: `{extra['range']}`.")
    if extra.get("envvars"):
        parts.append("Environment variable: " + ", ".join(f"`{name}`" for name in extra["envvars"]) + ".")
    return " ".join(parts)


def _cell(text: str, names: dict[str, str]) -> str:
    return _markdown(text, names).replace("|", "\\|")


def _markdown(text: str, names: dict[str, str]) -> str:
    """Escape the text outside of code, mark options as code, and link the commands that it mentions."""
    parts = _CODE.split(text)
    for place in range(0, len(parts), 2):
        escaped = _SPECIAL.sub(r"\\\1", parts[place].replace("&", "&amp;").replace("<", "&lt;"))
        parts[place] = _OPTION.sub(r"`\1`", escaped)

    def link(mention: re.Match[str]) -> str:
        words = mention[1].split()
        for count in range(len(words), 1, -1):
            if name := names.get(" ".join(words[:count])):
                return f"[{mention[0]}]({name})"
        return mention[0]

    return _MENTION.sub(link, "".join(parts))


def main() -> None:
    """Write the pages, and remove the pages of commands that no longer exist."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts = pages()
    for path in set(FOLDER.glob("*.md")) - texts.keys():
        path.unlink()
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
