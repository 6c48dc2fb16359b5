"""Norms of gradients, compared with central differences and with the training step."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from cases import dropped_for, random_arrays
from deep_equations import DeepModel
from models import double_precision, ladder_oracle, pad_source, pad_target, typed
from runs import ATTENTIVE, prepared, records, trained
from selection import choice

from cgru_cli.corpus.batches import Batch
from cgru_cli.corpus.dropout import Rates
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.optimization.gradient_norms import GradientProbe
from cgru_cli.optimization.objective import CrossEntropy
from cgru_cli.optimization.optimizers import optimizer
from cgru_cli.optimization.step import Regularization, TrainingStep
from cgru_cli.parameters.structure import Encoder, Normalization, Type, Unit

SOURCES = [[3, 1], []]
TARGETS = [[], [5, 1, 4]]
STEP = 1e-5

LSTM = {"encoder_unit": Unit.LSTM, "decoder_unit": Unit.LSTM}
STRUCTURES = {
    "lm of plain cells": typed(Type.LM, decoder_unit=Unit.TANH),
    "deep lm of LSTMs": typed(Type.LM, **LSTM, decoder_depth=3, decoder_high_transition=2),
    "deep lm, no residuals": typed(Type.LM, decoder_depth=2, residual=False),
    "encdec": typed(Type.ENCDEC, **LSTM, encoder=Encoder.BIDIRECTIONAL, decoder_base_transition=2),
    "reversed seq2seq": typed(
        Type.SEQ2SEQ, **LSTM, encoder=Encoder.REVERSED, encoder_depth=2, decoder_depth=2
    ),
    "rnnsearch": typed(Type.RNNSEARCH, decoder_unit=Unit.GRU_BEFORE, encoder_unit=Unit.RELU),
    "deep cgru": typed(
        Type.CGRU,
        encoder_depth=2,
        encoder_transition=2,
        decoder_depth=2,
        deep_context=True,
        normalization=Normalization.NEMATUS,
    ),
    "bi-unidirectional": typed(
        Type.CGRU,
        **LSTM,
        encoder=Encoder.BI_UNIDIRECTIONAL,
        encoder_depth=2,
        encoder_transition=2,
    ),
}


class Nudged(DeepModel):
    """The oracle with a change to one number of the state that `unit` computes at step `time`."""

    def move(self, matrix, time, array, place, by):
        self.where, self.time, self.array, self.place, self.by = matrix, time, array, place, by
        self.calls = 0
        return self

    def step(self, cell, *arguments):
        state = super().step(cell, *arguments)
        if cell.U.format("") != self.where:
            return state
        self.calls += 1
        if self.calls == self.time + 1:
            moved = getattr(state, self.array).copy()
            moved[self.place] += self.by
            state = state._replace(**{self.array: moved})
        return state


def last_matrices(s):
    """For each state, the name of its cell's matrix, and whether it reads backward."""

    def behind(prefix, count):
        return f"{prefix}_U_drt_{count - 1}" if count > 1 else f"{prefix}_U"

    base = s.decoder_base_transition
    prefix = "encoder" if s.type is Type.LM else "decoder"
    if s.type is Type.CGRU:
        found = {"decoder.1": (f"{prefix}_U_nl" + f"_drt_{base - 2}" * (base > 2), False)}
    else:
        found = {"decoder.1": (behind(prefix, base), False)}
    for level in range(2, s.decoder_depth + 1):
        matrix = behind(f"{prefix}_{level}", s.decoder_high_transition)
        found[f"decoder.{level}"] = matrix, False
    for level in range(1, s.encoder_depth + 1) if s.type.reads_source else ():
        for direction in s.directions(level):
            prefix = "encoder" + "_r" * (direction == "backward") + f"_{level}" * (level > 1)
            matrix = behind(prefix, s.encoder_transition)
            found[f"encoder.{level}.{direction}"] = matrix, direction == "backward"
    return found


