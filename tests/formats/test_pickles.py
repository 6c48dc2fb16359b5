"""The pickle reader: it reads data of both Pythons, runs nothing and survives garbage."""

import builtins
import collections
import gzip
import os
import pickle
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_files import SHARED
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.formats.pickles import load

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
)
plain_data = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(scalars, inner, max_size=4),
        st.dictionaries(scalars, inner, max_size=4).map(collections.OrderedDict),
    ),
    max_leaves=12,
)


@given(plain_data, st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_reads_what_python_3_writes(value, protocol):
    assert load(pickle.dumps(value, protocol), "options") == value


@given(st.binary(max_size=60))
@settings(max_examples=300, deadline=None)
def test_garbage_gives_one_line(data):
    try:
        load(data, "options")
    except CgruError as error:
        assert "\n" not in str(error)


@given(plain_data, st.integers(0, 5), st.data())
@settings(max_examples=100, deadline=None)
def test_damage_gives_one_line(value, protocol, draw):
    data = bytearray(pickle.dumps(value, protocol))
    data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    try:
        load(bytes(data), "options")
    except CgruError as error:
        assert "\n" not in str(error)


@each_row(
    ("data", "expected"),
    [
        # Python 2 str is UTF-8 bytes, unicode is text: both are read as the same text
        (b"S'sch\\xc3\\xb6n'\n.", "schön"),
        (b"\x80\x02U\x06sch\xc3\xb6n.", "schön"),
        (b"T\x06\x00\x00\x00sch\xc3\xb6n.", "schön"),
        (b"Vsch\xf6n\n.", "schön"),
        (b"\x80\x02X\x06\x00\x00\x00sch\xc3\xb6n.", "schön"),
        # text that looks like UTF-8 decoded as Latin-1 is left alone
        (b"\x80\x02X\x04\x00\x00\x00\xc3\x83\xc2\xb6.", "\u00c3\u00b6"),
        (b"S'donn\\xe9es'\n.", "donn\\xe9es"),
        (b'S"it\'s"\n.', "it's"),
        (b"I01\n.", True),
        (b"I1\n.", 1),
        (b"L12345678901234567890L\n.", 12345678901234567890),
        (b"F0.5\n.", 0.5),
        (b"(dp1\nS'dim'\np2\nI1024\ns.", {"dim": 1024}),
        (
            b"ccollections\nOrderedDict\np1\n((lp2\n(lp3\nS'eos'\np4\naI0\naa(lp5\nS'UNK'\n"
            b"p6\naI1\naatp7\nRp8\n.",
            {"eos": 0, "UNK": 1},
        ),
    ],
)
def test_reads_what_python_2_writes(data, expected):
    value = load(data, "options")
    assert value == expected
    assert type(value) is type(expected)


def test_reads_files_gzipped_or_not(tmp_path):
    data = pickle.dumps({"dim": 3})
    (tmp_path / "a.pkl").write_bytes(data)
    (tmp_path / "b.pkl.gz").write_bytes(gzip.compress(data))
    assert load(tmp_path / "a.pkl", "options") == {"dim": 3}
    assert load(str(tmp_path / "b.pkl.gz"), "options") == {"dim": 3}


class _Calls:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@each_row("protocol", range(6))
@each_row("wrap", [lambda x: x, lambda x: {"a": [x]}, lambda x: ({"k": (x,)},)])
@each_row("kind", ["system", "eval", "exec", "open"])
def test_runs_nothing(tmp_path, protocol, wrap, kind):
    proof = tmp_path / "ran"
    attack, wanted = {
        "system": (_Calls(os.system, f"touch {proof}"), "posix.system"),
        "eval": (_Calls(eval, f"open({str(proof)!r}, 'w')"), "eval"),
        "exec": (_Calls(exec, f"open({str(proof)!r}, 'w')"), "exec"),
        "open": (_Calls(builtins.open, str(proof), "w"), "open"),
    }[kind]
    path = tmp_path / "model.npz.pkl"
    path.write_bytes(pickle.dumps(wrap(attack), protocol))
    with pytest.raises(CgruError, match=rf"model\.npz\.pkl: pickle contains .*{wanted}; refused"):
        load(path, "options")
    assert not proof.exists()
    # Python itself runs the same bytes
    pickle.loads(path.read_bytes())
    assert proof.exists()


@each_row(
    ("data", "wanted"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "os.system; refused (only dictionaries"),
        (b"(S'true'\nios\nsystem\n.", "os.system"),
        (b"\x8c\x02os\x8c\x06system\x93.", "os.system"),
        (b"ccollections\nOrderedDict.fromkeys\n.", "OrderedDict.fromkeys"),
        (b"ccollections\nOrderedDict\n.", "a class as a value"),
        (b"(ccollections\nOrderedDict\nl.", "a class as a value"),
        (b"ccollections\nOrderedDict\n)R}S'a'\nI1\nsb.", "an object's state"),
        (b"ccollections\nOrderedDict\n)\x81.", "an object"),
        (b"c_codecs\nencode\n(Vx\nVrot13\ntR.", "an unsupported call"),
        (b"S'os.system'\n(S'true'\ntR.", "a call"),
        (b"ccopy_reg\n_reconstructor\n.", "copy_reg._reconstructor"),
        (b"cos\x1b[2J\rx\nsystem\n.", "os\\x1b[2J\\rx.system"),
        (b"Pos.system\n.", "an external object"),
        (b"\x82\x01.", "a registered class"),
        (b"}K\x01K\x02\x86K\x03s.", "a dictionary key is a tuple"),
        (pickle.dumps({1}, 2), "__builtin__.set"),
        (pickle.dumps({1}, 4), "a set"),
        (pickle.dumps(1j), "complex"),
        (pickle.dumps(bytearray(b"x"), 5), "a byte array"),
    ],
)
def test_refusals(data, wanted):
    with pytest.raises(CgruError) as error:
        load(data, "x.pkl")
    assert wanted in str(error.value)
    assert str(error.value).startswith("x.pkl: ")
    assert "\n" not in str(error.value)


