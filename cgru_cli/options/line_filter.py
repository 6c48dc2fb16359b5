"""What the commands share that read lines, run models over them, and write lines."""

from __future__ import annotations

from dataclasses import dataclass

from .feature_weights import weight
from .flags import device_option, option, threads_option


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
