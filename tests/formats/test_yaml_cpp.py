"""YAML scalars: another parser reads them back, and Marian wrote the same."""

import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.formats.yaml_cpp import scalar

UNWRITABLE = ("\x7f", "\u07ff", "\uffff", "\ufffe", "\x85", "\u2028", "\u2029", "\r", "\xad")


@given(st.text(st.characters(exclude_characters=UNWRITABLE, exclude_categories=["Cs"])))
@example("a: b #c")
@example("- ")
@example("null")
def test_what_is_written_is_read_again(text):
    """Unicode's non-characters become U+FFFD, as in the library."""
    expected = "".join(
        "\ufffd" if ord(c) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(c) < 0xFDF0 else c for c in text
    )
    written = scalar(text.encode())
    if written.startswith(b'"'):
        assert yaml.load(written.decode(), yaml.BaseLoader) == expected
    else:
        assert written == text.encode()


def test_vocabularies_with_such_words_are_read(tmp_path):
    """Marian reads the words again that it has written."""
    words = ["</s>", "<unk>", *UNWRITABLE[:2], *UNWRITABLE[4:]]
    words += [f"{c}a" for c in words[2:]] + [f'@a{c}"' for c in words[2:]]
    words += ["a\r", "\r\r", '"\r']
    lines = [scalar(word.encode()) + b": %d\n" % i for i, word in enumerate(words)]
    path = tmp_path / "vocab.yml"
    path.write_bytes(b"".join(lines))
    assert read_vocabulary(path).ids == {word: i for i, word in enumerate(words)}
    windows = tmp_path / "windows.yml"  # line ends of an editor
    windows.write_bytes(b"</s>: 0\r\n<unk>: 1\r\na: 2\r\n")
    assert read_vocabulary(windows).ids == {"</s>": 0, "<unk>": 1, "a": 2}


@each_row(
    ("text", "written"),
    [
        (b"plain", b"plain"),
        (b"a:b", b"a:b"),
        (b"a#", b"a#"),
        (b"?m", b"?m"),
        (b"-1", b"-1"),
        (b"...", b"..."),
        (b"true", b"true"),
        (b"a\r", b"a\r"),
        (b"a\xff", b"a\xff"),
        (b"", b'""'),
        (b"~", b'"~"'),
        (b"NULL", b'"NULL"'),
        (b"-", b'"-"'),
        (b"a:", b'"a:"'),
        (b"'", b'"\'"'),
        (b'a"', b'a"'),
        (b'"', b'"\\""'),
        (b"\x0c", b'"\\x0c"'),
        (b"\t", b'"\\t"'),
        (b"\xc2\xa0", b"\xc2\xa0"),
        (b"@\xc2\xa0", b'"@\\xa0"'),
        (b"\x7f", b'"\xc1\xbf"'),
        (b"@\xdf\xbf", b'"@\xe0\x9f\xbf"'),
        (b"@\xff", b'"@\xef\xbf\xbd"'),
    ],
)
def test_what_marian_writes(text, written):
    assert scalar(text) == written
