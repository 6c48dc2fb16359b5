"""Nematus-TF's mini-batches against its own rule, and their effect on its search."""

import random

import numpy as np
import pytest
from commands import in_process
from ensembles import OneSource
from hypothesis import given
from hypothesis import strategies as st
from shared_files import fixture_path, text_lines

from cgru_cli import load_model
from cgru_cli.parameters.program import PROGRAMS
from cgru_cli.search.hypotheses import SearchBatch
from cgru_cli.search.nematus_tf_beam import nematus_tf_beam
from cgru_cli.search.settings import SearchSettings
from cgru_cli.text.source_words import pad_ids
from cgru_cli.translate.line_search import nematus_tf_batches

BATCH, MAXI, BEAM = 4, 4, 5  # lines, mini-batches, hypotheses


def read_all_lines(sentences, batch_size):
    """Nematus-TF's function of that name: mini-batches, as places of their lines."""
    lengths = np.array([len(sentence.strip().split()) for sentence in sentences], np.int16)
    places = lengths.argsort()
    return [places[i : i + batch_size].tolist() for i in range(0, len(places), batch_size)]


@given(st.lists(st.text("a \t\u00a0\u3000\u2028", max_size=9), max_size=80), st.integers(1, 9))
def test_batches_are_cut_from_all_lines(lines, mini_batch):
    lengths = [len(line.split()) for line in lines]
    assert nematus_tf_batches(lengths, mini_batch) == read_all_lines(lines, mini_batch)


@pytest.fixture(scope="module")
def model():
    return fixture_path("a-shallow/model.npz")


@pytest.fixture(scope="module")
def text(model):
    """Lines of all lengths, among them empty ones and some with other white space."""
    draw = random.Random(3)
    lines = []
    for line in text_lines(model.with_name("src.txt"))[:22]:
        words = line.split()[: draw.randint(1, 20)]
        spaces = draw.choices([" ", " ", "\u00a0", "\t"], k=len(words))
        lines.append("".join(w + s for w, s in zip(words, spaces, strict=True)))
        lines += draw.choices(["", "", " ", "\u00a0"], k=draw.randint(0, 1))
    return lines


def lists_of(model, lines, batches):
    """Scores of the n best of each line that has words, searched in these batches."""
    loaded = load_model(model)
    decoder = OneSource((loaded.model.structure, loaded.model.arrays))
    ids = [[(i,) for i in loaded.sources[0].encode(line.split())] for line in lines]
    lists = {}
    for batch in batches:
        sources = [ids[i] for i in batch]
        lengths = [len(words) + 1 for words in sources]
        limits = [PROGRAMS["nematus-tf"].limit(length) for length in lengths]
        states = decoder.begin(pad_ids(sources))
        results = nematus_tf_beam(SearchBatch(states, lengths, limits), SearchSettings(BEAM))
        for i, best in zip(batch, results, strict=True):
            if ids[i]:
                lists[i] = [result.total for result in best]
    return lists


@pytest.mark.long
def test_empty_lines_count_in_batches(tmp_path, model, text):
    asked = f"--compat nematus-tf -k {BEAM} --n-best --mini-batch {BATCH} --maxi-batch {MAXI}"
    code, written, messages = in_process("translate", tmp_path)(
        "-m", model, *asked.split(), text="\n".join([*text, ""])
    )
    assert code == 0, messages
    found = {}
    for line in written.splitlines():
        number, hypothesis, score = line.split(" ||| ")
        if not text[int(number)].split():
            assert not hypothesis.strip()  # an empty line gives an empty line
        elif float(score) > -1e6:  # others pad a short list
            found.setdefault(int(number), []).append(float(score))
    expected, without = {}, {}
    for start in range(0, len(text), BATCH * MAXI):
        lines = text[start : start + BATCH * MAXI]
        batches = [[start + i for i in batch] for batch in read_all_lines(lines, BATCH)]
        expected |= lists_of(model, text, batches)
        filled = [start + i for i, line in enumerate(lines) if line.split()]
        batches = read_all_lines([text[i] for i in filled], BATCH)
        without |= lists_of(model, text, [[filled[i] for i in batch] for batch in batches])
    assert found.keys() == expected.keys()
    for number, scores in expected.items():
        np.testing.assert_allclose(found[number], scores, atol=1e-3, err_msg=str(number))
    # empty lines change the lengths of lists, which depend on the batch
    assert any(len(without[n]) != len(scores) for n, scores in expected.items())
