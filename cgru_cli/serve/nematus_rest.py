"""Nematus' protocol: `POST /translate` with the field `segments`, and `GET /status`.

Source: Nematus, `nematus/server.py`, `nematus/server/api/nematus_style.py` and
`nematus/sample_client.py`. Segments and translations are lists of words.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from .. import Hypothesis, __version__
from .bodies import answered
from .messages import (
    Link,
    NematusAnswer,
    NematusRequest,
    NematusStatus,
    NematusTranslation,
    converted,
    encoded,
)
from .problems import Refusal
from .rest import EOS
from .served_model import SearchOptions
from .service import Service
from .work import Line


class NematusRest:
    """The handlers of the paths, for the first model."""

    def __init__(self, service: Service):
        self._service = service

    async def status(self, request: Request) -> Response:
        """GET /status."""
        state: Literal["ok", "loading"] = "ok" if self._service.ready else "loading"
        return encoded(NematusStatus(state, list(self._service.models), __version__, "cgru"))

    async def translate(self, request: Request, fields: Mapping[str, Any]) -> Response:
        """POST /translate."""
        service = self._service
        asked = converted(NematusRequest, fields)
        if asked.character_level:
            raise Refusal("not_possible", "character_level: this server's models read words")
        if asked.n_best > 1:
            raise Refusal(
                "not_possible",
                "n_best: this protocol returns one translation; use POST /v1/translate",
            )
        model = service.model()
        service.check_size(model, "beam_width", asked.beam_width)
        search = SearchOptions(
            beam_size=asked.beam_width,
            normalize=None if asked.normalize is None else float(asked.normalize),
            alignment=asked.return_word_alignment,
            suppress_unk=asked.suppress_unk,
        )
        lines = [Line(" ".join(words)) for words in asked.segments]
        kind = service.searching(model, search)
        data = []
        for number, one in enumerate(await answered(request, service, kind, lines)):
            best = one.hypotheses[0] if one.hypotheses else None
            segment = NematusTranslation(best.text.split() if best else [])
            if best and model.right_left:
                best = best.reversed()
            if best and asked.return_word_alignment and best.alignment is not None:
                segment.word_alignment = _links(number, one.factored, best)
            if best and asked.return_word_probabilities:
                segment.word_probabilities = np.exp(best.word_scores).tolist()
            data.append(segment)
        return encoded(NematusAnswer(data, "ok"))


def _links(number: int, source: Sequence[str], one: Hypothesis) -> list[Link]:
    """Nematus' links of a hypothesis: target, source, weight, and the line twice."""
    weights = np.zeros((0, 0)) if one.alignment is None else one.alignment
    return [
        (target, word, repr(float(str(weight))), number, number)
        for target, row in zip([*one.tokens, EOS], weights, strict=False)
        for word, weight in zip([*source, EOS], row, strict=False)
    ]
