"""Nematus' server: `POST /translate` and `GET /status`.

Source: Nematus, `nematus/server.py`, `nematus/server/api/nematus_style.py` and
`nematus/sample_client.py`. Segments are lists of words, and so are their translations.
"""

from __future__ import annotations

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .. import __version__
from .bodies import answer, body, client_of
from .fields import Field, read
from .served_model import Wish
from .service import Refusal, Service
from .work import Line

FIELDS = {
    "segments": Field("segments", "sentences to translate, each a list of words", required=True),
    "beam_width": Field("whole", "beam size", least=1),
    "normalize": Field("alpha", "length normalisation: true, false, or the power of the length"),
    "n_best": Field("whole", "translations of a segment; this protocol has one", 1, least=1),
    "suppress_unk": Field("truth", "whether the unknown word is never produced"),
    "character_level": Field("truth", "characters in the place of words; not done here", False),
    "return_word_alignment": Field("truth", "whether each word's attention is told", False),
    "return_word_probabilities": Field("truth", "whether each word's probability is told", False),
}


class NematusRest:
    """The answers to requests; the first model gives them."""

    def __init__(self, service: Service):
        self._service = service

    async def status(self, request: Request) -> Response:
        """GET /status."""
        return JSONResponse(
            {
                "status": "ok" if self._service.ready else "loading",
                "models": list(self._service.models),
                "version": __version__,
                "service": "cgru",
            }
        )

    async def translate(self, request: Request) -> Response:
        """POST /translate; other fields are left out, as Nematus does."""
        service = self._service
        asked = read(FIELDS, await body(request, service.options), others=True)
        if asked["character_level"]:
            raise Refusal(400, "character_level: this server's models read words")
        if asked["n_best"] > 1:
            raise Refusal(400, "n_best: this protocol has one translation a segment; "
                          "POST /v1/translate gives lists")  # fmt: skip
        model, normalize = service.model(), asked["normalize"]
        wish = Wish(
            beam_size=asked["beam_width"],
            normalize=None if normalize is None else float(normalize),
            alignment=asked["return_word_alignment"],
            suppress_unk=asked["suppress_unk"],
        )
        lines = [Line(" ".join(words)) for words in asked["segments"]]
        kind = service.searching(model, wish)
        done = await answer(request, service, service.all(client_of(request), kind, lines))
        data = []
        for one in done:
            best = one.hypotheses[0] if one.hypotheses else None
            segment: dict[str, object] = {"translation": best.text.split() if best else []}
            if best and model.right_left:
                best = best.reversed()
            if best and asked["return_word_alignment"] and best.alignment is not None:
                segment["word_alignment"] = best.alignment.tolist()
            if best and asked["return_word_probabilities"]:
                segment["word_probabilities"] = np.exp(best.word_scores).tolist()
            data.append(segment)
        return JSONResponse({"status": "ok", "data": data})
