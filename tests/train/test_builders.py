"""The parts of the training loop, made from options."""

import contextlib
import dataclasses
import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
import runs
import tensorflow as tf

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.optimization.objective import CrossEntropy, ExpectedRisk
from cgru_cli.optimization.quantized_weights import Quantization
from cgru_cli.options.train import TrainOptions
from cgru_cli.train import builders
from cgru_cli.train import setup as module
from cgru_cli.train.builders import build_step, build_training, build_validator, faster_compiled
from cgru_cli.train.dry_run import describe, opening
from cgru_cli.train.plan import Request, TrainingPlan
from cgru_cli.train.setup import check_extras, read_dev_set, read_inputs


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """The setup of a training run."""
    folder = runs.prepared(tmp_path_factory.mktemp("data"))
    options = TrainOptions(model=str(folder / "m.npz"), dim_emb=6, dim_rnn=8, mini_batch=8)
    with contextlib.ExitStack() as stack:
        return read_inputs(Request(options, data=str(folder)), stack)


def planned(setup, **options):
    """The setup with another plan."""
    plan = TrainingPlan(TrainOptions(**options), can_validate=True)
    return dataclasses.replace(setup, plan=plan)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"clip_norm": 1, "decay_c": 0, "map_decay_c": 0, "smoothing": 0}),
        (
            {"clip_norm": 0.5, "decay_c": 1e-3, "exponential_smoothing": 0.2},
            {"clip_norm": 0.5, "decay_c": 1e-3, "map_decay_c": 0, "smoothing": 0.2},
        ),
    ],
)
def test_regularization(given, options, expected):
    step = build_step(given.model, TrainOptions(**options), jit=False)
    assert vars(step.regularization) == expected
    assert bool(step.smoothed) == bool(expected["smoothing"])


def test_quantization(given):
    options = TrainOptions(
        quantize_bits=4,
        quantize_log_based=True,
        quantize_optimization_steps=3,
        quantize_biases=True,
    )
    step = build_step(given.model, options, jit=False)
    assert step.quantization == Quantization(4, log_based=True, scale_steps=3, biases=True)
    assert set(step.errors) == set(step.trained)
    assert build_step(given.model, TrainOptions(), jit=False).quantization is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, CrossEntropy()),
        ({"label_smoothing": 0.1}, CrossEntropy(0.1)),
        ({"objective": "MRT", "mrt_alpha": 0.1, "mrt_ml_mix": 0.2}, ExpectedRisk(0.1, 0.2)),
        (
            {"objective": "MRT", "mrt_ml_mix": 0.2, "label_smoothing": 0.1},
            ExpectedRisk(0.005, 0.2, 0.1),
        ),
    ],
)
def test_objectives(given, options, expected):
    assert build_step(given.model, TrainOptions(**options), jit=False).objective == expected


@pytest.mark.parametrize(
    ("options", "name", "attributes"),
    [
        ({}, "adam", {"beta_1": 0.9, "beta_2": 0.999}),
        ({"optimizer_params": (0.8, 0.98, 1e-9)}, "adam", {"beta_1": 0.8, "epsilon": 1e-9}),
        ({"optimizer": "adamw"}, "adamw", {}),
        ({"optimizer": "sgd", "optimizer_params": (0.7,)}, "sgd", {"momentum": 0.7}),
        ({"optimizer": "adagrad"}, "adagrad", {}),
        ({"optimizer": "adadelta"}, "adadelta", {}),
        ({"optimizer": "rmsprop", "optimizer_params": (0.95,)}, "rmsprop", {"rho": 0.95}),
    ],
)
def test_optimizers(given, options, name, attributes):
    step = build_step(given.model, TrainOptions(learn_rate=0.25, **options), jit=False)
    assert type(step.optimizer).__name__.lower() == name
    assert float(step.optimizer.learning_rate) == 0.25
    for attribute, value in attributes.items():
        assert getattr(step.optimizer, attribute) == value


def test_parameters_that_the_optimizer_does_not_have(given):
    options = TrainOptions(optimizer="sgd", optimizer_params=(2.0,))
    with pytest.raises(UsageError, match=r"^--optimizer-params: .*momentum"):
        build_step(given.model, options, jit=False)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_precision(given, precision):
    step = build_step(given.model, TrainOptions(precision=precision), jit=False)
    assert step.model.compute_dtype == precision
    assert step.loss_scale.dynamic == (precision == "float16")
    assert all(array.dtype == np.float32 for array in step.weights().values())


def test_the_step_has_the_weights_of_the_model(given):
    model = given.model
    step = build_step(model, TrainOptions(exponential_smoothing=0.1), jit=True)
    assert step.jit
    for name, array in step.weights().items():
        np.testing.assert_array_equal(array, model.arrays[name])


