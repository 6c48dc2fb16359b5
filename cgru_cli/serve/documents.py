"""Documents: `POST /v1/documents` starts a translation, and returns an address to poll.

The address returns the progress, then the translated file. Another thread reads and writes the
document; its sentences are queued like the lines of other requests.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import shutil
import tempfile
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from .. import Translation
from ..documents.document import Document
from ..documents.reader import document_of
from ..errors import WARNS, CgruError, NotInstalled
from .bodies import body
from .clients import Client, client_of
from .messages import DocumentProgress, encoded
from .problems import Refusal
from .served_model import SearchOptions, ServedModel
from .service import Service
from .work import Kind, Line, Part

MOST_SEGMENTS = 10_000
KEPT = 600  # seconds for which a finished document is kept
MOST_UNFINISHED = 8  # unfinished documents of a client, which take memory
MOST_KEPT = 1000  # documents of all clients, finished or not
_AT_ONCE = 100  # lines of a document in the queue
_PAUSE = 1.0  # seconds before retrying with a full queue
_PATH = "/v1/documents"
_PREFIX = "cgru-document-"  # of the servers' folders
_home: list[tempfile.TemporaryDirectory[str]] = []  # the folders of this server; the last is used


@dataclass
class _Job:
    """A document and its translation. problem: why the translation ended without a file."""

    name: str
    media_type: str
    account: str
    task: asyncio.Task[None] | None = None
    done: int = 0
    lines: int = 0
    # a folder of its own: programs that remove old files would remove one for all documents
    folder: tempfile.TemporaryDirectory[str] = field(default_factory=lambda: _folder())
    file: Path | None = None
    problem: Refusal | None = None

    @property
    def ended(self) -> bool:
        """Whether there is a file or a problem."""
        return self.file is not None or self.problem is not None

    def progress(self, address: str) -> DocumentProgress:
        return DocumentProgress(address, self.name, self.done, self.lines)


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A new folder in that of this server, which is locked as long as the process lives."""
    while not (_home and os.path.isdir(_home[-1].name)):  # or removed with other old files
        _home.append(tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True))
        fcntl.flock(os.open(_home[-1].name, os.O_RDONLY), fcntl.LOCK_EX)
    return tempfile.TemporaryDirectory(dir=_home[-1].name, ignore_cleanup_errors=True)


