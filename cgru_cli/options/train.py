"""The options of `cgru train`; this file has options for validation, end, saving, logs and devices.

Other options are in `model` (text, vocabularies, model), `optimization` (batches, objective,
optimiser, learning rate, dropout), and `as_in_marian` (options of other programs' scripts).
"""

from __future__ import annotations

from dataclasses import dataclass

from .as_in_marian import MarianOptions
from .declaration import Group, same
from .kinds import kept_model, one_frequency, some_frequencies
from .line_filter import DEVICES, FilterOptions
from .model import ModelOptions
from .optimization import OptimizationOptions
from .scope import Scope

LOWER_IS_BETTER = {  # metrics of validation
    "cross-entropy": True,  # nats per sentence
    "ce-mean-words": True,  # nats per word
    "perplexity": True,
    "bleu": False,
    "chrf": False,
    "bleu-detok": False,  # Marian's older name for bleu
    "accuracy": False,  # of labels
    "f1": False,  # of labels
    "span-f1": False,  # of labels
    "translation": False,  # the score that a script gives to translations
    "valid-script": False,  # the score that a script gives to a model
}

VALIDATION = Group("Validation")
DEV_TEXT = Group("Validation", applies_to=Scope.VALIDATION)
END = Group("End of training")
SAVING = Group("Saving")
LOG = Group("Log")
LOG_HERE = Group("Log", applies_to=Scope.MACHINE)
GPUS = Group("Devices and memory", applies_to=Scope.MACHINE)


