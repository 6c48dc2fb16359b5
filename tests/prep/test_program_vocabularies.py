"""Vocabularies of Marian, Nematus and DL4MT, against their own tools and files."""

import gzip
import json
import pickle
import random
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_files import SHARED, need

from cgru_cli.cli import main
from cgru_cli.formats.pickles import load
from cgru_cli.options.prep import PrepOptions
from cgru_cli.prep import program_vocabularies

MARIAN = Path(sys.executable).with_name("pymarian")


@pytest.fixture
def prep(capfdbinary):
    """Runs `cgru prep --vocabulary-only`: (exit code, standard output as bytes, messages)."""

    def run(*arguments, text=b""):
        given = ["prep", "--vocabulary-only", *map(str, arguments)]
        result = CliRunner().invoke(main, given, input=text)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, capfdbinary.readouterr().out, result.stderr

    return run


def odd_text(seed, count):
    """Lines of words with characters that YAML, JSON or Python treat specially."""
    chance = random.Random(seed)
    parts = [bytes([i]) for i in range(1, 256) if i != 10]
    odd = "ü ß 字 😀 \x85 \xa0 \x80 \x9f \u2028 \ufeff \ufffd \ufffe \uffff \ufdd0 \u07ff \u0800"
    parts += [c.encode() for c in odd.split(" ")]
    parts += [
        b"null",
        b"Null",
        b"~",
        b"true",
        b": ",
        b" #",
        b"\r",
        b":",
        b"-",
        b"?",
        b"#",
        b"a",
    ] * 4
    words = [b"".join(chance.choices(parts, k=chance.randint(0, 5))) for _ in range(count)]
    words += [b"</s>", b"<unk>", b"eos", b"UNK", b"x" * 1500]
    lines = [b" ".join(chance.choices(words, k=chance.randint(0, 9))) for _ in range(count)]
    return b"\n".join([*lines, b"  two  spaces ", b"", b"no newline at the end"])


@pytest.mark.parametrize("limit", [0, 500])
def test_marian_vocabulary_is_byte_identical(limit, prep):
    """Ten thousand lines of odd words, most of them of equal frequency."""
    if not MARIAN.exists():
        pytest.skip("pymarian is not installed")
    text = odd_text(1, 10_000)
    size = ["-m", str(limit)] if limit else []
    theirs = subprocess.run([MARIAN, "vocab", *size], input=text, capture_output=True, check=True)
    code, ours, _ = prep("--compat", "marian", *size, text=text)
    assert code == 0
    assert ours.split(b"\n")[-5:] == theirs.stdout.split(b"\n")[-5:]
    assert (ours == theirs.stdout) is True  # without a long diff
    assert ours.count(b"\n") > 400


def test_marian_vocabulary_of_an_empty_text(prep):
    assert prep("--compat", "marian") == (0, b"</s>: 0\n<unk>: 1", "")


@pytest.mark.parametrize("side", ["sources", "targets"])
def test_nematus_vocabulary_is_that_of_build_dictionary(side, prep, tmp_path):
    """A dictionary made with Nematus' tool, with characters of equal frequency."""
    folder = need(SHARED / "legacy/nematus-lematus-hungarian/data")
    corpus = tmp_path / "train"
    corpus.write_bytes(gzip.decompress((folder / f"train-{side}.gz").read_bytes()))
    code, out, messages = prep("--compat", "nematus", corpus)
    assert (code, out) == (0, b"")
    assert f"{corpus}.json: " in messages
    made = Path(f"{corpus}.json").read_bytes()
    assert made == (folder / f"train-{side}.json").read_bytes()
    if side == "sources":
        assert "" in json.loads(made)  # an empty word for an empty line


@pytest.mark.parametrize("name", ["flickr30k.train.en", "flickr30k.train.de"])
def test_dl4mt_pickle_is_that_of_python_2(name):
    """A pickle made with DL4MT's tool is read and written again."""
    file = need(SHARED / f"legacy/dl4mt-pickles/{name}.vocab.pkl.gz")
    original = gzip.decompress(file.read_bytes())
    words = {word.encode(): i for word, i in load(original, name).items()}
    assert len(words) > 10_000
    assert program_vocabularies._pickle(words) == original


