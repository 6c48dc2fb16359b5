"""The plan of a training run: options of the user, of the saved run, and chosen for the data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from ..options.flags import by_data
from ..options.model import LABELLING
from ..options.scope import Scope
from ..options.score import LABEL_METRICS
from ..options.train import TrainOptions
from .data_defaults import OF_VALIDATION, VALID_SHARE, Facts, begin, described, still_applying
from .run.conventions import Conventions, NematusConventions, NematusTfConventions
from .run.folder import Recorded
from .run.learning_rate import Schedule
from .run.marian import MarianConventions
from .run.progress import CostType, Frequency, LogicalEpoch, Progress
from .run.state import Course
from .validation import COSTS

SCRIPTED = ("translation", "valid-script")  # metrics that --valid-script-path computes
_CONVENTIONS = {  # by --compat; others are programs of the family of Nematus
    None: Conventions,
    "marian": MarianConventions,
    "nematus-tf": NematusTfConventions,
}


@dataclass(frozen=True)
class Request:
    """The options of a training run as they were given.

    explicit: the fields that were given a value, even the declared default; None if unknown, as
    with the options of another program. data: a folder that `cgru prep` wrote. settings: the
    options under the names of the program whose files training writes.
    """

    options: TrainOptions
    explicit: Collection[str] | None = None
    data: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data_decides(self) -> bool:
        """Whether defaults depend on the data: not with --compat and --defaults fixed."""
        options = self.options
        return self.explicit is not None and not options.compat and options.defaults == "data"

    @property
    def with_widths(self) -> Request:
        """The request in which factors determine the width of embeddings, unless it is given."""
        options = self.options
        if options.dim_factors and self.data_decides and "dim_emb" not in self.decided:
            options = options.replaced(dim_emb=sum(options.dim_factors))
        return dataclasses.replace(self, options=options)

    @property
    def decided(self) -> Collection[str]:
        """The fields whose values no default replaces; fixed defaults count as given."""
        return (self.explicit or ()) if self.data_decides else by_data(TrainOptions)


class TrainingPlan:
    """The options of a training run, and values derived from several options.

    can_validate: whether there is text to validate on; otherwise there are no metrics. chosen: the
    options that were not given, with their values derived from the data. recorded: the values with
    which the run began. Raises UsageError, naming the option, for values that cannot be understood.
    """

    added: Sequence[str] = ()  # lines for the log of any run, about values chosen now
    notes: Sequence[str] = ()  # lines for the log of a new run

    def __init__(
        self,
        options: TrainOptions,
        can_validate: bool,
        chosen: Mapping[str, Any] | None = None,
        recorded: Recorded | None = None,
    ):
        self.options, self.can_validate = options, can_validate
        self.chosen, self.recorded = chosen or {}, recorded or Recorded({}, {})
        # how the run logs, ends and saves
        self.conventions = _CONVENTIONS.get(options.compat, NematusConventions)(options)
        # how the log averages and names costs
        by_words: CostType = "cross-entropy" if options.cost_type == "ce-mean" else "ce-mean-words"
        self.cost_type: CostType = "risk" if options.minimizes_risk else by_words
        self.logical_epoch = LogicalEpoch.parse(options.logical_epoch)
        limits = (*Frequency.parse_all(options.after), Frequency(options.after_epochs, "e"))
        exceeded = options.compat == "marian"
        self.after = tuple(  # limits, any of which ends the training
            self.logical_epoch.limit(limit, exceeded=exceeded) for limit in limits if limit.every
        )
        self.schedule = Schedule(options, self.after)  # the learning rate at any progress
        self.valid = Frequency.parse(options.valid_freq)
        self.save = Frequency.parse_all(options.save_freq)
        self.display = Frequency.parse(options.disp_freq)
        self.batch_warmup = Frequency.parse(options.mini_batch_warmup)
        self.metrics = _metrics(options) if can_validate and self.valid.every else ()

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

    def check(self, explicit: Collection[str] | None = None) -> None:
        """Refuse options that contradict each other, or with which training would not end.

        explicit: options that are refused if they have no effect, except another program's. Raises
        UsageError, naming the option.
        """
        options = self.options
        _check_relations(options)
        self._check_validation(() if options.compat else explicit or ())
        if not self.metrics and not self.after and not options.dry_run:
            raise UsageError(
                "nothing would end this training: add --after or --after-epochs, or text to "
                "validate on with --valid-sets"
            )
        if options.lr_decay and options.lr_decay_strategy == "stalled" and not self.metrics:
            raise UsageError(
                "--lr-decay: the strategy `stalled` needs validation; choose another "
                "--lr-decay-strategy"
            )

    def _check_validation(self, explicit: Collection[str]) -> None:
        options = self.options
        for name in SCRIPTED:
            if name in options.valid_metrics and options.valid_script is None:
                raise UsageError(f"--valid-metrics {name} needs --valid-script-path")
        if self.valid.every and not self.can_validate:
            for name, flag in options.changed(Scope.VALIDATION):
                # a dump of a run without validation has the values of OF_VALIDATION
                dumped = getattr(options, name) == OF_VALIDATION.get(name)
                if not flag.is_number or (name in explicit and not dumped):
                    raise UsageError(
                        f"{flag.name}: there is no text to validate on; name it with --valid-sets"
                    )
        if self.metrics:
            _check_metrics(self.metrics, options)


def resolve(
    request: Request, recorded: Recorded | None, facts: Facts, *, can_validate: bool
) -> TrainingPlan:
    """Decide all options: as requested, else as the run began, else as the data suggest.

    recorded: the values with which a saved run began, None for a new run. Raises UsageError, naming
    the option, for options that contradict each other.
    """
    options, decided = request.options, request.decided
    beginning, new = begin(recorded, options, decided, facts)
    chosen, earlier = still_applying(beginning, decided)
    options = options.replaced(**(earlier | chosen))
    options.replaced(defaults="fixed")  # no default can still supply what an option needs
    plan = TrainingPlan(options, can_validate, chosen, beginning)
    if earlier:  # chosen values contradict no option
        plan.check()
    validates = bool(plan.metrics)
    why = " (an earlier version of cgru did not save them)" if recorded else ""
    before = {name: value for name, value in chosen.items() if name not in new}
    plan.added = described(new, f"for {facts.pairs:,} pairs{why}", validates=validates)
    plan.notes = described(before, "when the run began", validates=validates)
    return plan


def _metrics(options: TrainOptions) -> tuple[str, ...]:
    """The metrics of validation."""
    metrics = options.valid_metrics
    if not metrics:
        other = "bleu" if options.has_source else "perplexity"
        metrics = ("cross-entropy", "accuracy" if options.type in LABELLING else other)
    if options.valid_script is not None and not {*SCRIPTED} & {*metrics}:
        return (*metrics, "translation")
    return metrics


def _check_relations(options: TrainOptions) -> None:
    if options.objective == "distill" and not options.teacher:
        raise UsageError("--objective distill: name the words to learn from with --teacher")
    if options.minimizes_risk and not options.has_source:
        raise UsageError(
            "--objective mrt: a language model does not translate, so there is no risk"
        )
    if options.minimizes_risk and options.label_smoothing and not options.mrt_ml_mix:
        raise UsageError(
            "--label-smoothing: --objective mrt has a cross-entropy only with --mrt-ml-mix"
        )
    if options.devices and options.num_devices not in (0, len(options.devices)):
        raise UsageError(
            f"--num-devices {options.num_devices}: --devices names {len(options.devices)}"
        )
    if options.quantize_bits == 1 and not options.quantize_log_based:
        raise UsageError(
            "--quantize-bits 1: 0 would be the only level; use 2, or --quantize-log-based"
        )


def _check_metrics(metrics: tuple[str, ...], options: TrainOptions) -> None:
    labelling = options.type in LABELLING
    unfit = ("bleu", "bleu-detok", "chrf") if labelling else LABEL_METRICS
    for metric in metrics:
        if options.has_source and metric in unfit:
            kind, other = ("text", "labels") if labelling else ("labels", "text")
            raise UsageError(
                f"--valid-metrics {metric} measures {kind}; --type {options.type} predicts {other}"
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
