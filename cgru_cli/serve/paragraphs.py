"""Translate texts of several lines and sentences: each sentence separately, then joined."""

import asyncio
from collections.abc import Sequence

from starlette.requests import Request

from ..text.sentences import Sentences
from ..translate.paragraphs import Paragraph
from ..translate.results import Translation
from .bodies import answered
from .problems import Refusal
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
    (see `text.protected`). sentences: splits lines
    into sentences; None if each line is a sentence. avoided, plain: of each line (see `Line`).
    n_best: the number of translations to return of a text of one sentence. Raises Refusal.
    """
    if not service.ready:
        raise Refusal("loading", headers={"Retry-After": "5"})
    search, longest = kind.model.search, service.options.max_characters
    form = None if plain else search.plan.options.markup
    breaks = ["\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n" for text in texts]
    lines = [
        [text] if form == "html" else text.split(line_break)
        for text, line_break in zip(texts, breaks, strict=True)
    ]
    for number, text in enumerate(lines):
        if form and any(len(line) > longest for line in text):
            message = f"this server takes {longest} characters per line"
            raise Refusal("too_large", message, field=f"texts[{number}]")

    def begun() -> list[list[Paragraph]]:
        return [[Paragraph(search, line, form, sentences) for line in text] for text in lines]

    def ended() -> list[Translation]:
        rest, right_left, whole = iter(done), kind.model.right_left, []
        for number, text in enumerate(paragraphs):
            parts = [
                one.translation(number, [next(rest) for _ in one.lines], n_best) for one in text
            ]
            join = breaks[number].join
            whole.append(Translation.joined(number, parts, join, right_left=right_left))
        return whole

    paragraphs = await asyncio.to_thread(begun)  # reading and placing marks takes time
    every = [
        Line(one.source, avoided=avoided, plain=one.plain, of_text=number)
        for number, text in enumerate(paragraphs)
        for paragraph in text
        for one in paragraph.lines
    ]
    done = await answered(request, service, kind, every)
    return await asyncio.to_thread(ended)