def remove_abandoned() -> None:
    """Remove the folders of servers that were killed: those that no process has locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(descriptor)


class Documents:
    """The handlers of the paths."""

    def __init__(self, service: Service):
        self._service = service
        self._jobs: dict[str, _Job] = {}

    async def create(self, request: Request) -> Response:
        """POST /v1/documents?name=NAME&model=MODEL: the body is the document."""
        service, name = self._service, PurePath(request.query_params.get("name", "")).name or "name"
        model = service.model(request.query_params.get("model"))
        if not service.ready:
            raise Refusal("loading", headers={"Retry-After": "5"})
        client = client_of(request)
        self._check_number(client.account)
        largest = service.options.max_document * 1024
        content = await body(request, service.options, largest)
        try:
            document = await asyncio.to_thread(document_of, name, content)
        except CgruError as error:
            raise _refusal(error, str(error)) from None
        document.target_language = (model.languages or ("", ""))[1]
        if len(document.segments) > MOST_SEGMENTS:
            count = f"{len(document.segments)} paragraphs"
            raise Refusal("too_large", f"{name}: {count}; this server takes {MOST_SEGMENTS}")
        self._check_number(client.account)  # other documents may have begun meanwhile
        kind = service.searching(model, SearchOptions(marks=document.form is not None))
        number = secrets.token_urlsafe(16)
        job = self._jobs[number] = _Job(name, document.media_type, client.account)
        job.task = asyncio.create_task(self._translate(number, job, document, client, kind))
        address = f"{_PATH}/{number}"
        return encoded(job.progress(address), 202, {"Location": address})

    async def one(self, request: Request) -> Response:
        """GET an address: 202 with the progress, 200 with the file, or the problem.

        DELETE: cancel the translation, and delete the file.
        """
        number = request.path_params["number"]
        job = self._jobs.get(number)
        if job is None:
            raise Refusal("not_found", f"no such document; they are kept for {KEPT // 60} minutes")
        if request.method == "DELETE":
            if job.task:
                job.task.cancel()
            self._forget(number)
            return Response(status_code=204)
        if job.problem:
            raise job.problem.with_traceback(None)  # the traceback would grow each time
        if job.file is None:
            return encoded(job.progress(request.url.path), 202, {"Retry-After": "1"})
        headers = {"Content-Disposition": "attachment"}  # browsers must not show it as a page
        return FileResponse(job.file, headers=headers, media_type=job.media_type)

    def _check_number(self, account: str) -> None:
        """Raise Refusal for too many documents of this account, or of all clients."""
        wait = {"Retry-After": "5"}
        own = sum(job.account == account and not job.ended for job in self._jobs.values())
        if own >= MOST_UNFINISHED:
            message = f"this client has {own} unfinished documents; try again later"
            raise Refusal("rate_limited", message, wait)
        if len(self._jobs) >= MOST_KEPT:
            message = f"this server keeps at most {MOST_KEPT} documents; try again later"
            raise Refusal("queue_full", message, wait)

    def _forget(self, number: str) -> None:
        if job := self._jobs.pop(number, None):
            job.folder.cleanup()

    async def _translate(
        self, number: str, job: _Job, document: Document, client: Client, kind: Kind
    ) -> None:
        WARNS.set(False)
        try:
            await self._write(job, document, client, kind)
        except Refusal as refusal:
            job.problem = refusal.with_traceback(None)  # the traceback would keep the document
        except CgruError as error:
            job.problem = _refusal(error, kind.model.public(error))
        except Exception:
            job.problem = Refusal("internal_error")
            raise
        finally:
            asyncio.get_running_loop().call_later(KEPT, self._forget, number)

    async def _write(self, job: _Job, document: Document, client: Client, kind: Kind) -> None:
        """Translate the paragraphs of a document, and write its file."""
        longest = self._service.options.max_characters
        for place, segment in enumerate(document.segments, 1):
            if len(segment) > longest:  # placing marks must take bounded time
                size = f"{len(segment)} characters; this server takes {longest} per line"
                raise Refusal("too_large", f"paragraph {place}: {size}")
        parts = await asyncio.to_thread(_parts, kind.model, document)
        lines = [Line(text, plain=True) for texts, _ in parts for text in texts]
        job.lines = len(lines)
        found: list[Translation] = []
        count = min(_AT_ONCE, self._service.options.most_lines)
        for start in range(0, len(lines), count):
            found += await self._translations(job, client, kind, lines[start : start + count])
        path = Path(job.folder.name) / "translation"
        await asyncio.to_thread(_write_file, document, parts, found, path)
        job.file = path

    async def _translations(
        self, job: _Job, client: Client, kind: Kind, lines: list[Line]
    ) -> list[Translation]:
        """The translations of lines; waits while the queue is full. Raises Refusal."""
        before = job.done
        while True:
            done: dict[int, Translation] = {}
            try:
                async with aclosing(self._service.outcomes(client, kind, lines)) as outcomes:
                    async for place, one in outcomes:
                        done[place] = one  # type: ignore[assignment]
                        job.done = before + len(done)
                return [done[place] for place in range(len(lines))]
            except Refusal as refusal:
                if refusal.code != "queue_full":
                    raise
            job.done = before
            await asyncio.sleep(_PAUSE)


def _refusal(error: CgruError, message: str) -> Refusal:
    return Refusal("not_installed" if isinstance(error, NotInstalled) else "unreadable", message)


def _parts(model: ServedModel, document: Document) -> list[Part]:
    filtered, sentences = model.translator.filtered, model.sentences("")
    return [
        filtered(segment, markup=document.form, sentences=sentences)
        for segment in document.segments
    ]


def _write_file(
    document: Document, parts: list[Part], found: list[Translation], path: Path
) -> None:
    translations = []
    rest = (one._replace(hypotheses=one.hypotheses[:1]) for one in found)
    for segment, (texts, undo) in zip(document.segments, parts, strict=True):
        whole = undo([next(rest) for _ in texts])
        empty = whole.empty or not whole.hypotheses
        translations.append(segment if empty else whole.hypotheses[0].text)
    path.write_bytes(document.written(translations))
