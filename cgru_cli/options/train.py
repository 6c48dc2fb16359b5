"""The options of `cgru train`; here those for validation, end, saving, logs and devices.

The others are in `model` (text, vocabularies, model), `batches`, and `optimization` (objective,
optimiser, learning rate, dropout).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .declaration import (
    choice,
    computing_option,
    device_option,
    frequency,
    number,
    options_of,
    read_by,
    threads_option,
    whole,
)
from .kinds import some_frequencies
from .model import ModelOptions
from .optimization import OptimizationOptions

validation_option = options_of("Validation")
end_option = options_of("End of training")
saving_option = options_of("Saving")
log_option = options_of("Log")


StalledMetrics = Literal["first", "any", "all"]


@dataclass(frozen=True)
class TrainOptions(OptimizationOptions, ModelOptions):
    """`cgru train [DATA] -m MODEL`."""

    valid_sets: tuple[str, ...] = validation_option(
        "--valid-sets SRC TRG (--valid_datasets): source and target text to validate on; the dev "
        "set of DATA if not given"
    )
    valid_reference: str | None = validation_option(
        "--valid-reference FILE: raw reference text for BLEU and chrF; the target of "
        "--valid-sets if not given"
    )
    valid_metrics: tuple[str, ...] = validation_option(
        "--valid-metrics METRIC...: metrics of validation: cross-entropy, ce-mean-words, "
        "perplexity, bleu, chrf, bleu-detok (the same as bleu), for labels accuracy, f1 and "
        "span-f1, translation and valid-script (both by --valid-script-path); cross-entropy and "
        "bleu, or accuracy, if not given"
    )
    valid_freq: str = validation_option(
        "--valid-freq N[u|e|m|t]: validate every N updates (u), epochs (e), minutes (m) or "
        "target words (t)",
        frequency(
            "1e",
            by_data="every epoch, or of long ones every 1,000 updates or tenth, and more rarely if "
            "validation takes over 3 % of the time",
        ),
    )
    valid_lines: int = validation_option(
        "--valid-lines N: validate on N lines, spread evenly over the validation text; 0: on all",
        whole(0, 10**9, default=0, by_data="500, or all if a script or a file takes translations"),
    )
    valid_beam_size: int | None = validation_option(
        "--valid-beam-size K: beam size of validation, if it differs from --beam-size",
        whole(1, 1000, by_data="--beam-size if that is given, else 1"),
    )
    valid_mini_batch: int = validation_option(
        "--valid-mini-batch N (--valid_batch_size): sentences in a mini-batch of validation",
        whole(1, 1_000_000, default=64),
    )
    valid_max_length: int = validation_option(
        "--valid-max-length N: cut sentences of the validation text that are longer (words)",
        whole(1, 1_000_000, default=1000),
    )
    valid_script: str | None = validation_option(
        "--valid-script-path COMMAND (--valid_script): program that prints a score, taken from "
        "the last number on its standard output: the metric translation gives it a file of "
        "translations, valid-script the model in MODEL.dev.npz; the command is split into words "
        "as a shell does, and run without a shell"
    )
    valid_script_args: tuple[str, ...] = validation_option(
        "--valid-script-args ARGUMENT...: arguments of --valid-script-path, before the file of "
        "translations",
        needs="--valid-script-path",
    )
    external_validation_script: str | None = validation_option(
        "--external-validation-script COMMAND: program to run after every validation, as Nematus "
        "does: without arguments, the model in MODEL.dev.npz; its output goes to the log, and "
        "training continues when it has ended, whatever its exit code"
    )
    valid_translation_output: str | None = validation_option(
        "--valid-translation-output FILE: file for the translations of the validation text; {E} "
        "in its name stands for the epoch, {U} for the update"
    )
    beam_size: int = validation_option(
        "-b --beam-size K: beam size, saved as the model's default, and used in validation (see "
        "--valid-beam-size)",
        whole(1, 1000, default=5),
    )
    normalize: float | None = validation_option(
        "-n --normalize ALPHA (--normalization_alpha): length normalisation of validation, saved "
        "as the model's default: divide scores by length ** ALPHA; 1, or 0 with --type lm, if not "
        "given",
        number(0, 10, implied=1.0),
    )

    suppress_unk: bool = validation_option(
        "--suppress-unk: never produce the unknown word in translations of the validation text"
    )

    after: str = end_option(
        "--after N[u|e|m|t] (--finish_after): end after N updates (u), epochs (e), minutes (m, "
        "validation and saving counted) or target words (t); several limits are separated by "
        "commas; 0: no limit",
        read_by(some_frequencies, default="0"),
    )
    after_epochs: int = end_option(
        "--after-epochs -e N (--max_epochs): end after N epochs; 0: no limit",
        whole(0, 10**9, default=0),
    )
    logical_epoch: tuple[str, ...] = end_option(
        "--logical-epoch N[u|e|t] [DIGITS]: length of an epoch for --after, --after-epochs and the "
        "log: N passes through the text (e), updates (u) or target words (t); DIGITS: decimals of "
        "its number in the log; one pass if not given"
    )
    early_stopping: int = end_option(
        "--early-stopping N (--patience): early stopping: end after N validations without "
        "improvement; 0: never",
        whole(0, 10**9, default=10),
    )
    early_stopping_epsilon: tuple[float, ...] = end_option(
        "--early-stopping-epsilon X...: count a metric as improved only if it gains more than X: "
        "one number for all of --valid-metrics, or one for each",
        number(0, 1e9, default=(0.0,)),
    )
    early_stopping_on: StalledMetrics = end_option(
        "--early-stopping-on: which of --valid-metrics must stop improving: the first, any or all",
        choice(*get_args(StalledMetrics), default="first"),
    )
    throw_on_divergence: tuple[float, ...] = end_option(
        "--throw-on-divergence N...: end training when the mean cost of the last 10 updates "
        "exceeds that of the last 1000 by 5 standard deviations; the numbers are 1000 10 5, and "
        "those left out have these values",
        number(0, 10**9),
    )
    valid_reset_stalled: bool = end_option(
        "--valid-reset-stalled: when training resumes, restart the count of validations without "
        "improvement"
    )
    valid_reset_all: bool = end_option(
        "--valid-reset-all: when training resumes, also forget the best value of each metric"
    )

    save_freq: str = saving_option(
        "--save-freq N[u|e|m|t]: save the model every N updates (u), epochs (e), minutes (m) or "
        "target words (t); several frequencies are separated by commas",
        read_by(some_frequencies, default="1e,30m"),
    )
    keep: int = saving_option(
        "--keep N: keep the last N earlier saved models", whole(0, 10**9, default=0)
    )
    keep_as: str | None = saving_option(
        "--keep-as FILE: name of the models that --keep keeps, in which {U} stands for the update; "
        "without the ending .npz, they are checkpoints of Nematus-TF; MODEL.u{U}.npz if not given",
        needs="--keep",
    )
    no_reload: bool = saving_option(
        "--no-reload: begin a new training, which replaces the model and the state of an earlier "
        "one, instead of resuming that"
    )
    no_restore_corpus: bool = saving_option(
        "--no-restore-corpus: when training resumes, begin the current epoch again, instead of "
        "restoring the position in the text; the text and the options of mini-batches may change"
    )
    no_optimizer_reload: bool = saving_option(
        "--no-optimizer-reload: when training resumes, continue with the weights of the saved "
        "model and a new optimiser"
    )

    disp_freq: str = log_option(
        "--disp-freq N[u|e|m|t] (--dispFreq): log progress every N updates (u), epochs (e), "
        "minutes (m) or target words (t)",
        frequency("1000u"),
    )
    disp_first: int = log_option(
        "--disp-first N: also log each of the first N updates", whole(0, 10**9, default=0)
    )
    disp_label_counts: bool = log_option(
        "--disp-label-counts: log with the cost the number of target words or sentences of which "
        "it is the mean, and the target words of the last update and of all updates"
    )
    disp_translations: bool = log_option(
        "--disp-translations: log some translations of each validation with a metric of "
        "translations: those of the lines 0 to 4, 5, 10, 20, 40 and so on, counted from 0"
    )
    log_gradients: bool = log_option(
        "--log-gradients: record norms of the gradient in MODEL.metrics.jsonl whenever progress "
        "is logged: of each parameter, and of the states at each time step",
        excludes="--objective mrt",
    )
    log: str | None = log_option("--log FILE: log file; MODEL.log if not given")
    valid_log: str | None = log_option(
        "--valid-log FILE: also write the lines of validation to this file"
    )
    tensorboard: bool = log_option(
        "--tensorboard: also log to MODEL.tensorboard for TensorBoard (needs cgru[tensorboard])"
    )
    plot: bool = log_option(
        "--plot: draw learning curves at every validation, MODEL.png and MODEL.svg (needs "
        "cgru[plot])"
    )

    device: str | None = device_option()
    devices: tuple[str, ...] = computing_option(
        "-d --devices N...: GPUs to train on together, by number (cpu:0 cpu:1 ... to try it "
        "without GPUs); all GPUs if neither this nor --device is given",
        excludes="--device",
    )
    num_devices: int = computing_option(
        "--num-devices N: train on the first N GPUs together; 0: as --devices says",
        whole(0, 1024, default=0),
        excludes="--device",
    )
    cpu_threads: int | None = threads_option()
    precision: str = computing_option(
        "--precision: data type of matrix products; weights, states and softmax stay float32",
        choice("float32", "bfloat16", "float16", default="float32"),
    )
    jit: str = computing_option(
        "--jit: compile training steps with XLA; auto: on GPUs if that is faster for the first "
        "mini-batch, never on CPUs",
        choice("auto", "on", "off", default="auto"),
    )

    @property
    def minimizes_risk(self) -> bool:
        """Whether training is for minimum risk."""
        return self.objective.lower() == "mrt"

    @property
    def alignments(self) -> tuple[str, ...]:
        """The files of --guided-alignment; Marian says `none` where there are none."""
        return () if self.guided_alignment == ("none",) else self.guided_alignment

    @property
    def searched_beam(self) -> int:
        """The beam size of validation."""
        return self.valid_beam_size or self.beam_size

    @property
    def length_power(self) -> float:
        """The power of the length that divides scores; a language model prefers short texts."""
        default = 0.0 if self.type == "lm" else 1.0
        return default if self.normalize is None else self.normalize

    @property
    def together(self) -> tuple[str, ...]:
        """The devices, named one by one or counted."""
        return self.devices or tuple(str(number) for number in range(self.num_devices))
