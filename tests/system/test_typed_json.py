"""Dataclasses out of JSON: what was written comes back, anything else is one line."""

import dataclasses
import json
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.system.typed_json import dataclass_from_json


class Side(StrEnum):
    SOURCE = "source"
    TARGET = "target"


class Place(NamedTuple):
    line: int
    share: float = 0.5


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
    place: Place | None = field(default_factory=lambda: Place(3))
    languages: tuple[str, str] = ("", "de")
    sizes: dict[str, list[int]] = field(default_factory=lambda: {"x": [1, 2]})
    more: Any = None


GOOD = json.loads(json.dumps(dataclasses.asdict(Outer())))


def test_what_was_written_comes_back():
    assert dataclass_from_json(Outer, GOOD, "f") == Outer()
    other = Outer(best=3, more=[{"x": None}], place=None, side=Side.SOURCE)
    stored = json.loads(json.dumps(dataclasses.asdict(other)))
    assert dataclass_from_json(Outer, stored, "f") == other


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flag": 1}, "flag: true or false is expected, not 1"),
        ({"inner": 3}, "inner: an object of names and values is expected, not 3"),
        ({"inner": {"count": 1}}, "inner: names is missing"),
        ({"inner": {"count": True, "names": []}}, "inner.count: a whole number is expected, not T"),
        ({"inner": {"count": 1.0, "names": []}}, "inner.count: a whole number is expected"),
        ({"inner": {"count": -1, "names": []}}, "inner: count is below 0"),
        ({"others": [GOOD["inner"], {}]}, r"others\[1\]: count is missing"),
        ({"rate": "1"}, "rate: a finite number is expected, not '1'"),
        ({"rate": True}, "rate: a finite number is expected, not True"),
        ({"rate": math.nan}, "rate: a finite number is expected, not nan"),
        ({"best": math.inf}, "best: a finite number is expected, not inf"),
        ({"rate": None}, "rate: a finite number is expected, not None"),
        ({"side": "left"}, "side: 'source' or 'target' is expected, not 'left'"),
        ({"side": ["source"]}, "side: 'source' or 'target' is expected"),
        ({"unit": "m"}, "unit: 'u' or 'e' is expected, not 'm'"),
        ({"place": [1]}, r"place: a list of 2 is expected, not \[1\]"),
        ({"place": [1, "x"]}, r"place\[1\]: a finite number is expected"),
        ({"languages": ["en"]}, "languages: a list of 2 is expected"),
        ({"languages": "en"}, "languages: a list is expected, not 'en'"),
        ({"sizes": {"x": [1, "2"]}}, r"sizes\.x\[1\]: a whole number is expected, not '2'"),
        ({"sizes": []}, "sizes: an object of names and values is expected"),
        ({"odd": 1}, "'odd' is not known"),
        ({"flag": "x" * 1000}, "flag: true or false is expected, not 'x{56}[.]{3}"),
    ],
)
def test_what_is_of_another_type_is_one_line(change, message):
    with pytest.raises(CgruError, match=rf"^run/s\.json: damaged: {message}.*; restore it$"):
        dataclass_from_json(Outer, GOOD | change, "run/s.json", "restore it")


@pytest.mark.parametrize("name", GOOD)
def test_every_field_is_needed(name):
    with pytest.raises(CgruError, match=f"^f: damaged: {name} is missing$"):
        dataclass_from_json(Outer, {n: v for n, v in GOOD.items() if n != name}, "f")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(JSON, st.sampled_from([None, *GOOD]))
def test_nothing_but_a_line_or_the_same_values(value, name):
    data = value if name is None else GOOD | {name: value}
    try:
        made = dataclass_from_json(Outer, data, "f")
    except CgruError as error:
        assert str(error).startswith("f: damaged: ") and "\n" not in str(error)
    else:
        assert json.loads(json.dumps(dataclasses.asdict(made))) == json.loads(json.dumps(data))
