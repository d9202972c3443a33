"""GET /, /docs, /licenses, /assets/{name}: the web page, built from `api/ui`. GET /openapi.json: the API document."""

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response

from graphkin.api.context import require_modified
from graphkin.api.http.reply import IMMUTABLE, entity_tag
from graphkin.api.http.route import with_access
from graphkin.api.http.security import PAGE_HEADERS
from graphkin.protocol.errors import NotFound

_DIST = Path(__file__).parents[1] / "ui" / "dist"

_LICENSES = "third-party-licenses.txt"

_MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}

_FALLBACK_PAGE = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>graphkin</title>
<h1>The page was not built</h1>
<p>The API works: <a href="openapi.json">what it offers</a>. To build the page, run <code>make page</code> in the
repository, then restart the server.</p>
</html>
"""

router = APIRouter(include_in_schema=False, route_class=with_access(None))


@dataclass(frozen=True)
class _File:
    media_type: str
    body: bytes
    tag: str

    @classmethod
    def from_body(cls, media_type: str, body: bytes) -> "_File":
        return cls(media_type, body, entity_tag(body.hex()))


@cache
def _files() -> dict[str, _File]:
    """Return the built files by their path below `_DIST`. They are read once."""
    files = {}
    for path in _DIST.rglob("*"):
        if path.suffix in _MEDIA_TYPES:
            name = path.relative_to(_DIST).as_posix()
            files[name] = _File.from_body(_MEDIA_TYPES[path.suffix], path.read_bytes())
    if "index.html" in files and _LICENSES not in files:  # An installed wheel has it in the metadata.
        text = metadata.distribution("graphkin").read_text(f"licenses/graphkin/api/ui/dist/{_LICENSES}")
        files[_LICENSES] = _File.from_body("text/plain", (text or "").encode())
    return files


@lru_cache(maxsize=1)
def _openapi_file(app: FastAPI) -> _File:
    text = json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":"))
    return _File.from_body("application/json", text.encode())


@router.get("/")
def index(request: Request) -> Response:
    """The page for exploring collections."""
    return _document(request, "index.html")


@router.get("/docs")
def docs(request: Request) -> Response:
    """The documentation of the API."""
    return _document(request, "docs.html")


@router.get("/licenses")
def licenses(request: Request) -> Response:
    """The licenses of the packages whose code is in the page."""
    return _document(request, _LICENSES)


@router.get("/openapi.json")
def openapi(request: Request) -> Response:
    """The OpenAPI document."""
    return _reply(request, _openapi_file(request.app), "no-cache")


def _document(request: Request, name: str) -> Response:
    file = _files().get(name)
    if file is None:
        return Response(_FALLBACK_PAGE, headers={**PAGE_HEADERS, "Cache-Control": "no-store"}, media_type="text/html")
    return _reply(request, file, "no-cache")


@router.get("/assets/{name}")
def asset(request: Request, name: str) -> Response:
    """A script, style or font of the page."""
    file = _files().get(f"assets/{name}")
    if file is None:
        raise NotFound(
            "the page has no such file",
            given=name,
            expected="a file that the page refers to",
            hint="reload the page: it was updated",
        )
    return _reply(request, file, IMMUTABLE)  # The file name contains the hash of the content.


def _reply(request: Request, file: _File, caching: str) -> Response:
    headers = {**PAGE_HEADERS, "Cache-Control": caching, "ETag": file.tag}
    require_modified(request, headers)
    return Response(file.body, headers=headers, media_type=file.media_type)
