"""Combinations of types, cells, encoders, depths, norms and tying: trained, saved, resumed, used.

By default, a selection in which any two values occur together; all of them with the marker
`exhaustive`. Operations run eagerly, because tracing would take most of the time for models of this
size; `test_ladder_commands` runs some of the combinations with the commands.
"""

import itertools

import numpy as np
import pytest
import runs
import tensorflow as tf
from forced import force_decode
from models import log_probabilities, pad_source, pad_target

from cgru_cli.corpus.batches import Batch
from cgru_cli.errors import UsageError
from cgru_cli.formats import read_model, write_model
from cgru_cli.network.network import Network
from cgru_cli.options.model import LABELLING
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.structure import WITHOUT_FEEDBACK
from cgru_cli.train.builders import build_step
from cgru_cli.train.starting_model import make_starting_model
from cgru_cli.train.texts import Texts

pytestmark = pytest.mark.long


CONDITIONS = ("label", "vector")  # of a language model
TYPES = ("lm", *CONDITIONS, "encdec", "seq2seq", "rnnsearch", "cgru", "classifier", "tagger")
CELLS = ("gru", "lstm", "rnn", "relu", "sigmoid")
BOTH_WAYS = ("alternating", "bidirectional", "bi-unidirectional")
ONE_WAY = ("unidirectional", "reversed")
ENCODERS = {"lm": (None,), "label": (None,), "vector": (None,), "seq2seq": ONE_WAY}  # or all


VECTORS = ((0.5, -2.0), (1.0, 0.0))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    data = runs.prepared(tmp_path_factory.mktemp("data"), pairs=2, dev=1)
    runs.lines(data / "train.labels", ["A", "B"])
    np.save(data / "train.npy", np.float32(VECTORS))
    runs.vocabulary(data / "vocab.labels.json", ["A", "B"])
    runs.vocabulary(data / "vocab.tags.json", ["A", "B"])
    words = (data / "train.src").read_text().splitlines()
    runs.lines(data / "train.tags", [" ".join("A" for _ in line.split()) for line in words])
    return data


@pytest.fixture
def eagerly():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def options(data, kind, cell, encoder, depth, norm, tied, start="mean", feedback=True):
    sides = ("src", "trg") if encoder else ("trg",)
    if kind in LABELLING:
        sides = ("src", "labels" if kind == "classifier" else "tags")
    vocabularies = sides
    if kind in CONDITIONS:
        sides = ("labels" if kind == "label" else "npy", "trg")
        vocabularies = sides if kind == "label" else ("trg",)
    return TrainOptions(
        type="lm" if kind in CONDITIONS else kind, condition=kind in CONDITIONS,
        cell=cell, dec_start=start, enc_type=encoder,
        enc_depth=depth if encoder else 1, dec_depth=1 if kind in LABELLING else depth,
        no_feedback=not feedback, layer_normalization=norm, tied_embeddings=tied,
        dim_emb=3, dim_rnn=4, optimizer="sgd",
        train_sets=tuple(str(data / f"train.{side}") for side in sides), model="m.npz",
        vocabularies=tuple(str(data / f"vocab.{side}.json") for side in vocabularies),
        clip_norm=1.0,
    )  # fmt: skip


def batch(kind):
    source = tf.zeros([2, 1, 0], tf.int32), tf.ones([2, 1])
    if kind == "label":
        source = pad_source([[(2,)], [(3,)]])
    elif kind == "vector":
        source = pad_source([[tuple(row)] for row in np.float32(VECTORS).view(np.int32)])
    elif kind != "lm":
        source = pad_source([[(3,)], [(4,)] if kind == "tagger" else []])
    targets = [[2], [3]] if kind in LABELLING else [[2], []]
    return Batch(*map(tf.convert_to_tensor, (*source, *pad_target(targets))))


def step_of(model, chosen):
    step = build_step(model, chosen, jit=False)
    step._traced = step._gradients  # without tracing there are no concrete functions
    return step


