"""LibreTranslate's protocol: `GET /languages`, and `POST /translate` and `/detect` with `q`.

Source: LibreTranslate's OpenAPI document and its Python client. Requests select a model by the
languages in its preprocess.json. The field `api_key` may contain the password.
"""

import asyncio
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from ..documents.sentences import Sentences
from ..errors import CgruError, NotInstalled
from ..system.structured_files import LONGEST_NUMBER
from .detection import detected
from .language_names import language_name
from .messages import (
    DetectedLanguage,
    LibreAnswer,
    LibreLanguage,
    LibreRequest,
    LibreText,
    converted,
    encoded,
    fields_of,
)
from .paragraphs import translated
from .problems import Refusal
from .served_model import SearchOptions, ServedModel
from .service import Service

FORM = "application/x-www-form-urlencoded"
_MOST_PARTS = 1000
_BOUNDARY = re.compile(r"""boundary=(?:"([^"]+)"|([^;\s"]+))""", re.IGNORECASE)
_NAME = re.compile(rb"""^content-disposition:.*;[ \t]*name="?([^";\r\n]*)""", re.IGNORECASE | re.M)
_NUMBER = re.compile(rf"[-+]?[0-9]{{1,{LONGEST_NUMBER}}}")


def fields_in(request: Request, content: bytes) -> dict[str, Any]:
    """The fields of a request to `/translate`, of any of its protocols. Raises Refusal.

    They are JSON, or a form and the query of the address, as in LibreTranslate's `request.values`:
    the query comes first, and the first value of a field counts. A `q` that is given several times
    is a list. curl declares every body as a form by default, so a body like JSON is not a form.
    """
    declared, content = request.headers.get("content-type", ""), content.strip()
    kind = declared.partition(";")[0].strip().lower()
    values = parse_qsl(request.url.query, keep_blank_values=True)
    if kind == "multipart/form-data":
        values += _parts(declared, content)
    elif content[:1] != b"{" and (kind == FORM or (values and not content)):
        values += parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True)
    else:
        return fields_of(content)
    # forms end lines with \r\n, whatever the client's text has
    texts = [value.replace("\r\n", "\n") for name, value in values if name == "q"]
    return dict(reversed(values)) | {"q": texts if len(texts) > 1 else "".join(texts)}


def _parts(declared: str, content: bytes) -> list[tuple[str, str]]:
    """The fields of a form in parts (RFC 7578), without files. Raises Refusal."""
    boundary = _BOUNDARY.search(declared)
    stated = (boundary[1] or boundary[2]) if boundary else ""
    _, *parts = (b"\r\n" + content).split(b"\r\n--" + stated.encode("latin-1"))
    if not stated or not parts or parts.pop()[:2] != b"--" or len(parts) > _MOST_PARTS:
        problem = f"the form lacks its boundary or end, or has more than {_MOST_PARTS} parts"
        raise Refusal("invalid_request", problem)
    found = []
    for part in parts:
        head, _, value = part.partition(b"\r\n\r\n")
        if (name := _NAME.search(head)) and b"filename" not in head.lower():
            found.append((name[1].decode("latin-1"), value.decode("utf-8", "replace")))
    return found


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

    async def detect(self, fields: Mapping[str, Any]) -> Response:
        """POST /detect."""
        asked = converted(LibreText, fields)
        try:
            return encoded(await _detected(asked, self._service.sources))
        except NotInstalled as error:
            raise Refusal("not_installed", str(error)) from None

    async def translate(self, request: Request, fields: Mapping[str, Any]) -> Response:
        """POST /translate."""
        fields = {name: value for name, value in fields.items() if value != ""}
        for name in ("q", "source", "target"):
            if fields.get(name) is None:
                raise Refusal("invalid_field", f"Invalid request: missing {name} parameter")
        if _NUMBER.fullmatch(str(fields.get("alternatives"))):
            fields["alternatives"] = max(0, int(fields["alternatives"]))
        asked = converted(LibreRequest, fields)
        service, (model, language) = self._service, await self._model(asked)
        most = service.most(model) - 1
        if asked.alternatives > most:
            message = f"alternatives {asked.alternatives}: this server allows 1 to {most}"
            raise Refusal("not_possible", message)
        marked = asked.format == "html"
        if marked and model.markup != "html":
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
        if language:
            answer.detected = language if one_text else [language] * len(best)
        if asked.alternatives:
            others = [[h.text for h in one.hypotheses[1 : asked.alternatives + 1]] for one in done]
            answer.alternatives = [*others[0]] if one_text else [*others]
        return encoded(answer)

    async def _model(self, asked: LibreRequest) -> tuple[ServedModel, DetectedLanguage | None]:
        """The first model for the languages, and the language if it was detected.

        Raises Refusal if there is no model.
        """
        models: dict[str, ServedModel] = {}  # the first for each source language
        for model in self._service.models.values():
            source, target = model.languages or ("", "")
            if target == asked.target and asked.source in ("auto", source):
                models.setdefault(source, model)
        if not models:
            problem = f"no model translates from {asked.source} to {asked.target}"
            raise Refusal("not_possible", problem)
        if len(models) > 1:
            with suppress(NotInstalled):
                best = (await _detected(asked, models))[0]
                return models[best.language], best
        return next(iter(models.values())), None


async def _detected(asked: LibreText, languages: Collection[str]) -> list[DetectedLanguage]:
    """The languages that a text may have, most probable first. Raises NotInstalled."""
    text = asked.q if isinstance(asked.q, str) else "\n".join(asked.q)
    found = await asyncio.to_thread(detected, text, languages)
    return [DetectedLanguage(round(100 * share, 1), code) for code, share in found.items()]


def _sentences(model: ServedModel) -> Sentences | None:
    """The splitter of the model's source language; None without the package sentencex."""
    try:
        return model.sentences("")
    except CgruError:
        return None
