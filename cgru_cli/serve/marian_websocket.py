"""Marian's server: a WebSocket at `/translate`, lines in a message, their translations in another.

Source: marian-dev, `src/command/marian_server.cpp` and `TranslateService` in
`src/translator/translator.h`. A message's answer is what `cgru translate` prints for its lines, as
Marian's is what marian-decoder prints: n-best lists with `--n-best`, alignments with `--alignment`.
"""

from __future__ import annotations

import asyncio
import time

from starlette.websockets import WebSocket, WebSocketDisconnect

from ..translate.job import rendered
from .bodies import client_of
from .gate import Gate
from .served_model import SearchOptions
from .service import Refusal, Service
from .work import Line

# Why a connection is closed (RFC 6455, section 7.4, and the registry of IANA that it begins).
INVALID_TEXT, NOT_ALLOWED, TOO_LARGE, BROKEN, AGAIN_LATER = 1007, 1008, 1009, 1011, 1013
_CLOSING = {413: TOO_LARGE, 500: BROKEN, 503: AGAIN_LATER, 504: AGAIN_LATER, 507: TOO_LARGE}
_LONGEST_REASON = 120  # bytes


class MarianWebSocket:
    """Answers messages in their order, each connection one after the other."""

    def __init__(self, service: Service, gate: Gate):
        self._service, self._gate = service, gate

    async def connected(self, socket: WebSocket) -> None:
        """A connection, from its beginning to its end."""
        await socket.accept()
        try:
            while (message := await socket.receive())["type"] == "websocket.receive":
                if not await self._answer(socket, message.get("text"), message.get("bytes")):
                    return
        except WebSocketDisconnect:
            pass

    async def _answer(self, socket: WebSocket, text: str | None, binary: bytes | None) -> bool:
        """Answer a message; False where the connection was closed instead."""
        start = time.monotonic()
        if self._gate.draining:
            await _close(socket, AGAIN_LATER, "the server is about to stop")
            return False
        status = 200
        with self._gate.active_request():
            try:
                text = (binary or b"").decode("utf-8") if text is None else text
                if len(text.encode("utf-8", "surrogatepass")) > 1024 * self._limit:
                    raise Refusal(413, f"more than {self._limit} KiB")
                async with asyncio.timeout(self._service.options.timeout):
                    answer = await self._translated(client_of(socket), text)
                await socket.send_text(answer)
            except UnicodeDecodeError:
                status = 400
                await _close(socket, INVALID_TEXT, "the message is not UTF-8")
            except TimeoutError:
                status = 504
                await _close(socket, AGAIN_LATER, "the message took too long")
            except Refusal as refusal:
                status = refusal.status
                await _close(socket, _CLOSING.get(status, NOT_ALLOWED), str(refusal))
        self._gate.note(client_of(socket), "/translate", "WS", status, time.monotonic() - start)
        return status == 200

    @property
    def _limit(self) -> int:
        return self._service.options.max_body

    async def _translated(self, client: str, text: str) -> str:
        model = self._service.model()
        layout = model.plan.layout
        lines = [Line(line) for line in _lines(text)]
        n_best = layout.shown or model.plan.settings.beam_size if layout.n_best else 1
        search = SearchOptions(n_best=min(n_best, model.plan.settings.beam_size))
        kind = self._service.searching(model, search)
        done = await self._service.all(client, kind, lines)
        return "".join(rendered(layout, one, False)[0] for one in done) or "\n"


def _lines(text: str) -> list[str]:
    """The lines of a message; the last one counts also without a line break, as in a file."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    short = reason.encode("utf-8", "replace")[:_LONGEST_REASON].decode("utf-8", "ignore")
    await socket.close(code, short)
