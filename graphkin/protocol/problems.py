"""How errors travel: what each is answered with, and what a reply stands for. Needs the standard library alone."""

from http import HTTPStatus
from typing import NamedTuple

from graphkin.protocol.errors import (
    AddressTooLong,
    BadRequest,
    Conflict,
    Damaged,
    Deleted,
    Forbidden,
    GraphkinError,
    HeadersTooLarge,
    InvalidInput,
    NotAcceptable,
    NotFound,
    ServerFault,
    TooLarge,
    TooManyRequests,
    TooSlow,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
)

MEDIA_TYPE = "application/problem+json"


class ProblemType(NamedTuple):
    """A status, and a title for people."""

    status: HTTPStatus
    title: str

    @property
    def urn(self) -> str:
        """The title for programs: the `type` of a problem (RFC 9457)."""
        return "urn:graphkin:problem:" + self.title.lower().replace(" ", "-")


TABLE: dict[type[GraphkinError], ProblemType] = {
    BadRequest: ProblemType(HTTPStatus.BAD_REQUEST, "Malformed request"),
    Unauthorized: ProblemType(HTTPStatus.UNAUTHORIZED, "No valid key"),
    Forbidden: ProblemType(HTTPStatus.FORBIDDEN, "Key not for this"),
    NotFound: ProblemType(HTTPStatus.NOT_FOUND, "Not found"),
    NotAcceptable: ProblemType(HTTPStatus.NOT_ACCEPTABLE, "Not offered in this media type"),
    Conflict: ProblemType(HTTPStatus.CONFLICT, "Does not fit this collection"),
    Deleted: ProblemType(HTTPStatus.GONE, "Generation deleted"),
    TooLarge: ProblemType(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Body too large"),
    AddressTooLong: ProblemType(HTTPStatus.REQUEST_URI_TOO_LONG, "Address too long"),
    UnsupportedMediaType: ProblemType(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Unsupported media type"),
    InvalidInput: ProblemType(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid value"),
    TooSlow: ProblemType(HTTPStatus.REQUEST_TIMEOUT, "Request too slow"),
    HeadersTooLarge: ProblemType(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "Headers too large"),
    TooManyRequests: ProblemType(HTTPStatus.TOO_MANY_REQUESTS, "Over the quota"),
    Unavailable: ProblemType(HTTPStatus.SERVICE_UNAVAILABLE, "Not available now"),
    Damaged: ProblemType(HTTPStatus.SERVICE_UNAVAILABLE, "Damaged"),
    ServerFault: ProblemType(HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error"),
}
"""Other errors are answered as their nearest ancestor here is, and those that have none as a `ServerFault`."""

_BY_URN = {type.urn: error for error, type in TABLE.items()}
_BY_STATUS = {
    **{int(type.status): error for error, type in TABLE.items() if error is not Damaged},
    HTTPStatus.BAD_GATEWAY: Unavailable,  # of what stands between, while the server restarts
    HTTPStatus.GATEWAY_TIMEOUT: Unavailable,
}


def problem_type_of(error: GraphkinError) -> ProblemType:
    """What a server answers with."""
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), TABLE[ServerFault])


def error_of(status: int, urn: str | None) -> type[GraphkinError]:
    """What a reply stands for; `urn` is the `type` of its problem, None where it is none.

    A status that no graphkin server gives is a `ServerFault`, but for those of proxies that find no server.
    """
    return _BY_URN.get(urn or "") or _BY_STATUS.get(status, ServerFault)