def expected_norms(s, arrays):
    """Norms (steps,) of d cost / d state, by state and sentence; then for the last word's cost."""
    exact = ladder_oracle(s, arrays)
    exact.__class__ = Nudged
    everything, last_word = {}, {}
    for state, (matrix, backward) in last_matrices(s).items():
        unit = s.decoder_unit if state.startswith("decoder") else s.encoder_unit
        for array in ("h", "c") if unit is Unit.LSTM else ("h",):
            both = [], []
            for source, target in zip(SOURCES, TARGETS, strict=True):
                sides = {"decoder": target, "encoder": source}
                steps = len(sides[state[:7]]) + 1
                found = np.zeros((2, steps, s.state))
                for time, place in np.ndindex(steps, s.state):
                    costs = []
                    for by in (STEP, -STEP):
                        exact.move(matrix, time, array, place, by)
                        given = source if s.type.reads_source else None
                        logs = exact.force_decode(given, target).log_probs
                        costs.append((-logs.sum(), -logs[max(len(target) - 1, 0)]))
                    at = steps - 1 - time if backward else time
                    found[:, at, place] = np.subtract(*costs) / (2 * STEP)
                norms = np.linalg.norm(found, axis=2)
                both[0].append(norms[0])
                last = norms[1]
                if state.startswith("decoder"):  # steps count from the last word
                    last = last[: max(len(target), 1)][::-1]
                both[1].append(last)
            everything[f"{state}.{array}"], last_word[f"{state}.{array}"] = map(means, both)
    return everything, last_word


def means(of_sentences):
    """The mean at each step, over the sentences with this step."""
    steps = range(max(map(len, of_sentences)))
    return [np.mean([norms[t] for norms in of_sentences if len(norms) > t]) for t in steps]


def close(found, expected, **tolerance):
    assert found.keys() == expected.keys()
    for name, norms in expected.items():
        np.testing.assert_allclose(found[name], norms, err_msg=name, **tolerance)


@pytest.mark.long
@pytest.mark.parametrize("name", choice(STRUCTURES, *(STRUCTURES.keys() - {"deep cgru"})))
def test_norms_at_states_are_central_differences_of_the_oracle(name):
    s = STRUCTURES[name]
    arrays = {n: array.astype(np.float64) for n, array in random_arrays(s, 1).items()}
    target, target_mask = pad_target(TARGETS, filler=3, longer=2)
    source = tf.zeros([2, 1, 0], tf.int32), tf.ones([2, 1])
    if s.type.reads_source:
        source = pad_source([[(i,) for i in words] for words in SOURCES], filler=1, longer=1)
    examples = Batch(
        source[0], tf.cast(source[1], tf.float64), target, tf.cast(target_mask, tf.float64)
    )
    parameters = {n: SimpleNamespace(value=tf.constant(array)) for n, array in arrays.items()}
    step = SimpleNamespace(
        model=SimpleNamespace(structure=s, parameters=parameters, compute_dtype="float64"),
        trained=parameters,
        objective=CrossEntropy(),
        loss_scale=SimpleNamespace(scale=np.float64(1.0)),
    )
    probe = GradientProbe(step)
    probe._traced = probe._batch_norms  # not traced, which would take most of the time
    with double_precision():
        found = probe.norms(examples, {})
    costs = [
        -ladder_oracle(s, arrays)
        .force_decode(source if s.type.reads_source else None, target)
        .log_probs
        for source, target in zip(SOURCES, TARGETS, strict=True)
    ]
    assert found.cost == pytest.approx(sum(cost.sum() for cost in costs))
    last = [cost[-2:][0] for cost in costs]  # that of EOS, without other words
    assert found.last_word_cost == pytest.approx(np.mean(last))
    everything, last_word = expected_norms(s, arrays)
    close(found.states, everything, rtol=1e-6, atol=1e-9)
    close(found.last_word, last_word, rtol=1e-6, atol=1e-9)


def real_step(s, dtype="float32", label_smoothing=0.0):
    model = RecurrentModel(s, random_arrays(s, 1), dtype=dtype)
    sgd, objective = optimizer("sgd", (), 1.0), CrossEntropy(label_smoothing)
    return TrainingStep(model, sgd, Regularization(), objective, jit=False)


