"""The plan of a training, decided from its options."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Any

from ..corpus.dropout import Rates
from ..errors import UsageError, reading
from ..options.flags import flag
from ..options.model import LABELLING
from ..options.score import LABEL_METRICS
from ..options.train import StalledMetrics, TrainOptions
from .examples import Batching
from .run.learning_rate import Schedule
from .run.log import CostType
from .run.logical_epoch import LogicalEpoch
from .run.patience import Patience, Resets
from .run.progress import Frequency

DEFAULT_METRICS = ("cross-entropy", "bleu")
SCRIPTED = ("translation", "valid-script")  # by --valid-script-path
LM_METRICS = ("cross-entropy", "ce-mean-words", "perplexity")  # of forced decoding


@dataclass(frozen=True)
class TrainingPlan:
    """When to validate, save, show and end; batches; the learning rate at any progress."""

    schedule: Schedule
    batching: Batching
    batches_per_update: int
    cost_type: CostType  # what costs are averaged by, and called in the log
    max_nan: int  # updates in a row that are not finite, before training gives up
    metrics: tuple[str, ...]
    after: tuple[Frequency, ...]
    logical_epoch: LogicalEpoch
    valid: Frequency
    early_stopping: int  # validations without a new best; 0: never
    early_stopping_on: StalledMetrics
    early_stopping_epsilon: tuple[float, ...]  # what improvements exceed, of all metrics or of each
    resets: Resets  # of validation, when the training goes on
    decay_after: int  # stalled validations for each decay of the learning rate; 0: none decays it
    save: Frequency
    keep: int  # models of earlier updates; 0: those that are there stay
    display: Frequency
    display_first: int  # updates that are shown in any case

    @classmethod
    def of(cls, options: TrainOptions, *, can_validate: bool) -> TrainingPlan:
        """can_validate: whether there is text to validate on; without, no metric is the default.

        Raises UsageError, naming the option, for what cannot be meant.
        """
        _check_together(options)
        logical_epoch = _logical_epoch(options)
        after = tuple(map(logical_epoch.limit, _frequencies(options)))
        metrics = _metrics(options, can_validate)
        _check_metrics(options, metrics)
        if not metrics and not any(limit.every for limit in after) and not options.dry_run:
            raise UsageError(
                "nothing would end this training: name --after or --after-epochs, or text to "
                "validate on with --valid-sets"
            )
        if options.lr_decay and options.lr_decay_strategy == "stalled" and not metrics:
            raise UsageError(
                "--lr-decay: without validation nothing stalls; name another --lr-decay-strategy"
            )
        plan = cls(
            schedule=Schedule(
                options.learn_rate,
                _frequency(options, "lr_warmup"),
                options.lr_warmup_start_rate,
                _frequency(options, "lr_decay_inv_sqrt"),
                _frequency(options, "lr_decay_inv_sqrt_start")
                if options.lr_decay_inv_sqrt_start
                else None,
                decay=options.lr_decay,
                decay_by=options.lr_decay_strategy,
                decay_start=options.lr_decay_start,
                decay_every=options.lr_decay_freq,
            ),
            batching=batching(options),
            batches_per_update=options.optimizer_delay,
            cost_type=_cost_type(options),
            max_nan=options.max_nan,
            metrics=metrics,
            after=after,
            logical_epoch=logical_epoch,
            valid=_frequency(options, "valid_freq"),
            early_stopping=options.early_stopping,
            early_stopping_on=options.early_stopping_on,
            early_stopping_epsilon=options.early_stopping_epsilon,
            resets=_resets(options),
            decay_after=options.lr_decay_start[0] if options.lr_decay_strategy == "stalled" else 0,
            save=_frequency(options, "save_freq"),
            keep=options.keep,
            display=_frequency(options, "disp_freq"),
            display_first=options.disp_first,
        )
        plan.patience()  # knows the metrics
        return plan

    @property
    def averages_sentences(self) -> bool:
        """Whether costs are averaged by sentences; else they are by words."""
        return self.cost_type != "ce-mean-words"

    def patience(self) -> Patience:
        """The patience of all metrics, before the first validation."""
        return Patience(
            self.metrics,
            early_stopping=self.early_stopping,
            on=self.early_stopping_on,
            decay_after=self.decay_after,
            epsilon=self.early_stopping_epsilon if self.metrics else (0.0,),
            resets=self.resets,
        )


def batching(options: TrainOptions) -> Batching:
    """The batches and dropout that the options ask for."""
    return Batching(
        sentences=options.mini_batch,
        words=options.mini_batch_words,
        memory=options.workspace * 2**20 if options.mini_batch_fit else 0,
        maxi_batch=options.maxi_batch,
        sort=options.maxi_batch_sort,
        shuffle=not options.no_shuffle,
        seed=options.seed,
        dropout=Rates(
            embedding=options.dropout_embedding,
            hidden=options.dropout_hidden,
            source=options.dropout_source,
            target=options.dropout_target,
            annotation=options.dropout_annotation,
            output=options.dropout_output,
        ),
    )


# Options that decide on model and data, beside what is compared as it is: structure and text.
_FIXED = (
    "optimizer", "optimizer_params", "optimizer_delay", "mini_batch", "mini_batch_words",
    "mini_batch_fit", "maxi_batch", "maxi_batch_sort", "no_shuffle", "max_length",
    "max_length_crop", "seed", "right_left", "freeze", "fix_embeddings",
    "quantize_bits", "quantize_optimization_steps", "quantize_log_based", "quantize_biases",
)  # fmt: skip
# Options that each machine may have its own of: devices, and files, whose content is compared.
_OF_A_MACHINE = {
    "compat", "config", "cpu_threads", "data_weighting", "device", "devices", "dump_config",
    "interpolate_env_vars", "relative_paths",
    "embedding_vectors", "guided_alignment", "log", "lr_report", "model", "num_devices", "plot",
    "pretrained_model", "prior_model", "quiet", "source_dataset", "target_dataset", "tensorboard",
    "train_sets", "valid_log", "valid_reference", "valid_script", "valid_script_args", "valid_sets",
    "valid_source_dataset", "valid_target_dataset", "valid_translation_output", "vocabularies",
    "external_validation_script",
}  # fmt: skip


def fixed_options(options: TrainOptions) -> dict[str, Any]:
    """The options that may not change when a training resumes, by their name in messages."""
    fixed = {flag(TrainOptions, name): getattr(options, name) for name in _FIXED}
    if options.mini_batch_fit:
        fixed["--workspace"] = options.workspace
    return fixed | {"smoothing": options.exponential_smoothing > 0}


def options_of_all_workers(options: TrainOptions) -> dict[str, Any]:
    """The options that all workers of a training have to be given, by their name in messages.

    Raises CgruError for a prior model that cannot be read.
    """
    values = dataclasses.asdict(options)
    same = {flag(TrainOptions, name): values[name] for name in values if name not in _OF_A_MACHINE}
    if options.prior_model:
        with reading(options.prior_model), open(options.prior_model, "rb") as file:
            same["prior"] = hashlib.file_digest(file, "sha256").hexdigest()
    return same


def _resets(options: TrainOptions) -> Resets:
    if options.valid_reset_all:
        return "all"
    return "stalled" if options.valid_reset_stalled else "nothing"


def _cost_type(options: TrainOptions) -> CostType:
    if options.minimizes_risk:
        return "risk"
    return "cross-entropy" if options.cost_type == "ce-mean" else "ce-mean-words"


def _check_together(options: TrainOptions) -> None:
    """Raises UsageError for options that contradict each other."""
    if options.minimizes_risk and not options.has_source:
        raise UsageError(
            "--objective mrt: a language model does not translate, so that there is no risk"
        )
    if options.minimizes_risk and options.cost_type != "ce-mean":
        raise UsageError("--objective mrt: risk is averaged by sentences, not by --cost-type words")
    if options.minimizes_risk and options.label_smoothing and not options.mrt_ml_mix:
        raise UsageError(
            "--label-smoothing: --objective mrt has a cross-entropy only with --mrt-ml-mix"
        )
    if options.minimizes_risk and options.alignments:
        raise UsageError("--guided-alignment and --objective mrt exclude each other")
    if options.quantize_bits == 1 and not options.quantize_log_based:
        raise UsageError(
            "--quantize-bits 1: 0 would be the only level; take 2, or --quantize-log-based"
        )
    strategy = options.lr_decay_strategy
    if options.lr_decay_freq != 1 and strategy not in ("epoch", "batches"):
        raise UsageError(
            f"--lr-decay-freq is for the strategies epoch and batches; with {strategy}, "
            "--lr-decay-start says from when on the rate decays"
        )


def _logical_epoch(options: TrainOptions) -> LogicalEpoch:
    try:
        return LogicalEpoch.parse(options.logical_epoch)
    except UsageError as error:
        raise UsageError(f"--logical-epoch {error}") from None


def _frequency(options: TrainOptions, name: str) -> Frequency:
    try:
        return Frequency.parse(getattr(options, name))
    except UsageError as error:
        raise UsageError(f"{flag(TrainOptions, name)}: {error}") from None


def _frequencies(options: TrainOptions) -> tuple[Frequency, ...]:
    """The limits of training."""
    try:
        after = Frequency.parse_all(options.after)
    except UsageError as error:
        raise UsageError(f"--after: {error}") from None
    if options.after_epochs:
        after = (*after, Frequency(options.after_epochs, "e"))
    return after


def _check_metrics(options: TrainOptions, metrics: tuple[str, ...]) -> None:
    """Raises UsageError for metrics that do not apply to a model's type."""
    if not options.has_source and not set(metrics) <= {*LM_METRICS, "valid-script"}:
        raise UsageError(
            f"--valid-metrics: a language model translates nothing; {', '.join(LM_METRICS)} "
            "are its own"
        )
    labelling = options.type in LABELLING
    theirs = ("bleu", "bleu-detok", "chrf") if labelling else LABEL_METRICS
    for metric in metrics:
        if metric in theirs:
            of = "of text, and a" if labelling else "of labels, and a model of"
            does = "gives labels" if labelling else "writes text"
            raise UsageError(f"--valid-metrics {metric}: is {of} {options.type} {does}")


def _default_metrics(options: TrainOptions) -> tuple[str, ...]:
    if options.type in LABELLING:
        return ("cross-entropy", "accuracy")
    return DEFAULT_METRICS if options.has_source else LM_METRICS[::2]


def _metrics(options: TrainOptions, can_validate: bool) -> tuple[str, ...]:
    asked = options.valid_metrics
    scripted = options.valid_script is not None
    for name in SCRIPTED:
        if name in asked and not scripted:
            raise UsageError(f"--valid-metrics {name} needs --valid-script-path")
    if _frequency(options, "valid_freq").every == 0:
        return ()
    if not can_validate:
        of_validation = "valid_metrics", "valid_script", "valid_translation_output"
        for name in (*of_validation, "external_validation_script"):
            if getattr(options, name):
                raise UsageError(
                    f"{flag(TrainOptions, name)}: there is no text to validate on; name it with "
                    "--valid-sets"
                )
        return ()
    metrics = asked or _default_metrics(options)
    return (*metrics, "translation") if scripted and not set(SCRIPTED) & set(metrics) else metrics
