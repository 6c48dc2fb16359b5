"""The plan of a training run, derived from its options."""

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from os.path import isfile
from typing import Any, Self

from ..errors import UsageError
from ..options.flags import applying, flag
from ..options.model import LABELLING
from ..options.scope import Scope
from ..options.score import LABEL_METRICS
from ..options.train import TrainOptions
from ..system.structured_files import check_no_pipe, sha256
from .data_defaults import OF_VALIDATION, VALID_SHARE
from .run.learning_rate import Schedule
from .run.patience import LOWER_IS_BETTER
from .run.progress import CostType, Frequency, LogicalEpoch, Progress
from .run.state import Course
from .validation import COSTS

SCRIPTED = ("translation", "valid-script")  # metrics that --valid-script-path computes


@dataclass(frozen=True)
class TrainingPlan:
    """The options of a training run, and values derived from several options."""

    options: TrainOptions
    metrics: tuple[str, ...]
    schedule: Schedule  # the learning rate at any progress
    cost_type: CostType  # how the log averages and names costs
    logical_epoch: LogicalEpoch
    after: tuple[Frequency, ...]  # limits, any of which ends the training
    valid: Frequency
    save: tuple[Frequency, ...]
    display: Frequency
    batch_warmup: Frequency
    stated: Collection[str] | None = None  # stated options; None: no default depends on the data
    # options that were not stated, with their values derived from the data
    chosen: Mapping[str, Any] = field(default_factory=dict)

    @property
    def valid_share(self) -> float:
        """The maximum share of the training time for validation; 0: no limit."""
        return VALID_SHARE if "valid_freq" in self.chosen else 0.0

    def valid_is_due(self, before: Progress, course: Course) -> bool:
        """Whether validation is due after `before` and stays within its share of the time."""
        now = course.progress
        held_back = self.valid_share > 0 and now.seconds < course.valid_from
        return self.valid.due(before, now) and not held_back

    def batch_share(self, progress: Progress) -> float:
        """The share of each mini-batch that --mini-batch-warmup keeps."""
        warmup = self.batch_warmup
        done = (warmup.of if self.options.compat == "marian" else warmup.of_all)(progress)
        share = done / warmup.every if warmup.every else 1.0
        return math.sqrt(share) if warmup.unit == "t" else share

    @classmethod
    def of(
        cls,
        options: TrainOptions,
        stated: Collection[str] | None = None,
        *,
        can_validate: bool,
        **chosen: Any,
    ) -> Self:
        """The plan of these options; chosen: values that replace some of them.

        stated: the options that were given, None if unknown; without --compat and --defaults fixed,
        the defaults of the others depend on the data. can_validate: whether there is text to
        validate on; otherwise there are no metrics. Raises UsageError, naming the option, for
        options that contradict each other.
        """
        options = options.replaced(**chosen)
        given = () if stated is None or options.compat else stated
        if options.compat or options.defaults == "fixed":
            stated = None
        if stated is None:  # what options need is known now
            options.replaced(defaults="fixed")
        _check_together(options)
        try:
            logical_epoch = LogicalEpoch.parse(options.logical_epoch)
        except UsageError as error:
            raise UsageError(f"--logical-epoch {error}") from None
        batch_warmup = Frequency.parse(options.mini_batch_warmup)
        if batch_warmup.unit == "m":
            raise UsageError(
                f"--mini-batch-warmup {batch_warmup}: batches that grow with minutes are not "
                "reproducible; give updates (u), epochs (e) or target words (t)"
            )
        limits = (*Frequency.parse_all(options.after), Frequency(options.after_epochs, "e"))
        marian = options.compat == "marian"
        after = tuple(logical_epoch.limit(one, exceeded=marian) for one in limits if one.every)
        metrics = _metrics(options, can_validate, given)
        if not metrics and not after and not options.dry_run:
            raise UsageError(
                "nothing would end this training: add --after or --after-epochs, or text to "
                "validate on with --valid-sets"
            )
        if options.lr_decay and options.lr_decay_strategy == "stalled" and not metrics:
            raise UsageError(
                "--lr-decay: the strategy `stalled` needs validation; choose another "
                "--lr-decay-strategy"
            )
        by_words: CostType = "cross-entropy" if options.cost_type == "ce-mean" else "ce-mean-words"
        return cls(
            options,
            metrics,
            Schedule(options),
            "risk" if options.minimizes_risk else by_words,
            logical_epoch,
            after,
            valid=Frequency.parse(options.valid_freq),
            save=Frequency.parse_all(options.save_freq),
            display=Frequency.parse(options.disp_freq),
            batch_warmup=batch_warmup,
            stated=stated,
            chosen=chosen,
        )


