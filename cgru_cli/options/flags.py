"""Every option of every command, said once: name, default, help, unit, and legacy aliases.

Flags, help texts and the table in the documentation come from the dataclasses here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from .feature_weights import weight
from .programs import COMPAT


@dataclass(frozen=True)
class Flag:
    """What the command line needs to know of one option.

    flags: as typed, the one that errors name first; aliases: the names that Nematus and Marian
    give it, understood and not shown; many: takes one value or several, and may be repeated;
    implied: the value that stands for the option without one; choices: the values allowed.
    """

    help: str
    flags: tuple[str, ...]
    kind: Callable[[str], Any] = str
    aliases: tuple[str, ...] = ()
    metavar: str = ""
    unit: str = ""
    many: bool = False
    implied: Any = None
    choices: tuple[str, ...] = ()

    @property
    def is_switch(self) -> bool:
        """Whether the option takes no value at all."""
        return self.kind is bool


def option(default: Any, help: str, *flags: str, **more: Any) -> Any:
    """A dataclass field that is an option."""
    return field(default=default, metadata={"flag": Flag(help, flags, **more)})


def device_option() -> Any:
    """Where a command computes."""
    help = "where to compute; a GPU if there is one, else the CPU"
    return option(None, help, "--device", metavar="cpu|gpu[:N]")


def threads_option() -> Any:
    """How many threads a command computes with."""
    help = "threads to compute with; all processors if not given"
    return option(None, help, "--cpu-threads", kind=int, metavar="N")


def statements(options: type) -> dict[str, tuple[Flag, Any]]:
    """Each option of a dataclass: its flag and its default, by field name."""
    return {f.name: (f.metadata["flag"], f.default) for f in dataclasses.fields(options)}


def table(options: type) -> list[tuple[str, str, str, str]]:
    """Rows of the documentation: flags, aliases, default, help with unit."""
    rows = []
    for flag, default in statements(options).values():
        metavar = f" {flag.metavar}" if flag.metavar else ""
        unit = f" ({flag.unit})" if flag.unit else ""
        shown = "" if default in (None, (), False, "") else str(default)
        rows.append(
            (", ".join(flag.flags) + metavar, " ".join(flag.aliases), shown, flag.help + unit)
        )
    return rows


def spread(arguments: Sequence[str], options: type) -> list[str]:
    """Rewrite `-m A B` to `-m A -m B`, and `-n` without a value to `-n IMPLIED`.

    Marian and Nematus take several values after one flag; so do the scripts written for them.
    """
    by_flag = {}
    for flag, _ in statements(options).values():
        by_flag |= dict.fromkeys((*flag.flags, *flag.aliases), flag)
    spread_out: list[str] = []
    pending = list(arguments)
    used: dict[Flag, tuple[str, str]] = {}
    while pending:
        argument = pending.pop(0)
        if argument == "--":
            return [*spread_out, argument, *pending]
        flag = by_flag.get(argument)
        if flag is not None and not flag.many and not flag.is_switch and pending:
            first, value = used.setdefault(flag, (argument, pending[0]))
            if first != argument and value != pending[0]:  # Nematus' -k 5 -b 80, for one
                raise UsageError(
                    f"{first} {value} and {argument} {pending[0]} are the same option: {flag.help}"
                )
        if flag is None or not (flag.many or flag.implied is not None):
            spread_out.append(argument)
            continue
        values = []
        while pending and not _is_flag(pending[0]) and (flag.many or not values):
            values.append(pending.pop(0))
        if flag.many and flag.implied is not None:  # one value of several words
            spread_out += [argument, " ".join(values) or str(flag.implied)]
        elif values:
            for value in values:
                spread_out += [argument, value]
        elif flag.implied is not None:
            spread_out += [argument, str(flag.implied)]
        else:
            spread_out.append(argument)
    return spread_out


def _is_flag(argument: str) -> bool:
    """Whether an argument is an option rather than a value; -0.5 and - are values."""
    if not argument.startswith("-") or argument == "-":
        return False
    try:
        float(argument)
    except ValueError:
        return True
    return False


TO = ("dl4mt", "nematus", "nematus-tf", "marian-amun", "marian-nematus", "marian-s2s", "npz", "h5")


@dataclass(frozen=True)
class ConvertOptions:
    """`cgru convert IN OUT`."""

    to: str | None = option(
        None, "dialect to write; npz or h5 by the name of OUT if not given", "--to",
        metavar="DIALECT", choices=TO,
    )  # fmt: skip
    info: bool = option(False, "describe IN and write nothing", "--info", kind=bool)
    json: bool = option(False, "with --info: as JSON, for scripts", "--json", kind=bool)
    arrays: bool = option(False, "with --info: list every array", "--arrays", kind=bool)
    verify: bool = option(
        False, "read OUT again and compare every array with IN, bit for bit", "--verify", kind=bool
    )
    average: tuple[str, ...] = option(
        (), "write the mean of IN and these models (checkpoint averaging)", "--average",
        metavar="MODEL...", many=True,
    )  # fmt: skip
    vocabularies: tuple[str, ...] = option(
        (), "vocabularies, source (one a factor) then target, where none are found",
        "-v", "--vocabs", metavar="SRC TRG", many=True, aliases=("--dictionaries",),
    )  # fmt: skip
    force: bool = option(False, "overwrite OUT", "-f", "--force", kind=bool)


@dataclass(frozen=True)
class FilterOptions:
    """What the commands share that read lines, run models over them, and write lines."""

    model: tuple[str, ...] = option(
        (), "model of any dialect; several are an ensemble, or columns of scores",
        "-m", "--model", metavar="MODEL...", many=True, aliases=("--models",),
    )  # fmt: skip
    vocabularies: tuple[str, ...] = option(
        (), "vocabularies, source (one a factor) then target, where the model names none",
        "-v", "--vocabs", metavar="SRC TRG", many=True, aliases=("--dictionaries",),
    )  # fmt: skip
    output: str | None = option(
        None, "file to write, .gz too; standard output if not given", "-o", "--output",
        metavar="FILE",
    )  # fmt: skip
    weights: tuple[float | str, ...] = option(
        (), "weight of each model of an ensemble, or a file that cgru score --tune wrote; equal if "
        "not given", "--weights", kind=weight, metavar="W...|FILE", many=True,
    )  # fmt: skip
    normalize: float | None = option(
        None, "divide scores by length ** ALPHA, EOS counted", "-n", "--normalize",
        kind=float, metavar="ALPHA", implied=1.0, aliases=("--normalization_alpha",),
    )  # fmt: skip
    word_scores: bool = option(
        False, "print each word's score", "--word-scores", kind=bool,
        aliases=("--print-word-probabilities", "-wp"),
    )  # fmt: skip
    alignment: str | None = option(
        None, "print the attention between words as the model reads them: hard, soft, or pairs "
        "above a threshold", "--alignment", metavar="hard|soft|X", implied="hard",
    )  # fmt: skip
    alignment_format: str | None = option(
        None, "how the attention is printed", "--alignment-format",
        choices=("marian", "amun", "nematus", "json"),
    )  # fmt: skip
    heatmap: str | None = option(
        None, "draw the attention of some lines, the best translation's: a page to look through, "
        "or pictures; of an ensemble, the mean and each model", "--heatmap",
        metavar="FILE.html|png|svg",
    )  # fmt: skip
    heatmap_lines: str | None = option(
        None, "which lines --heatmap draws, counted from 1; the first 20, in pictures 4, if not "
        "given", "--heatmap-lines", metavar="N,N-N",
    )  # fmt: skip
    no_preprocess: bool = option(
        False, "take and give text as the model has it, whatever MODEL.preprocess.json says",
        "--no-preprocess", kind=bool,
    )  # fmt: skip
    no_spm_encode: bool = option(
        False, "the input is SentencePiece pieces already", "--no-spm-encode", kind=bool
    )
    workspace: int = option(
        2048, "memory that a mini-batch may take beside the model; smaller batches keep to it",
        "-w", "--workspace", kind=int, metavar="MB", unit="MiB",
    )  # fmt: skip
    device: str | None = device_option()
    cpu_threads: int | None = threads_option()
    precision: str = option(
        "float32", "of the products; state and softmax stay float32", "--precision",
        choices=("float32", "bfloat16"),
    )  # fmt: skip
    quiet: bool = option(
        False, "no progress on standard error", "--quiet", kind=bool,
        aliases=("--quiet-translation",),
    )  # fmt: skip


@dataclass(frozen=True)
class TranslateOptions(FilterOptions):
    """`cgru translate`; several models are an ensemble.

    What is None is as the model's program does it.
    """

    input: tuple[str, ...] = option(
        (), "text to translate, .gz too; standard input if not given", "-i", "--input",
        metavar="FILE...", many=True,
    )  # fmt: skip
    config: str | None = option(
        None, "a Marian or amun .yml: models, vocabularies, beam, normalisation",
        "-c", "--config", metavar="FILE",
    )  # fmt: skip
    compat: str | None = option(
        None, "defaults, search, signs and output layout of that program", "--compat",
        choices=COMPAT,
    )  # fmt: skip

    beam_size: int | None = option(
        None, "hypotheses in the beam (Marian's -b; Nematus' -b is --mini-batch here); 1 is greedy",
        "-k", "-b", "--beam-size", kind=int, metavar="K", aliases=("--beam_size",),
    )  # fmt: skip
    word_penalty: float | None = option(
        None, "subtract from a score, per word", "--word-penalty", kind=float, metavar="P",
        unit="nats",
    )  # fmt: skip
    max_length: int = option(
        1000, "cut longer source lines, with a warning", "--max-length", kind=int, metavar="N",
        unit="words",
    )  # fmt: skip
    max_length_crop: bool = option(
        False, "Marian's name for what --max-length does here in any case", "--max-length-crop",
        kind=bool,
    )  # fmt: skip
    max_length_factor: float | None = option(
        None, "longest translation, relative to the source with EOS", "--max-length-factor",
        kind=float, metavar="F", aliases=("--max-ratio", "-mr"),
    )  # fmt: skip
    translation_maxlen: int | None = option(
        None, "longest translation, EOS counted", "--translation-maxlen", kind=int, metavar="N",
        unit="words", aliases=("--translation_maxlen",),
    )  # fmt: skip
    force_decode: bool = option(
        False, "translations begin with the words behind a tab on each line; texts of a language "
        "model with those of the line", "--force-decode", kind=bool,
    )  # fmt: skip
    allow_unk: bool = option(False, "let the unknown word be produced", "--allow-unk", kind=bool)
    suppress_unk: bool = option(
        False, "never produce the unknown word", "--suppress-unk", kind=bool,
        aliases=("--suppress_unk",),
    )  # fmt: skip

    output_sampling: str | None = option(
        None, "draw translations: from all words, or the K most probable, at temperature T",
        "--output-sampling", metavar="full [T] | topk K [T]", implied="full 1.0", many=True,
    )  # fmt: skip
    translation_strategy: str = option(
        "beam_search", "Nematus' way to ask for --output-sampling", "--translation-strategy",
        choices=("beam_search", "sampling"), aliases=("--translation_strategy",),
    )  # fmt: skip
    sampling_temperature: float | None = option(
        None, "softmax temperature of --translation-strategy sampling", "--sampling-temperature",
        kind=float, metavar="T", implied=1.0, aliases=("--sampling_temperature",),
    )  # fmt: skip
    seed: int = option(0, "of sampling; with a line's number it decides what is drawn", "--seed",
        kind=int, metavar="N",
    )  # fmt: skip

    n_best: bool = option(
        False, "print all hypotheses of the beam", "--n-best", kind=bool, aliases=("--n_best",)
    )
    output_alignment: str | None = option(
        None, "write the attention to a file of its own (formats nematus and json)",
        "--output-alignment", metavar="FILE", aliases=("--output_alignment", "-a"),
    )  # fmt: skip
    json_alignment: bool = option(
        False, "the same as --alignment-format json", "--json-alignment", kind=bool,
        aliases=("--json_alignment",),
    )  # fmt: skip
    unk_replace: bool = option(
        False, "replace an unknown word by the source word it is aligned to", "--unk-replace",
        kind=bool,
    )  # fmt: skip
    lexicon: str | None = option(
        None, "with --unk-replace: translate that word (lines `source target [probability]`)",
        "--lexicon", metavar="FILE",
    )  # fmt: skip
    join_bpe: bool = option(False, "join sub-words (`@@ `)", "--join-bpe", kind=bool)
    no_spm_decode: bool = option(False, "print SentencePiece pieces", "--no-spm-decode", kind=bool)

    mini_batch: int | None = option(
        None, "lines translated together", "--mini-batch", kind=int, metavar="N", unit="lines",
        aliases=("--minibatch_size", "--batch_size"),
    )  # fmt: skip
    maxi_batch: int | None = option(
        None, "mini-batches read ahead and sorted by length", "--maxi-batch", kind=int,
        metavar="N", aliases=("--maxibatch_size",),
    )  # fmt: skip
    maxi_batch_sort: str = option(
        "src", "how lines read ahead are sorted", "--maxi-batch-sort", choices=("src", "none")
    )


# Options of Nematus' and Marian's translators that are known and cannot be honoured.
REFUSED_BY_TRANSLATE = {
    "--shortlist": "no vocabulary selection: every word can be produced",
    "--skip-cost": "hypotheses are ranked by the model's scores",
    "--output-approx-knn": "the softmax is exact",
    "--fp16": "products are float32 or, with --precision bfloat16, bfloat16",
    "--optimize": "no quantisation; --precision bfloat16 is the faster arithmetic",
    "--gemm-type": "no quantisation; --precision bfloat16 is the faster arithmetic",
    "--quantize-range": "no quantisation; --precision bfloat16 is the faster arithmetic",
    "--tsv": "one source is read, a sentence a line",
    "--tsv-fields": "one source is read, a sentence a line",
    "--allow-special": "only the unknown word is ever suppressed",
    "--devices": "use --device gpu:N",
    "-d": "use --device gpu:N",
    "--num-devices": "use --device gpu:N",
    "--device-list": "use --device gpu:N",
    "-dl": "use --device gpu:N",
    "-p": "use --cpu-threads N: one process uses them all",
    "--num_processes": "use --cpu-threads N: one process uses them all",
    "--search_graph": "the search is not drawn",
    "-sg": "the search is not drawn",
    "--encryption-key-path": "models are not encrypted",
    "--stat-freq": "progress is shown at a terminal",
    "--preprocess_script": "use a pipe: preprocess | cgru translate",
}
