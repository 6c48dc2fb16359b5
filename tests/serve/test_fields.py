"""Fields of requests: what they may be, and what is described of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.serve import nematus_rest, rest
from cgru_cli.serve.fields import Field, read, schema
from cgru_cli.serve.service import Refusal

ALL = [rest.TRANSLATE, rest.ALTERNATIVES, rest.SCORE, nematus_rest.FIELDS]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(st.sampled_from(ALL), st.data())
def test_what_is_read_is_described_so(fields, data):
    asked = data.draw(st.dictionaries(st.sampled_from(sorted(fields)), JSON))
    try:
        values = read(fields, json.dumps(asked).encode())
    except Refusal as refusal:
        assert refusal.status == 400 and "\n" not in str(refusal)
        return
    assert set(values) == set(fields)
    described = schema(fields)["properties"]
    kinds = {"array": list, "string": str, "integer": int, "number": (int, float),
             "boolean": bool}  # fmt: skip
    for name, value in values.items():
        if asked.get(name) is not None and "type" in described[name]:
            assert isinstance(value, kinds[described[name]["type"]])
            assert value >= described[name].get("minimum", value)


def test_bounds_defaults_and_missing_fields():
    fields = {"a": Field("whole", "", 3, least=1, most=5), "b": Field("text", "", required=True)}
    assert read(fields, b'{"b": "x"}') == {"a": 3, "b": "x"}
    assert read(fields, b'{"a": null, "b": "x", "c": 1}', others=True) == {"a": 3, "b": "x"}
    for wrong in (b'{"a": 6, "b": ""}', b'{"a": true, "b": ""}', b'{"a": 1}', b'{"a":1.0,"b":""}'):
        with pytest.raises(Refusal):
            read(fields, wrong)
    assert schema(fields)["required"] == ["b"]
