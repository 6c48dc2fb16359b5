"""Vocabularies of every format, and files that are not vocabularies."""

import collections
import gzip
import io
import json
import os
import pickle

import pytest
import sentencepiece
import yaml
from commands import new_style, old_style
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_files import SHARED
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.formats.vocabulary_files import (
    marian_needs_rewrite,
    read_vocabulary,
    write_vocabulary,
)
from cgru_cli.text.vocabulary import Vocabulary

REFERENCE = sorted(
    path
    for pattern in (
        "legacy/dl4mt-pickles/*vocab*",
        "legacy/nematus-vocabs/vocab*",
        "legacy/nematus-wmt16-deen-lczarne/data/*.json*",
        "legacy/nematus-lematus-hungarian/data/train-*.json",
        "legacy/nematus-nlmaps-carhaas/toy.*.json",
        "fixtures/**/vocab.*.json",
        "fixtures/**/train.*.pkl",
    )
    for path in SHARED.glob(pattern)
)

AWKWARD = [
    *[
        "no",
        "yes",
        "on",
        "off",
        "null",
        "~",
        "true",
        "1.5",
        "1e3",
        "0x1f",
        "#",
        "-",
        "?",
        ":",
        "&",
        "*",
        "!",
        "%",
        "@",
        "`",
        "|",
        ">",
        "'",
    ],
    *['"', "\\", "{", "}", "[", "]", ",", "=", "<<"],
    "",
    "a b",
    "\t",
    "\r",
    "\u00a0",
    "\u0085",
    "\u2028",
    "\u3000",
    "\ufeff",
    "\x7f",
    "\x1b",
    "\U0001f600",
    "a: b",
    "a #b",
    "- x",
    "---",
    "...",
    "%YAML",
    "</s>>",
    "\\u0041",
    "\U000f0000",
    "x" * 3000,
]
words = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=6
) | st.sampled_from(AWKWARD)
word_lists = st.lists(words, unique=True, max_size=12)
SPECIAL = {"</s>", "<unk>", "<EOS>", "<UNK>", "<GO>", "eos", "UNK", "<eos>", "<s>"}


def written(folder, content, name="vocab"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def json_file(folder, content):
    return written(folder, json.dumps(content, ensure_ascii=False), "vocab.json")


# Formats.


@each_row("compress", [bytes, gzip.compress])
@each_row(
    ("content", "unk", "kind"),
    [
        (json.dumps(old_style("the", "schön")).encode(), "UNK", "json"),
        (b"\xef\xbb\xbf\n " + json.dumps(old_style("the", "schön")).encode(), "UNK", "json"),
        (pickle.dumps(old_style("the", "schön"), 0), "UNK", "pickle"),
        (pickle.dumps(collections.OrderedDict(old_style("the", "schön")), 2), "UNK", "pickle"),
        (pickle.dumps(old_style("the", "schön"), 1), "UNK", "pickle"),
        (pickle.dumps(old_style("the", "schön")), "UNK", "pickle"),
        (
            b"(dp0\nS'eos'\nI0\nsS'UNK'\nI1\nsS'the'\nI2\nsS'sch\\xc3\\xb6n'\nI3\ns.",
            "UNK",
            "pickle",
        ),
        (b'</s>: 0\n<unk>: 1\nthe: 2\n"sch\\xf6n": 3\n', "<unk>", "yaml"),
        ('"</s>": 0\n"<unk>": 1\n? the\n: 2\n\'schön\': 3\n'.encode(), "<unk>", "yaml"),
        ("</s>\n<unk>\nthe\nschön\n".encode(), "<unk>", "text"),
        ("</s>\r\n<unk>\r\nthe\r\nschön".encode(), "<unk>", "text"),
    ],
)
def test_formats(tmp_path, content, unk, kind, compress):
    # the content decides, not the name
    vocabulary = read_vocabulary(written(tmp_path, compress(content), "vocabulary"))
    assert vocabulary.format == kind
    assert (vocabulary.size, vocabulary.eos_id, vocabulary.unk_id) == (4, 0, 1)
    assert vocabulary.encode(["the", "cat", "schön"]) == [2, 1, 3]
    assert vocabulary.decode([2, 1, 3, 0, 2]) == ["the", unk, "schön"]
    assert vocabulary.unk == unk
    expected = Vocabulary(old_style("the", "schön"))
    assert vocabulary.fingerprint == expected.fingerprint


def test_new_style(tmp_path):
    vocabulary = read_vocabulary(json_file(tmp_path, new_style("the")))
    assert (vocabulary.unk_id, vocabulary.unk, vocabulary.size) == (2, "<UNK>", 4)
    assert vocabulary.encode(["the", "cat", "<EOS>"]) == [3, 2, 2]


def test_yaml_words_stay_text(tmp_path):
    plain = ["no", "yes", "null", "~", "1.5", "1e3", "true", "0x1f", "2001-01-01", "<<", "=", "."]
    lines = "".join(f"{w}: {i + 2}\n" for i, w in enumerate(plain))
    vocabulary = read_vocabulary(written(tmp_path, "</s>: 0\n<unk>: 1\n" + lines))
    assert vocabulary.encode(plain) == list(range(2, 2 + len(plain)))


def test_yaml_with_characters_yaml_forbids(tmp_path):
    odd = ["\u2028", "a\u0085b", "\x7f", "\ufeffx", "\U000f0000"]
    lines = "".join(f'"{w}": {i + 2}\n' for i, w in enumerate(odd))
    vocabulary = read_vocabulary(written(tmp_path, "</s>: 0\n<unk>: 1\n" + lines))
    assert vocabulary.encode(odd) == [2, 3, 4, 5, 6]
    assert vocabulary.decode([2, 3, 4, 5, 6]) == odd


def test_text_splits_at_line_feeds_only(tmp_path):
    vocabulary = read_vocabulary(written(tmp_path, "</s>\n<unk>\na\u2028b\n\u3000\nc\rd\n"))
    assert vocabulary.decode([2, 3, 4]) == ["a\u2028b", "\u3000", "c\rd"]


@pytest.fixture(scope="module")
def spm(tmp_path_factory):
    sentences = ["the cat sat on the mat", "a dog ate the cat", "no man is an island"] * 20
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        vocab_size=40,
        hard_vocab_limit=False,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        minloglevel=2,
    )
    return written(tmp_path_factory.mktemp("spm"), model.getvalue(), "vocab.bin")


