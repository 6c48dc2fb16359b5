"""LibreTranslate's protocol: `GET /languages` and `POST /translate` with the field `q`.

Source: LibreTranslate's OpenAPI document and its Python client. Requests select a model by the
languages in its preprocess.json. The field `api_key` may contain the password.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from ..errors import CgruError
from ..system.structured_files import LONGEST_NUMBER
from ..text.language_names import language_name
from ..text.sentences import Sentences
from .messages import LibreAnswer, LibreLanguage, LibreRequest, converted, encoded
from .paragraphs import translated
from .problems import Refusal
from .served_model import SearchOptions, ServedModel
from .service import Service


def is_form(request: Request, content: bytes) -> bool:
    """Whether the body is a form, as from this protocol's Python client.

    curl declares every body as a form by default, so a body that begins like JSON is not a form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    return kind == "application/x-www-form-urlencoded" and not content.lstrip().startswith(b"{")


def form_fields(content: bytes) -> dict[str, Any]:
    """The fields of a form, with numbers as in JSON."""
    fields: dict[str, Any] = {"q": ""} | dict(parse_qsl(content.decode("utf-8", "replace")))
    if 0 < len(number := fields.get("alternatives", "")) <= LONGEST_NUMBER and number.isdecimal():
        fields["alternatives"] = int(number)
    return fields


class LibreTranslate:
    """The handlers of the paths."""

    def __init__(self, service: Service):
        self._service = service

    async def languages(self, request: Request) -> Response:
        """GET /languages."""
        targets: dict[str, set[str]] = {}
        for model in self._service.models.values():
            if model.languages:
                source, target = model.languages
                targets.setdefault(source, set()).add(target)
        return encoded(
            [
                LibreLanguage(one, language_name(one), sorted(targets[one]))
                for one in sorted(targets)
            ]
        )

    async def translate(self, request: Request, fields: Mapping[str, Any]) -> Response:
        """POST /translate."""
        asked = converted(LibreRequest, fields)
        service, model = self._service, self._model(asked)
        marked = asked.format == "html"
        if marked and model.plan.options.markup != "html":
            raise Refusal(
                "not_possible",
                "format html: this server translates plain text; html needs --markup html",
            )
        n_best = asked.alternatives + 1
        kind = service.searching(model, SearchOptions(n_best=n_best))
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        done = await translated(
            request, service, kind, texts, _sentences(model), plain=not marked, n_best=n_best
        )
        best = [one.hypotheses[0].text if one.hypotheses else "" for one in done]
        one_text = isinstance(asked.q, str)
        answer = LibreAnswer(best[0] if one_text else best)
        if asked.alternatives:
            others = [[h.text for h in one.hypotheses[1 : asked.alternatives + 1]] for one in done]
            answer.alternatives = [*others[0]] if one_text else [*others]
        return encoded(answer)

    def _model(self, asked: LibreRequest) -> ServedModel:
        """The first model for the languages. Raises Refusal if there is none."""
        for model in self._service.models.values():
            source, target = model.languages or ("", "")
            if target == asked.target and asked.source in ("auto", source):
                return model
        raise Refusal("not_possible", f"no model translates from {asked.source} to {asked.target}")


def _sentences(model: ServedModel) -> Sentences | None:
    """The splitter of the model's source language; None without the package sentencex."""
    try:
        return model.sentences("")
    except CgruError:
        return None
