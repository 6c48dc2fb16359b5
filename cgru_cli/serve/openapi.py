"""The OpenAPI 3.1 document of the JSON protocols, derived from the types in `messages`."""

from typing import Any

from msgspec.json import schema_components

from .. import __version__
from . import messages as m

# Path, summary, type of the request (None: GET), type of the answer; a tuple: one of its types.
_PATHS: list[tuple[str, str, Any, Any]] = [
    ("/v1/translate", "Translate lines", m.TranslateRequest, m.TranslateAnswer),
    ("/v1/alternatives", "Suggest other words", m.AlternativesRequest, m.AlternativesAnswer),
    ("/v1/score", "Score translations", m.ScoreRequest, m.ScoreAnswer),
    ("/v1/models", "List models and limits", None, m.ModelsAnswer),
    (
        "/translate",
        "Translate by Nematus' protocol (segments), or LibreTranslate's (q)",
        (m.NematusRequest, m.LibreRequest),
        (m.NematusAnswer, m.LibreAnswer),
    ),
    ("/languages", "Languages by LibreTranslate's protocol", None, list[m.LibreLanguage]),
    ("/status", "Status by Nematus' protocol", None, m.NematusStatus),
]
_ERRORS = {
    "400": "not JSON, or a field is wrong",
    "401": "the password is missing or wrong",
    "403": "the request comes from a page of another site",
    "404": "no such model",
    "408": "the request arrived too slowly",
    "413": "the request exceeds a limit of this server",
    "422": "the model cannot read a line",
    "500": "internal server error",
    "503": "the queue is full or the server is stopping; try again later",
    "504": "the request took too long",
    "507": "not enough memory for a line",
}


def description() -> dict[str, Any]:
    """The whole document."""
    types = [one for _, _, *kinds in _PATHS for kind in kinds if kind for one in _types(kind)]
    types += [m.TranslationEvent, m.DocumentProgress, m.ErrorAnswer]
    schemas, components = schema_components(types, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(types, schemas, strict=True))

    def content(kind: Any) -> dict[str, Any]:
        schemas = [schema_of[one] for one in _types(kind)]
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        return {"application/json": {"schema": schema}}

    failures = {
        status: {"description": text, "content": content(m.ErrorAnswer)}
        for status, text in _ERRORS.items()
    }
    paths: dict[str, Any] = {}
    for path, summary, request, answer in _PATHS:
        success: dict[str, Any] = {"description": "success", "content": content(answer)}
        if request is None:
            paths[path] = {"get": {"summary": summary, "responses": {"200": success}}}
            continue
        if request is m.TranslateRequest:
            success["content"]["text/event-stream"] = {"schema": {"type": "string"}}
        paths[path] = {
            "post": {
                "summary": summary,
                "requestBody": {"required": True, "content": content(request)},
                "responses": {"200": success} | failures,
            }
        }
    file: dict[str, Any] = {"content": {"application/octet-stream": {}}}
    progress = {"description": "in progress", "content": content(m.DocumentProgress)}
    text = {"type": "string"}
    number = {"name": "number", "in": "path", "required": True, "schema": text}
    paths["/v1/documents"] = {
        "post": {
            "summary": "Translate a document",
            "parameters": [
                {"name": "name", "in": "query", "required": True, "schema": text}
                | {"description": "name of the file, whose ending is its format"},
                {"name": "model", "in": "query", "schema": text},
            ],
            "requestBody": {"required": True} | file,
            "responses": {"202": progress} | failures,
        }
    }
    paths["/v1/documents/{number}"] = {
        "get": {
            "summary": "Progress of a document, then the translated document",
            "parameters": [number],
            "responses": {"200": {"description": "success"} | file, "202": progress} | failures,
        },
        "delete": {
            "summary": "Cancel and delete a document",
            "parameters": [number],
            "responses": {"204": {"description": "success"}} | failures,
        },
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
        "paths": paths,
    }


def _types(kind: Any) -> tuple[Any, ...]:
    return kind if isinstance(kind, tuple) else (kind,)
