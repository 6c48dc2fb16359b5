"""The server's own protocol: `/v1/translate`, `/v1/alternatives`, `/v1/score`, `/v1/models`."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from ..output.hypothesis import Hypothesis
from ..output.layout import EOS
from ..score.pair_scorer import ScoredPair
from ..translate.translator import Translation
from .bodies import answer, body, client_of
from .fields import Field, read
from .served_model import ServedModel, Wish
from .service import Refusal, Service
from .work import Kind, Line, Pair

_MODEL = Field("text", "name of the model, as /v1/models lists them; the first if not given")
_BEAM = Field("whole", "beam size; as the server was started if not given", least=1)
_NORMALIZE = Field(
    "number", "length normalisation: scores are divided by length ** normalize", least=0, most=10
)
_ALIGNMENT = Field(
    "truth", "whether hypotheses come with the attention of each word over the source's words",
    False,
)  # fmt: skip
_WORD_SCORES = Field(
    "truth", "whether hypotheses come with the log-probability of each word, in nats", False
)
TRANSLATE = {
    "texts": Field("texts", "lines to translate, a sentence each", required=True),
    "model": _MODEL,
    "beam_size": _BEAM,
    "n_best": Field("whole", "how many translations of each line, the best first", 1, least=1),
    "normalize": _NORMALIZE,
    "alignment": _ALIGNMENT,
    "word_scores": _WORD_SCORES,
    "prefixes": Field(
        "prefixes",
        "what the translation of each line begins with: a text, or the model's words; "
        "as many as texts",
    ),
    "constraints": Field(
        "phrases",
        "phrases that the translation of each line must have: a list of them for each text",
    ),
    "avoid": Field("texts", "phrases that no translation may have"),
    "stream": Field(
        "truth",
        "answer by server-sent events, a translation each as it gets ready; the same as "
        "the header `Accept: text/event-stream`",
        False,
    ),
}
ALTERNATIVES = {
    "text": Field("text", "the line that is translated", required=True),
    "prefix": Field("words", "the words of its translation, as the model has them, up to the "
                    "place in question", required=True),
    "count": Field("whole", "how many words that may stand there, the most probable first", 5,
                   least=1),
    "model": _MODEL,
    "beam_size": _BEAM,
    "normalize": _NORMALIZE,
    "alignment": _ALIGNMENT,
    "word_scores": _WORD_SCORES,
}  # fmt: skip
SCORE = {
    "pairs": Field("pairs", "translations to score, with their sources", required=True),
    "model": _MODEL,
    "normalize": _NORMALIZE,
    "alignment": _ALIGNMENT,
    "word_scores": _WORD_SCORES,
}


class Rest:
    """The answers to requests."""

    def __init__(self, service: Service):
        self._service = service

    async def models(self, request: Request) -> Response:
        """GET /v1/models."""
        options = self._service.options
        limits = {
            "lines": options.max_lines, "characters": options.max_characters,
            "beam_size": options.max_beam_size, "phrases": options.max_phrases,
            "seconds": options.timeout,
        }  # fmt: skip
        models = [_described(model) for model in self._service.models.values()]
        return JSONResponse({"models": models, "limits": limits})

    async def translate(self, request: Request) -> Response:
        """POST /v1/translate."""
        service = self._service
        asked = read(TRANSLATE, await body(request, service.options))
        model = service.model(asked["model"])
        lines = self._lines(asked)
        forced = any(line.prefix or line.required or line.avoided for line in lines)
        kind = service.searching(model, _wish(asked), forced=forced)
        if asked["stream"] or "text/event-stream" in request.headers.get("accept", ""):
            service.check_lines([line.texts for line in lines])
            events = self._events(client_of(request), kind, lines, asked)
            headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            return StreamingResponse(events, media_type="text/event-stream", headers=headers)
        done = await answer(request, service, service.all(client_of(request), kind, lines))
        listed = [_translation(model, one, asked) for one in done]
        return JSONResponse({"model": model.name, "translations": listed})

    def _lines(self, asked: dict[str, Any]) -> list[Line]:
        """The lines of a request, each with what is said of it. Raises Refusal."""
        texts = asked["texts"]
        count, most = len(texts), self._service.options.max_phrases
        beside = []
        for name, nothing in (("prefixes", ""), ("constraints", [])):
            given = asked[name]
            if given is not None and len(given) != count:
                raise Refusal(400, f"{len(given)} {name} for {count} texts")
            beside.append(given or [nothing] * count)
        avoided = asked["avoid"] or []
        lines = [
            Line(text, prefix, required=required, avoided=avoided)
            for text, prefix, required in zip(texts, *beside, strict=True)
        ]
        for number, line in enumerate(lines, 1):
            if (phrases := len(line.required) + len(avoided)) > most:
                raise Refusal(413, f"line {number}: {phrases} phrases; this server takes {most}")
        return lines

    async def _events(
        self, client: str, kind: Kind, lines: Sequence[Line], asked: dict[str, Any]
    ) -> AsyncIterator[str]:
        """Server-sent events: `translation` with its index, then `done`, or `error`."""
        outcomes = self._service.outcomes(client, kind, lines, in_order=True)
        try:
            async with asyncio.timeout(self._service.options.timeout):
                async for number, one in outcomes:
                    line = cast(Translation, one)
                    shown = {"index": number} | _translation(kind.model, line, asked)
                    yield _event("translation", shown)
            yield _event("done", {"model": kind.model.name, "count": len(lines)})
        except Refusal as refusal:
            yield _event("error", {"status": refusal.status, "error": str(refusal)})
        except TimeoutError:
            yield _event("error", {"status": 504, "error": "the request took too long"})
        finally:
            await outcomes.aclose()  # type: ignore[attr-defined]

    async def alternatives(self, request: Request) -> Response:
        """POST /v1/alternatives: words that may follow a prefix, and the translation with each."""
        service = self._service
        asked = read(ALTERNATIVES, await body(request, service.options))
        model, client = service.model(asked["model"]), client_of(request)
        text, prefix, count = asked["text"], asked["prefix"], asked["count"]
        next_word = Wish(beam_size=count, n_best=count, normalize=0.0)
        kind = service.searching(model, next_word, forced=bool(prefix))
        asking = service.all(client, kind, [Line(text, prefix, next_only=True)])
        (next_words,) = await answer(request, service, asking)
        words = []
        for hypothesis in next_words.hypotheses[:count]:
            if len(hypothesis.word_scores) > len(prefix):
                ends = len(hypothesis.tokens) == len(prefix)
                word = None if ends else hypothesis.tokens[len(prefix)]
                words.append((word, hypothesis, _probability(model, hypothesis, len(prefix))))
        going_on = [[*prefix, word] for word, _, _ in words if word is not None]
        kind = service.searching(model, _wish(asked | {"n_best": 1}), forced=True)
        asking = service.all(client, kind, [Line(text, begun) for begun in going_on])
        rest = iter(await answer(request, service, asking))
        listed = []
        for word, hypothesis, probability in words:
            ended = [] if word is None else next(rest).hypotheses[:1]
            if word is not None and not ended:
                continue
            whole = ended[0] if ended else hypothesis
            shown = _hypothesis(model, whole, asked | {"alignment": asked["alignment"] and ended})
            listed.append({"word": word, "probability": probability} | shown)
        return JSONResponse({"model": model.name, "alternatives": listed})

    async def score(self, request: Request) -> Response:
        """POST /v1/score."""
        service = self._service
        asked = read(SCORE, await body(request, service.options))
        model = service.model(asked["model"])
        if asked["alignment"] and not model.attends:
            raise Refusal(400, f"{model.name}: this model has no attention: no alignments")
        pairs = [Pair(pair["source"], pair["target"]) for pair in asked["pairs"]]
        scoring = service.all(client_of(request), Kind(model, None), pairs)
        done: list[ScoredPair] = await answer(request, service, scoring)
        normalize = asked["normalize"]
        alpha = model.plan.normalize if normalize is None else normalize
        scores = []
        for pair in done:
            length = len(pair.hypothesis.tokens) + 1
            hypothesis = pair.hypothesis._replace(total=pair.hypothesis.score / length**alpha)
            shown = _hypothesis(model, hypothesis, asked)
            del shown["text"]
            scores.append({"source": [*pair.source, EOS]} | shown)
        return JSONResponse({"model": model.name, "scores": scores})


def _described(model: ServedModel) -> dict[str, Any]:
    """A model as /v1/models lists it; no folder of the server's is told."""
    plan = model.plan
    return {
        "name": model.name,
        "ensemble": len(model.paths),
        "reads_source": model.reads_source,
        "attention": model.attends,
        "right_to_left": model.right_left,
        "raw_text": plan.reading.preprocessing is not None,
        "beam_size": plan.beam_size,
        "normalize": plan.normalize,
    }