def _doubled(levels):
    return b"]" + b"q\x000(h\x00h\x00l" * levels + b"."


@each_row(
    "data",
    [
        b"]" * 5000 + b"a" * 4999 + b".",
        b")" + b"\x85" * 50_000 + b".",  # deep, but never more than one value on the stack
        b"]q\x00h\x00a.",  # holds itself
        _doubled(60),  # 2**60 items for a program that walks through them
        b"X\xff\xff\xff\xffabc.",
        b"\x8d" + struct.pack("<Q", 1 << 62) + b"abc.",
        b"\x8e" + struct.pack("<Q", 1 << 40) + b"abc.",
        b"T\xff\xff\xff\xffabc.",
        b"\x8b" + struct.pack("<i", 1 << 30) + b"\x01.",
        b"I" + b"9" * 100_000 + b"\n.",
        b"K\x01q.",
        b"h\x07.",
        b".",
        b"(.",
        b"(2.",
        b"t.",
        b"a.",
        b"K\x01K\x02a.",
        b"K\x01K\x02K\x03s.",
        b"}(K\x01u.",
        b"}(]K\x01u.",
        b"S'abc\n.",
        b"Sabc\n.",
        b"\x80\x09N.",
        b"\xff\xfe\x00rubbish",
        b"<html></html>",
        b"{}",
        b"K\x01",
        b"",
    ],
    ids=lambda data: ascii(data[:12]),
)
def test_absurd_or_damaged(data):
    with pytest.raises(CgruError) as error:
        load(data, "x.pkl")
    assert str(error.value).startswith("x.pkl: ")
    assert "\n" not in str(error.value)


def test_copies_are_bounded_by_the_file():
    pairs = b"](" + b"](K\x01K\x02e" * 1000 + b"eq\x000"
    calls = b"ccollections\nOrderedDict\nq\x010" + b"h\x01h\x00\x85R0" * 9000
    with pytest.raises(CgruError, match="the same items too often"):
        load(pairs + calls + b"N.", "x.pkl")


def test_huge_memo_index_takes_no_memory():
    assert load(b"]r\xff\xff\xff\xff.", "x.pkl") == []


def test_every_truncation_is_an_error():
    for protocol in range(6):
        data = pickle.dumps({"a": [1, "ö", 2.5], "b": None}, protocol)
        for end in range(len(data)):
            with pytest.raises(CgruError):
                load(data[:end], "x.pkl")


def test_missing_and_incomplete_files(tmp_path):
    with pytest.raises(CgruError, match=r"no\.pkl: options not found"):
        load(tmp_path / "no.pkl", "options")
    with pytest.raises(CgruError, match="is a folder"):
        load(tmp_path, "options")
    (tmp_path / "cut.pkl.gz").write_bytes(gzip.compress(pickle.dumps("abc" * 50))[:-9])
    with pytest.raises(CgruError, match="not a complete gzip file"):
        load(tmp_path / "cut.pkl.gz", "options")


def test_reference_pickles():
    found = [*SHARED.glob("legacy/dl4mt-pickles/*.pkl*"), *SHARED.glob("fixtures/dl4mt-*/**/*.pkl")]
    if not found:
        if os.environ.get("CGRU_REQUIRE_SHARED") == "1":
            pytest.fail(f"no reference pickles under {SHARED}")
        pytest.skip("reference pickles are not here")
    for path in found:
        value = load(path, "reference")
        assert isinstance(value, dict) and len(value) > 20
        assert all(isinstance(key, str) for key in value)
        if "vocab" in path.name or path.name.startswith("train."):
            assert all(type(i) is int for i in value.values())
    options = load(SHARED / "legacy/dl4mt-pickles/zhouh.model_hal.npz.pkl", "options")
    assert options["decoder"] == "gru_cond"
    words = load(SHARED / "legacy/dl4mt-pickles/tangyaohua.vocab.chinese.pkl.gz", "words")
    assert words["星期一"] == 8754
