"""Options of `cgru translate` and `cgru score`: models over lines of text."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import ConfiguredOptions
from .flags import device_option, options_of, threads_option
from .kinds import alignment, unchanged, weight

model_option = options_of("Model and text")
score_option = options_of("Scores")
attention_option = options_of("Attention")
computing_option = options_of("Devices and memory")


@dataclass(frozen=True)
class FilterOptions(ConfiguredOptions):
    """The options that `cgru translate` and `cgru score` share."""

    model: tuple[str, ...] = model_option(
        (), "model file of any program; translate takes several as an ensemble, score gives each "
        "a column of scores", "-m", "--model", metavar="MODEL...", many=True,
        aliases=("--models",), path="file",
    )  # fmt: skip
    vocabularies: tuple[str, ...] = model_option(
        (), "vocabulary files, source (one for each factor) then target, where the model names "
        "none", "-v", "--vocabs", metavar="SRC TRG", many=True, aliases=("--dictionaries",),
        path="file",
    )  # fmt: skip
    output: str | None = model_option(
        None, "file to write, .gz too; standard output if not given", "-o", "--output",
        metavar="FILE", path="file",
    )  # fmt: skip
    model_is: tuple[str, ...] = model_option(
        (), "refuse models that differ from this description, written with Marian's names of "
        "options, such as dim-emb=512", "--model-is", metavar="NAME=VALUE...", many=True,
    )  # fmt: skip
    log: str | None = model_option(
        None, "also write warnings and the time taken to this file", "--log", metavar="FILE",
        path="file",
    )  # fmt: skip
    no_preprocess: bool = model_option(
        False, "do not preprocess the text, nor undo that in the output, even if the model comes "
        "with a MODEL.preprocess.json", "--no-preprocess", kind=bool,
    )  # fmt: skip
    no_spm_encode: bool = model_option(
        False,
        "the input is in SentencePiece pieces already; do not split it",
        "--no-spm-encode",
        kind=bool,
    )
    quiet: bool = model_option(
        False, "show no progress on standard error", "--quiet", kind=bool,
        aliases=("--quiet-translation",),
    )  # fmt: skip

    weights: tuple[float | str, ...] = score_option(
        (), "weight of each model of an ensemble, then of --channel-model and --lm (cgru "
        "translate), or a file that cgru score --tune wrote; equal if not given", "--weights",
        kind=weight, metavar="W...|FILE", many=True, path="file",
    )  # fmt: skip
    normalize: float | None = score_option(
        None, "length normalisation: divide scores by length ** ALPHA, the end of the sentence "
        "counted", "-n", "--normalize", kind=float, metavar="ALPHA", implied=1.0, least=0,
        most=10, aliases=("--normalization_alpha",),
    )  # fmt: skip
    word_scores: bool = score_option(
        False, "print the score of each word", "--word-scores", kind=bool,
        aliases=("--print-word-probabilities", "-wp"),
    )  # fmt: skip

    alignment: str | None = attention_option(
        None, "print the attention between source and target words, as the model reads them: the "
        "strongest link of each word (hard), all weights (soft), or links above a threshold X",
        "--alignment", kind=unchanged(alignment), metavar="hard|soft|X", implied="hard",
    )  # fmt: skip
    alignment_format: str | None = attention_option(
        None, "format of the attention; that of the --compat program, or marian, if not given",
        "--alignment-format", choices=("marian", "amun", "nematus", "json"),
    )  # fmt: skip
    heatmap: str | None = attention_option(
        None, "draw the attention of the best translation of some lines, as a page to look "
        "through (.html) or as pictures (.png, .svg); of an ensemble, the mean and each model",
        "--heatmap", metavar="FILE.html|png|svg", path="file",
    )  # fmt: skip
    heatmap_lines: str | None = attention_option(
        None, "numbers of the lines that --heatmap draws, from 1; if not given, the first 20 of a "
        "page, the first 4 of a picture", "--heatmap-lines", metavar="N,N-N",
        needs=("--heatmap",),
    )  # fmt: skip

    workspace: int = computing_option(
        2048, "memory that a mini-batch may take beside the model; larger ones are split",
        "-w", "--workspace", kind=int, metavar="MB", unit="MiB", least=1, most=16_777_216,
    )  # fmt: skip
    device: str | None = device_option()
    cpu_threads: int | None = threads_option()
    precision: str = computing_option(
        "float32", "data type of matrix products; states, attention's sums and softmax stay "
        "float32; int8 quantises the weights at the start and needs a processor with VNNI",
        "--precision", choices=("float32", "bfloat16", "int8"),
    )  # fmt: skip
