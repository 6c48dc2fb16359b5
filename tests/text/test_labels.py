"""Labels as ids, and vocabularies of labels."""

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.text.labels import check_labels, check_tags, label_ids
from cgru_cli.text.vocabulary import Vocabulary

LABELS = Vocabulary({"</s>": 0, "<unk>": 1, "pos": 2, "neg": 3}, "labels.json")


def test_a_label_has_its_id():
    assert label_ids(["neg"], LABELS, one=True) == [3]
    assert label_ids(["neg", "pos", "neg"], LABELS, one=False) == [3, 2, 3]


def test_each_word_has_a_tag():
    source = [(5, 1), (7, 0), (6, 1)]  # two words, the first in two pieces
    check_tags(source, [2, 3])
    with pytest.raises(CgruError, match="3 tags for 2 words"):
        check_tags(source, [2, 3, 2])


@pytest.mark.parametrize("labels", [[], ["pos", "neg"], ["other"], ["</s>"], ["<unk>"]])
def test_other_labels_are_refused(labels):
    with pytest.raises(
        CgruError, match=r"labels; one is expected|is not among the 2 in labels\.json"
    ):
        label_ids(labels, LABELS, one=True)


@pytest.mark.parametrize(
    "ids",
    [{"</s>": 0, "pos": 1, "neg": 2}, {"</s>": 0, "<unk>": 1}, {"</s>": 0, "<GO>": 1, "a": 2}],
)
def test_vocabulary_of_words_is_refused(ids):
    check_labels(LABELS)
    with pytest.raises(CgruError, match="not a vocabulary of labels"):
        check_labels(Vocabulary(ids, "v.json"))
