"""MkDocs hooks: pages made from files outside docs/, and links between pages and such files.

`mkdocs.yml` names this module. A page links to a file of the repository by its relative path, so that the link works
in a clone too; the site links to the page made from that file.
"""

import posixpath
import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FROM_ROOT = {
    "CHANGELOG.md": "about/changelog.md",
    "SECURITY.md": "about/security.md",
    "CONTRIBUTING.md": "develop/contributing.md",
}
"""Files of the repository's root, and the pages of the site that show them."""

_SOURCES = {page: source for source, page in FROM_ROOT.items()}
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from files of the repository's root."""
    root = posixpath.dirname(config.config_file_path)
    for source, page in FROM_ROOT.items():
        files.append(File.generated(config, page, abs_src_path=posixpath.join(root, source)))
    return files


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
