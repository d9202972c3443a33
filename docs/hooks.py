"""MkDocs hooks: pages made from files outside docs/, and links between pages and such files.

`mkdocs.yml` names this module. A page links to a file of the repository by its relative path, so that the link works
in a clone too; the site links to the page made from that file.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FROM_ROOT = {
    "CHANGELOG.md": "about/changelog.md",
    "SECURITY.md": "about/security.md",
    "CONTRIBUTING.md": "develop/contributing.md",
    "CODE_OF_CONDUCT.md": "develop/code-of-conduct.md",
}
"""Files of the repository's root, and the pages of the site that show them."""

COMMANDS = "reference/commands/index.md"
"""The page that lists all commands."""

_FOREIGN_MODULE = re.compile(
    r'<script type="module">(?:(?!</script>).)*?https://(?:(?!</script>).)*</script>', re.DOTALL
)
_GROUP = re.compile(r"^## ([^\n]+)\n\n\| Command .*?\n((?:\|.*\n)+)", re.MULTILINE)
_TARGET = re.compile(r"^\| \[[^\]]*\]\(([^)#]+)\)", re.MULTILINE)
_SOURCES = {page: source for source, page in FROM_ROOT.items()}
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of the commands in the navigation, in the groups and the order of their index."""
    for section in config.nav or []:
        if isinstance(section, dict) and "Reference" in section:
            section["Reference"] = [
                {"Commands": _commands(config.docs_dir)} if entry == COMMANDS else entry
                for entry in section["Reference"]
            ]
    return config


_Entry = str | dict[str, str] | dict[str, list[dict[str, str]]]


def _commands(docs_dir: str) -> list[_Entry]:
    index = Path(docs_dir, COMMANDS).read_text(encoding="utf-8")
    groups: list[_Entry] = [COMMANDS]
    for title, rows in _GROUP.findall(index):
        pages = [page for name in _TARGET.findall(rows) for page in _with_subcommands(docs_dir, name)]
        groups += [{title: pages}] if title != "Commands" else pages
    return groups


def _with_subcommands(docs_dir: str, name: str) -> list[dict[str, str]]:
    folder = posixpath.dirname(COMMANDS)
    text = Path(docs_dir, folder, name).read_text(encoding="utf-8")
    subcommands = [page for _, rows in _GROUP.findall(text) for page in _TARGET.findall(rows)]
    return [{page.removesuffix(".md").replace("-", " "): f"{folder}/{page}"} for page in [name, *subcommands]]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from files of the repository's root."""
    root = posixpath.dirname(config.config_file_path)
    for source, page in FROM_ROOT.items():
        files.append(File.generated(config, page, abs_src_path=posixpath.join(root, source)))
    return files


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Load Mermaid from this site alone.

    The theme and the notebooks name copies on other hosts. A page with diagrams loads the local copy before them.
    """
    output = _FOREIGN_MODULE.sub("", output)
    if 'class="mermaid"' not in output:
        return output
    script = posixpath.relpath("assets/mermaid.min.js", posixpath.dirname(page.file.dest_uri) or ".")
    return output.replace("</head>", f'<script src="{script}"></script></head>', 1)


def on_page_markdown(markdown: str, page: Page, files: Files, **_: object) -> str:
    """Point the page's links at pages of the site."""
    uri = page.file.src_uri
    folder = posixpath.dirname(_SOURCES.get(uri, f"docs/{uri}"))

    def rewrite(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        target = FROM_ROOT.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(f"{target}/index.md"):
            target = f"{target}/index.md"
        return link[1] + posixpath.relpath(target, posixpath.dirname(uri) or ".")

    parts = _FENCED.split(markdown)
    return "".join(part if part.lstrip().startswith("```") else _LINK.sub(rewrite, part) for part in parts)
