"""Marian's protocol: a WebSocket at `/translate`, with one answer for each message of lines.

Source: marian-dev, `src/command/marian_server.cpp` and `TranslateService` in
`src/translator/translator.h`. Marian's server answers with the output of marian-decoder, this
server with that of `cgru translate`: n-best lists with `--n-best`, alignments with `--alignment`.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from .clients import Client, client_of
from .problems import Refusal
from .served_model import SearchOptions
from .service import Service
from .work import Line

# Close codes of RFC 6455, section 7.4, and of IANA's registry.
INVALID_TEXT, NOT_ALLOWED, TOO_LARGE, BROKEN, AGAIN_LATER = 1007, 1008, 1009, 1011, 1013
_CLOSING = {413: TOO_LARGE, 500: BROKEN, 507: TOO_LARGE}
_CLOSING |= dict.fromkeys((429, 503, 504), AGAIN_LATER)
_LONGEST_REASON = 120  # bytes


class MarianWebSocket:
    """Answers the messages of each connection one after the other."""

    def __init__(self, service: Service):
        self._service = service

    async def connected(self, socket: WebSocket) -> None:
        """Handle a connection until it is closed."""
        await socket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            message = await socket.receive()
            while message["type"] == "websocket.receive":
                answering = asyncio.create_task(self._answer(socket, message))
                following = asyncio.create_task(socket.receive())
                try:
                    both = (answering, following)
                    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                    if not answering.done() and following.result()["type"] != "websocket.receive":
                        return  # the client is gone
                    if not await answering:
                        return
                    message = await following
                finally:
                    answering.cancel()
                    following.cancel()

    async def _answer(self, socket: WebSocket, message: Mapping[str, Any]) -> bool:
        """Answer a message, or close the connection and return False."""
        start, status, client = time.monotonic(), 499, client_of(socket)
        with self._service.active_request():
            try:
                if self._service.draining:
                    raise Refusal("stopping")
                text = message.get("text")
                if text is None:
                    text = message["bytes"].decode("utf-8")
                async with asyncio.timeout(self._service.options.timeout):
                    answer = await self._translated(client, text)
                await socket.send_text(answer)
                status = 200
            except UnicodeDecodeError:
                status = 400
                await _close(socket, INVALID_TEXT, "the message is not UTF-8")
            except TimeoutError:
                status = 504
                await _close(socket, AGAIN_LATER, "the message took too long")
            except Refusal as refusal:
                status = refusal.status
                await _close(socket, _CLOSING.get(status, NOT_ALLOWED), str(refusal))
            finally:
                seconds = time.monotonic() - start
                self._service.log(client.address, "/translate", "WS", status, seconds)
        return status == 200

    async def _translated(self, client: Client, text: str) -> str:
        model = self._service.model()
        options = self._service.options
        # whether or not the last line ends with a line break
        lines = [Line(line) for line in text.removesuffix("\n").split("\n")] if text else []
        beam_size = model.defaults.beam_size
        n_best = options.n_best_size or beam_size if options.n_best else 1
        search = SearchOptions(n_best=min(n_best, beam_size))
        kind = self._service.searching(model, search)
        done = await self._service.all(client, kind, lines)
        return "".join(map(model.translator.printed, done)) or "\n"


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    short = reason.encode("utf-8", "replace")[:_LONGEST_REASON].decode("utf-8", "ignore")
    await socket.close(code, short)