def fixed_options(options: TrainOptions) -> dict[str, Any]:
    """The options that may not change when a training run resumes, by their name in messages.

    Structure and text are compared separately.
    """
    stated = applying(TrainOptions, Scope.RUN)
    fixed = {flag.name: getattr(options, name) for name, flag in stated.items()}
    if options.mini_batch_fit:
        fixed["--workspace"] = options.workspace
    return fixed | {"smoothing": options.exponential_smoothing > 0}


def options_of_all_workers(options: TrainOptions) -> dict[str, Any]:
    """The options that must be the same for all workers, by their name in messages.

    Devices and files may differ; the content of files is compared instead. Raises CgruError for a
    prior model that cannot be read.
    """
    same = {flag(TrainOptions, name): value for name, value in options.shared().items()}
    if prior := options.prior_model:
        checkpoint = f"{prior}.data-00000-of-00001"
        path = checkpoint if isfile(checkpoint) else prior
        check_no_pipe(path)
        same["prior"] = sha256(path)
    return same


def _check_together(options: TrainOptions) -> None:
    if options.objective == "distill" and not options.teacher:
        raise UsageError("--objective distill: name the words to learn from with --teacher")
    if options.minimizes_risk:
        if not options.has_source:
            raise UsageError(
                "--objective mrt: a language model does not translate, so there is no risk"
            )
        if options.cost_type != "ce-mean":
            raise UsageError(
                "--objective mrt: risk is averaged by sentences, not by --cost-type words"
            )
        if options.label_smoothing and not options.mrt_ml_mix:
            raise UsageError(
                "--label-smoothing: --objective mrt has a cross-entropy only with --mrt-ml-mix"
            )
        if options.alignments:
            raise UsageError("--guided-alignment and --objective mrt exclude each other")
    if options.quantize_bits == 1 and not options.quantize_log_based:
        raise UsageError(
            "--quantize-bits 1: 0 would be the only level; use 2, or --quantize-log-based"
        )
    limits = options.throw_on_divergence
    if len(limits) > 3 or any(limit < 1 for limit in limits[:2]):
        raise UsageError(
            "--throw-on-divergence: at most three numbers are expected, two numbers of updates and "
            "one of standard deviations"
        )
    strategy = options.lr_decay_strategy
    if options.lr_decay_freq != 1 and strategy not in ("epoch", "batches"):
        raise UsageError(
            f"--lr-decay-freq is for the strategies epoch and batches; with {strategy}, "
            "--lr-decay-start says when the decay begins"
        )


def _metrics(options: TrainOptions, can_validate: bool, given: Collection[str]) -> tuple[str, ...]:
    """The metrics of validation, () without validation. Raises UsageError.

    given: options that are refused if they have no effect.
    """
    scripted, metrics = options.valid_script is not None, options.valid_metrics
    for name in SCRIPTED:
        if name in metrics and not scripted:
            raise UsageError(f"--valid-metrics {name} needs --valid-script-path")
    if not Frequency.parse(options.valid_freq).every:
        return ()
    if not can_validate:
        for name, needing in options.changed(Scope.VALIDATION):
            if needing.is_number and (
                name not in given
                # a dump of a run without validation has the values of OF_VALIDATION
                or getattr(options, name) == OF_VALIDATION.get(name)
            ):
                continue
            raise UsageError(
                f"{needing.name}: there is no text to validate on; name it with --valid-sets"
            )
        return ()
    labelling = options.type in LABELLING
    if not metrics:
        other = "bleu" if options.has_source else "perplexity"
        metrics = ("cross-entropy", "accuracy" if labelling else other)
    if scripted and not set(SCRIPTED) & set(metrics):
        metrics = (*metrics, "translation")
    theirs = ("bleu", "bleu-detok", "chrf") if labelling else LABEL_METRICS
    for metric in metrics:
        if metric not in LOWER_IS_BETTER:
            near = difflib.get_close_matches(metric, LOWER_IS_BETTER, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            known = ", ".join(LOWER_IS_BETTER)
            raise UsageError(f"no such metric: {metric}{hint} (known: {known})")
        if options.has_source and metric in theirs:
            kind, gives = ("text", "labels") if labelling else ("labels", "text")
            raise UsageError(
                f"--valid-metrics {metric} measures {kind}; --type {options.type} gives {gives}"
            )
    if len(set(metrics)) < len(metrics):
        raise UsageError(f"a metric is named twice: {' '.join(metrics)}")
    epsilons = len(options.early_stopping_epsilon)
    if epsilons not in (1, len(metrics)):
        raise UsageError(
            f"--early-stopping-epsilon: {epsilons} numbers for {len(metrics)} metrics; give one, "
            "or one for each"
        )
    if not options.has_source and not set(metrics) <= {*COSTS, "valid-script"}:
        raise UsageError(
            f"--valid-metrics: a language model does not translate; its metrics are "
            f"{', '.join(COSTS)}"
        )
    return metrics
