"""The OpenAPI 3.1 document of the JSON protocols, derived from the types in `messages`."""

import copy
from typing import Any

from msgspec.json import schema_components

from .. import __version__
from . import messages as m
from .problems import CODES, ErrorAnswer, Problem

Schema = dict[str, Any]

# Name of the operation, path, summary, type of the request (None: GET), type of the answer; a
# tuple: one of its types.
_OPERATIONS: list[tuple[str, str, str, Any, Any]] = [
    ("translate", "/v1/translate", "Translate lines", m.TranslateRequest, m.TranslateAnswer),
    (
        "suggestAlternatives",
        "/v1/alternatives",
        "Suggest other words",
        m.AlternativesRequest,
        m.AlternativesAnswer,
    ),
    ("score", "/v1/score", "Score translations", m.ScoreRequest, m.ScoreAnswer),
    ("listModels", "/v1/models", "List models and limits", None, m.ModelsAnswer),
    (
        "translateAsOldServers",
        "/translate",
        "Translate by Nematus' protocol (segments), or LibreTranslate's (q)",
        (m.NematusRequest, m.LibreRequest),
        (m.NematusAnswer, m.LibreAnswer),
    ),
    (
        "listLanguages",
        "/languages",
        "Languages by LibreTranslate's protocol",
        None,
        list[m.LibreLanguage],
    ),
    ("showStatus", "/status", "Status by Nematus' protocol", None, m.NematusStatus),
]
_TEXT: Schema = {"type": "string"}
_FILE: Schema = {
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
}
_NUMBER = {"name": "number", "in": "path", "required": True, "schema": _TEXT}
_DOCUMENT = [
    {"name": "name", "in": "query", "required": True, "schema": _TEXT | {"minLength": 1}}
    | {"description": "name of the file, whose ending is its format"},
    {"name": "model", "in": "query", "schema": _TEXT},
]


def description(*, protected: bool) -> Schema:
    """The whole document; protected: whether requests need a password."""
    types = [one for *_, asked, answer in _OPERATIONS for one in (*_types(asked), *_types(answer))]
    types += [m.TranslationEvent, m.DocumentProgress, ErrorAnswer, Problem]
    schemas, components = schema_components(types, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(types, schemas, strict=True))
    form = copy.deepcopy(components["LibreRequest"])  # which cannot have null
    for *_, asked, _ in _OPERATIONS:
        for kind in _types(asked):
            _allow_null(components[kind.__name__])
    # only texts that are split into sentences may have line breaks
    components["TranslateRequest"] |= {
        "if": {"properties": {"split_sentences": {"enum": [False, "", None]}}},
        "then": {"properties": {"texts": {"items": {"pattern": m.ONE_LINE}}}},
    }

    def content(kinds: Any, media_type: str = "application/json") -> Schema:
        of = [schema_of[one] for one in _types(kinds)]
        return {media_type: {"schema": of[0] if len(of) == 1 else {"anyOf": of}}}

    def operation(name: str, path: str, summary: str, answers: Schema, **more: Any) -> Schema:
        problems = content(ErrorAnswer)
        if path.startswith("/v1/"):
            problems = content(Problem, "application/problem+json")
        meanings: dict[str, list[str]] = {}
        for code, (status, meaning) in CODES.items():
            meanings.setdefault(str(status), []).append(f"{code}: {meaning}")
        failures = {
            status: {"description": "; ".join(texts), "content": problems}
            for status, texts in meanings.items()
        }
        return {"operationId": name, "summary": summary, "responses": answers | failures} | more

    paths: Schema = {}
    for name, path, summary, asked, answer in _OPERATIONS:
        success: Schema = {"200": {"description": "success", "content": content(answer)}}
        if asked is None:
            paths[path] = {"get": operation(name, path, summary, success)}
            continue
        body: Schema = {"required": True, "content": content(asked)}
        if path == "/v1/translate":
            success["200"]["content"]["text/event-stream"] = {}
            success["200"]["description"] = (
                "success; as a stream, the events `translation` (TranslationEvent), then `done`, "
                "or `error` (Problem)"
            )
        if path == "/translate":
            body["content"]["application/x-www-form-urlencoded"] = {"schema": form}
        paths[path] = {"post": operation(name, path, summary, success, requestBody=body)}
    progress = {"202": {"description": "in progress", "content": content(m.DocumentProgress)}}
    file = {"200": {"description": "the translated document"} | _FILE}
    deleted = {"204": {"description": "deleted"}}
    summary = "Progress of a document, then the translated document"
    started = {"requestBody": {"required": True} | _FILE, "parameters": _DOCUMENT}
    path = "/v1/documents/{number}"
    of_one = {"parameters": [_NUMBER]}
    paths["/v1/documents"] = {
        "post": operation("createDocument", path, "Translate a document", progress, **started)
    }
    paths[path] = {
        "get": operation("getDocument", path, summary, file | progress, **of_one),
        "delete": operation("deleteDocument", path, "Delete a document", deleted, **of_one),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cgru serve",
            "version": __version__,
            "description": "Translate and score with recurrent models. `/translate` also accepts "
            "Marian's WebSocket connections.",
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"password": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"password": []}] if protected else [{}, {"password": []}],
        "paths": paths,
    }


def _types(kinds: Any) -> tuple[Any, ...]:
    return kinds if isinstance(kinds, tuple) else (kinds,) if kinds else ()


def _allow_null(schema: Schema) -> None:
    """Allow null for the fields that a request may leave out, as `messages.converted` does."""
    for name, field in schema["properties"].items():
        if name in schema["required"] or {"type": "null"} in field.get("anyOf", ()):
            continue
        told = {key: field.pop(key) for key in ("description", "default") if key in field}
        kinds = field.pop("anyOf", None) or [dict(field)]
        field.clear()
        field |= told | {"anyOf": [*kinds, {"type": "null"}]}
