"""What the server's own protocol looks like, as OpenAPI 3.1 describes it."""

from __future__ import annotations

from typing import Any

from .. import __version__
from . import nematus_rest, rest
from .fields import Fields, schema

_NUMBERS = {"type": "array", "items": {"type": ["number", "null"]}}
_WORDS = {"type": "array", "items": {"type": "string"}}
_MATRIX = {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
_HYPOTHESIS = {
    "text": {"type": "string", "description": "the translation as it is read"},
    "words": _WORDS | {"description": "its words as the model has them"},
    "finished": {"type": "boolean", "description": "false: cut by the limit of its length"},
    "score": {"type": ["number", "null"], "description": "log-probability, in nats"},
    "total": {"type": ["number", "null"], "description": "the score after normalisation"},
    "word_scores": _NUMBERS | {"description": "log-probability of each word, that of its end last"},
    "alignment": _MATRIX | {"description": "a row a word of the translation, its end last; a "
                            "column a word of the source"},
}  # fmt: skip
_SCORED = {"source": _WORDS} | {k: v for k, v in _HYPOTHESIS.items() if k != "text"}
_LINE = {
    "text": {"type": "string", "description": "the best translation"},
    "source": _WORDS | {"description": "the source as the model reads it, its end last"},
    "hypotheses": {"type": "array", "items": {"$ref": "#/components/schemas/Hypothesis"}},
}
_ERRORS = {
    "400": "not JSON, or a field that is wrong",
    "401": "the password is missing or wrong",
    "403": "sent by a page of another site",
    "404": "no such model",
    "408": "the request came too slowly",
    "413": "more than this server takes at a time",
    "422": "a line that the model cannot read",
    "500": "a mistake of the server's",
    "503": "the queue is full, or the server is about to stop: try again later",
    "504": "it took too long",
    "507": "not enough memory for a line",
}


def description() -> dict[str, Any]:
    """The whole of it."""
    alternative = {
        "word": {"type": ["string", "null"], "description": "null: the end of the sentence"},
        "probability": {"type": "number"},
    } | _HYPOTHESIS
    listed = {"type": "array", "items": {"type": "object", "properties": alternative}}
    models = {"type": "array", "items": {"type": "object"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cgru serve",
            "version": __version__,
            "description": "Translations by recurrent models. Marian's WebSocket is at "
            "`/translate` too.",
        },
        "components": {
            "schemas": {
                "Hypothesis": {"type": "object", "properties": _HYPOTHESIS},
                "Error": _object({"status": {"const": "error"}, "error": {"type": "string"}}),
            },
            "securitySchemes": {"password": {"type": "http", "scheme": "bearer"}},
        },
        "paths": {
            "/v1/translate": _post(
                "Translate lines", rest.TRANSLATE,
                {"model": {"type": "string"}, "translations": _list(_LINE)}, stream=True,
            ),
            "/v1/alternatives": _post(
                "Words that may stand at a place of a translation", rest.ALTERNATIVES,
                {"model": {"type": "string"}, "alternatives": listed},
            ),
            "/v1/score": _post(
                "Score given translations", rest.SCORE,
                {"model": {"type": "string"}, "scores": _list(_SCORED)},
            ),
            "/v1/models": _get("Models and limits", {"models": models, "limits": _object({})}),
            "/translate": _post(
                "Nematus' protocol", nematus_rest.FIELDS,
                {"status": {"const": "ok"}, "data": _list({"translation": _WORDS})},
            ),
            "/status": _get("Nematus' protocol", {"status": {"type": "string"}}),
        },
    }  # fmt: skip


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(properties)}


def _json(content: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": content}}


def _post(
    summary: str, fields: Fields, answer: dict[str, Any], *, stream: bool = False
) -> dict[str, Any]:
    content = _json(_object(answer))
    if stream:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    error = _json({"$ref": "#/components/schemas/Error"})
    failures = {code: {"description": text, "content": error} for code, text in _ERRORS.items()}
    asked = {"required": True, "content": _json(schema(fields))}
    answers = {"200": {"description": "done", "content": content}} | failures
    return {"post": {"summary": summary, "requestBody": asked, "responses": answers}}


def _get(summary: str, answer: dict[str, Any]) -> dict[str, Any]:
    content = _json(_object(answer))
    return {
        "get": {"summary": summary, "responses": {"200": {"description": "done",
                                                          "content": content}}}
    }  # fmt: skip
