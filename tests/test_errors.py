"""Messages are one line of printable characters with a limited length, whatever their text."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import LONGEST, CgruError, one_line, parsing, reading, reason, warn, writing


@given(st.text())
def test_a_message_is_printable(text):
    assert str(CgruError(text)).isprintable()


def test_control_characters_are_shown_as_escapes(capsys):
    assert str(CgruError("a\nb\x1b[2Jc\u202ed\ud800")) == r"a\nb\x1b[2Jc\u202ed\ud800"
    warn("x\r\ny")
    assert capsys.readouterr().err == "cgru: warning: x\\r\\ny\n"


def test_a_plain_message_is_unchanged():
    for text in ("", "model.npz: é ü 中文: no such file", "a" * LONGEST):
        assert one_line(text) == text


@pytest.mark.parametrize("character", ["a", "\n", "\U0010ffff"])
def test_a_message_is_bounded_and_keeps_both_ends(character):
    message = one_line("begins " + character * 10**7 + " ends")
    assert len(message) <= 4 * LONGEST + 10
    assert message.startswith("begins ")


def test_errors_that_name_code_of_a_parser_give_no_reason():
    for wrong in (lambda: {} | 1, lambda: b"".startswith(""), lambda: (1).x, lambda: [][1]):
        with pytest.raises(CgruError, match=r"^f: not JSON$"), parsing("f", "not JSON"):
            wrong()
    with pytest.raises(CgruError, match=r"^f: not JSON \(line 1\)$"), parsing("f", "not JSON"):
        raise ValueError("line 1")


def test_graph_nodes_are_not_shown():
    text = "{{function_node __wrapped__SaveV2_dtypes_9_device_/job:CPU:0}} No space {{node a/b}}"
    assert one_line(text).strip() == "No space"
    assert one_line("a template {{name}}") == "a template {{name}}"


def test_reasons():
    assert reason(FileNotFoundError(2, "No such file or directory")) == "No such file or directory"
    assert reason(ValueError("first\nsecond")) == "first"
    assert reason(MemoryError()) == "MemoryError"
    with pytest.raises(UnicodeDecodeError) as caught:
        b"ab\xff".decode()
    assert reason(caught.value) == "byte 3: invalid start byte"


def test_reading(tmp_path):
    none, cut = tmp_path / "none", tmp_path / "cut.gz"
    with pytest.raises(CgruError, match=r"none: No such file or directory$"), reading(none):
        none.read_bytes()
    cut.write_bytes(gzip.compress(b"abc" * 100)[:-4])
    message = r"cut.gz: not a complete gzip file \(.*\); make it again$"
    with pytest.raises(CgruError, match=message), reading(cut), gzip.open(cut) as file:
        file.read()


def test_writing(tmp_path):
    path = tmp_path / "no/file"
    message = r"no/file: cannot be written: No such file or directory$"
    with pytest.raises(CgruError, match=message), writing(path):
        path.write_bytes(b"")


@pytest.mark.parametrize("error", [KeyError("a"), RecursionError(), MemoryError(), ValueError("x")])
def test_parsing(error):
    with pytest.raises(CgruError, match=r"^file: damaged \("), parsing("file", "damaged"):
        raise error
    with pytest.raises(CgruError, match=r"^known$"), parsing("file", "damaged"):
        raise CgruError("known")
    with pytest.raises(KeyboardInterrupt), parsing("file", "damaged"):
        raise KeyboardInterrupt
