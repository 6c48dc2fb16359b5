"""Valid values of options."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.options.kinds import (
    Bounds,
    alignment,
    device,
    frequencies,
    frequency,
    is_never,
    one_frequency,
    sampling,
    weight,
)


@each_row(
    ("bounds", "text", "inside", "outside"),
    [
        (Bounds(least=1, most=1000), "from 1 to 1,000", [1, 1000], [0, 1001, math.nan]),
        (Bounds(least=0, below=1), "from 0 to below 1", [0, 0.999], [-1e-9, 1, math.inf]),
        (Bounds(above=0, most=10), "above 0, at most 10", [1e-9, 10], [0, 10.1, -math.inf]),
        (Bounds(above=0, below=1), "above 0, below 1", [0.5], [0, 1]),
        (Bounds(off=0, least=3, most=9), "0, or from 3 to 9", [0, 3, 9], [1, 2, 10, -1]),
        (Bounds(least=-0.5, most=0.5), "from -0.5 to 0.5", [-0.5, 0.5], [-0.6, 0.6]),
        (Bounds(least=0, most=2**63 - 1), "from 0 to 2^63 - 1", [2**63 - 1], [2**63, 10**30]),
        (Bounds(), "", [-(10**300), 1e308], [math.nan, math.inf]),
    ],
    ids=str,
)
def test_bounds(bounds, text, inside, outside):
    assert str(bounds) == text
    assert all(number in bounds for number in inside)
    assert not any(number in bounds for number in outside)


@given(st.integers(0, 10**9), st.sampled_from(["", "k", "M"]), st.sampled_from("uet"))
def test_frequencies_are_numbers_with_a_unit(number, times, unit):
    every = number * {"": 1, "k": 10**3, "M": 10**6}[times]
    assert frequency(f"{number}{times}{unit}") == (every, unit)
    assert frequencies(f"{number}{times}{unit},1.5m") == ((every, unit), (1.5, "m"))


@each_row("text", ["", "often", "-1", "1x", "1.5u", "1e308", "9" * 400, "1,2"])
def test_what_is_no_frequency(text):
    with pytest.raises(
        ValueError, match=r"^(not understood; write 500|not a whole|more than 1,000)"
    ):
        frequency(text)
    with pytest.raises(ValueError):
        one_frequency(text)


def test_devices():
    assert [*map(device, ("cpu", "gpu", "gpu:0", "gpu:12"))] == ["cpu", "gpu", "gpu:0", "gpu:12"]
    for text in ("", "tpu", "cuda", "gpu:", "gpu:x", "gpu:-1", "gpu:\u0663", "cpu:1", "0"):
        with pytest.raises(ValueError, match=r"^cpu, gpu or gpu:N is expected$"):
            device(text)


@pytest.mark.parametrize("text", ["0", "0e", "0u,0e"])
def test_nothing_is_ever_due(text):
    assert is_never(text)


@pytest.mark.parametrize("text", ["1u", "0u,1e", "0.1m"])
def test_something_is_due(text):
    assert not is_never(text)


@each_row(
    ("text", "meaning"),
    [
        ("full", {}), ("full 0.5", {"temperature": 0.5}), ("topk 10", {"top": 10}),
        ("topk 3 2", {"top": 3, "temperature": 2.0}), ("nucleus 1", {"nucleus": 1.0}),
        ("nucleus 0.9 0.5", {"nucleus": 0.9, "temperature": 0.5}), ("epsilon 0", {"epsilon": 0.0}),
        ("epsilon 0.02 3", {"epsilon": 0.02, "temperature": 3.0}),
    ],
)  # fmt: skip
def test_sampling(text, meaning):
    assert sampling(text) == meaning


@each_row(
    "text",
    ["", "full 0", "full -1", "full nan", "full 1e308", "full 1 2", "topk", "topk 0", "topk -1",
     "topk 2147483648", "topk 1.5", "topk 3 0", "nucleus", "nucleus 0", "nucleus 1.1",
     "nucleus nan", "nucleus 0.9 0", "nucleus 0.9 1 1", "epsilon", "epsilon -0.1", "epsilon 2",
     "eta 0.1"],
)  # fmt: skip
def test_what_is_no_sampling(text):
    with pytest.raises(ValueError, match=r"`full \[T\]`, `topk K \[T\]`, .* is expected"):
        sampling(text)


@pytest.mark.parametrize(("text", "meaning"), [("hard", "hard"), ("soft", "soft"), ("0.2", 0.2)])
def test_alignment(text, meaning):
    assert alignment(text) == meaning


@each_row("text", ["", "0", "1.1", "1.5", "-0.5", "nan", "inf", "harder", "medium"])
def test_what_is_no_alignment(text):
    with pytest.raises(ValueError, match="hard, soft or a threshold above 0, at most 1"):
        alignment(text)


def test_weights_are_numbers_or_files():
    assert [weight("0.5"), weight("-1e9"), weight("weights.json")] == [0.5, -1e9, "weights.json"]
