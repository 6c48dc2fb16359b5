"""A hypothesis and its reverse."""

import numpy as np

from cgru_cli.output.hypothesis import Hypothesis

ALIGNMENT = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_text_is_the_words_unless_detokenized():
    assert Hypothesis(["a@@", "b"], True, -1.0, -1.0).text == "a@@ b"
    assert Hypothesis(["a@@", "b"], True, -1.0, -1.0, detokenized="ab").text == "ab"
    assert Hypothesis([], True, 0.0, 0.0, detokenized="").text == ""


def test_words_and_rows_are_reversed_and_eos_stays_last():
    scores = np.array([-1, -2, -3, -4], np.float32)
    one = Hypothesis(["a", "b", "c"], True, -10.0, -5.0, scores, (-10.0,), ALIGNMENT)
    turned = one.reversed()
    assert turned.tokens == ["c", "b", "a"]
    assert turned.word_scores.tolist() == [-3, -2, -1, -4]
    assert turned.alignment[:, 0].tolist() == [6, 3, 0, 9]
    assert turned.reversed().alignment.tolist() == ALIGNMENT.tolist()
    assert (turned.score, turned.total, turned.model_scores) == (-10.0, -5.0, (-10.0,))


def test_cut_translation_has_no_row_for_eos():
    cut = Hypothesis(["a", "b"], False, -3.0, -3.0, np.array([-1, -2], np.float32))
    assert cut.reversed().word_scores.tolist() == [-2, -1]
    assert cut.reversed().alignment is None


def test_it_is_shown_in_a_line_and_with_its_attention_in_a_notebook():
    plain = Hypothesis(["Wo", "ist"], True, -1.5, -0.50001)
    assert repr(plain) == "Hypothesis('Wo ist', total=-0.5)"
    assert plain._repr_html_() is None
    attended = plain._replace(
        source=["where", "is"],
        alignment=np.eye(3, dtype=np.float32),
        word_scores=np.array([-0.5, -0.5, -0.5], np.float32),
    )
    assert "<iframe" in attended._repr_html_()
