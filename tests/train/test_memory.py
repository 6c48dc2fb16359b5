"""A training that does not fit into memory is refused, naming what is too large."""

import numpy as np
import pytest
from cases import random_arrays, small_structure

from cgru_cli.errors import CgruError
from cgru_cli.train.examples import Batching
from cgru_cli.train.memory import check_batch, check_model, copies_of_model, memory_of_batch

STRUCTURE = small_structure()


class Corpus:
    """Four pairs, of 5 and 7 words on average."""

    lengths = np.array([[5, 7], [9, 11], [5, 7], [1, 3]], np.int32)

    def __len__(self):
        return len(self.lengths)


def refused(check, *arguments, **more):
    with pytest.raises(CgruError) as error:
        check(*arguments, **more)
    return str(error.value)


def test_memory_of_a_model():
    size = sum(array.nbytes for array in random_arrays(STRUCTURE).values())
    assert copies_of_model("sgd", smoothed=False) == 2
    assert copies_of_model("adam", smoothed=True) == 5
    check_model(STRUCTURE, "adam", memory=lambda: 4 * size)
    check_model(STRUCTURE, "adam", memory=lambda: None)
    message = refused(check_model, STRUCTURE, "adam", memory=lambda: 4 * size - 1)
    assert f"{size // 4:,} parameters need" in message and "--dim-rnn" in message
    refused(check_model, STRUCTURE, "adam", smoothed=True, memory=lambda: 4 * size)


@pytest.mark.parametrize(
    ("batching", "pairs", "named"),
    [
        (Batching(sentences=3), 3, "--mini-batch: 3 pairs of 5 and 7 words"),
        (Batching(sentences=99), 4, "--mini-batch: 4 pairs"),  # the corpus has no more
        (Batching(words=14), 2, "--mini-batch-words 14: 2 pairs"),
    ],
)
def test_a_batch_of_average_length_has_to_fit(batching, pairs, named):
    corpus = Corpus()
    needed = memory_of_batch(STRUCTURE, pairs, 5, 7)
    check_batch(STRUCTURE, batching, corpus, memory=lambda: int(needed) + 1)
    assert named in refused(
        check_batch, STRUCTURE, batching, corpus, memory=lambda: int(needed) - 1
    )


def test_the_workspace_has_to_hold_the_longest_pair():
    corpus = Corpus()
    needed = memory_of_batch(STRUCTURE, 1, 9, 11)
    check_batch(STRUCTURE, Batching(memory=int(needed) + 1), corpus)
    message = refused(check_batch, STRUCTURE, Batching(memory=int(needed) - 1), corpus)
    assert message.startswith("--workspace 0: the longest pair, of 9 and 11 words with EOS")