def batch(s):
    source = np.zeros((2, 1, 0), np.int32), np.ones((2, 1), np.float32)
    if s.type.reads_source:
        source = pad_source([[(i,) for i in words] for words in SOURCES])
    return Batch(*map(np.array, (*source, *pad_target(TARGETS))))


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_norms_of_parameters_are_those_of_the_step(dtype):
    """With dropout and label smoothing, and without float16's loss scale."""
    s = typed(Type.LM)
    step, examples = real_step(s, dtype, label_smoothing=0.1), batch(s)
    dropped = dropped_for(s, Rates(hidden=0.3), examples)
    assert dropped
    found = GradientProbe(step).norms(examples, dropped)
    ((cost, gradients),) = step.gradients([(examples, dropped)])
    assert found.cost == pytest.approx(float(cost) / step.loss_scale.scale, rel=1e-3)
    expected = {
        name: np.linalg.norm(gradient.numpy()) / step.loss_scale.scale
        for name, gradient in zip(step.trained, gradients, strict=True)
    }
    tolerance = 1e-5 if dtype == "float32" else 1e-2
    close(found.parameters, expected, rtol=tolerance, atol=tolerance / 10)


def test_rows_of_padding_do_not_count():
    s = typed(Type.SEQ2SEQ, encoder=Encoder.UNIDIRECTIONAL)
    step, examples = real_step(s), batch(s)
    probe = GradientProbe(step)
    expected = probe.norms(examples, {})
    padded = Batch(*(np.concatenate([x, np.zeros_like(x[:2])]) for x in examples[:4]))
    padded.source_mask[2:, 0] = 1
    found = probe.norms(padded, {})
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, dict):
            close(one, other, rtol=1e-5)
        else:
            assert one == pytest.approx(other, rel=1e-5)


@pytest.mark.long
def test_norms_whose_squares_overflow_float32():
    """At the limits of float32, and beyond."""
    s = typed(Type.LM, decoder_unit=Unit.RELU, target_embedding=4)
    words = 12
    examples = Batch(
        np.zeros((1, 1, 0), np.int32),
        np.ones((1, 1), np.float32),
        np.full((1, words + 1), 2, np.int32),
        np.ones((1, words + 1), np.float32),
    )
    for factor in (1e-3, 1e2):
        arrays = {name: np.abs(array) for name, array in random_arrays(s, 1).items()}
        arrays["encoder_U"] = np.float32(factor) * np.eye(4, dtype=np.float32)
        arrays["encoder_W"] *= np.float32(1e-25)
        arrays["encoder_b"] = np.full(4, np.float32(1e-25))
        model = RecurrentModel(s, arrays)
        step = TrainingStep(model, optimizer("sgd", (), 1.0), Regularization(), jit=False)
        norms = GradientProbe(step).norms(examples, {}).last_word["decoder.1.h"]
        for distance in range(1, words):
            assert norms[distance] == pytest.approx(norms[0] * factor**distance, rel=1e-4)


# -- the option ------------------------------------------------------------------------------------


@pytest.mark.long
def test_train_records_them(tmp_path):
    """It records before the first update and with every line, and training is bit-identical."""
    data = prepared(tmp_path / "d")
    options = (data, *ATTENTIVE, "--enc-type", "bidirectional", "--after", "5u")
    options += ("--disp-freq", "2u", "--valid-freq", "0")
    trained(*options, "-m", tmp_path / "with.npz", "--log-gradients")
    trained(*options, "-m", tmp_path / "without.npz")
    assert not records(tmp_path / "without.npz", "gradients")
    with np.load(tmp_path / "with.npz") as one, np.load(tmp_path / "without.npz") as other:
        assert all(np.array_equal(one[name], other[name]) for name in other.files)
    entries = records(tmp_path / "with.npz", "gradients")
    assert [entry["update"] for entry in entries] == [0, 2, 4, 5]
    for entry in entries:
        norms = entry["parameters"].values()
        assert 0 < entry["last_word_cost"] < entry["cost"]
        assert entry["norm"] == pytest.approx(np.linalg.norm(list(norms)), rel=1e-5)
        assert (
            set(entry["states"])
            == set(entry["last_word"])
            == {"decoder.1.h", "encoder.1.forward.h", "encoder.1.backward.h"}
        )
        assert all(min(norms) > 0 for norms in entry["states"].values())
    first = records(tmp_path / "with.npz", "train")[0]
    assert 0.1 < entries[0]["norm"] / first["gradient_norm"] < 10
