"""The OpenAPI 3.1 document of the JSON protocols, derived from the types in `messages`."""

from typing import Any

from msgspec.json import schema_components

from .. import __version__
from . import messages as m
from .admission import KEYED, WITHOUT_PASSWORD
from .problems import CODES, ErrorAnswer, Problem

Schema = dict[str, Any]
_FILE = bytes  # stands for a file instead of JSON
_DOCUMENT = "/v1/documents/{number}"
_PARAMETERS = {
    "/v1/documents": [
        {"name": "name", "in": "query", "required": True}
        | {"schema": {"type": "string", "minLength": 1}}
        | {"description": "name of the file; its suffix determines the format"},
        {"name": "model", "in": "query", "schema": {"type": "string"}}
        | {"description": "name of the model; default: the first"},
    ],
    _DOCUMENT: [{"name": "number", "in": "path", "required": True, "schema": {"type": "string"}}],
}
_OLD_REQUESTS, _OLD_ANSWERS = (m.NematusRequest, m.LibreRequest), (m.NematusAnswer, m.LibreAnswer)
_PROGRESS = {202: m.DocumentProgress}

# Method, path, summary (from which the name is derived), type of the request, types of answers by
# status; a tuple stands for any of its types.
_OPERATIONS: list[tuple[str, str, str, Any, dict[int, Any]]] = [
    ("post", "/v1/translate", "Translate", m.TranslateRequest, {200: m.TranslateAnswer}),
    (
        "post",
        "/v1/alternatives",
        "Suggest words",
        m.AlternativesRequest,
        {200: m.AlternativesAnswer},
    ),
    ("post", "/v1/score", "Score translations", m.ScoreRequest, {200: m.ScoreAnswer}),
    ("get", "/v1/models", "List models", None, {200: m.ModelsAnswer}),
    ("post", "/v1/documents", "Translate document", _FILE, _PROGRESS),
    ("get", _DOCUMENT, "Get document", None, {200: _FILE} | _PROGRESS),
    ("delete", _DOCUMENT, "Delete document", None, {204: None}),
    ("post", "/translate", "Translate as old servers", _OLD_REQUESTS, {200: _OLD_ANSWERS}),
    ("post", "/detect", "Detect language", m.LibreText, {200: list[m.DetectedLanguage]}),
    ("get", "/languages", "List languages", None, {200: list[m.LibreLanguage]}),
    ("get", "/status", "Show status", None, {200: m.NematusStatus}),
]


def description(*, protected: bool) -> Schema:
    """The whole document; protected: whether requests need a password."""
    types = [m.TranslationEvent, ErrorAnswer, Problem]
    for *_, asked, answers in _OPERATIONS:
        types += [kind for kinds in (asked, *answers.values()) for kind in _types(kinds)]
    schemas, components = schema_components(types, ref_template="#/components/schemas/{name}")
    schema_of: dict[Any, Schema] = dict(zip(types, schemas, strict=True))
    schema_of[_FILE] = {"type": "string", "format": "binary"}
    for _, _, _, asked, _ in _OPERATIONS:
        for kind in set(_types(asked)) - {_FILE}:
            _allow_null(components[kind.__name__])
    # only texts that are split into sentences may have line breaks
    components["TranslateRequest"] |= {
        "if": {"properties": {"split_sentences": {"enum": [False, "", None]}}},
        "then": {"properties": {"texts": {"items": {"pattern": m.ONE_LINE}}}},
    }

    def content(kinds: Any, media_type: str = "application/json") -> Schema:
        of = [schema_of[one] for one in _types(kinds)]
        media_type = "application/octet-stream" if kinds is _FILE else media_type
        return {"content": {media_type: {"schema": of[0] if len(of) == 1 else {"anyOf": of}}}}

    meanings: dict[str, list[str]] = {}
    for code, (status, meaning) in CODES.items():
        if status != 499:  # which no client receives
            meanings.setdefault(str(status), []).append(f"{code}: {meaning}")
    paths: Schema = {}
    for method, path, summary, asked, answers in _OPERATIONS:
        responses = {
            str(status): {"description": "success"} | (content(kinds) if kinds else {})
            for status, kinds in answers.items()
        }
        error = content(ErrorAnswer)
        if path.startswith("/v1/"):
            error = content(Problem, "application/problem+json")
        for key, texts in meanings.items():
            responses[key] = {"description": "; ".join(texts)} | error
        operation: Schema = {
            "operationId": summary[0].lower() + summary.title().replace(" ", "")[1:],
            "summary": summary,
            "responses": responses,
        }
        if asked:
            operation["requestBody"] = {"required": True} | content(asked)
        if path in WITHOUT_PASSWORD:
            operation["security"] = []
        elif path in KEYED:  # the field `api_key` may contain the password
            operation["security"] = [{}, {"password": []}]
        if path in _PARAMETERS:
            operation["parameters"] = _PARAMETERS[path]
        paths.setdefault(path, {})[method] = operation
    stream = paths["/v1/translate"]["post"]["responses"]["200"]
    stream["content"]["text/event-stream"] = {}
    stream["description"] += "; as a stream, events: translation (TranslationEvent), done, error"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cgru serve",
            "version": __version__,
            "description": "Translate and score with recurrent models. `/translate` is Nematus' "
            "protocol (segments), LibreTranslate's (q) and, as a WebSocket, Marian's.",
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
    """Allow null for optional fields of requests, as `messages.converted` does."""
    for name, field in schema["properties"].items():
        if name in schema["required"] or {"type": "null"} in field.get("anyOf", ()):
            continue
        told = {key: field.pop(key) for key in ("description", "default") if key in field}
        kinds = field.pop("anyOf", None) or [dict(field)]
        field.clear()
        field |= told | {"anyOf": [*kinds, {"type": "null"}]}
