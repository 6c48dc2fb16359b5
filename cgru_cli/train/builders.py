"""Makes the parts of the training loop from the options."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..formats.model import Model
from ..options.train import TrainOptions
from ..system import tensorflow_start
from ..system.signals import StopRequest
from ..text.vocabulary import Vocabulary
from . import adaptation
from .dev_set import DevSet
from .dry_run import opening
from .examples import EpochExamples, device_shares, groups, size_of
from .loop import Training
from .run.forecast import Pace
from .run.log import TrainingLog
from .run.other_workers import NoReporter, NoSaving, NoValidation, no_log
from .run.patience import Patience
from .run.reporter import Reporter
from .run.saving import Saving
from .run.state import VALIDATION_TEXT, Course, identity
from .run.tensorboard import Summaries
from .run.validation import OnValidation, Validation
from .setup import Setup
from .update import memory_named, update
from .validation import Validator

if TYPE_CHECKING:
    import keras

    from ..optimization.minimum_risk import Sampler
    from ..optimization.objective import Objective
    from ..optimization.replicas import Replicas
    from ..optimization.step import TrainingStep


def build_training(
    setup: Setup,
    stop: StopRequest,
    replicas: Replicas,
    on_validation: OnValidation | None = None,
) -> Training:
    """Build the loop and its parts, new or restored from the last save; workers do it together.

    Removes the arrays from the setup. Raises CgruError if the run cannot resume with these options,
    and for files that cannot be read or written; UsageError for options that contradict each other.
    """
    options, earlier = setup.plan.options, setup.earlier
    same = identity(options, setup.model, setup.vocabularies, setup.corpus, replicas.count)
    if replicas.processes > 1:
        replicas.check_same(setup.shared_options | same)
    earlier.values = replicas.broadcast(earlier.values)
    if setup.dev_set:
        same[VALIDATION_TEXT] = setup.dev_set.fingerprint
    jit = earlier.jit(options)
    if jit is None:
        jit = replicas.broadcast(faster_compiled(setup, replicas.count))
    training = replicas.run_in_all(lambda: _build(setup, same, jit, stop, replicas, on_validation))
    if replicas.processes > 1:
        training.step.restore(replicas.broadcast_arrays(training.step.state()))
    return training


def _build(
    setup: Setup,
    same: dict[str, Any],
    jit: bool,
    stop: StopRequest,
    replicas: Replicas,
    on_validation: OnValidation | None,
) -> Training:
    """The loop of this process; same: the identity of the run and its data."""
    plan, options, model = setup.plan, setup.plan.options, setup.model
    patience, marian = Patience(plan.metrics, options), setup.earlier.marian
    step, course = setup.earlier.resume(
        same, patience, options, lambda: build_step(model, options, jit, replicas)
    )
    model.arrays.clear()  # the step has copies, and training may take days
    tensorflow_start.return_freed_memory()
    updates, devices = course.progress.updates, replicas.count
    validation: Validation | NoValidation = NoValidation()
    if replicas.is_first:
        validator = build_validator(setup, step, setup.dev_set) if setup.dev_set else None
        reporter = build_reporter(setup, course, step, devices)
        saving = Saving(setup, step, same, reporter.log, updates=updates)
        if validator:
            validation = Validation(validator, setup.script, saving, reporter, on_validation)
    else:
        reporter = NoReporter(no_log(), setup, devices=devices)
        saving = NoSaving(setup, step, same, reporter.log, updates=updates)
    if marian and marian.optimizer is None:
        reporter.log.line("The optimizer starts afresh: no state in Marian's format for this model")
    return Training(
        plan=plan,
        examples=EpochExamples(setup.corpus, model.structure, options, grid=jit, devices=devices),
        text=setup.text,
        step=step,
        sampler=build_sampler(step, setup.vocabularies[-1], options),
        validation=validation,
        course=course,
        patience=patience,
        reporter=reporter,
        saving=saving,
        stop=stop,
        replicas=replicas,
        opening=setup.added if updates else opening(setup, jit=jit, devices=str(replicas)),
    )


def build_step(
    model: Model, options: TrainOptions, jit: bool, replicas: Replicas | None = None
) -> TrainingStep:
    """The training step, with the model's weights and a new optimizer. Raises UsageError.

    replicas: all devices that train; by default TensorFlow's device.
    """
    from ..network.keras_model import RecurrentModel
    from ..optimization.quantized_weights import Quantization
    from ..optimization.replicas import Replicas
    from ..optimization.step import Regularization, TrainingStep

    regularization = Regularization(
        clip_norm=options.clip_norm,
        decay_c=options.decay_c,
        map_decay_c=options.map_decay_c,
        smoothing=options.exponential_smoothing,
    )
    policy = options.precision if options.precision == "float32" else f"mixed_{options.precision}"
    prior = quantization = None
    if options.map_decay_c and options.prior_model:
        prior = adaptation.prior(model, options.prior_model)
    if options.quantize_bits:
        quantization = Quantization(
            options.quantize_bits,
            options.quantize_log_based,
            options.quantize_optimization_steps,
            options.quantize_biases,
        )
    replicas = replicas or Replicas()
    with replicas.scope():
        return TrainingStep(
            RecurrentModel(model.structure, model.arrays, dtype=policy),
            build_optimizer(options),
            regularization,
            _objective(options),
            jit=jit,
            frozen=adaptation.frozen(model, options.freeze, embeddings=options.fix_embeddings),
            prior=prior,
            replicas=replicas,
            quantization=quantization,
        )


def build_optimizer(options: TrainOptions) -> keras.optimizers.Optimizer:
    """A new optimizer. Raises UsageError for parameters that the optimizer does not take."""
    from ..optimization.optimizers import optimizer

    return optimizer(options.optimizer, options.optimizer_params, options.learn_rate)


def _objective(options: TrainOptions) -> Objective:
    from ..optimization.objective import CrossEntropy, ExpectedRisk, Guide

    if options.minimizes_risk:
        return ExpectedRisk(options.mrt_alpha, options.mrt_ml_mix, options.label_smoothing)
    guide = None
    if options.alignments:
        guide = Guide(options.guided_alignment_cost, options.guided_alignment_weight)
    teacher_weight = options.teacher_weight if options.teacher else 0.0
    return CrossEntropy(options.label_smoothing, guide, teacher_weight)


def build_sampler(step: TrainingStep, target: Vocabulary, options: TrainOptions) -> Sampler | None:
    """The sampler of minimum risk training; None for other objectives."""
    if not options.minimizes_risk:
        return None
    from ..optimization.minimum_risk import MinimumRisk, Sampler
    from ..text.subwords import join_bpe

    loss = "chrf" if options.mrt_loss == "chrf" else "bleu"
    settings = MinimumRisk(options.mrt_samples, options.mrt_reference, loss)

    def join(words: Sequence[str]) -> str:
        return join_bpe(target.detokenize(words[::-1] if options.right_left else words))

    return Sampler(step.model, target, settings, options.seed, grid=step.jit, join=join)


def faster_compiled(setup: Setup, devices: int = 1) -> bool:
    """Whether a compiled step is faster: never on CPUs, elsewhere measured on the first batch.

    devices: the number of devices that share a batch.
    """
    import tensorflow as tf

    if not tf.config.get_visible_devices("GPU"):
        return False
    model, options = setup.model, setup.plan.options
    seconds = {}
    for jit in (False, True):
        step = build_step(model, options, jit)
        data = EpochExamples(setup.corpus, model.structure, options, grid=jit, devices=devices)
        example = next(data.epoch(0, 0)).share(0, devices)
        sampler = build_sampler(step, setup.vocabularies[-1], options)
        shares = device_shares([example], step.replicas, sampler, 0)[0]
        for _ in range(3):  # the first run traces and compiles
            started = time.perf_counter()
            ((cost, _),) = step.gradients(shares)
            float(cost)
            seconds[jit] = time.perf_counter() - started
    return seconds[True] < seconds[False]


def timed_updates(setup: Setup) -> Pace:
    """The pace of the first updates of a new model, which is thrown away."""
    model, plan, options = setup.model, setup.plan, setup.plan.options
    jit = setup.earlier.jit(options)
    jit = faster_compiled(setup) if jit is None else jit
    step = build_step(model, options, jit)
    sampler = build_sampler(step, setup.vocabularies[-1], options)
    data, pace = EpochExamples(setup.corpus, model.structure, options, grid=jit), Pace(setup.text)
    for group in groups(data.epoch(0, 0), options.optimizer_delay):
        started, (_, words) = time.perf_counter(), size_of(group)
        with memory_named(group):
            shares = device_shares(group, step.replicas, sampler, 0)
            update(step, plan, group, shares, options.learn_rate)
        pace.add(words, time.perf_counter() - started)
        if pace.is_known:
            break
    return pace


def build_validator(setup: Setup, step: TrainingStep, dev_set: DevSet) -> Validator:
    from ..network.keras_model import RecurrentModel

    model, plan = setup.model, setup.plan
    validated = RecurrentModel(
        model.structure, step.weights(), packed=True, dtype=step.model.dtype_policy
    )
    return Validator(plan.options, plan.metrics, dev_set, validated)


def build_reporter(setup: Setup, course: Course, step: TrainingStep, devices: int) -> Reporter:
    """The reporter of worker 0, and its log."""
    options, folder = setup.plan.options, setup.folder
    board = probe = None
    if options.tensorboard:
        board = Summaries(folder.beside(".tensorboard"))
    if options.log_gradients:
        from ..optimization.gradient_norms import GradientProbe

        probe = GradientProbe(step)
    log = TrainingLog(
        Path(options.log or folder.beside(".log")),
        folder.records,
        resumed=course.progress.updates,
        is_before=course.has_recorded,
        quiet=options.quiet,
        valid=Path(options.valid_log) if options.valid_log else None,
    )
    return Reporter(log, setup, board=board, probe=probe, devices=devices)