@pytest.mark.parametrize("encoder", BOTH_WAYS)
def test_a_reader_both_ways_leaves_no_last_state(data, encoder):
    given = options(data, "seq2seq", "gru", encoder, 1, False, False)
    with pytest.raises(UsageError, match="--enc-type"):
        make_starting_model(given, Texts.of(given, None))


def combinations(kind):
    """All valid combinations for a type: a value of each option, in the order of `options`."""
    encoders = ENCODERS.get(kind, (*BOTH_WAYS, "unidirectional", "reversed"))
    for chosen in itertools.product(
        CELLS, encoders, (1, 2), (False, True), (False, True), ("mean", "last-backward"),
        (True, False),
    ):  # fmt: skip
        _, encoder, depth, _, tied, start, feedback = chosen
        if not feedback and (tied or kind not in WITHOUT_FEEDBACK):
            continue
        if tied and kind in LABELLING:
            continue
        forward = encoder == "unidirectional" or (encoder == "bi-unidirectional" and depth > 1)
        if start == "mean" or (kind in ("rnnsearch", "cgru") and not forward):
            yield kind, *chosen


def pairwise(everything):
    """A small selection in which every compatible pair of values occurs."""
    pairs = {chosen: set(itertools.combinations(enumerate(chosen), 2)) for chosen in everything}
    missing = set().union(*pairs.values())
    while missing:
        best = max(everything, key=lambda chosen: len(pairs[chosen] & missing))
        missing -= pairs[best]
        yield best


EVERYTHING = [chosen for kind in TYPES for chosen in combinations(kind)]


@pytest.mark.parametrize("chosen", list(pairwise(EVERYTHING)), ids=lambda c: "-".join(map(str, c)))
def test_pairs_of_options(data, tmp_path, eagerly, chosen):
    check(data, tmp_path, chosen)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", TYPES)
def test_all_combinations(data, tmp_path, eagerly, kind):
    for chosen in combinations(kind):
        check(data, tmp_path, chosen)


def check(data, tmp_path, chosen):
    """Train a model with these options, save it in two formats, resume and use it."""
    kind = chosen[0]
    examples = batch(kind)
    source, source_mask, target, mask = examples[:4]
    given = options(data, *chosen)
    texts = Texts.of(given, None)
    model, vocabularies, _ = make_starting_model(given, texts)
    step = step_of(model, given)
    first = step.update([[(examples, {})]], 2.0, 0.01)
    state = step.state()
    model.arrays = step.weights()
    resumed = step_of(model, given)
    resumed.restore(state)
    found = resumed.state()
    assert all(np.array_equal(found[name], array) for name, array in state.items())
    second = resumed.update([[(examples, {})]], 2.0, 0.01)
    assert first.applied and second.applied and second.cost != first.cost, chosen

    for format in ("npz", "h5"):
        path = tmp_path / f"saved.{format}"
        write_model.write(model, path, format, vocabularies, force=True)
        read = read_model.read(str(path))
        assert read.structure == model.structure
        assert all(np.array_equal(read.arrays[name], a) for name, a in model.arrays.items())
    network = Network(read.structure, read.arrays, "float32")
    log_probs = log_probabilities(force_decode(network, source, source_mask, target), target, mask)
    assert float(tf.reduce_sum(log_probs)) == pytest.approx(-second.cost, rel=1e-5), chosen

    memory = network.encode(source, source_mask)
    state, word, total = network.start(memory), tf.constant([-1, -1]), 0.0
    for place in range(2):  # the scored words, now one by one
        logits, state, _ = network.step(state, word, memory)
        word = target[:, place]
        total += tf.gather(tf.nn.log_softmax(logits), word, batch_dims=1) * mask[:, place]
    assert float(tf.reduce_sum(total)) == pytest.approx(-second.cost, rel=1e-5), chosen