@dataclass(frozen=True)
class TrainOptions(MarianOptions, OptimizationOptions, ModelOptions):
    """`cgru train [DATA] -m MODEL`."""

    valid_sets: tuple[str, ...] = VALIDATION.values(applies_to=Scope.MACHINE)("""
        --valid-sets SRC TRG (--valid_datasets): source and target text to validate on; the dev set
        of DATA if not given""")
    valid_reference: str | None = VALIDATION.values(applies_to=Scope.DECODER | Scope.MACHINE)("""
        --valid-reference FILE: raw reference text for BLEU and chrF; the target of --valid-sets if
        not given""")
    valid_metrics: tuple[str, ...] = DEV_TEXT.choice(*LOWER_IS_BETTER)("""
        --valid-metrics METRIC...: metrics of validation: cross-entropy, ce-mean-words, perplexity,
        bleu, chrf, bleu-detok (the same as bleu); accuracy, f1 and span-f1 for labels; translation
        and valid-script, computed by --valid-script-path; cross-entropy and bleu, or accuracy, if
        not given""")
    valid_freq: str = VALIDATION.values(
        one_frequency,
        default="1e",
        by_data="every epoch (a long epoch: every 1,000 updates or every tenth), less often if "
        "validation takes over 3 % of the time",
    )("""
        --valid-freq N[u|e|m|t]: validate every N updates (u), epochs (e), minutes (m) or target
        words (t)""")
    valid_lines: int = DEV_TEXT.whole(
        0,
        10**9,
        default=0,
        by_data="500, or all if a script or a file receives translations",
        unless=("--valid-script-path", "--valid-translation-output"),
    )("""
        --valid-lines N: validate on N lines, spread evenly over the validation text; 0: on all""")
    valid_beam_size: int | None = DEV_TEXT.whole(
        1, 1000, by_data="--beam-size if that is given, otherwise 1", unless="--beam-size"
    )("""
        --valid-beam-size K: beam size of validation""")
    beam_size: int = VALIDATION.whole(1, 1000, default=5, applies_to=Scope.DECODER)("""
        -b --beam-size K: beam size, saved as the model's default, and used in validation (see
        --valid-beam-size)""")
    normalize: float | None = VALIDATION.number(0, 10, implied=1.0, applies_to=Scope.DECODER)("""
        -n --normalize ALPHA (--normalization_alpha): length normalisation of validation, saved as
        the model's default: divide scores by length ** ALPHA; 1, or 0 with --type lm, if not
        given""")

    after: str = END.values(some_frequencies, default="0")("""
        --after N[u|e|m|t] (--finish_after): end after N updates (u), epochs (e), minutes (m,
        including validation and saving) or target words (t); several limits are separated by
        commas; 0: no limit""")
    early_stopping: int = END.whole(0, 10**9, default=10)("""
        --early-stopping N (--patience): early stopping: end after N validations without
        improvement; 0: never""")

    save_freq: str = SAVING.values(some_frequencies, default="1e,30m")("""
        --save-freq N[u|e|m|t]: save the model every N updates (u), epochs (e), minutes (m) or
        target words (t); several frequencies are separated by commas""")
    keep: int = SAVING.whole(0, 10**9, default=0)("""
        --keep N: also keep a copy of each of the last N saved models""")
    keep_as: str | None = SAVING.values(kept_model, needs="--keep", applies_to=Scope.MACHINE)("""
        --keep-as FILE: name of the models kept by --keep, in which {U} stands for the update; names
        that do not end in .npz are checkpoints of Nematus-TF; MODEL.u{U}.npz if not given""")
    no_reload: bool = SAVING("""
        --no-reload: start a new run, which replaces the model and the state of an earlier run,
        instead of resuming it""")

    disp_freq: str = LOG.values(one_frequency, default="1000u", by_data="100u")("""
        --disp-freq N[u|e|m|t] (--dispFreq): log progress every N updates (u), epochs (e), minutes
        (m) or target words (t)""")
    log_gradients: bool = LOG.values(excludes="--objective mrt")("""
        --log-gradients: record gradient norms of each parameter, and of the states at each time
        step, in MODEL.metrics.jsonl whenever progress is logged""")
    log: str | None = LOG_HERE("--log FILE: log file to append to; MODEL.log if not given")
    tensorboard: bool = LOG_HERE("""
        --tensorboard: also log to MODEL.tensorboard for TensorBoard (needs cgru[tensorboard])""")
    plot: bool = LOG_HERE("""
        --plot: draw learning curves at every validation, MODEL.png and MODEL.svg (needs
        cgru[plot])""")
    curves: tuple[str, ...] = LOG_HERE("""
        --curves MODEL...: do not train, but draw the learning curves of these runs, finished or
        still running, in one picture: MODEL.png and MODEL.svg, or curves.png and curves.svg for
        several (needs cgru[plot])""")

    device: str | None = same(FilterOptions, "device")
    devices: tuple[str, ...] = GPUS.values(excludes="--device")("""
        -d --devices N...: numbers of the GPUs to train on (cpu:0 cpu:1 ... for tests without GPUs);
        all GPUs if neither this nor --device is given""")
    cpu_threads: int | None = same(FilterOptions, "cpu_threads")
    precision: str = DEVICES.choice("float32", "bfloat16", "float16", default="float32")("""
        --precision: data type of matrix products; weights, states and softmax remain float32""")
    jit: str = DEVICES.choice("auto", "on", "off", default="auto")("""
        --jit: compile training steps with XLA; auto: on GPUs if that is faster for the first
        mini-batch, never on CPUs""")

    @property
    def minimizes_risk(self) -> bool:
        """Whether the objective is minimum risk training."""
        return self.objective.lower() == "mrt"

    @property
    def alignments(self) -> tuple[str, ...]:
        """The files of --guided-alignment; () for Marian's value `none`."""
        return () if self.guided_alignment == ("none",) else self.guided_alignment

    @property
    def searched_beam(self) -> int:
        """The beam size of validation."""
        return self.valid_beam_size or self.beam_size

    @property
    def length_power(self) -> float:
        """The exponent of the length that divides scores; by default 0 for a language model."""
        default = 0.0 if self.type == "lm" else 1.0
        return default if self.normalize is None else self.normalize

    @property
    def together(self) -> tuple[str, ...]:
        """The devices that train together, from --devices or --num-devices."""
        return self.devices or tuple(str(number) for number in range(self.num_devices))
