"""The options of `cgru train`; this file has options for validation, end, saving, logs and devices.

Other options are in `model` (text, vocabularies, model), `batches`, and `optimization` (objective,
optimiser, learning rate, dropout).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .declaration import Group, same
from .kinds import some_frequencies
from .line_filter import DEVICES, FilterOptions
from .model import ModelOptions
from .optimization import OptimizationOptions
from .scope import Scope

VALIDATION = Group("Validation")
DEV_TEXT = Group("Validation", applies_to=Scope.VALIDATION)
DEV_FILES = Group("Validation", applies_to=Scope.VALIDATION | Scope.MACHINE)
END = Group("End of training")
SAVING = Group("Saving")
LOG = Group("Log")
LOG_HERE = Group("Log", applies_to=Scope.MACHINE)
GPUS = Group("Devices and memory", applies_to=Scope.MACHINE)


StalledMetrics = Literal["first", "any", "all"]


@dataclass(frozen=True)
class TrainOptions(OptimizationOptions, ModelOptions):
    """`cgru train [DATA] -m MODEL`."""

    valid_sets: tuple[str, ...] = VALIDATION.values(applies_to=Scope.MACHINE)("""
        --valid-sets SRC TRG (--valid_datasets): source and target text to validate on; the dev set
        of DATA if not given""")
    valid_reference: str | None = VALIDATION.values(applies_to=Scope.DECODER | Scope.MACHINE)("""
        --valid-reference FILE: raw reference text for BLEU and chrF; the target of --valid-sets if
        not given""")
    valid_metrics: tuple[str, ...] = DEV_TEXT("""
        --valid-metrics METRIC...: metrics of validation: cross-entropy, ce-mean-words, perplexity,
        bleu, chrf, bleu-detok (the same as bleu); accuracy, f1 and span-f1 for labels; translation
        and valid-script, computed by --valid-script-path; cross-entropy and bleu, or accuracy, if
        not given""")
    valid_freq: str = VALIDATION.frequency(
        "1e",
        by_data="every epoch (a long epoch: every 1,000 updates or every tenth), less often if "
        "validation takes over 3 % of the time",
    )("""
        --valid-freq N[u|e|m|t]: validate every N updates (u), epochs (e), minutes (m) or target
        words (t)""")
    valid_lines: int = DEV_TEXT.whole(
        0, 10**9, default=0, by_data="500, or all if a script or a file receives translations"
    )("""
        --valid-lines N: validate on N lines, spread evenly over the validation text; 0: on all""")
    valid_beam_size: int | None = DEV_TEXT.whole(
        1, 1000, by_data="--beam-size if that is given, otherwise 1"
    )("""
        --valid-beam-size K: beam size of validation, if it differs from --beam-size""")
    valid_mini_batch: int = DEV_TEXT.whole(1, 1_000_000, default=64)("""
        --valid-mini-batch N (--valid_batch_size): sentences in a mini-batch of validation""")
    valid_max_length: int = DEV_TEXT.whole(1, 1_000_000, default=1000)("""
        --valid-max-length N: cut longer sentences of the validation text (words)""")
    valid_script: str | None = DEV_FILES("""
        --valid-script-path COMMAND (--valid_script): program that prints a score (higher is better)
        or the output of sacreBLEU or multi-bleu.perl; the metric translation passes it a file of
        translations, valid-script the model in MODEL.dev.npz; the command is split into words as in
        a shell, but run without a shell""")
    valid_script_args: tuple[str, ...] = VALIDATION.values(
        needs="--valid-script-path", applies_to=Scope.MACHINE
    )("""
        --valid-script-args ARGUMENT...: arguments of --valid-script-path, before the file of
        translations""")
    external_validation_script: str | None = DEV_FILES("""
        --external-validation-script COMMAND: program to run after every validation, as in Nematus:
        without arguments, with the model in MODEL.dev.npz; its output goes to the log, and training
        continues when it ends, whatever its exit code""")
    valid_translation_output: str | None = DEV_FILES("""
        --valid-translation-output FILE: file for translations of the validation text; {E} in its
        name stands for the epoch, {U} for the update""")
    beam_size: int = VALIDATION.whole(1, 1000, default=5, applies_to=Scope.DECODER)("""
        -b --beam-size K: beam size, saved as the model's default, and used in validation (see
        --valid-beam-size)""")
    normalize: float | None = VALIDATION.number(0, 10, implied=1.0, applies_to=Scope.DECODER)("""
        -n --normalize ALPHA (--normalization_alpha): length normalisation of validation, saved as
        the model's default: divide scores by length ** ALPHA; 1, or 0 with --type lm, if not
        given""")

    suppress_unk: bool = VALIDATION("""
        --suppress-unk: never produce the unknown word in translations of the validation text""")

    after: str = END.values(some_frequencies, default="0")("""
        --after N[u|e|m|t] (--finish_after): end after N updates (u), epochs (e), minutes (m,
        including validation and saving) or target words (t); several limits are separated by
        commas; 0: no limit""")
    after_epochs: int = END.whole(0, 10**9, default=0)("""
        --after-epochs -e N (--max_epochs): end after N epochs; 0: no limit""")
    logical_epoch: tuple[str, ...] = END("""
        --logical-epoch N[u|e|t] [DIGITS]: length of an epoch for --after, --after-epochs and the
        log: N passes through the text (e), updates (u) or target words (t), one pass if not given;
        DIGITS: decimals of the epoch's number in the log""")
    early_stopping: int = END.whole(0, 10**9, default=10)("""
        --early-stopping N (--patience): early stopping: end after N validations without
        improvement; 0: never""")
    early_stopping_epsilon: tuple[float, ...] = END.number(0, 1e9, default=(0.0,))("""
        --early-stopping-epsilon X...: minimum gain that counts as an improvement of a metric: one
        number for all --valid-metrics, or one for each""")
    early_stopping_on: StalledMetrics = END.choice(*get_args(StalledMetrics), default="first")("""
        --early-stopping-on: which of --valid-metrics must stop improving: the first, any or all""")
    throw_on_divergence: tuple[float, ...] = END.number(0, 10**9)("""
        --throw-on-divergence N [M [X]]: end training when the mean cost of the last M updates
        exceeds that of the last N by X standard deviations; M and X are 10 and 5 if not given""")
    valid_reset_stalled: bool = END("""
        --valid-reset-stalled: when training resumes, restart the count of validations without
        improvement""")
    valid_reset_all: bool = END("""
        --valid-reset-all: when training resumes, also forget the best value of each metric""")

    save_freq: str = SAVING.values(some_frequencies, default="1e,30m")("""
        --save-freq N[u|e|m|t]: save the model every N updates (u), epochs (e), minutes (m) or
        target words (t); several frequencies are separated by commas""")
    keep: int = SAVING.whole(0, 10**9, default=0)("""
        --keep N: also keep a copy of each of the last N saved models""")
    keep_as: str | None = SAVING.values(needs="--keep", applies_to=Scope.MACHINE)("""
        --keep-as FILE: name of the models kept by --keep, in which {U} stands for the update; names
        that do not end in .npz are checkpoints of Nematus-TF; MODEL.u{U}.npz if not given""")
    no_reload: bool = SAVING("""
        --no-reload: start a new run, which replaces the model and the state of an earlier run,
        instead of resuming it""")
    no_restore_corpus: bool = SAVING("""
        --no-restore-corpus: when training resumes, restart the current epoch instead of restoring
        the position in the text; the text and the options of mini-batches may change""")
    no_optimizer_reload: bool = SAVING("""
        --no-optimizer-reload: when training resumes, continue with the weights of the saved model
        and a new optimiser""")

    disp_freq: str = LOG.frequency("1000u", by_data="100u")("""
        --disp-freq N[u|e|m|t] (--dispFreq): log progress every N updates (u), epochs (e), minutes
        (m) or target words (t)""")
    disp_first: int = LOG.whole(0, 10**9, default=0)("""
        --disp-first N: also log each of the first N updates""")
    disp_label_counts: bool = LOG("""
        --disp-label-counts: log the number of target words or sentences over which the cost is
        averaged, and the target words of the last update and of all updates""")
    disp_translations: bool = LOG("""
        --disp-translations: log some translations of each validation that has a metric of
        translations: lines 0 to 4, 5, 10, 20, 40 and so on, counted from 0""")
    log_gradients: bool = LOG.values(excludes="--objective mrt")("""
        --log-gradients: record gradient norms of each parameter, and of the states at each time
        step, in MODEL.metrics.jsonl whenever progress is logged""")
    log: str | None = LOG_HERE("--log FILE: log file to append to; MODEL.log if not given")
    valid_log: str | None = LOG_HERE("""
        --valid-log FILE: also write the log lines of validation to this file""")
    tensorboard: bool = LOG_HERE("""
        --tensorboard: also log to MODEL.tensorboard for TensorBoard (needs cgru[tensorboard])""")
    plot: bool = LOG_HERE("""
        --plot: draw learning curves at every validation, MODEL.png and MODEL.svg (needs
        cgru[plot])""")

    device: str | None = same(FilterOptions, "device")
    devices: tuple[str, ...] = GPUS.values(excludes="--device")("""
        -d --devices N...: numbers of the GPUs to train on (cpu:0 cpu:1 ... for tests without GPUs);
        all GPUs if neither this nor --device is given""")
    num_devices: int = GPUS.whole(0, 1024, default=0, excludes="--device")("""
        --num-devices N: train on the first N GPUs; 0: on those of --devices""")
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
