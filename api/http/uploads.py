"""Requests that change the store: uploads as multipart forms, and the refusal of requests that other sites send."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from graphkin.api.http.body import described_body, media_type_of
from graphkin.api.http.connection import REFUSAL
from graphkin.api.http.route import Route
from graphkin.api.http.upload_paths import is_upload
from graphkin.api.http.validation import Model, validate
from graphkin.protocol.errors import BadRequest, Forbidden, StoreError, TooLarge, UnsupportedMediaType

MULTIPART = "multipart/form-data"

_MAX_FIELDS = 1100  # fields of a form: a field for each property that is kept, and some more
_MAX_FIELD = 16 * 2**10  # bytes
_LISTS = ("properties", "standardize", "unit")
"""Fields that a form may repeat."""


def require_same_origin(scope: Scope) -> None:
    """Check that no page of another site has sent a request.

    A browser sends forms of any site with the rights of its user, without a question. Other programs send no Origin.

    Raises:
        Forbidden: The request comes from a page of another origin.
    """
    headers = Headers(scope=scope)
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    # The scheme does not matter: behind a proxy that ends TLS, this server sees no https.
    is_same = origin is None or origin.partition("://")[2] == headers.get("host")
    if not is_same or site not in ("same-origin", "none"):
        raise Forbidden(
            "a page of another origin must not change collections",
            given=origin or f"Sec-Fetch-Site: {site}",
            expected=f"a page of {headers.get('host')}, or a program that sends no Origin",
            hint="upload on the page of this server, or use a command or the Python client",
        )


def limit_body(scope: Scope, receive: Receive, limit: int) -> Receive:
    """Return a `Receive` that yields the messages of a body while they arrive.

    It raises:
        TooLarge: The body has more than `limit` bytes.
        BadRequest: The client disconnected before the end of the body.
        GraphkinError: The connection refused the rest of the body (`connection.REFUSAL`).
    """
    size, is_complete = 0, False

    async def next_message() -> Message:
        nonlocal size, is_complete
        message = await receive()
        if is_complete:
            return message
        if REFUSAL in scope:
            raise scope[REFUSAL]
        if message["type"] != "http.request":
            raise BadRequest(
                "the upload ended before the file was complete",
                expected="a complete body",
                hint="send the file again, and keep the connection open until the response",
            )
        size += len(message.get("body", b""))
        require_upload_size(size, limit)
        is_complete = not message.get("more_body", False)
        return message

    return next_message


def require_upload_size(size: int, limit: int) -> None:
    """Check the size of an upload, in bytes.

    Raises:
        TooLarge: The body has more than `limit` bytes.
    """
    if size > limit:
        raise TooLarge(
            "the file is too large for an upload",
            given=size,
            expected=f"at most {limit} bytes",
            hint="compress the file, ingest it on the server with `graphkin ingest`, or ask the administrator for a "
            "larger GRAPHKIN_UPLOAD_BYTES",
        )


def form_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a multipart form, as `described_body` does."""
    return described_body(model, MULTIPART)


@asynccontextmanager
async def read_form(request: Request, model: type[Model]) -> AsyncIterator[Model]:
    """Receive a multipart form with one file, and yield it as a model while the block runs.

    The file is streamed to a temporary file, which is removed after the block.

    Raises:
        UnsupportedMediaType: The body is not a multipart form.
        BadRequest: The form is malformed, or has several files.
        InvalidInput: The model rejects the fields.
        StoreError: The disk of temporary files is full.
    """
    form = await _parse_form(request)
    try:
        parsed = validate(model, _fields(form), "body")
        if not isinstance(parsed.file, UploadFile):  # type: ignore[attr-defined]
            raise BadRequest(
                "the field `file` is not a file",
                expected="a part with a filename",
                hint="send the file as a part of the form, such as `curl -F file=@molecules.csv`",
            )
        yield parsed
    finally:
        await form.close()


async def _parse_form(request: Request) -> FormData:
    content_type = request.headers.get("content-type", "")
    if media_type_of(content_type) != MULTIPART:
        raise UnsupportedMediaType(
            "the body must be a multipart form",
            given=content_type,
            expected=f"Content-Type: {MULTIPART}",
            hint="send the file as a form, such as `curl -F file=@molecules.csv -F name=mine`",
        )
    parser = _FormParser(
        request.headers, request.stream(), max_files=1, max_fields=_MAX_FIELDS, max_part_size=_MAX_FIELD
    )
    try:
        return await parser.parse()
    except MultiPartException as error:
        raise BadRequest(
            f"the form cannot be read: {error.message}",
            expected=f"a form with one file and at most {_MAX_FIELDS} other fields",
            hint="send the form as a browser or `curl -F` does",
        ) from error
    except OSError as error:
        raise StoreError(
            f"the upload cannot be saved: {error.strerror}",
            expected="free space on the disk of temporary files of the server",
            hint="ask the administrator of the server to free space",
        ) from error


class _FormParser(MultiPartParser):
    """Parser that refuses a form without its last boundary, of which Starlette drops the last part."""

    _is_complete = False

    def on_end(self) -> None:
        self._is_complete = True

    async def parse(self) -> FormData:
        form = await super().parse()
        if self._is_complete:
            return form
        for file in self._files_to_close_on_error:
            file.close()
        raise MultiPartException("It ends before its last boundary.")


def _fields(form: FormData) -> Mapping[str, Any]:
    """Return the fields of a form. Empty fields count as missing, except in a list."""
    fields: dict[str, Any] = {}
    for name in form:
        values = form.getlist(name)
        if name in _LISTS:
            fields[name] = values
        elif values != [""]:
            fields[name] = values[0] if len(values) == 1 else values
    return fields


class WriteRoute(Route):
    """Route that changes the store, or shows such changes.

    It refuses pages of other origins, and every client if writes are off. The body of an upload is not held in memory.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["jobs"].require_enabled()
        require_same_origin(scope)
        await super().handle(scope, receive, send)

    async def receive_body(self, scope: Scope, receive: Receive) -> Receive:
        if is_upload(scope["method"], scope["path"]):
            return limit_body(scope, receive, scope["state"]["jobs"].upload_bytes)
        return await super().receive_body(scope, receive)
