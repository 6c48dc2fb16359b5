"""The parts that the training loop works with, made as the options say."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..corpus.corpus import Corpus
from ..errors import CgruError
from ..formats.read_model import Model
from ..options.train import TrainOptions
from ..text.pipeline import Preprocessing
from . import adaptation
from .examples import Data, memory_of_batch
from .plan import Plan, flag
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

# Options that each machine may have its own of: devices, and files, whose content is compared.
_OF_A_MACHINE = {
    "config", "cpu_threads", "data_weighting", "device", "devices", "dump_config",
    "embedding_vectors", "guided_alignment", "log", "model", "num_devices", "plot",
    "pretrained_model", "prior_model", "quiet", "source_dataset", "target_dataset", "tensorboard",
    "train_sets", "valid_reference", "valid_script", "valid_sets", "valid_source_dataset",
    "valid_target_dataset", "valid_translation_output", "vocabularies",
}  # fmt: skip
# Arrays of the model's size that an optimizer needs, with weights and gradient.
_COPIES = {"sgd": 2, "adagrad": 3, "rmsprop": 3}
_MORE_COPIES = 4


def training_step(
    model: Model, options: TrainOptions, jit: bool, replicas: Replicas | None = None
) -> TrainingStep:
    """The step, with the model's weights and a new optimizer. Raises UsageError for its numbers.

    replicas: all that train; without, what TensorFlow computes on.
    """
    from ..network.keras_model import RecurrentModel
    from ..optimization.guided_attention import Guide
    from ..optimization.objective import CrossEntropy, ExpectedRisk
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


def sampler(
    step: TrainingStep, begun: Beginning, texts: Texts, options: TrainOptions, jit: bool
) -> Sampler | None:
    """What makes the candidates of minimum risk training, where that is done."""
    if not options.minimizes_risk:
        return None
    from ..optimization.minimum_risk import MinimumRisk, Sampler
    from ..text.unknown_words import join_bpe

    target = begun.vocabularies[-1]
    how = MinimumRisk(
        options.mrt_samples,
        options.mrt_reference,
        "chrf" if options.mrt_loss == "chrf" else "bleu",
    )

    def join(words: list[str]) -> str:
        return join_bpe(target.detokenize(words[::-1] if options.right_left else words))

    return Sampler(step.model, target, how, options.seed, grid=jit, join=join)


def same_everywhere(options: TrainOptions, identity: Mapping[str, Any]) -> dict[str, Any]:
    """What all workers of a training have to be given alike, by the name it has in messages."""
    values = dataclasses.asdict(options)
    same = {flag(name): values[name] for name in values if name not in _OF_A_MACHINE} | identity
    if options.prior_model:
        try:
            with open(options.prior_model, "rb") as file:
                same["prior"] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise CgruError(f"{options.prior_model}: {error.strerror}") from None
    return same


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
        step = training_step(model, options, jit)
        data = Data.of(corpus, model.structure, options, jit, shares)
        example = next(data.epoch(0, 0)).share(0, shares)
        examples = Examples(*example.batch.arrays)
        for _ in range(3):  # the first one traces and compiles
            begun = time.perf_counter()
            ((cost, _),) = step.gradients([(examples, example.masks)])
            float(cost)
            seconds[jit] = time.perf_counter() - begun
    return seconds[True] < seconds[False]


def validator(
    plan: Plan, options: TrainOptions, texts: Texts, begun: Beginning
) -> Validator | None:
    """What measures the metrics; None where there are none. Raises CgruError for its text."""
    if not plan.metrics:
        return None
    from .validation import ValidationSettings, Validator

    model, (*sources, target), _ = begun
    settings = ValidationSettings(
        metrics=plan.metrics,
        source=texts.dev[0],
        target=texts.dev[1],
        reference=texts.reference,
        script=options.valid_script,
        output=options.valid_translation_output,
        beam_size=options.beam_size,
        normalize=options.normalize,
        mini_batch=options.valid_mini_batch,
        right_left=options.right_left,
    )
    preprocessing = texts.preprocessing and Preprocessing.read(texts.preprocessing)
    return Validator(settings, model.structure, sources, target, preprocessing, options.precision)


def check_extras(options: TrainOptions) -> None:
    """Raises CgruError at once, not after an hour, where an option needs what is not installed."""
    if options.plot:
        curves.check_installed()
    if options.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise CgruError("--tensorboard needs tensorboard: pip install 'cgru[tensorboard]'")


def board(options: TrainOptions, runs: RunFolder) -> Summaries | None:
    """TensorBoard's files, where they are asked for."""
    if not options.tensorboard:
        return None
    from .run.tensorboard import Summaries

    return Summaries(runs.beside(".tensorboard"))


def gradient_probe(options: TrainOptions, step: TrainingStep) -> GradientProbe | None:
    """What looks at gradients for the log, where that is asked for."""
    if not options.log_gradients:
        return None
    from ..optimization.gradient_norms import GradientProbe

    return GradientProbe(step)


def greeting(
    model: Model, corpus: Corpus, options: TrainOptions, jit: bool, devices: str = ""
) -> str:
    """What the log of a training begins with; devices: which, if they are several."""
    s = model.structure
    return (
        f"Training {model.parameter_count:,} parameters on {len(corpus):,} pairs "
        f"({_left_out(corpus)}){_beside(corpus)}, vocabularies {s.source_vocabularies} and "
        f"{s.target_vocabulary}, {'XLA' if jit else 'no XLA'}, {options.precision}"
        f"{devices and f', {devices}'}"
    )


def _left_out(corpus: Corpus) -> str:
    """Which pairs of the text are not trained on as they are."""
    return ", ".join(f"{count:,} {why}" for why, count in corpus.skipped.items())


def _beside(corpus: Corpus) -> str:
    """What goes with the pairs."""
    aligned, weights = corpus.alignments, corpus.weights
    shown = f", {aligned.count:,} points of alignment" if aligned else ""
    if weights:
        shown += ", weighted by words" if weights.by_word else ", weighted by sentences"
    return shown


def describe(options: TrainOptions, begun: Beginning, corpus: Corpus) -> None:
    """Sizes, memory and the first batch, on standard output."""
    model, _, notes = begun
    s = model.structure
    first = next(Data.of(corpus, s, options, grid=False).epoch(0, 0)).batch
    words = corpus.lengths.sum(axis=0)
    copies = _COPIES.get(options.optimizer, _MORE_COPIES) + (options.exponential_smoothing > 0)
    rows, source = first.source_mask.shape
    target = first.target.shape[1]
    arrays = model.parameter_count * 4 * copies / 2**20
    batch = memory_of_batch(s, rows, source, target) / 2**20
    print(*notes, sep="\n", end="\n" * bool(notes))
    print(f"pairs: {len(corpus):,} ({_left_out(corpus)}){_beside(corpus)}")
    print(f"words with EOS: source {words[0]:,}, target {words[1]:,}")
    print(
        f"model: {model.parameter_count:,} parameters; embeddings {s.source_embeddings} and "
        f"{s.target_embedding}, state {s.state}, vocabularies {s.source_vocabularies} and "
        f"{s.target_vocabulary}"
    )
    print(
        f"memory: model, gradient and optimizer {arrays:,.1f} MiB, the first batch about "
        f"{batch:,.1f} MiB"
    )
    print(
        f"first batch: {first.sentences} pairs of up to {source} and {target} words with EOS, "
        f"{first.words} target words"
    )
    source = first.source[0, :, 0] if s.type.reads_source else ()
    print("its first pair:", *source, "->", *first.target[0])
