"""The server's own protocol: `/v1/translate`, `/v1/alternatives`, `/v1/score`, `/v1/models`."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from .. import Hypothesis, Translation
from ..errors import CgruError, UsageError
from . import messages
from .bodies import answered, body
from .clients import Client, client_of
from .messages import decoded, encoded
from .paragraphs import translated
from .problems import Refusal, problem
from .served_model import SearchOptions, ServedModel
from .service import Service
from .work import Kind, Line, OnlyLine, Pair

EOS = "</s>"  # as shown in messages
_MORE = ("output_sampling", "seed", "mbr", "mbr_utility", "mbr_n_best", "prefix_bias")


class Rest:
    """The handlers of the paths."""

    def __init__(self, service: Service):
        self._service = service

    async def models(self, request: Request) -> Response:
        """GET /v1/models."""
        options = self._service.options
        limits = messages.Limits(
            lines=options.most_lines,
            characters=options.max_characters,
            beam_size=options.max_beam_size,
            phrases=options.max_phrases,
            seconds=options.timeout,
            body=options.max_body * 1024,
            document=options.max_document * 1024,
        )
        models = [
            messages.ModelDescription(
                name=model.name,
                ensemble=len(model.paths),
                reads_source=model.reads_source,
                attention=model.attends,
                right_to_left=model.right_left,
                raw_text=model.defaults.raw_text,
                beam_size=model.defaults.beam_size,
                normalize=model.defaults.normalize,
                languages=messages.Languages(*model.languages) if model.languages else None,
                type=model.type,
            )
            for model in self._service.models.values()
        ]
        return encoded(messages.ModelsAnswer(models, limits, self._service.detects))

    async def translate(self, request: Request) -> Response:
        """POST /v1/translate."""
        service = self._service
        asked = decoded(messages.TranslateRequest, await body(request, service.options))
        model = service.model(asked.model)
        lines = self._lines(asked)
        forced = any(line.prefix or line.required or line.avoided for line in lines)
        search = SearchOptions(
            asked.beam_size, asked.n_best, asked.normalize, asked.alignment, more=_more(asked)
        )
        kind = service.searching(model, search, forced=forced)
        if asked.split_sentences:
            done = await self._paragraphs(request, kind, asked)
        elif asked.stream or "text/event-stream" in request.headers.get("accept", ""):
            client = client_of(request)
            service.check(lines)
            events = self._events(client, kind, lines, asked)
            headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            return StreamingResponse(events, media_type="text/event-stream", headers=headers)
        else:
            done = await answered(request, service, kind, lines)
        translations = [_line(messages.TranslatedLine, model, one, asked) for one in done]
        return encoded(messages.TranslateAnswer(model.name, translations))

    async def _paragraphs(
        self, request: Request, kind: Kind, asked: messages.TranslateRequest
    ) -> list[Translation]:
        """The translations of texts whose sentences are translated separately. Raises Refusal."""
        for name in (*_MORE, "prefixes", "constraints", "alignment", "word_scores", "stream"):
            if getattr(asked, name):
                raise Refusal("not_possible", f"split_sentences and {name} exclude each other")
        if asked.n_best > 1:
            raise Refusal(
                "not_possible",
                "split_sentences returns one translation, so n_best must be 1",
                field="n_best",
            )
        language = asked.split_sentences
        try:
            sentences = kind.model.sentences(language if isinstance(language, str) else "")
        except CgruError as error:
            code = "not_possible" if isinstance(error, UsageError) else "not_installed"
            raise Refusal(code, f"split_sentences: {error}", field="split_sentences") from None
        return await translated(
            request, self._service, kind, asked.texts, sentences, avoided=asked.avoid
        )

    def _lines(self, asked: messages.TranslateRequest) -> list[Line]:
        """The lines of a request, each with its prefix and constraints. Raises Refusal."""
        count, most = len(asked.texts), self._service.options.max_phrases
        for name in ("prefixes", "constraints"):
            given = getattr(asked, name)
            if given is not None and len(given) != count:
                raise Refusal("not_possible", f"{len(given)} {name} for {count} texts", field=name)
        if any("\n" in phrase for phrase in asked.avoid):  # even if there are no texts
            raise Refusal("invalid_field", "avoid: a phrase has a line break", field="avoid")
        prefixes = asked.prefixes or [""] * count
        constraints = asked.constraints or [[]] * count
        lines = [
            Line(text, prefix, required=required, avoided=asked.avoid)
            for text, prefix, required in zip(asked.texts, prefixes, constraints, strict=True)
        ]
        for number, line in enumerate(lines):
            if (phrases := len(line.phrases)) > most:
                size = f"{phrases} phrases; this server takes {most}"
                raise Refusal.of(line, number, "too_large", size, 2)
        return lines

    async def _events(
        self, client: Client, kind: Kind, lines: Sequence[Line], asked: messages.TranslateRequest
    ) -> AsyncIterator[bytes]:
        """Server-sent events: `translation` with its index, then `done`, or `error`."""
        every = self._service.outcomes(client, kind, lines, in_order=True)
        try:
            async with aclosing(every) as outcomes, asyncio.timeout(self._service.options.timeout):
                async for number, one in outcomes:
                    line = cast(Translation, one)
                    event = _line(messages.TranslationEvent, kind.model, line, asked, index=number)
                    yield _event("translation", event)
            yield _event("done", {"model": kind.model.name, "count": len(lines)})
        except Refusal as refusal:
            yield _event("error", problem(refusal))
        except TimeoutError:
            yield _event("error", problem(Refusal("timeout")))

    async def alternatives(self, request: Request) -> Response:
        """POST /v1/alternatives: words that may follow a prefix, and the translation with each."""
        service = self._service
        asked = decoded(messages.AlternativesRequest, await body(request, service.options))
        model, prefix = service.model(asked.model), asked.prefix
        service.check_size(model, "count", asked.count)
        count = asked.count or min(5, service.most(model))
        next_word = SearchOptions(beam_size=count, n_best=count, normalize=0.0)
        kind = service.searching(model, next_word, forced=bool(prefix))
        line = OnlyLine(asked.text, prefix, next_only=True)
        (next_words,) = await answered(request, service, kind, [line])
        place = len(prefix)
        found = [one for one in next_words.hypotheses[:count] if len(one.word_scores) > place]
        continued = [one for one in found if len(one.tokens) > place]
        search = SearchOptions(asked.beam_size, 1, asked.normalize, asked.alignment)
        kind = service.searching(model, search, forced=True)
        lines = [OnlyLine(asked.text, [*prefix, one.tokens[place]]) for one in continued]
        rest = iter(await answered(request, service, kind, lines))
        listed = []
        for one in found:
            # for an ensemble, the geometric mean of the models
            log_probability = float(one.word_scores[place]) / (sum(model.defaults.weights) or 1.0)
            probability = math.exp(min(0.0, log_probability))
            if len(one.tokens) == place:  # the sentence ends here
                whole, word = one._replace(alignment=None), None
            elif best := next(rest).hypotheses[:1]:
                whole, word = best[0], one.tokens[place]
            else:
                continue
            more = {"text": whole.text, "word": word, "probability": probability}
            listed.append(_scored(messages.Alternative, model, whole, asked, **more))
        return encoded(messages.AlternativesAnswer(model.name, listed))

    async def score(self, request: Request) -> Response:
        """POST /v1/score."""
        service = self._service
        asked = decoded(messages.ScoreRequest, await body(request, service.options))
        model = service.model(asked.model)
        if asked.alignment and not model.attends:
            raise Refusal(
                "not_possible", f"{model.name}: this model has no attention", field="alignment"
            )
        pairs = [Pair(pair.source, pair.target) for pair in asked.pairs]
        done: list[Hypothesis] = await answered(request, service, Kind(model, None), pairs)
        defaults, alpha = model.defaults, asked.normalize
        alpha = defaults.normalize if alpha is None else alpha
        scores = []
        for one in done:
            length = len(one.tokens) + 1
            total = (one.score - defaults.word_penalty * length) / length**alpha
            source = [*one.source, EOS]
            pair = _scored(
                messages.ScoredPair, model, one._replace(total=total), asked, source=source
            )
            scores.append(pair)
        return encoded(messages.ScoreAnswer(model.name, scores))


def _more(asked: messages.TranslateRequest) -> tuple[tuple[str, Any], ...]:
    """The options of `cgru translate` that a request states, and options that they depend on."""
    more = {name: value for name in _MORE if (value := getattr(asked, name)) is not None}
    if more and (asked.constraints or asked.avoid):
        more["constraints"] = "tabs"
    if more:
        more["force_decode"] = asked.prefixes is not None
    return tuple(more.items())


def _line(
    kind: Any, model: ServedModel, one: Translation, asked: messages.TranslateRequest, **more: Any
) -> Any:
    """A message of a subtype of `TranslatedLine`; more: additional fields."""
    hypotheses = one.hypotheses[: asked.n_best]
    if one.empty:
        hypotheses = [hypothesis._replace(alignment=None) for hypothesis in hypotheses]
    return kind(
        text=hypotheses[0].text if hypotheses else "",
        source=[*one.source, EOS],
        hypotheses=[_scored(messages.Hypothesis, model, h, asked, text=h.text) for h in hypotheses],
        **more,
    )


def _scored(
    kind: Any, model: ServedModel, one: Hypothesis, asked: messages.ModelRequest, **more: Any
) -> Any:
    """A message of a subtype of `ScoredWords`, in reading order; more: additional fields."""
    one = one.reversed() if model.right_left else one
    shown = kind(
        words=list(one.tokens),
        finished=bool(one.finished),
        score=float(one.score),
        total=float(one.total),
        **more,
    )
    if asked.word_scores:
        shown.word_scores = one.word_scores.tolist()
    if asked.alignment and one.alignment is not None:
        shown.alignment = [[round(w, 6) for w in row] for row in one.alignment.tolist()]
    return shown


def _event(name: str, data: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), msgspec.json.encode(data))