def test_steps_are_not_compiled_on_cpus(given):
    if tf.config.get_visible_devices("GPU"):
        pytest.skip("there is a GPU")
    assert faster_compiled(given) is False


@pytest.mark.parametrize(
    ("option", "compiled"), [("auto", "measured"), ("on", True), ("off", False)]
)
def test_a_new_step_is_compiled_if_that_is_faster(given, option, compiled, monkeypatch):
    replicas = SimpleNamespace(
        is_first=True, count=1, processes=1, run_in_all=lambda work: work(), broadcast=lambda x: x
    )
    monkeypatch.setattr(builders, "faster_compiled", lambda setup, devices: "measured")
    monkeypatch.setattr(builders, "_build", lambda setup, same, jit, *parts: jit)
    assert build_training(planned(given, jit=option), None, replicas) == compiled


@pytest.mark.long
def test_minimum_risk_training_is_measured_on_gpus(given, monkeypatch):
    step = build_step(given.model, TrainOptions(objective="mrt"), jit=False)
    monkeypatch.setattr(builders, "build_step", lambda model, options, jit: step)  # saves time
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda kind: [kind])
    setup = planned(given, objective="mrt", mini_batch=2, mrt_samples=2)
    assert faster_compiled(setup) in (True, False)


def test_validation_as_the_options_say(given):
    setup = planned(
        given,
        valid_metrics=("chrf", "perplexity"),
        beam_size=3,
        normalize=0.5,
        valid_mini_batch=7,
        valid_translation_output="out",
        precision="bfloat16",
    )
    step = build_step(setup.model, setup.plan.options, jit=False)
    made = build_validator(setup, step, read_dev_set(setup))
    assert made.metrics == ("chrf", "perplexity") and made.options is setup.plan.options
    assert (made.model.compute_dtype, made.model.packed) == ("bfloat16", True)
    for sentences, path in zip(
        (made.dev_set.sources, made.dev_set.targets), setup.texts.dev, strict=True
    ):
        words = [len(line.split()) for line in path.read_text().splitlines()]
        assert list(map(len, sentences)) == words
    assert read_dev_set(planned(given, valid_freq="0", after="1e")) is None


def test_packages_that_are_missing(monkeypatch):
    check_extras(TrainOptions())
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    check_extras(TrainOptions())
    with pytest.raises(CgruError, match=r"--plot needs matplotlib"):
        check_extras(TrainOptions(plot=True))
    with pytest.raises(CgruError, match=r"--tensorboard needs tensorboard: pip install"):
        check_extras(TrainOptions(tensorboard=True))


def test_the_first_lines(given):
    count = sum(array.size for array in given.model.arrays.values())
    line = (
        f"Training {count:,} parameters on 60 pairs (0 empty, 0 too long, 0 cut), vocabularies "
        "(14,) and 14, no XLA, float32"
    )
    setup = dataclasses.replace(given, notes=["a note"])
    assert opening(setup, jit=False) == ["a note", line]
    assert opening(setup, jit=False, devices="2 devices")[1] == f"{line}, 2 devices"
    marian = planned(setup, compat="marian")
    loaded = [
        (f"[data] Loading vocabulary from {vocabulary.path}",
         f"[data] Setting vocabulary size for input {place} to 14")
        for place, vocabulary in enumerate(setup.vocabularies)
    ]  # fmt: skip
    assert opening(marian, jit=True) == [
        "Synced seed 1",
        *itertools.chain(*loaded),
        "a note",
        line.replace("Training", "[training]").replace("no XLA", "XLA"),
        "Training started",
    ]


def test_a_dry_run(given, capsys):
    describe(dataclasses.replace(given, notes=["a note"]))
    text = capsys.readouterr().out
    assert text.startswith("a note\npairs: 60 (0 empty")
    count = sum(array.size for array in given.model.arrays.values())
    # weights, gradient and Adam's two moments, 4 bytes each
    assert f"model, gradient and optimizer {count * 16 / 2**20:,.1f} MiB" in text
    assert re.search(r"first batch: 8 pairs of up to \d and \d words with EOS, \d+ target", text)
    assert given.folder.model.exists() is False


def test_validation_text_is_read_with_the_other_inputs(given, tmp_path):
    """So all workers report errors in it, which only the first reads."""
    valid = (str(tmp_path / "none"),) * 2
    options = dataclasses.replace(given.plan.options, valid_sets=valid)
    with contextlib.ExitStack() as stack, pytest.raises(CgruError, match="none: "):
        read_inputs(Request(options, data=str(given.folder.model.parent)), stack)
