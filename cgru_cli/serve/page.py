"""The paths of the web page's files."""

from collections.abc import Iterator
from pathlib import PurePath

from starlette.responses import Response
from starlette.routing import Route

from ..output.page import FILES, page_files

TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".js": "text/javascript",
}
PATHS = {"/" if name == "index.html" else f"/{name}": name for name in FILES}


def routes() -> Iterator[Route]:
    """The routes of the files, which are read once."""
    contents, headers = page_files(), {"Cache-Control": "no-cache"}
    for path, name in PATHS.items():
        kind = TYPES[PurePath(name).suffix]
        answer = Response(contents[name], media_type=kind, headers=headers)
        yield Route(path, answer, methods=["GET"])
