"""The options of `cgru train`, those of validation, end, saves, logs and devices here.

The others are in `model` (text, vocabularies, model) and `optimization` (batches, objective,
optimiser).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .flags import device_option, options_of, threads_option
from .kinds import one_frequency, some_frequencies
from .model import ModelOptions
from .optimization import OptimizationOptions

validation_option = options_of("Validation")
end_option = options_of("End of training")
saving_option = options_of("Saving")
log_option = options_of("Log")
computing_option = options_of("Devices and memory")

_FREQUENCY = {"kind": one_frequency, "metavar": "N[u|e|m|t]"}


StalledMetrics = Literal["first", "any", "all"]


@dataclass(frozen=True)
class TrainOptions(OptimizationOptions, ModelOptions):
    """`cgru train [DATA] -m MODEL`."""

    valid_sets: tuple[str, ...] = validation_option(
        (), "source and target text to validate on; the dev set of DATA if not given",
        "--valid-sets", metavar="SRC TRG", many=True, aliases=("--valid_datasets",), path="file",
    )  # fmt: skip
    valid_reference: str | None = validation_option(
        None, "raw reference text for BLEU and chrF; the target of --valid-sets if not given",
        "--valid-reference", metavar="FILE", path="file",
    )  # fmt: skip
    valid_metrics: tuple[str, ...] = validation_option(
        (), "metrics of validation: cross-entropy, ce-mean-words, perplexity, bleu, chrf, "
        "bleu-detok (the same as bleu), of labels accuracy, f1 and span-f1, translation and "
        "valid-script (both by --valid-script-path); cross-entropy and bleu, or accuracy, if not "
        "given",
        "--valid-metrics", metavar="METRIC...", many=True,
    )  # fmt: skip
    valid_freq: str = validation_option(
        "1e", "validate every N updates (u), epochs (e), minutes (m) or target words (t)",
        "--valid-freq", **_FREQUENCY, aliases=("--valid_freq",),
    )  # fmt: skip
    valid_mini_batch: int = validation_option(
        64, "sentences in a mini-batch of validation", "--valid-mini-batch", kind=int,
        metavar="N", least=1, most=1_000_000, aliases=("--valid_batch_size",),
    )  # fmt: skip
    valid_max_length: int = validation_option(
        1000, "cut sentences of the validation text that are longer", "--valid-max-length",
        kind=int, metavar="N", unit="words", least=1, most=1_000_000,
    )  # fmt: skip
    valid_script: str | None = validation_option(
        None, "program that prints a score, taken from the last number on its standard output: the "
        "metric translation gives it a file of translations, valid-script the model in "
        "MODEL.dev.npz; the command is split into words as a shell does, and run without a shell",
        "--valid-script-path", metavar="COMMAND", aliases=("--valid_script",), path="file",
    )  # fmt: skip
    valid_script_args: tuple[str, ...] = validation_option(
        (), "arguments of --valid-script-path, before the file of translations",
        "--valid-script-args", metavar="ARGUMENT...", many=True, needs=("--valid-script-path",),
    )  # fmt: skip
    external_validation_script: str | None = validation_option(
        None, "program to run after every validation, as Nematus does: without arguments, the "
        "model in MODEL.dev.npz; its output goes to the log, and training continues when it has "
        "ended, whatever its exit code", "--external-validation-script", metavar="COMMAND",
        aliases=("--external_validation_script",), path="file",
    )  # fmt: skip
    valid_translation_output: str | None = validation_option(
        None, "file for the translations of the validation text; {E} in its name stands for the "
        "epoch, {U} for the update", "--valid-translation-output", metavar="FILE", path="file",
    )  # fmt: skip
    beam_size: int = validation_option(
        5, "beam size of validation, saved as the model's default", "-b", "--beam-size",
        kind=int, metavar="K", least=1, most=1000, aliases=("--beam_size",),
    )  # fmt: skip
    normalize: float = validation_option(
        1.0, "length normalisation of validation, saved as the model's default: divide scores by "
        "length ** ALPHA", "-n", "--normalize", kind=float, metavar="ALPHA", implied=1.0, least=0,
        most=10, aliases=("--normalization_alpha",),
    )  # fmt: skip

    after: str = end_option(
        "0", "end after N updates (u), epochs (e), minutes (m, validation and saving counted) "
        "or target words (t); several limits are separated by commas; 0: no limit", "--after",
        kind=some_frequencies, metavar="N[u|e|m|t]", aliases=("--finish_after",),
    )  # fmt: skip
    after_epochs: int = end_option(
        0, "end after N epochs; 0: no limit", "--after-epochs", "-e", kind=int, metavar="N",
        least=0, most=10**9, aliases=("--max_epochs",),
    )  # fmt: skip
    logical_epoch: tuple[str, ...] = end_option(
        (), "length of an epoch for --after, --after-epochs and the log: N passes through the text "
        "(e), updates (u) or target words (t), and decimals of its number in the log; one pass if "
        "not given", "--logical-epoch", metavar="N[u|e|t] [DIGITS]", many=True,
    )  # fmt: skip
    early_stopping: int = end_option(
        10, "early stopping: end after N validations without improvement; 0: never",
        "--early-stopping", kind=int, metavar="N", least=0, most=10**9, aliases=("--patience",),
    )  # fmt: skip
    early_stopping_epsilon: tuple[float, ...] = end_option(
        (0.0,), "count a metric as improved only if it gains more than X: one number for all of "
        "--valid-metrics, or one for each", "--early-stopping-epsilon", kind=float,
        metavar="X...", many=True, least=0, most=1e9,
    )  # fmt: skip
    early_stopping_on: StalledMetrics = end_option(
        "first", "which of --valid-metrics must stop improving: the first, any or all",
        "--early-stopping-on", choices=get_args(StalledMetrics),
    )  # fmt: skip
    valid_reset_stalled: bool = end_option(
        False, "when training resumes, count validations without improvement from 0 again",
        "--valid-reset-stalled", kind=bool,
    )  # fmt: skip
    valid_reset_all: bool = end_option(
        False, "when training resumes, also forget the best value of each metric",
        "--valid-reset-all", kind=bool,
    )  # fmt: skip

    save_freq: str = saving_option(
        "1e", "save the model every N updates (u), epochs (e), minutes (m) or target words (t)",
        "--save-freq", **_FREQUENCY, aliases=("--save_freq",),
    )  # fmt: skip
    keep: int = saving_option(
        0, "keep the last N earlier saved models", "--keep", kind=int, metavar="N", least=0,
        most=10**9,
    )  # fmt: skip

    disp_freq: str = log_option(
        "1000u", "log progress every N updates (u), epochs (e), minutes (m) or target words (t)",
        "--disp-freq", **_FREQUENCY, aliases=("--disp_freq", "--dispFreq"),
    )  # fmt: skip
    disp_first: int = log_option(
        0, "also log each of the first N updates", "--disp-first", kind=int, metavar="N", least=0,
        most=10**9,
    )  # fmt: skip
    log_gradients: bool = log_option(
        False, "record norms of the gradient in MODEL.metrics.jsonl whenever progress is logged: "
        "of each parameter, and of the states at each time step", "--log-gradients", kind=bool,
        excludes=("--objective mrt",),
    )  # fmt: skip
    log: str | None = log_option(
        None, "log file; MODEL.log if not given", "--log", metavar="FILE", path="file"
    )
    valid_log: str | None = log_option(
        None, "also write the lines of validation to this file", "--valid-log", metavar="FILE",
        path="file",
    )  # fmt: skip
    tensorboard: bool = log_option(
        False, "also log to MODEL.tensorboard for TensorBoard (needs cgru[tensorboard])",
        "--tensorboard", kind=bool,
    )  # fmt: skip
    plot: bool = log_option(
        False, "draw learning curves at every validation, MODEL.png and MODEL.svg (needs "
        "cgru[plot])", "--plot", kind=bool,
    )  # fmt: skip

    device: str | None = device_option()
    devices: tuple[str, ...] = computing_option(
        (), "GPUs to train on together, by number (cpu:0 cpu:1 ... to try it without GPUs); all "
        "GPUs if neither this nor --device is given", "-d", "--devices", metavar="N...",
        many=True, excludes=("--device",),
    )  # fmt: skip
    num_devices: int = computing_option(
        0, "train on the first N GPUs together; 0: as --devices says", "--num-devices", kind=int,
        metavar="N", least=0, most=1024, excludes=("--device",),
    )  # fmt: skip
    cpu_threads: int | None = threads_option()
    precision: str = computing_option(
        "float32", "data type of matrix products; weights, states and softmax stay float32",
        "--precision", choices=("float32", "bfloat16", "float16"),
    )  # fmt: skip
    jit: str = computing_option(
        "auto", "compile training steps with XLA; auto: on GPUs if that is faster for the first "
        "mini-batch, never on CPUs", "--jit", choices=("auto", "on", "off"),
    )  # fmt: skip

    @property
    def together(self) -> tuple[str, ...]:
        """The devices that are named one by one, or counted."""
        return self.devices or tuple(str(number) for number in range(self.num_devices))
