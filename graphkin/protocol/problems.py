"""The mapping between errors and HTTP problem replies. Depends only on the standard library."""

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
    """An HTTP status and a human-readable title."""

    status: HTTPStatus
    title: str

    @property
    def urn(self) -> str:
        """The `type` of the problem, derived from the title (RFC 9457)."""
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
"""The problem type of each error class.

Other errors have the type of their nearest listed base class, or else of `ServerFault`.
"""

_BY_URN = {type.urn: error for error, type in TABLE.items()}
_BY_STATUS = {
    **{int(type.status): error for error, type in TABLE.items() if error is not Damaged},
    HTTPStatus.BAD_GATEWAY: Unavailable,  # sent by a proxy while the server restarts
    HTTPStatus.GATEWAY_TIMEOUT: Unavailable,
}


def problem_type_of(error: GraphkinError) -> ProblemType:
    """Return the problem type that a server reports for an error."""
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), TABLE[ServerFault])


def error_type_of(status: int, urn: str | None) -> type[GraphkinError]:
    """Return the error class for a reply with an error status.

    Statuses that graphkin does not use map to `ServerFault`, except those that a proxy sends if it cannot reach the
    server.

    Args:
        status: HTTP status of the reply.
        urn: The `type` of the problem; None if the reply is not a problem.
    """
    return _BY_URN.get(urn or "") or _BY_STATUS.get(status, ServerFault)
