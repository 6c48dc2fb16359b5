"""Dataclasses from JSON: a round trip, and errors of one line."""

import dataclasses
import json
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.system.typed_json import dataclass_from_json


class Side(StrEnum):
    SOURCE = "source"
    TARGET = "target"


class Place(NamedTuple):
    line: int
    share: float


@dataclass(frozen=True)
class Inner:
    count: int = 1
    names: tuple[str, ...] = ("a", "b")

    def __post_init__(self):
        if self.count < 0:
            raise ValueError("count is below 0")


@dataclass(frozen=True)
class Outer:
    inner: Inner = field(default_factory=Inner)
    others: tuple[Inner, ...] = (Inner(2, ()),)
    flag: bool = True
    rate: float = 0.1 + 0.2
    best: float | None = None
    side: Side = Side.TARGET
    unit: Literal["u", "e"] = "u"
    place: Place | None = field(default_factory=lambda: Place(3, 0.5))
    languages: tuple[str, str] = ("", "de")
    sizes: dict[str, list[int]] = field(default_factory=lambda: {"x": [1, 2]})
    more: Any = None


GOOD = json.loads(json.dumps(dataclasses.asdict(Outer())))


def test_a_round_trip():
    assert dataclass_from_json(Outer, GOOD, "f") == Outer()
    other = Outer(best=3, more=[{"x": None}], place=None, side=Side.SOURCE)
    stored = json.loads(json.dumps(dataclasses.asdict(other)))
    assert dataclass_from_json(Outer, stored, "f") == other


@each_row(
    ("change", "message"),
    [
        ({"flag": 1}, "flag: expected bool, got int"),
        ({"inner": 3}, "inner: expected object, got int"),
        ({"inner": {"count": 1}}, "inner: missing required field names"),
        ({"inner": {"count": True, "names": []}}, r"inner\.count: expected int, got bool"),
        ({"inner": {"count": 1.0, "names": []}}, r"inner\.count: expected int, got float"),
        ({"inner": {"count": -1, "names": []}}, "inner: count is below 0"),
        ({"inner": GOOD["inner"] | {"odd": 1}}, "inner: unknown field 'odd'"),
        ({"others": [GOOD["inner"], {}]}, r"others\[1\]: missing required field count"),
        ({"rate": "1"}, "rate: expected float, got str"),
        ({"rate": True}, "rate: expected float, got bool"),
        ({"rate": math.nan}, "rate: expected a finite number, got nan"),
        ({"rate": 10**400}, "rate: number out of range"),
        ({"best": math.inf}, "best: expected a finite number, got inf"),
        ({"rate": None}, "rate: expected float, got null"),
        ({"side": "left"}, "side: invalid enum value 'left'"),
        ({"side": ["source"]}, "side: expected str, got array"),
        ({"unit": "m"}, "unit: invalid enum value 'm'"),
        ({"unit": 1}, "unit: expected str, got int"),
        ({"place": [1]}, r"place: expected array of length 2, got 1"),
        ({"place": [1, "x"]}, r"place\[1\]: expected float, got str"),
        ({"place": [1, math.nan]}, r"place\[1\]: expected a finite number"),
        ({"languages": ["en"]}, "languages: expected array of length 2, got 1"),
        ({"languages": "en"}, "languages: expected array, got str"),
        ({"sizes": {"x": [1, "2"]}}, r"sizes\[\.\.\.\]\[1\]: expected int, got str"),
        ({"sizes": []}, "sizes: expected object, got array"),
        ({"odd": 1}, "unknown field 'odd'"),
        ({"odd" * 1000: 1}, "unknown field 'oddodd.{1,60}"),
    ],
)
def test_a_value_of_another_type_is_an_error_of_one_line(change, message):
    with pytest.raises(CgruError, match=rf"^run/s\.json: damaged: {message}.*; restore it$"):
        dataclass_from_json(Outer, GOOD | change, "run/s.json", "restore it")


@each_row("name", GOOD)
def test_every_field_is_required(name):
    with pytest.raises(CgruError, match=f"^f: damaged: missing required field {name}$"):
        dataclass_from_json(Outer, {n: v for n, v in GOOD.items() if n != name}, "f")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(JSON, st.sampled_from([None, *GOOD]))
def test_any_json_gives_the_same_values_or_an_error_of_one_line(value, name):
    data = value if name is None else GOOD | {name: value}
    try:
        made = dataclass_from_json(Outer, data, "f")
    except CgruError as error:
        assert str(error).startswith("f: damaged: ") and "\n" not in str(error)
    else:
        assert json.loads(json.dumps(dataclasses.asdict(made))) == json.loads(json.dumps(data))
