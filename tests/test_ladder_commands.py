"""Every rung through the commands: trained, resumed, translated with; language models alone."""

import itertools

import numpy as np
import pytest
import runs
from commands import in_process

from cgru_cli import model_file
from cgru_cli.structure import Type

CELLS = ("gru", "lstm", "relu")
ENCODERS = ("alternating", "bidirectional", "bi-unidirectional", "unidirectional", "reversed")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return runs.prepared(tmp_path_factory.mktemp("data") / "data", pairs=24)


@pytest.fixture
def translate(tmp_path, monkeypatch):
    return in_process("translate", tmp_path, monkeypatch)


def combinations():
    """Each pair of choices at least once, the meaningful ones; the rest is refused."""
    everything = itertools.product(Type, CELLS, ENCODERS, (1, 2), (False, True), (False, True))
    for place, (kind, cell, encoder, depth, norm, tied) in enumerate(everything):
        if kind is Type.LM and encoder != "alternating":
            continue
        if kind is Type.SEQ2SEQ and encoder not in ("unidirectional", "reversed"):
            continue
        if place % 11 == 0 or (kind is Type.LM and place % 3):  # a spread of the whole table
            yield kind.value, cell, encoder, depth, norm, tied


@pytest.mark.parametrize(("kind", "cell", "encoder", "depth", "norm", "tied"), list(combinations()))
def test_trains_resumes_and_translates(
    data, tmp_path, translate, kind, cell, encoder, depth, norm, tied
):
    model = tmp_path / "m.npz"
    given = ["--type", kind, "--cell", cell, "--dec-depth", depth]
    if kind != "lm":
        given += ["--enc-type", encoder, "--enc-depth", depth]
    given += ["--layer-normalization"] * norm + ["--tied-embeddings"] * tied
    given = [data, "-m", model, *runs.SIZES, *given, "--valid-freq", "0", "--quiet"]
    first = runs.train(*given, "--after", "1u")
    assert first.code == 0, first.messages
    before = model_file.read(model).arrays
    assert runs.train(*given, "--after", "2u").code == 0
    after = model_file.read(model)
    assert (after.structure.type, after.structure.decoder_depth) == (kind, depth)
    assert any((after.arrays[name] != array).any() for name, array in before.items())
    assert all(np.isfinite(array).all() for array in after.arrays.values())
    text = "\n\n" if kind == "lm" else "w1 w2\nw3\n"
    code, output, messages = translate("-m", model, "-k", 2, "--translation-maxlen", 5, text=text)
    assert code == 0 and output.count("\n") == 2, messages
