"""Translate texts of several lines and sentences: each sentence separately, then joined."""

import asyncio
from collections.abc import Sequence

from starlette.requests import Request

from .. import Translation
from ..documents.sentences import Sentences
from .bodies import answered
from .problems import Refusal
from .service import Service
from .work import Kind, Line, Part


async def translated(
    request: Request,
    service: Service,
    kind: Kind,
    texts: Sequence[str],
    sentences: Sentences | None,
    *,
    avoided: Sequence[str] = (),
    plain: bool = False,
    n_best: int = 1,
) -> list[Translation]:
    """The translations of texts, with their line breaks.

    In HTML, where an element may contain line breaks, they become spaces, except in protected text
    (see `documents.protected`). sentences: splits lines into sentences; None if each line is a
    sentence. avoided, plain: of each line (see `Line`). n_best: the number of translations to
    return of a text of one sentence. Raises Refusal.
    """
    if not service.ready:
        raise Refusal("loading", headers={"Retry-After": "5"})
    model, longest = kind.model, service.options.max_characters
    markup = None if plain else model.markup
    ends = [None if markup == "html" else _line_end(text) for text in texts]

    def begun() -> list[Part]:
        filtered = model.translator.filtered
        return [
            filtered(text, lines=end, markup=markup, sentences=sentences)
            for text, end in zip(texts, ends, strict=True)
        ]

    def ended() -> list[Translation]:
        rest = (one._replace(hypotheses=one.hypotheses[:n_best]) for one in done)
        return [undo([next(rest) for _ in lines]) for lines, undo in parts]

    for number, (text, end) in enumerate(zip(texts, ends, strict=True)):
        if markup and any(len(line) > longest for line in (text.split(end) if end else [text])):
            message = f"this server takes {longest} characters per line"
            raise Refusal("too_large", message, field=f"texts[{number}]")
    parts = await asyncio.to_thread(begun)  # reading and placing marks takes time
    every = [
        Line(one, avoided=avoided, plain=True, of_text=number)
        for number, (lines, _) in enumerate(parts)
        for one in lines
    ]
    done = await answered(request, service, kind, every)
    return await asyncio.to_thread(ended)


def _line_end(text: str) -> str:
    return "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