def test_sentencepiece(spm, tmp_path):
    vocabulary = read_vocabulary(spm)
    assert vocabulary.format == "sentencepiece"
    assert (vocabulary.eos_id, vocabulary.unk_id, vocabulary.unk) == (0, 1, "<unk>")
    line = "the dog sat"
    pieces = vocabulary.tokenize(line)
    ids = vocabulary.encode(pieces)
    assert all(1 < i < vocabulary.size for i in ids)
    assert vocabulary.detokenize(vocabulary.decode([*ids, 0])) == line
    assert vocabulary.encode(vocabulary.tokenize("a </s> 猫")).count(0) == 0
    assert vocabulary.limited(5).size == 5
    assert max(vocabulary.limited(5).encode(pieces)) < 5
    assert not marian_needs_rewrite(vocabulary)
    write_vocabulary(vocabulary, tmp_path / "copy.spm", "marian")
    assert read_vocabulary(tmp_path / "copy.spm").fingerprint == vocabulary.fingerprint
    with pytest.raises(CgruError, match="cannot be written as Nematus"):
        write_vocabulary(vocabulary, tmp_path / "x.json", "nematus")
    broken = written(tmp_path, spm.read_bytes()[:-30])
    with pytest.raises(CgruError, match="SentencePiece"):
        read_vocabulary(broken)


# Round trips.


@given(word_lists, st.sampled_from([old_style, new_style]))
@settings(max_examples=60, deadline=None)
def test_round_trip_nematus(tmp_path_factory, tokens, style):
    ids = style(*[w for w in tokens if w not in SPECIAL])
    path = tmp_path_factory.mktemp("round") / "vocab.json"
    write_vocabulary(Vocabulary(ids), path, "nematus")
    assert json.loads(path.read_text(encoding="utf-8")) == ids
    again = read_vocabulary(path)
    assert dict(again.words) == {i: w for w, i in ids.items()}


@given(word_lists, st.sampled_from([old_style, new_style]), st.sampled_from(["json", "yml"]))
@settings(max_examples=100, deadline=None)
def test_round_trip_marian(tmp_path_factory, tokens, style, extension):
    tokens = [w for w in tokens if w not in SPECIAL]
    vocabulary = Vocabulary(style(*tokens))
    path = tmp_path_factory.mktemp("round") / f"vocab.{extension}"
    write_vocabulary(vocabulary, path, "marian")
    again = read_vocabulary(path)
    assert again.format == {"json": "json", "yml": "yaml"}[extension]
    assert again.fingerprint == vocabulary.fingerprint
    assert again.encode(tokens) == vocabulary.encode(tokens)
    assert (again.words[0], again.words[again.unk_id]) == ("</s>", "<unk>")
    assert not marian_needs_rewrite(again)


