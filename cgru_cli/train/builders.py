"""The parts of the training loop, made as the options say."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..corpus.corpus import Corpus
from ..errors import CgruError, UsageError
from ..formats.model import Model
from ..options.train import TrainOptions
from ..output.picture_style import check_installed
from ..parameters.structure import Type
from ..system import tensorflow_start
from ..system.signals import StopRequest
from ..text.pipeline import Preprocessing
from ..text.vocabulary import Vocabulary
from . import adaptation
from .dev_set import DevSet, LabelText, TargetText
from .dry_run import opening
from .examples import Batching, EpochExamples
from .loop import Training
from .plan import TrainingPlan, fixed_options, options_of_all_workers
from .run.end import End
from .run.folder import RunFolder
from .run.log import TrainingLog
from .run.reporter import Reporter
from .run.resuming import resume
from .run.saving import Saving
from .run.state import Course, identity
from .starting_model import StartingModel
from .texts import Texts
from .validation_script import command_of

if TYPE_CHECKING:
    import keras

    from ..optimization.gradient_norms import GradientProbe
    from ..optimization.minimum_risk import Sampler
    from ..optimization.replicas import Replicas
    from ..optimization.step import TrainingStep
    from .run.tensorboard import Summaries
    from .validation import Validator


def build_optimizer(options: TrainOptions) -> keras.optimizers.Optimizer:
    """A new optimizer. Raises UsageError for parameters that it does not have."""
    from ..optimization.optimizers import optimizer

    try:
        return optimizer(options.optimizer, options.optimizer_params, options.learn_rate)
    except ValueError as error:
        raise UsageError(f"--optimizer-params: {error}") from None


def build_step(
    model: Model, options: TrainOptions, jit: bool, replicas: Replicas | None = None
) -> TrainingStep:
    """The step, with the model's weights and a new optimizer. Raises UsageError for its numbers.

    replicas: all devices that train; without, the one that TensorFlow computes on.
    """
    from ..network.keras_model import RecurrentModel
    from ..optimization.objective import CrossEntropy, ExpectedRisk, Guide
    from ..optimization.quantized_weights import Quantization
    from ..optimization.replicas import Replicas
    from ..optimization.step import Regularization, TrainingStep

    guide = None
    if options.alignments:
        guide = Guide(options.guided_alignment_cost, options.guided_alignment_weight)
    policy = options.precision if options.precision == "float32" else f"mixed_{options.precision}"
    objective = (
        ExpectedRisk(options.mrt_alpha, options.mrt_ml_mix, options.label_smoothing)
        if options.minimizes_risk
        else CrossEntropy(options.label_smoothing, guide)
    )
    regularization = Regularization(
        clip_norm=options.clip_norm,
        decay_c=options.decay_c,
        map_decay_c=options.map_decay_c,
        smoothing=options.exponential_smoothing,
    )
    quantization = None
    if options.quantize_bits:
        quantization = Quantization(
            options.quantize_bits,
            options.quantize_log_based,
            options.quantize_optimization_steps,
            options.quantize_biases,
        )
    frozen = adaptation.frozen(model, options.freeze, embeddings=options.fix_embeddings)
    prior = None
    if options.map_decay_c and options.prior_model:
        prior = adaptation.prior(model, options.prior_model)
    replicas = replicas or Replicas()
    with replicas.scope():
        return TrainingStep(
            RecurrentModel(model.structure, model.arrays, dtype=policy),
            build_optimizer(options),
            regularization,
            objective,
            jit=jit,
            frozen=frozen,
            prior=prior,
            replicas=replicas,
            quantization=quantization,
        )


def build_sampler(
    step: TrainingStep, target: Vocabulary, options: TrainOptions, jit: bool
) -> Sampler | None:
    """The sampler of minimum risk training; None with other objectives."""
    if not options.minimizes_risk:
        return None
    from ..optimization.minimum_risk import MinimumRisk, Sampler
    from ..text.subwords import join_bpe

    settings = MinimumRisk(
        options.mrt_samples,
        options.mrt_reference,
        "chrf" if options.mrt_loss == "chrf" else "bleu",
    )

    def join(words: Sequence[str]) -> str:
        return join_bpe(target.detokenize(words[::-1] if options.right_left else words))

    return Sampler(step.model, target, settings, options.seed, grid=jit, join=join)


def faster_compiled(
    model: Model, options: TrainOptions, corpus: Corpus, batching: Batching, devices: int = 1
) -> bool:
    """Whether a step is faster compiled: never on CPUs, measured on the first batch elsewhere.

    devices: how many share a batch.
    """
    import tensorflow as tf

    from ..optimization.objective import Examples

    if not tf.config.get_visible_devices("GPU"):
        return False
    seconds = {}
    for jit in (False, True):
        step = build_step(model, options, jit)
        data = EpochExamples.of(corpus, model.structure, batching, grid=jit, devices=devices)
        example = next(data.epoch(0, 0)).share(0, devices)
        examples = Examples.of(example.batch)
        for _ in range(3):  # the first one traces and compiles
            started = time.perf_counter()
            ((cost, _),) = step.gradients([(examples, example.masks)])
            float(cost)
            seconds[jit] = time.perf_counter() - started
    return seconds[True] < seconds[False]


def build_validator(
    plan: TrainingPlan,
    options: TrainOptions,
    texts: Texts,
    start: StartingModel,
    step: TrainingStep,
) -> Validator | None:
    """The validator; None without metrics. Raises CgruError for the validation text."""
    if not plan.metrics or texts.dev is None:
        return None
    from ..network.keras_model import RecurrentModel
    from .validation import ValidationSettings, Validator

    *sources, target = start.vocabularies
    preprocessing = Preprocessing.read(texts.preprocessing) if texts.preprocessing else None
    kind = step.model.structure.type
    writes_text = kind.writes_text
    target_text = TargetText(target, preprocessing, options.right_left)
    if not writes_text:
        target_text = LabelText(target, of_words=kind is Type.TAGGER)
    dev_set = DevSet.read(
        *texts.dev,
        sources,
        target_text,
        reference=texts.reference,
        max_length=options.valid_max_length,
        source_reversed=start.model.settings.source_reversed,
        condition=start.model.structure.condition_size,
    )
    settings = ValidationSettings(
        metrics=plan.metrics,
        script=options.valid_script,
        script_args=options.valid_script_args,
        output=options.valid_translation_output,
        beam_size=options.beam_size if writes_text else 1,  # labels need no beam
        normalize=options.normalize,
        mini_batch=options.valid_mini_batch,
    )
    model = RecurrentModel(
        step.model.structure, step.weights(), packed=True, dtype=step.model.dtype_policy
    )
    return Validator(settings, dev_set, model)


def check_extras(options: TrainOptions) -> None:
    """Raises CgruError at once, not after an hour, where an option needs what is not installed."""
    if options.plot:
        check_installed("--plot")
    if options.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise CgruError("--tensorboard needs tensorboard: pip install 'cgru[tensorboard]'")


def build_board(options: TrainOptions, folder: RunFolder) -> Summaries | None:
    """The writer of TensorBoard's files; None without --tensorboard."""
    if not options.tensorboard:
        return None
    from .run.tensorboard import Summaries

    return Summaries(folder.beside(".tensorboard"))


