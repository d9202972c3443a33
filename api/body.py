"""What kind of body is read."""

from email.message import Message

from starlette.requests import Request

from api.errors import UnsupportedMediaType
from api.reply import JSON


async def require_json(request: Request) -> None:
    """Raises `UnsupportedMediaType` unless the body is called JSON and is not compressed."""
    kind = Message()
    kind["Content-Type"] = request.headers.get("content-type", "")
    if kind.get_content_type() != JSON:
        raise UnsupportedMediaType("only JSON is read here", given=kind["Content-Type"], expected=JSON)
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise UnsupportedMediaType("compressed bodies are not read", given=encoding, expected="no Content-Encoding")
