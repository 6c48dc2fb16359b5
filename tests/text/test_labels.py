"""Labels of lines as ids, and vocabularies of them."""

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.text.labels import check_labels, label_ids
from cgru_cli.text.vocabulary import Vocabulary

LABELS = Vocabulary({"</s>": 0, "<unk>": 1, "pos": 2, "neg": 3}, "labels.json")


def test_a_label_has_its_id():
    assert label_ids(["neg"], LABELS) == [3]


@pytest.mark.parametrize("labels", [[], ["pos", "neg"], ["other"], ["</s>"], ["<unk>"]])
def test_other_labels_are_refused(labels):
    with pytest.raises(
        CgruError, match=r"labels; one is expected|is none of the 2 in labels\.json"
    ):
        label_ids(labels, LABELS)


@pytest.mark.parametrize(
    "ids",
    [{"</s>": 0, "pos": 1, "neg": 2}, {"</s>": 0, "<unk>": 1}, {"</s>": 0, "<GO>": 1, "a": 2}],
)
def test_a_vocabulary_of_words_is_none_of_labels(ids):
    check_labels(LABELS)
    with pytest.raises(CgruError, match="no vocabulary of labels"):
        check_labels(Vocabulary(ids, "v.json"))