def by_build_dictionary(path):
    """Nematus' build_dictionary.py under Python 3, with NumPy's own order of equal values.

    16-bit keys: NumPy's vector instructions sort indices of wider ones only.
    """
    counts = OrderedDict()
    with open(path, encoding="utf-8") as file:
        for line in file:
            for word in line.strip().split(" "):
                counts[word] = counts.get(word, 0) + 1
    words = list(counts)
    order = np.argsort(np.array(list(counts.values()), np.int16))[::-1]
    ids = OrderedDict([("<EOS>", 0), ("<GO>", 1), ("<UNK>", 2)])
    for i, place in enumerate(order, 3):
        ids[words[place]] = i
    return ids


@settings(max_examples=60)
@given(
    st.text(st.sampled_from('abcdefghij  \n\r\t\x0c\x1c\x85\xa0\u2028"\\/\x01\x7f字'), max_size=400)
)
def test_nematus_tf_vocabulary_is_that_of_python_3(tmp_path_factory, text):
    corpus = tmp_path_factory.mktemp("text") / "corpus"
    corpus.write_bytes(text.encode())
    options = PrepOptions(vocabulary_only=True, compat="nematus-tf", quiet=True)
    program_vocabularies.run((str(corpus),), options)
    expected = json.dumps(by_build_dictionary(corpus), indent=2, ensure_ascii=False)
    assert Path(f"{corpus}.json").read_bytes() == expected.encode()


def test_programs_differ_in_specials_and_format_only(prep, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.write_bytes(b"b a\na eos\n")
    prep("--compat", "nematus", corpus)
    assert Path(f"{corpus}.json").read_bytes() == (
        b'{\n  "eos": 3, \n  "UNK": 1, \n  "a": 2, \n  "b": 4\n}'
    ), "the word eos has displaced the special one, as with the original"
    prep("--compat", "nematus-tf", corpus)
    assert Path(f"{corpus}.json").read_bytes() == (
        b'{\n  "<EOS>": 0,\n  "<GO>": 1,\n  "<UNK>": 2,\n  "a": 3,\n  "eos": 4,\n  "b": 5\n}'
    )
    prep("--compat", "dl4mt", corpus)
    words = pickle.loads(Path(f"{corpus}.pkl").read_bytes(), encoding="utf-8")
    assert list(words.items()) == [("eos", 3), ("UNK", 1), ("a", 2), ("b", 4)]


def test_invalid_utf8(prep, tmp_path):
    """Python 2 accepts it; Python 3 does not."""
    corpus = tmp_path / "corpus"
    corpus.write_bytes(b"fine\na \xff\n")
    assert prep("--compat", "nematus", "--quiet", corpus)[0] == 0
    assert b'"\xff": ' in Path(f"{corpus}.json").read_bytes()
    code, _, messages = prep("--compat", "nematus-tf", corpus)
    assert code == 1
    assert messages == f"cgru: {corpus}: line 2 is not UTF-8\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "name the program"),
        (["--compat", "marian", "corpus"], 134, "the text is read from standard input"),
        (["--compat", "marian", "-m", "1"], 134, "0, or a whole number from 2"),
        (["--compat", "nematus"], 2, "name the text"),
        (["--compat", "nematus", "missing"], 1, "missing: No such file"),
        (["--compat", "nematus", "--vocabulary-size", "9", "corpus"], 2, "every word"),
        (["--compat", "nematus", "--lowercase", "corpus"], 2, "--lowercase has no effect"),
    ],
)
def test_contradicting_options_are_refused(arguments, code, message, prep):
    returned, out, messages = prep(*arguments)
    assert (returned, out) == (code, b"")
    assert message in messages and messages.count("\n") == 1


def test_compressed_text_is_refused(prep, tmp_path):
    corpus = tmp_path / "corpus.gz"
    corpus.write_bytes(gzip.compress(b"a b\n"))
    code, _, messages = prep("--compat", "dl4mt", corpus)
    message = f"is compressed by gzip; unpack it first: gzip -d {corpus}"
    assert (code, messages) == (1, f"cgru: {corpus}: {message}\n")


def test_program_alone_is_refused(tmp_path):
    result = CliRunner().invoke(main, ["prep", str(tmp_path / "out"), "--compat", "marian"])
    assert result.exit_code == 134
    assert "--compat needs --vocabulary-only" in result.stderr
