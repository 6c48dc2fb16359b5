"""Requests in JSON: their types, bounds and defaults, and the schema that describes them."""

import json
from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import Meta, Struct
from msgspec.structs import asdict, fields

from cgru_cli.serve import messages, openapi
from cgru_cli.serve.messages import decoded
from cgru_cli.serve.problems import Refusal

ALL = [
    messages.TranslateRequest,
    messages.AlternativesRequest,
    messages.ScoreRequest,
    messages.NematusRequest,
]
# Line breaks are checked after decoding.
CHARACTERS = st.characters(exclude_characters="\n", exclude_categories=["Cs"])
TEXT = st.text(CHARACTERS, max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner),
    max_leaves=6,
)
LIKELY = JSON | st.integers(0, 12) | st.booleans() | st.lists(TEXT, max_size=3)
COMPONENTS = openapi.description(protected=False)["components"]


@given(st.sampled_from(ALL), st.data())
def test_requests_are_accepted_as_they_are_described(kind, data):
    names = sorted(field.name for field in fields(kind))
    asked = data.draw(st.dictionaries(st.sampled_from(names), LIKELY))
    for field in fields(kind):
        if field.required and data.draw(st.booleans()):
            asked[field.name] = "a" if field.name == "text" else []
    if kind is messages.TranslateRequest:
        asked.pop("split_sentences", None)  # the code of a language is checked after decoding
    described = {"$ref": f"#/components/schemas/{kind.__name__}", "components": COMPONENTS}
    fits = Draft202012Validator(described).is_valid(asked)
    try:
        read = asdict(decoded(kind, json.dumps(asked).encode()))
    except Refusal as refusal:
        assert refusal.status == 400 and "\n" not in str(refusal)
        assert refusal.code == "invalid_field" or not asked or "not JSON" in str(refusal)
        # JSON Schema takes 1.0 for an integer
        assert not fits or any(isinstance(value, float) for value in asked.values())
        return
    assert fits
    for name, value in asked.items():
        if value is not None:  # which stands for a missing field
            assert msgspec.to_builtins(read[name]) == value


@pytest.mark.parametrize(
    ("kind", "content", "field"),
    [
        (messages.TranslateRequest, "{}", "texts"),
        (messages.TranslateRequest, '{"texts": "a"}', "texts"),
        (messages.TranslateRequest, '{"texts": ["a", 1]}', "texts[1]"),
        (messages.TranslateRequest, '{"texts": [], "beem": 1}', "beem"),
        (
            messages.TranslateRequest,
            '{"texts": [], "constraints": [[["a", 1]]]}',
            "constraints[0][0][1]",
        ),
        (messages.ScoreRequest, '{"pairs": [{"source": "a"}]}', "pairs[0].target"),
        (messages.ScoreRequest, '{"pairs": [{"source": "a", "target": 1}]}', "pairs[0].target"),
    ],
    ids=str,
)
def test_the_field_at_fault_is_named(kind, content, field):
    with pytest.raises(Refusal) as refusal:
        decoded(kind, content.encode())
    assert (refusal.value.code, refusal.value.field) == ("invalid_field", field)


class Example(Struct, kw_only=True, forbid_unknown_fields=True):
    a: Annotated[int, Meta(ge=1, le=5)] = 3
    b: str


class Tolerant(Struct, kw_only=True):
    b: str


def test_bounds_defaults_and_missing_fields():
    assert decoded(Example, b'{"b": "x"}') == Example(a=3, b="x")
    assert decoded(Example, b'\xef\xbb\xbf{"a": null, "b": "x"}') == Example(a=3, b="x")
    assert decoded(Tolerant, b'{"a": null, "b": "x", "c": 1}') == Tolerant(b="x")
    for wrong, message in (
        (b'{"a": 6, "b": ""}', "a: expected int <= 5"),
        (b'{"a": true, "b": ""}', "a: expected int, got bool"),
        (b'{"a": 1}', "missing required field b"),
        (b'{"a": 1.0, "b": ""}', "a: expected int, got float"),
        (b'{"a": 1, "b": null}', "missing required field b"),
        (b'{"b": "", "d": 1}', "unknown field d; the fields are a, b"),
        (b'{"b": ""', "the request: not JSON .*"),
        (b'{"b": "x", "b": "y"}', "the request: not JSON .*the key 'b' is repeated.*"),
        (b'["b"]', "the request: a JSON object is expected"),
    ):
        with pytest.raises(Refusal, match=f"^{message}$") as refusal:
            decoded(Example, wrong)
        assert refusal.value.status == 400
