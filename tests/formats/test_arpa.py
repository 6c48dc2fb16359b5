"""N-gram models, read by kenlm."""

import gzip
import math

import pytest
from commands import write_model

from cgru_cli.errors import CgruError
from cgru_cli.formats.arpa import NGrams, is_arpa
from cgru_cli.text.vocabulary import Vocabulary

pytest.importorskip("kenlm")

TEXT = r"""
\data\
ngram 1=5
ngram 2=3

\1-grams:
-1.25	<unk>
-99	<s>	-0.25
-0.75	</s>
-0.5	a	-0.125
-1	b@@	-0.5

\2-grams:
-0.125	<s> a
-0.375	a b@@
-0.0625	b@@ </s>

\end\
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "lm.arpa"
    file.write_text(TEXT)
    return file


def test_the_score_of_a_text_is_the_sum_of_its_n_grams(path):
    n_grams = NGrams(str(path))
    texts = [["a", "b@@"], [], ["b@@", "x", "a"], ["<s>"], ["</s>", "a"]]
    back_off = {
        0: -0.125 - 0.375 - 0.0625,
        1: -0.25 - 0.75,
        2: (-0.25 - 1) + (-0.5 - 1.25) - 0.5 + (-0.125 - 0.75),
    }
    found = n_grams.log_probs(texts)
    for i, expected in back_off.items():
        assert found[i] == pytest.approx(expected * math.log(10), rel=1e-6)
    assert all(value < 0 for value in found)


def test_files_are_recognised_by_content(path, tmp_path):
    zipped = tmp_path / "lm.gz"
    zipped.write_bytes(gzip.compress(TEXT.encode()))
    assert is_arpa(str(path)) and is_arpa(str(zipped))
    assert NGrams(str(zipped)).log_probs([["a"]]) == NGrams(str(path)).log_probs([["a"]])
    assert not is_arpa(write_model(tmp_path / "model"))
    assert not is_arpa(str(tmp_path / "no such file"))
    with pytest.raises(CgruError, match="directory"):
        is_arpa(str(tmp_path))


def test_known_words_are_counted(path):
    words = Vocabulary({"</s>": 0, "<unk>": 1, "a": 2, "b@@": 3, "c": 4})
    assert NGrams(str(path)).known(words) in (3, 4)  # whether <unk> is a word or not


@pytest.mark.parametrize("cut", [40, 150])
def test_a_damaged_file_gives_one_line(path, cut):
    path.write_text(TEXT[:cut])
    with pytest.raises(CgruError) as error:
        NGrams(str(path))
    assert str(error.value).startswith(f"{path}: damaged: ") and "\n" not in str(error.value)
