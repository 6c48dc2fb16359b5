"""The parts that the training loop works with, made as the options say."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..corpus.corpus import Corpus
from ..errors import CgruError
from ..formats.model import Model
from ..options.train import TrainOptions
from ..text.pipeline import Preprocessing
from ..text.vocabulary import Vocabulary
from . import adaptation
from .dev_set import DevSet, TargetText
from .examples import EpochExamples
from .plan import TrainingPlan
from .run import curves
from .run.folder import RunFolder
from .starting_model import Beginning
from .texts import Texts

if TYPE_CHECKING:
    from ..optimization.gradient_norms import GradientProbe
    from ..optimization.minimum_risk import Sampler
    from ..optimization.replicas import Replicas
    from ..optimization.step import TrainingStep
    from .run.tensorboard import Summaries
    from .validation import Validator


def build_step(
    model: Model, options: TrainOptions, jit: bool, replicas: Replicas | None = None
) -> TrainingStep:
    """The step, with the model's weights and a new optimizer. Raises UsageError for its numbers.

    replicas: all that train; without, what TensorFlow computes on.
    """
    from ..network.keras_model import RecurrentModel
    from ..optimization.objective import CrossEntropy, ExpectedRisk, Guide
    from ..optimization.optimizers import optimizer
    from ..optimization.replicas import Replicas
    from ..optimization.step import Regularization, TrainingStep

    guide = None
    if options.alignments:
        guide = Guide(options.guided_alignment_cost, options.guided_alignment_weight)
    policy = options.precision if options.precision == "float32" else f"mixed_{options.precision}"
    objective = (
        ExpectedRisk(options.mrt_alpha, options.mrt_ml_mix)
        if options.minimizes_risk
        else CrossEntropy(options.label_smoothing, guide)
    )
    regularization = Regularization(
        clip_norm=options.clip_norm,
        decay_c=options.decay_c,
        map_decay_c=options.map_decay_c,
        smoothing=options.exponential_smoothing,
    )
    replicas = replicas or Replicas()
    with replicas.scope():
        return TrainingStep(
            RecurrentModel(model.structure, model.arrays, dtype=policy),
            optimizer(options.optimizer, options.optimizer_params, options.learn_rate),
            regularization,
            objective,
            jit=jit,
            frozen=adaptation.frozen(model, options),
            prior=adaptation.prior(model, options.prior_model) if options.map_decay_c else None,
            replicas=replicas,
        )


def build_sampler(
    step: TrainingStep, begun: Beginning, texts: Texts, options: TrainOptions, jit: bool
) -> Sampler | None:
    """What makes the candidates of minimum risk training, where that is done."""
    if not options.minimizes_risk:
        return None
    from ..optimization.minimum_risk import MinimumRisk, Sampler
    from ..text.subwords import join_bpe

    target = begun.vocabularies[-1]
    how = MinimumRisk(
        options.mrt_samples,
        options.mrt_reference,
        "chrf" if options.mrt_loss == "chrf" else "bleu",
    )

    def join(words: list[str]) -> str:
        return join_bpe(target.detokenize(words[::-1] if options.right_left else words))

    return Sampler(step.model, target, how, options.seed, grid=jit, join=join)


def faster_compiled(model: Model, options: TrainOptions, corpus: Corpus, shares: int = 1) -> bool:
    """Whether a step is faster compiled: never on CPUs, measured on the first batch elsewhere.

    shares: how many devices share a batch.
    """
    import tensorflow as tf

    from ..optimization.objective import Examples

    if not tf.config.get_visible_devices("GPU"):
        return False
    seconds = {}
    for jit in (False, True):
        step = build_step(model, options, jit)
        data = EpochExamples.of(corpus, model.structure, options, jit, shares)
        example = next(data.epoch(0, 0)).share(0, shares)
        examples = Examples.of(example.batch)
        for _ in range(3):  # the first one traces and compiles
            begun = time.perf_counter()
            ((cost, _),) = step.gradients([(examples, example.masks)])
            float(cost)
            seconds[jit] = time.perf_counter() - begun
    return seconds[True] < seconds[False]


def build_validator(
    plan: TrainingPlan,
    options: TrainOptions,
    texts: Texts,
    vocabularies: Sequence[Vocabulary],
    step: TrainingStep,
) -> Validator | None:
    """What measures the metrics; None where there are none. Raises CgruError for its text."""
    if not plan.metrics or texts.dev is None:
        return None
    from ..network.keras_model import RecurrentModel
    from .validation import ValidationSettings, Validator

    *sources, target = vocabularies
    preprocessing = Preprocessing.read(texts.preprocessing) if texts.preprocessing else None
    dev_set = DevSet.read(
        *texts.dev,
        sources,
        TargetText(target, preprocessing, options.right_left),
        reference=texts.reference,
    )
    settings = ValidationSettings(
        metrics=plan.metrics,
        script=options.valid_script,
        output=options.valid_translation_output,
        beam_size=options.beam_size,
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
        curves.check_installed()
    if options.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise CgruError("--tensorboard needs tensorboard: pip install 'cgru[tensorboard]'")


def build_board(options: TrainOptions, runs: RunFolder) -> Summaries | None:
    """TensorBoard's files, where they are asked for."""
    if not options.tensorboard:
        return None
    from .run.tensorboard import Summaries

    return Summaries(runs.beside(".tensorboard"))


def build_gradient_probe(options: TrainOptions, step: TrainingStep) -> GradientProbe | None:
    """What looks at gradients for the log, where that is asked for."""
    if not options.log_gradients:
        return None
    from ..optimization.gradient_norms import GradientProbe

    return GradientProbe(step)
