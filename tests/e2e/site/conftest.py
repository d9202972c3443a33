"""The site of the documentation, built once, and a server of its files."""

import functools
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, next to the list of versions that `mike` writes. A warning fails the build."""
    folder = tmp_path_factory.mktemp("versions") / "0.2"
    versions = [{"version": "0.2", "title": "0.2", "aliases": ["latest"]}]
    folder.with_name("versions.json").write_text(json.dumps(versions))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stdout + build.stderr
    return folder


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def site_url(site: Path) -> Iterator[str]:
    """Yield the URL of a server of the site."""
    handler = functools.partial(_Quiet, directory=str(site.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{site.name}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(open_browser: Callable[[], AbstractContextManager[Browser]]) -> Iterator[Browser]:
    """Yield a browser. Playwright prevents tests of other modules from running an event loop."""
    with open_browser() as browser:
        yield browser