@given(word_lists, st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_round_trip_pickle(tmp_path_factory, tokens, protocol):
    ids = old_style(*[w for w in tokens if w not in SPECIAL])
    path = tmp_path_factory.mktemp("round") / "vocab.pkl"
    path.write_bytes(pickle.dumps(collections.OrderedDict(ids), protocol))
    assert dict(read_vocabulary(path).words) == {i: w for w, i in ids.items()}


def test_awkward_words_in_every_writer(tmp_path):
    vocabulary = Vocabulary(old_style(*AWKWARD))
    for name, style in (("a.json", "nematus"), ("b.json", "marian"), ("c.yml", "marian")):
        write_vocabulary(vocabulary, tmp_path / name, style)
        assert read_vocabulary(tmp_path / name).fingerprint == vocabulary.fingerprint
    loaded = yaml.load((tmp_path / "c.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    assert loaded == {"</s>": "0", "<unk>": "1"} | {w: str(i + 2) for i, w in enumerate(AWKWARD)}


def test_corrupt_vocabulary_is_written_as_it_was(tmp_path):
    ids = {"UNK": 1, "the": 2, "eos": 5, "</s>": 6}
    vocabulary = Vocabulary(ids)
    write_vocabulary(vocabulary, tmp_path / "v.json", "nematus")
    assert json.loads((tmp_path / "v.json").read_text()) == ids
    write_vocabulary(vocabulary, tmp_path / "m.json", "marian")
    assert json.loads((tmp_path / "m.json").read_text()) == {
        "</s>": 0,
        "<unk>": 1,
        "the": 2,
        "eos": 5,
    }


@each_row(
    ("ids", "needed"),
    [
        (old_style("a"), False),
        ({"</s>": 0, "<unk>": 1}, False),
        ({"</s>": 0, "<GO>": 1, "<unk>": 2}, False),
        (new_style("a"), True),
        ({"UNK": 1, "a": 2, "eos": 3}, False),  # Marian uses the free id 0 for EOS
        ({"eos": 0, "UNK": 1, "</s>": 7}, False),
        ({"eos": 0, "a": 1, "UNK": 2}, True),
        ({"<s>": 0, "</s>": 0, "UNK": 1}, True),
    ],
)
def test_marian_needs_rewrite(ids, needed):
    assert marian_needs_rewrite(Vocabulary(ids, "vocab.json")) is needed
    assert marian_needs_rewrite(Vocabulary(ids, "vocab.yml", format="yaml")) is needed
    assert marian_needs_rewrite(Vocabulary(ids, "vocab.json.gz"))
    assert marian_needs_rewrite(Vocabulary(ids, "vocab.pkl", format="pickle"))


def test_marian_text_needs_its_own_names():
    assert not marian_needs_rewrite(Vocabulary({"</s>": 0, "<unk>": 1}, "v.txt", format="text"))
    assert marian_needs_rewrite(Vocabulary(old_style("a"), "v.txt", format="text"))


def test_writing_is_atomic(tmp_path, monkeypatch):
    path = json_file(tmp_path, old_style("a"))
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CgruError, match=r"vocab\.json: cannot be written: No space left"):
        write_vocabulary(Vocabulary(old_style("b")), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["vocab.json"]
    with pytest.raises(CgruError, match="cannot be written"):
        write_vocabulary(Vocabulary(old_style("b")), tmp_path / "none" / "v.json")


def test_written_files_follow_the_umask(tmp_path):
    before = os.umask(0o022)
    try:
        write_vocabulary(Vocabulary(old_style("b")), tmp_path / "v.json")
    finally:
        os.umask(before)
    assert (tmp_path / "v.json").stat().st_mode & 0o777 == 0o644


# Files that are not vocabularies.


@each_row(
    ("content", "message"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("{}", "is empty"),
        ('["a", "b"]', "a list"),
        ('{"eos": 0, "a": 1', "broken JSON, line 1"),
        ('{"eos": 0,\n "a": b}', "broken JSON, line 2"),
        ('{"eos": 0, "a": {"b": 1}}', "the id of 'a' is not a whole number"),
        ('{"eos": 0, "a": [1]}', "the id of 'a' is not a whole number"),
        ('{"eos": 0, "a": "1"}', "the id of 'a' is not a whole number"),
        ('{"eos": 0, "a": 1.0}', "the id of 'a' is not a whole number"),
        ('{"eos": 0, "a": true}', "the id of 'a' is not a whole number"),
        ('{"eos": 0, "a": null}', "the id of 'a' is not a whole number"),
        ('{"eos": 0, "a": -2}', "the id of 'a' is negative (-2)"),
        ('{"eos": 0, "a": 17, "b": 17}', "id 17 is given to both 'a' and 'b'"),
        ('{"eos": 0, "a": 0}', "id 0 is given to both 'eos' and 'a'"),
        ('{"eos": 0, "a": 5, "a": 6}', "the word 'a' appears twice"),
        ('{"eos": 0, "\\ud800": 5}', "not valid Unicode"),
        ('{"eos": ' + "9" * 5000 + "}", "invalid JSON"),
        ('{"a": ' * 100_000, "JSON"),
        ("[" * 100_000, "not a vocabulary"),
        ('{"<unk>": 0, "</s>": 1}', "'</s>' has id 1; the end of sentence must have id 0"),
        (b'{"eos": 0,\n"\xff": 1}', "line 2 is not UTF-8"),
        (bytes(range(256)), "not UTF-8"),
        (b"\x00\x01\x02\x03", "not a vocabulary"),
        ("a man in a hat .\nanother line\n", "nor a list of words that starts with </s>"),
        ("</s>\n<unk>\na\na\n", "the word 'a' appears twice"),
        ("</s>: 0\n<unk>: 1\na: 2\na: 3\n", "the word 'a' appears twice"),
        ("</s>: 0\n<unk>: 1\na: 2\nb: 2\n", "id 2 is given to both 'a' and 'b'"),
        ("</s>: 0\na: x\n", "the id of 'a' is not a whole number"),
        ("</s>: 0\na: 1.5\n", "the id of 'a' is not a whole number"),
        ("</s>: 0\na: -1\n", "the id of 'a' is negative"),
        ("</s>: 0\na: 5000000\n", "the id of 'a' is too large"),
        ('{"eos": 0, "a\\nb": 1}', r"the word 'a\nb' (id 1) has a line break"),
        ('</s>: 0\n"a\\nb": 1\n', r"the word 'a\nb' (id 1) has a line break"),
        (pickle.dumps({"eos": 0, "\n": 3}), "has a line break"),
        ("</s>: 0\na: [1, 2]\n", "the id of 'a' is not a whole number"),
        ("</s>: 0\n? [a]\n: 1\n", "a word is a list or mapping"),
        ("</s>: 0\n'a: 1\n", "not a vocabulary"),
        ("</s>: 0\na: !!python/object/apply:os.system ['true']\n", "not a whole number"),
        ("- a\n- b\n", "not a vocabulary"),
        (f"</s>: 0\n{'a' * 1025}: 1\nb: 2\n", "in YAML, line 2 is wrong: could not find expected"),
        (pickle.dumps(["a", "b"]), "a pickled list"),
        (pickle.dumps({"eos": 0, "a": "b"}), "the id of 'a' is not a whole number"),
        (pickle.dumps({"eos": 0, 5: 7}), "5 is not a word"),
        (pickle.dumps({"eos": 0, b"a": 7}), "b'a' is not a word"),
        (pickle.dumps({"eos": 0, "a": print}), "pickle contains builtins.print; refused"),
        (gzip.compress(b"{}" * 99, mtime=0)[:-9], "gzip"),
        ("? " * 50_000, "not a vocabulary"),
    ],
    ids=lambda value: ascii(value[:24]),
)
def test_what_is_not_a_vocabulary(tmp_path, content, message):
    path = written(tmp_path, content, "vocab.x")
    with pytest.raises(CgruError) as error:
        read_vocabulary(path)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_no_such_file(tmp_path):
    with pytest.raises(CgruError, match=r"none\.json: vocabulary not found"):
        read_vocabulary(tmp_path / "none.json")
    with pytest.raises(CgruError, match="is a folder"):
        read_vocabulary(tmp_path)


@given(st.binary(max_size=40))
@settings(max_examples=150, deadline=None)
def test_garbage_gives_one_line(tmp_path_factory, data):
    path = written(tmp_path_factory.getbasetemp(), data, "rubbish")
    try:
        read_vocabulary(path)
    except CgruError as error:
        assert "\n" not in str(error)


# Real files.


def test_reference_vocabularies_exist():
    if not REFERENCE and os.environ.get("CGRU_REQUIRE_SHARED") != "1":
        pytest.skip("reference vocabularies are not here")
    assert len(REFERENCE) > 50


@pytest.mark.parametrize("path", REFERENCE, ids=lambda path: str(path.relative_to(SHARED)))
def test_reference_vocabulary(path, tmp_path, capsys):
    vocabulary = read_vocabulary(path)
    assert vocabulary.size > 5
    assert vocabulary.unk_id in (1, 2)
    assert vocabulary.unk in ("UNK", "<UNK>", "<unk>")
    assert capsys.readouterr().err == ""
    ids = [i for i in range(2, vocabulary.size) if i in vocabulary.words][:1000]
    assert vocabulary.encode(vocabulary.decode(ids)) == ids
    write_vocabulary(vocabulary, tmp_path / "marian.json", "marian")
    again = read_vocabulary(tmp_path / "marian.json")
    assert again.fingerprint == vocabulary.fingerprint
