"""Texts of several lines and sentences: translated a sentence at a time, and joined."""

from collections.abc import Sequence

from starlette.requests import Request

from ..text.sentences import Sentences
from ..translate.results import Translation
from .bodies import answered
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
) -> list[Translation]:
    """The translations of texts, whose lines stay lines.

    sentences: splits lines into sentences; None: each line is one. avoided, plain: of each line
    (see `Line`). A text of one sentence keeps its n-best list. Raises Refusal.
    """
    split = sentences.split if sentences else lambda line: [line]
    join = sentences.join if sentences else " ".join
    right_left = kind.model.right_left
    parts = [[split(line) for line in text.split("\n")] for text in texts]
    every = [
        Line(one, avoided=avoided, plain=plain) for text in parts for line in text for one in line
    ]
    done = iter(await answered(request, service, kind, every))
    whole = []
    for number, text in enumerate(parts):
        lines = [
            Translation.joined(number, [next(done) for _ in line], join, right_left=right_left)
            for line in text
        ]
        whole.append(Translation.joined(number, lines, "\n".join, right_left=right_left))
    return whole
