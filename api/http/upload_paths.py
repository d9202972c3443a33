"""Paths of uploads. The limits of a connection and of a body depend on them before a route is found."""

import re

_UPLOADS = re.compile(r"/v1/(?:previews|collections(?:/[^/]+/append)?)")


def is_upload(method: str, path: str) -> bool:
    """Return whether a request uploads a file, so that the limits of uploads apply to its body."""
    return method == "POST" and _UPLOADS.fullmatch(path) is not None
