"""`cgru train`: batches in, a model out, in a folder that a killed run goes on from."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import model_file, model_vocabularies, model_writer, runtime
from .batching import Ahead
from .errors import CgruError, UsageError
from .files import atomic_write
from .initialization import initial_arrays, output_bias
from .learning_rate import Schedule
from .model_file import Model
from .patience import Patience
from .preprocessing import Preprocessing
from .progress import Frequency, Progress
from .run_folder import RunFolder
from .settings import Settings
from .signals import StopRequest
from .train_options import TrainOptions
from .training_data import (
    Data,
    Example,
    Texts,
    encode,
    memory_of_batch,
    new_structure,
    read_vocabularies,
)
from .training_log import Interval, TrainingLog
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .training_step import TrainingStep
    from .validation import Validator

COST_TYPES = {"ce-mean": "cross-entropy", "ce-mean-words": "ce-mean-words"}


def run(options: TrainOptions, folder: str | None) -> None:
    """Train as the options say, from the start or from where the run was saved last.

    Raises CgruError for bad text, vocabularies, models and folders; Stopped, after saving, where
    a signal ends it.
    """
    if options.model is None:
        raise UsageError("name the model: cgru train DATA -m MODEL.npz")
    model_writer.output_path(options.model, "npz")
    plan = Plan.of(options)
    texts = Texts.of(options, folder)
    if texts.dev is None and plan.metrics:
        raise UsageError("--valid-metrics: no text to validate on; name it with --valid-sets")
    starting = runtime.Start(compilation_cache=options.jit != "off")
    runs = RunFolder(Path(options.model))
    with runs.locked():
        model, vocabularies = begin(options, texts)
        corpus = encode(texts, vocabularies, options, runs.beside(".corpus"), None)
        if options.pretrained_model is None and options.init == "scaled":
            counts = corpus.target_counts(model.structure.target_vocabulary)
            model.arrays["ff_logit_b"] = output_bias(counts)
        starting.finish(options.device, options.cpu_threads)
        if options.dry_run:
            describe(options, model, Data.of(corpus, model.structure, options, grid=False))
            return
        with StopRequest() as stop:
            Training(options, plan, texts, runs, model, vocabularies, corpus, stop).run()


@dataclass(frozen=True)
class Plan:
    """What the options say of when and how, understood."""

    schedule: Schedule
    metrics: tuple[str, ...]
    after: tuple[Frequency, ...]
    valid: Frequency
    save: Frequency
    display: Frequency

    @classmethod
    def of(cls, options: TrainOptions) -> Plan:
        """Raises UsageError, naming the option, for what cannot be meant."""

        def frequency(name: str) -> Frequency:
            try:
                return Frequency.parse(getattr(options, name))
            except UsageError as error:
                raise UsageError(f"--{name.replace('_', '-')}: {error}") from None

        after = Frequency.parse_all(options.after)
        if options.after_epochs:
            after = (*after, Frequency(options.after_epochs, "e"))
        metrics = options.valid_metrics or ("cross-entropy", "bleu")
        if frequency("valid_freq").every == 0:
            metrics = ()
        for name, least in (("early_stopping", 0), ("keep", 0), ("optimizer_delay", 1),
                            ("max_nan", 1), ("beam_size", 1), ("valid_mini_batch", 1)):  # fmt: skip
            if getattr(options, name) < least:
                raise UsageError(f"--{name.replace('_', '-')} must be at least {least}")
        for name in ("clip_norm", "decay_c", "normalize"):
            if getattr(options, name) < 0:
                raise UsageError(f"--{name.replace('_', '-')} must not be negative")
        for name in ("label_smoothing", "exponential_smoothing"):
            if not 0 <= getattr(options, name) < 1:
                raise UsageError(f"--{name.replace('_', '-')}: from 0 to below 1 is expected")
        if ("translation" in metrics) != (options.valid_script is not None):
            if "translation" in metrics:
                raise UsageError("--valid-metrics translation needs --valid-script-path")
            metrics = (*metrics, "translation")
        return cls(
            schedule=Schedule(
                options.learn_rate,
                frequency("lr_warmup"),
                options.lr_warmup_start_rate,
                frequency("lr_decay_inv_sqrt"),
                decay=options.lr_decay,
                decay_by=options.lr_decay_strategy,
                decay_start=options.lr_decay_start,
                decay_every=options.lr_decay_freq,
            ),
            metrics=tuple(metrics),
            after=after,
            valid=frequency("valid_freq"),
            save=frequency("save_freq"),
            display=frequency("disp_freq"),
        )

    def patience(self, options: TrainOptions) -> Patience:
        """Followers of all metrics, before the first validation."""
        return Patience(
            self.metrics,
            early_stopping=options.early_stopping,
            on=options.early_stopping_on,
            decay_after=options.lr_decay_start if options.lr_decay_strategy == "stalled" else 1,
        )


def begin(options: TrainOptions, texts: Texts) -> tuple[Model, list[Vocabulary]]:
    """The model before its first update, and its vocabularies."""
    path = Path(options.model)
    if options.pretrained_model is None:
        vocabularies = read_vocabularies(texts, options.dim_vocabs)
        structure = new_structure(options, vocabularies)
        arrays = initial_arrays(structure, options.init, options.seed)
        model = Model(path, structure, arrays, "nematus", "npz")
    else:
        given = model_file.read(options.pretrained_model)
        vocabularies = model_vocabularies.find(given, options.vocabularies)
        model = dataclasses.replace(given, path=path, container="npz", origin={}, inert={})
        settings = Settings(program=given.settings.program)
        model.settings = settings
    if options.embedding_vectors:
        from .word_vectors import place

        place(model, vocabularies, options.embedding_vectors)
    model.settings.beam_size, model.settings.normalize = options.beam_size, options.normalize
    return model, vocabularies


def describe(options: TrainOptions, model: Model, data: Data) -> None:
    """Sizes, memory and the first batch, for `--dry-run`, on standard output."""
    s, corpus = model.structure, data.corpus
    first = next(data.epoch(0, 0)).batch
    words = corpus.lengths.sum(axis=0)
    parameters = model.parameter_count
    copies = {"sgd": 2, "adagrad": 3, "rmsprop": 3}.get(options.optimizer, 4)
    copies += options.exponential_smoothing > 0
    rows, source = first.source_mask.shape
    target = first.target.shape[1]
    batch = memory_of_batch(s, rows, source, target)
    print(f"pairs: {len(corpus):,} (left out: {corpus.skipped})")
    print(f"words with EOS: source {words[0]:,}, target {words[1]:,}")
    print(
        f"model: {parameters:,} parameters; embeddings {s.source_embeddings} and "
        f"{s.target_embedding}, state {s.state}, vocabularies {s.source_vocabularies} and "
        f"{s.target_vocabulary}"
    )
    print(f"memory: model, gradient and optimizer {parameters * 4 * copies / 2**20:,.0f} MiB, "
          f"the first batch about {batch / 2**20:,.0f} MiB")  # fmt: skip
    print(f"first batch: {first.sentences} pairs of up to {source} and {target} words, "
          f"{first.words} target words")  # fmt: skip
    print(" ".join(str(i) for i in first.source[0, :, 0]))
    print(" ".join(str(i) for i in first.target[0]))


@dataclass
class Course:
    """What changes as training goes on, and is saved with the weights."""

    progress: Progress = field(default_factory=Progress)
    checked: Progress = field(default_factory=Progress)  # validated and saved up to here
    interval: Interval = field(default_factory=Interval)
    nan_in_a_row: int = 0


class Training:
    """One run of the training loop."""

    def __init__(
        self,
        options: TrainOptions,
        plan: Plan,
        texts: Texts,
        runs: RunFolder,
        model: Model,
        vocabularies: Sequence[Vocabulary],
        corpus,
        stop: StopRequest,
    ):
        self.options, self.plan, self.runs, self.stop = options, plan, runs, stop
        self.model, self.vocabularies, self.corpus = model, vocabularies, corpus
        self.course, self.patience = Course(), plan.patience(options)
        self.preprocessing = texts.preprocessing
        self.identity = _identity(options, model, vocabularies, corpus)
        saved = runs.load()
        if saved:
            self._check_same(saved[1])
        self.jit: bool = saved[1]["jit"] if saved else options.jit == "on"
        self.step = _training_step(model, options, self.jit)
        if saved:
            self._restore(*saved)
        elif options.jit == "auto" and _on_gpu():
            self.jit = self._faster_compiled()
            self.step = _training_step(model, options, self.jit)
        self.validator = self._validator(texts)
        self.log = TrainingLog(
            Path(options.log) if options.log else runs.beside(".log"),
            runs.beside(".metrics.jsonl"),
            resumed=self.course.progress.updates,
            quiet=options.quiet,
        )

    # -- the loop ------------------------------------------------------------------------------

    def run(self) -> None:
        """Update until training ends, a signal asks to stop, or nothing can be learnt any more."""
        with self.log:
            if self.course.progress.updates:
                self._write_model()  # of this very state: a kill may have come between the two
            else:
                self._greet()
            try:
                self._check()
                while not self._finished():
                    self._epoch()
            except _Stop:
                self._save()
                self.log.line(f"Stopped after update {self.course.progress.updates}; saved")
                self.stop.end()
            self._save()
            self.log.line("Training finished")

    def _epoch(self) -> None:
        """From the batch that comes next to the end of the epoch, or of training."""
        course, log = self.course, self.log
        data = Data.of(self.corpus, self.model.structure, self.options, grid=self.jit)
        waited = time.perf_counter()
        with Ahead(data.epoch(course.progress.epochs, course.progress.batches)) as examples:
            for group in _groups(examples, self.options.optimizer_delay):
                self._update(group)
                self._check()
                if self._finished():
                    return
            seconds = time.perf_counter() - waited
            log.record("data", course.progress, waited=examples.waited, of=seconds)
        log.end_of_epoch(course.progress)
        course.progress = course.progress.next_epoch()
        self._check()

    def _update(self, group: list[Example]) -> None:
        from .objective import Examples

        course, options = self.course, self.options
        begun = time.perf_counter()
        sentences = sum(example.batch.sentences for example in group)
        words = sum(example.batch.words for example in group)
        rate = self.plan.schedule.at(course.progress, self.patience.decays)
        outcome = self.step.update(
            [(Examples(*example.batch[:4]), example.masks) for example in group],
            divisor=sentences if options.cost_type == "ce-mean" else words,
            rate=rate,
        )
        seconds = time.perf_counter() - begun
        course.progress = course.progress.update(
            batches=len(group), sentences=sentences, words=words, seconds=seconds
        )
        updates = course.progress.updates
        if outcome.applied:
            course.nan_in_a_row = 0
            course.interval = course.interval.add(
                cost=outcome.cost, words=words, sentences=sentences, seconds=seconds,
                norm=outcome.norm, updates=updates,
            )  # fmt: skip
        elif not self.step.loss_scale.dynamic:
            self._not_finite(outcome, course.progress)
        if self.plan.display.due(_before(course.progress), course.progress) or (
            updates <= options.disp_first
        ):
            kind = COST_TYPES[options.cost_type]
            self.log.training(course.progress, course.interval, kind, rate, show_rate=True)
            course.interval = course.interval.shown()
        else:
            self.log.draw(
                f"Ep. {course.progress.epoch} : Up. {updates} : "
                f"{course.interval.words_per_second:.0f} words/s"
            )

    def _not_finite(self, outcome, progress: Progress) -> None:
        """Log an update that was skipped, and stop where too many are."""
        self.course.nan_in_a_row += 1
        place = f"epoch {progress.epoch}, batch {progress.batches}"
        self.log.line(
            f"Update {progress.updates} skipped: cost {outcome.cost:g}, gradient norm "
            f"{outcome.norm:g} ({place})"
        )
        self.log.record("skipped", progress, batch=progress.batches, cost=outcome.cost,
                        norm=outcome.norm)  # fmt: skip
        if self.course.nan_in_a_row >= self.options.max_nan:
            raise CgruError(
                f"{self.runs.model}: {self.course.nan_in_a_row} updates in a row were not finite "
                f"({place}); the last good model is kept; try a lower --learn-rate or --clip-norm"
            )

    def _check(self) -> None:
        """Validate and save, where that is due since the last check; stop, if that is asked."""
        course, plan = self.course, self.plan
        before, now = course.checked, course.progress
        if self.validator and plan.valid.due(before, now):
            self._validate()
        course.checked = now
        if plan.save.due(before, now):
            self._save()
            if self.options.keep:
                self._write_model(self.runs.beside(f".u{now.updates}.npz"))
                self.runs.thin(self.options.keep)
        self._stop_if_asked()

    def _validate(self) -> None:
        """All metrics; nothing of it changes the course of training but patience."""
        progress = self.course.progress
        values = self.validator.run(
            self.step.weights(), progress.epoch, progress.updates, self._stop_if_asked
        )
        for metric, value in values.items():
            best = self.patience.update(metric, value, progress.updates)
            if best:
                self._write_model(self.runs.best(metric))
            self.log.validation(progress, value, self.patience.records[metric])
        if self.options.plot:
            from .learning_curves import draw

            draw(self.runs.beside(".metrics.jsonl"), self.runs.model)
        self.log.record("epoch-time", progress, at=progress.seconds)

    def _finished(self) -> bool:
        done = any(limit.reached(self.course.progress) for limit in self.plan.after)
        return done or self.patience.stop()

    def _stop_if_asked(self) -> None:
        if self.stop.asked:
            raise _Stop

    # -- what is kept --------------------------------------------------------------------------

    def _save(self) -> None:
        """State first, then the model that is used, both of the same update."""
        course = self.course
        self.runs.save(
            self.step.state(),
            {
                "identity": self.identity,
                "jit": self.jit,
                "progress": course.progress.to_json(),
                "checked": course.checked.to_json(),
                "interval": course.interval.to_json(),
                "nan_in_a_row": course.nan_in_a_row,
                "patience": self.patience.to_json(),
            },
        )
        self._write_model()

    def _write_model(self, path: Path | None = None) -> None:
        """The model as it is used now, with all that it needs beside it."""
        path = path or self.runs.model
        arrays = self.step.weights()
        model = dataclasses.replace(self.model, path=self.runs.state, arrays=arrays)
        model_writer.write(model, path, "npz", self.vocabularies, force=True)
        if self.preprocessing:
            target = path.with_name(f"{path.name}.preprocess.json")
            content = self.preprocessing.read_bytes()
            if not target.exists() or target.read_bytes() != content:
                with atomic_write(target) as file:
                    file.write(content)

    def _check_same(self, values: dict[str, Any]) -> None:
        """Refuse to go on with another model or other data than the run was saved with."""
        before = values["identity"]
        different = [
            f"{name} was {before.get(name)}, is {value}"
            for name, value in self.identity.items()
            if before.get(name) != value
        ]
        if different:
            raise CgruError(
                f"{self.runs.state}: the run was begun otherwise: {'; '.join(different)}; "
                "train into another folder, or as before"
            )

    def _restore(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> None:
        source = str(self.runs.state)
        try:
            self.step.restore(arrays)
            self.course = Course(
                Progress.from_json(values["progress"], source),
                Progress.from_json(values["checked"], source),
                Interval.from_json(values["interval"], source),
                int(values["nan_in_a_row"]),
            )
            self.patience.restore(values["patience"], source)
        except (KeyError, TypeError, ValueError) as error:
            raise CgruError(f"{source}: not the state of this training ({error})") from None

    # -- what is made once ---------------------------------------------------------------------

    def _greet(self) -> None:
        s, corpus = self.model.structure, self.corpus
        self.log.line(
            f"Training {self.model.parameter_count:,} parameters on {len(corpus):,} pairs "
            f"(left out: {', '.join(f'{n} {why}' for why, n in corpus.skipped.items())}), "
            f"vocabularies {s.source_vocabularies} and {s.target_vocabulary}, "
            f"{'XLA' if self.jit else 'no XLA'}, {self.options.precision}"
        )

    def _validator(self, texts: Texts) -> Validator | None:
        if not self.plan.metrics:
            return None
        from .validation import ValidationSettings, Validator

        options = self.options
        *sources, target = self.vocabularies
        settings = ValidationSettings(
            metrics=self.plan.metrics,
            source=texts.dev[0],
            target=texts.dev[1],
            reference=texts.reference,
            script=options.valid_script,
            output=options.valid_translation_output,
            beam_size=options.beam_size,
            normalize=options.normalize,
            mini_batch=options.valid_mini_batch,
        )
        preprocessing = texts.preprocessing and Preprocessing.read(texts.preprocessing)
        return Validator(
            settings, self.model.structure, sources, target, preprocessing, options.precision
        )

    def _faster_compiled(self) -> bool:
        """Whether a step is faster compiled, measured on the first batch."""
        from .objective import Examples

        seconds = {}
        for jit in (False, True):
            step = _training_step(self.model, self.options, jit)
            data = Data.of(self.corpus, self.model.structure, self.options, grid=jit)
            example = next(data.epoch(0, 0))
            examples = Examples(*example.batch[:4])
            for _ in range(3):  # the first one traces and compiles
                begun = time.perf_counter()
                cost, _ = step.gradients(examples, example.masks)
                float(cost)
                seconds[jit] = time.perf_counter() - begun
        return seconds[True] < seconds[False]


class _Stop(Exception):
    """A signal asked to stop; raised where the state is consistent."""


def _before(progress: Progress) -> Progress:
    """Progress before the last update, for what is counted in updates."""
    return dataclasses.replace(progress, updates=progress.updates - 1)


def _groups(examples: Iterator[Example], size: int) -> Iterator[list[Example]]:
    """Examples in groups of one update each; the last of an epoch may be smaller."""
    group: list[Example] = []
    for example in examples:
        group.append(example)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


# What decides on model and data, and may not change in the middle of a run.
_IDENTITY = (
    "optimizer", "optimizer_delay", "mini_batch", "mini_batch_words", "mini_batch_fit",
    "workspace", "maxi_batch", "maxi_batch_sort", "no_shuffle", "max_length", "max_length_crop",
    "seed",
)  # fmt: skip


def _identity(options: TrainOptions, model: Model, vocabularies, corpus) -> dict[str, Any]:
    identity = {f"--{name.replace('_', '-')}": getattr(options, name) for name in _IDENTITY}
    identity["smoothing"] = options.exponential_smoothing > 0
    identity["training text"] = corpus.fingerprint
    for place, vocabulary in enumerate(vocabularies):
        identity[f"vocabulary {place + 1}"] = vocabulary.fingerprint
    structure = model.structure.as_dict()
    return identity | {f"model's {name}": _plain(value) for name, value in structure.items()}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _training_step(model: Model, options: TrainOptions, jit: bool) -> TrainingStep:
    from .model import ConditionalGRU
    from .optimizers import optimizer
    from .training_step import Regularization, TrainingStep

    policy = options.precision if options.precision == "float32" else f"mixed_{options.precision}"
    regularization = Regularization(
        label_smoothing=options.label_smoothing,
        clip_norm=options.clip_norm,
        decay_c=options.decay_c,
        smoothing=options.exponential_smoothing,
    )
    return TrainingStep(
        ConditionalGRU(model.structure, model.arrays, dtype=policy),
        optimizer(options.optimizer, options.optimizer_params, options.learn_rate),
        regularization,
        jit=jit,
    )


def _on_gpu() -> bool:
    import tensorflow as tf

    return bool(tf.config.get_visible_devices("GPU"))