def _wish(asked: dict[str, Any]) -> Wish:
    return Wish(asked["beam_size"], asked["n_best"], asked["normalize"], bool(asked["alignment"]))


def _translation(model: ServedModel, one: Translation, asked: dict[str, Any]) -> dict[str, Any]:
    """A line: the words of its source as the model read them, and its translations."""
    hypotheses = one.hypotheses[: asked["n_best"]]
    asked = asked | {"alignment": asked["alignment"] and not one.empty}
    return {
        "text": hypotheses[0].text if hypotheses else "",
        "source": [*one.source, EOS],
        "hypotheses": [_hypothesis(model, hypothesis, asked) for hypothesis in hypotheses],
    }


def _hypothesis(model: ServedModel, one: Hypothesis, asked: dict[str, Any]) -> dict[str, Any]:
    """A translation in reading order; rows for `</s>` stand last, where it is finished."""
    one = one.reversed() if model.right_left else one
    shown = {
        "text": one.text,
        "words": list(one.tokens),
        "finished": bool(one.finished),
        "score": _finite(one.score),
        "total": _finite(one.total),
    }
    if asked["word_scores"]:
        shown["word_scores"] = [_finite(score) for score in one.word_scores.tolist()]
    if asked["alignment"] and one.alignment is not None:
        shown["alignment"] = [[round(w, 6) for w in row] for row in one.alignment.tolist()]
    return shown


def _probability(model: ServedModel, hypothesis: Hypothesis, place: int) -> float:
    """Of a word, by the geometric mean of an ensemble's models."""
    total = sum(model.plan.weights) or 1.0
    return min(1.0, math.exp(min(0.0, float(hypothesis.word_scores[place]) / total)))


def _finite(score: float) -> float | None:
    """A number as JSON can have it."""
    return float(score) if math.isfinite(score) else None


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
