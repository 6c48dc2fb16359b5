"""Errors of requests: their codes, and the answers in JSON.

Source: RFC 9457, "Problem Details for HTTP APIs", for the server's own protocol.
"""

from collections.abc import Mapping
from http.client import responses
from typing import Annotated, Any, Self

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from ..errors import CgruError

CODES = {  # the status and the meaning of each code
    "not_json": (400, "the body is not a JSON object"),
    "invalid_field": (400, "a field is missing, unknown, or has a value that is not allowed"),
    "not_possible": (400, "fields contradict each other, or the model cannot do what they ask for"),
    "invalid_request": (400, "the request has no Host header or several, or is incomplete"),
    "unauthorized": (401, "the password is missing or wrong"),
    "other_site": (403, "the request comes from a page of another site"),
    "not_found": (404, "there is no such path, model or document"),
    "method_not_allowed": (405, "the path does not have this method"),
    "too_slow": (408, "the request arrived too slowly"),
    "too_large": (413, "the request exceeds a limit of this server"),
    "encoded": (415, "the body has a Content-Encoding"),
    "wrong_host": (421, "the server does not have this host name"),
    "unreadable": (422, "the model cannot read a line, or the server a document"),
    "rate_limited": (429, "this client has too many unfinished documents; try again later"),
    "client_gone": (499, "the client has closed the connection"),
    "internal_error": (500, "internal error"),
    "not_installed": (501, "the server lacks a package"),
    "queue_full": (503, "too many lines are waiting; try again later"),
    "loading": (503, "the models are loading; try again later"),
    "stopping": (503, "the server is about to stop"),
    "timeout": (504, "the request took too long"),
    "out_of_memory": (507, "there is not enough memory for a line"),
}


class Refusal(CgruError):
    """The error of a request, or of one of its lines.

    code: one of CODES; message: by default the code's meaning; headers: of the response; field: the
    request's field at fault, if any.
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        headers: Mapping[str, str] | None = None,
        field: str = "",
    ):
        super().__init__(message or CODES[code][1])
        self.code, self.headers, self.field = code, headers, field

    @classmethod
    def of(cls, line: Any, number: int, code: str, problem: str, place: int = 0) -> Self:
        """The refusal of a line (counted from 0); place: index of the invalid text in `texts`."""
        return cls(code, f"line {number + 1}: {problem}", field=line.field(number, place))

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return CODES[self.code][0]


class Problem(Struct):
    """An error of the server's own protocol."""

    title: Annotated[str, Meta(description="the name of the status")]
    status: int
    code: Annotated[str, Meta(description="error code", extra_json_schema={"enum": [*CODES]})]
    detail: Annotated[str, Meta(description="explanation in one line")]
    field: Annotated[str | UnsetType, Meta(description="the field at fault, such as texts[2]")] = (
        UNSET
    )


class ErrorAnswer(Struct):
    """An error of the other protocols."""

    error: str
    status: Annotated[str, Meta(extra_json_schema={"enum": ["error"]})]


def problem(refusal: Refusal) -> Problem:
    """The refusal as JSON of the server's own protocol."""
    title = responses.get(refusal.status, "")
    return Problem(title, refusal.status, refusal.code, str(refusal), refusal.field or UNSET)


def failed(path: str, refusal: Refusal) -> Response:
    """The error response to a request, in the protocol of its path."""
    answer: Struct = ErrorAnswer(str(refusal), "error")
    media_type = "application/json"
    if path.startswith("/v1/"):
        answer, media_type = problem(refusal), "application/problem+json"
    content = msgspec.json.encode(answer)
    return Response(content, refusal.status, refusal.headers, media_type)
