"""Translate texts of several lines and sentences: each sentence separately, then joined."""

import asyncio
from collections.abc import Sequence

from starlette.requests import Request

from ..documents.sentences import Sentences
from ..translate.filters import Filter, Split, Undo, filtered
from ..translate.results import Translation
from .bodies import answered
from .problems import Refusal
from .served_model import ServedModel
from .service import Service
from .work import Kind, Line


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
    (see `documents.protected`). sentences: splits lines
    into sentences; None if each line is a sentence. avoided, plain: of each line (see `Line`).
    n_best: the number of translations to return of a text of one sentence. Raises Refusal.
    """
    if not service.ready:
        raise Refusal("loading", headers={"Retry-After": "5"})
    model, longest = kind.model, service.options.max_characters
    form = None if plain else model.plan.options.markup
    filters = model.filters(form, sentences)

    def begun() -> list[tuple[list[str], Undo]]:
        return [filtered(text, [*_lines(text, form, model), *filters]) for text in texts]

    def ended() -> list[Translation]:
        rest = (one._replace(hypotheses=one.hypotheses[:n_best]) for one in done)
        return [undo([next(rest) for _ in pieces]) for pieces, undo in begun_texts]

    for number, text in enumerate(texts):
        lines = [text] if form == "html" else text.split(_line_end(text))
        if form and any(len(line) > longest for line in lines):
            message = f"this server takes {longest} characters per line"
            raise Refusal("too_large", message, field=f"texts[{number}]")
    begun_texts = await asyncio.to_thread(begun)  # reading and placing marks takes time
    every = [
        Line(one, avoided=avoided, plain=True, of_text=number)
        for number, (pieces, _) in enumerate(begun_texts)
        for one in pieces
    ]
    done = await answered(request, service, kind, every)
    return await asyncio.to_thread(ended)


def _lines(text: str, form: str | None, model: ServedModel) -> list[Filter]:
    """The filter for the line breaks of a text; in HTML they are spaces."""
    if form == "html":
        return []
    end = _line_end(text)
    return [Split(lambda text: text.split(end), end.join, model.plan)]


def _line_end(text: str) -> str:
    return "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
