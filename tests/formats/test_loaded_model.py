"""How a model reads source lines."""

import numpy as np
import pytest
from commands import write_model
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.formats.loaded_model import Reading, check_ensemble, load_model
from cgru_cli.text.source_words import SourceLines, pad_ids, source_ids
from cgru_cli.text.vocabulary import Vocabulary

WORDS = {"eos": 0, "UNK": 1, "a": 2, "b": 3}
TAGS = {"eos": 0, "UNK": 1, "N": 2, "V": 3, "X": 4}
FACTORS = [Vocabulary(WORDS), Vocabulary(TAGS)]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("NVXY"))))
def test_a_word_has_an_id_for_each_factor(line):
    found = source_ids([f"{word}|{tag}" for word, tag in line], FACTORS)
    assert found == [(WORDS.get(word, 1), TAGS.get(tag, 1)) for word, tag in line]
    assert source_ids([word for word, _ in line], FACTORS[:1]) == [ids[:1] for ids in found]


@pytest.mark.parametrize("word", ["a", "a|N|V"])
def test_a_wrong_number_of_factors_is_an_error(word):
    with pytest.raises(CgruError, match=r"has [13] factors, expected 2 \(word\|factor"):
        source_ids(["a|N", word], FACTORS)


@given(st.lists(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=5), min_size=1))
def test_eos_ends_and_pads_lines(lines):
    ids, mask = pad_ids(lines, 2)
    longest = max(map(len, lines)) + 1
    assert ids.shape == (len(lines), longest, 2) and mask.shape == (len(lines), longest)
    for line, row, kept in zip(lines, ids.tolist(), mask.tolist(), strict=True):
        rest = longest - len(line)
        assert [tuple(word) for word in row] == line + [(0, 0)] * rest
        assert kept == [1] * (len(line) + 1) + [0] * (rest - 1)
    assert pad_ids([[], []], 0)[0].shape == (2, 1, 0)  # of a model that reads no source
    assert ids.dtype == np.int32 and mask.dtype == np.float32


def test_long_lines_are_cut_and_counted(tmp_path, capsys):
    reader = load_model(write_model(tmp_path), ())
    lines = SourceLines(reader.tokenizer(Reading(to_pieces=False)), None, longest=3)
    assert lines.words("a b", 0) == ["a", "b"]
    assert lines.words("a b c d e", 1) == lines.words("a b c f", 2) == ["a", "b", "c"]
    lines.report()
    first, last = capsys.readouterr().err.splitlines()
    assert "line 2 has 5 words; cut to --max-length 3" in first
    assert "2 lines were cut" in last


def test_an_ensemble_has_one_target_vocabulary(tmp_path):
    one, same = (load_model(write_model(tmp_path / name), ()) for name in ("one", "same"))
    check_ensemble([one, same])
    target = ["eos", "UNK", *(f"t{i}" for i in range(one.target.size - 2))]
    other = load_model(write_model(tmp_path / "other", target=target), ())
    with pytest.raises(CgruError, match=r"a different target vocabulary from .*one"):
        check_ensemble([one, same, other])


def test_an_ensemble_writes_in_one_direction(tmp_path):
    one, other = (load_model(write_model(tmp_path / name), ()) for name in ("one", "other"))
    other.model.settings.right_left = True
    check_ensemble([other, other])
    with pytest.raises(
        CgruError, match=r"other/model\.npz: writes sentences in the opposite direction"
    ):
        check_ensemble([one, other])
    one.model.settings.right_left = other.model.settings.source_reversed = True
    with pytest.raises(
        CgruError,
        match=r"other/model\.npz: reads the source right to left, .*model.npz left to right",
    ):
        check_ensemble([one, other])
