"""A training run that does not fit into memory is refused, with a message that names the cause."""

import math
import os

import numpy as np
import pytest
from cases import random_arrays, small_structure

from cgru_cli.errors import CgruError
from cgru_cli.options.train import TrainOptions
from cgru_cli.train import memory
from cgru_cli.train.memory import check_batch, check_model, copies_of_model, memory_of_batch

STRUCTURE = small_structure()


class Corpus:
    """Four pairs, of 5 and 7 words on average."""

    lengths = np.array([[5, 7], [9, 11], [5, 7], [1, 3]], np.int32)

    def __len__(self):
        return len(self.lengths)


@pytest.fixture
def has(monkeypatch):
    """A function that says how much memory this machine has."""
    return lambda size: monkeypatch.setattr(memory, "whole_memory", lambda: size)


def refused(check, *arguments):
    with pytest.raises(CgruError) as error:
        check(*arguments)
    return str(error.value)


def test_memory_of_a_model(has):
    size = sum(array.nbytes for array in random_arrays(STRUCTURE).values())
    adam, smoothed = TrainOptions(), TrainOptions(exponential_smoothing=0.1)
    assert copies_of_model(TrainOptions(optimizer="sgd")) == 2
    assert copies_of_model(smoothed) == 5
    has(None)
    check_model(STRUCTURE, adam)
    has(4 * size)
    check_model(STRUCTURE, adam)
    refused(check_model, STRUCTURE, smoothed)
    has(4 * size - 1)
    message = refused(check_model, STRUCTURE, adam)
    assert f"{size // 4:,} parameters need" in message and "--dim-rnn" in message


@pytest.mark.parametrize(
    ("options", "pairs", "named"),
    [
        ({"mini_batch": 3}, 3, "--mini-batch: 3 pairs of 5 and 7 words"),
        ({"mini_batch": 99}, 4, "--mini-batch: 4 pairs"),  # the corpus has no more
        ({"mini_batch_words": 14}, 2, "--mini-batch-words 14: 2 pairs"),
    ],
)
def test_a_batch_of_average_length_has_to_fit(has, options, pairs, named):
    options, corpus = TrainOptions(**options), Corpus()
    needed = int(memory_of_batch(STRUCTURE, pairs, 5, 7))
    has(needed + 1)
    check_batch(STRUCTURE, options, corpus)
    has(needed - 1)
    assert named in refused(check_batch, STRUCTURE, options, corpus)


def test_the_workspace_has_to_hold_the_longest_pair():
    structure, corpus = small_structure(target_vocabulary=100_000), Corpus()
    needed = math.ceil(memory_of_batch(structure, 1, 9, 11) / 2**20)
    enough, less = (
        TrainOptions(mini_batch_fit=True, workspace=size) for size in (needed, needed - 1)
    )
    check_batch(structure, enough, corpus)
    message = refused(check_batch, structure, less, corpus)
    expected = f"--workspace {needed - 1}: the longest pair, of 9 and 11 words with EOS"
    assert message.startswith(expected)


def test_memory_of_the_machine_or_of_its_cgroup(tmp_path, monkeypatch):
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < memory.whole_memory() <= physical
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMITS", (str(limit), str(tmp_path / "none")))
    for text, expected in (("max\n", physical), ("1048576\n", 2**20), (str(2**62), physical)):
        limit.write_text(text)
        assert memory.whole_memory() == expected
    monkeypatch.setattr(memory.os, "sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    assert memory.whole_memory() is None