def build_gradient_probe(options: TrainOptions, step: TrainingStep) -> GradientProbe | None:
    """The probe that measures gradients for the log, with --log-gradients."""
    if not options.log_gradients:
        return None
    from ..optimization.gradient_norms import GradientProbe

    return GradientProbe(step)


def build_reporter(
    options: TrainOptions,
    plan: TrainingPlan,
    folder: RunFolder,
    course: Course,
    step: TrainingStep,
    pairs: int,
    replicas: Replicas,
) -> Reporter:
    """The reporter and its log; on workers other than worker 0 they report nothing."""
    first = replicas.is_first
    board = build_board(options, folder) if first else None
    probe = build_gradient_probe(options, step) if first else None
    nowhere = Path(os.devnull)
    log = TrainingLog(
        Path(options.log or folder.beside(".log")) if first else nowhere,
        folder.records if first else nowhere,
        resumed=course.progress.updates,
        is_before=course.has_recorded,
        quiet=options.quiet or not first,
        valid=Path(options.valid_log) if options.valid_log and first else None,
        epoch=plan.logical_epoch,
    )
    return Reporter(
        log,
        plan.cost_type,
        board=board,
        probe=probe,
        pictures=folder if options.plot and first else None,
        devices=replicas.count,
        end=End(plan.after, pairs),
        as_marian=options.compat == "marian",
        shows_rate=options.compat != "marian" or options.lr_report,
    )


def _marian_files(options: TrainOptions) -> tuple[str, ...]:
    """Endings of the files that --compat marian writes beside a model, amun's if it can."""
    if options.compat != "marian":
        return ()
    return (".decoder.yml", ".amun.yml")[: 2 if options.type in ("amun", "nematus") else 1]


def build_training(
    options: TrainOptions,
    plan: TrainingPlan,
    texts: Texts,
    folder: RunFolder,
    start: StartingModel,
    corpus: Corpus,
    stop: StopRequest,
    replicas: Replicas,
) -> Training:
    """All parts, as a saved run left them or as a new one begins, and the loop of them.

    The arrays of the starting model are released. Raises CgruError where the run cannot go on so,
    and for files that cannot be read or written; UsageError for options that cannot be meant.
    """
    model, vocabularies, _ = start
    fixed = fixed_options(options) | {"source from its end": model.settings.source_reversed}
    same = identity(fixed, model.structure, vocabularies, corpus, replicas.count)
    if replicas.processes > 1:
        given = replicas.run_in_all(lambda: options_of_all_workers(options))
        replicas.check_same(given | same)
    patience = plan.patience()
    step, jit, course = resume(
        folder,
        same,
        patience,
        replicas,
        jit={"auto": None, "on": True, "off": False}[options.jit],
        is_faster_compiled=lambda: faster_compiled(
            model, options, corpus, plan.batching, replicas.count
        ),
        make_step=lambda jit: build_step(model, options, jit, replicas),
    )
    # the step has them: what it began with need not stay for the days that follow
    model.arrays.clear()
    tensorflow_start.return_freed_memory()
    sampler = build_sampler(step, vocabularies[-1], options, jit)
    first = replicas.is_first
    validator = build_validator(plan, options, texts, start, step) if first else None
    external = options.external_validation_script
    script = command_of(external, "--external-validation-script") if external else []
    reporter = build_reporter(options, plan, folder, course, step, len(corpus), replicas)
    return Training(
        plan=plan,
        examples=EpochExamples.of(
            corpus, model.structure, plan.batching, grid=jit, devices=replicas.count
        ),
        step=step,
        sampler=sampler,
        validator=validator,
        script=script,
        course=course,
        patience=patience,
        reporter=reporter,
        saving=Saving(
            folder,
            model,
            vocabularies,
            texts.preprocessing,
            step,
            same,
            jit,
            reporter.log,
            updates=course.progress.updates,
            writes=first,
            marian_files=_marian_files(options),
        ),
        stop=stop,
        replicas=replicas,
        opening=opening(
            start,
            corpus,
            jit=jit,
            precision=options.precision,
            devices=str(replicas),
            as_marian=options.compat == "marian",
        ),
    )
