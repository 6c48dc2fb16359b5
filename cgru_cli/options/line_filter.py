"""Options of `cgru translate` and `cgru score`, which apply models to lines of text."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import ConfiguredOptions
from .declaration import (
    choice,
    computing_option,
    device_option,
    number,
    options_of,
    read_by,
    threads_option,
    whole,
)
from .kinds import alignment, unchanged, weight

model_option = options_of("Model and text")
score_option = options_of("Scores")
attention_option = options_of("Attention")


@dataclass(frozen=True)
class FilterOptions(ConfiguredOptions):
    """The options that `cgru translate` and `cgru score` share."""

    model: tuple[str, ...] = model_option(
        "-m --model MODEL... (--models): model file of any program; translate takes several as "
        "an ensemble, score gives each a column of scores"
    )
    vocabularies: tuple[str, ...] = model_option(
        "-v --vocabs SRC TRG (--dictionaries): vocabulary files: source (one for each factor), "
        "then target, where the model names none"
    )
    output: str | None = model_option(
        "-o --output FILE: file to write, .gz too; standard output if not given"
    )
    model_is: tuple[str, ...] = model_option(
        "--model-is NAME=VALUE...: refuse models that differ from this description, in Marian's "
        "option names, such as dim-emb=512"
    )
    log: str | None = model_option(
        "--log FILE: also write warnings and the time taken to this file"
    )
    no_preprocess: bool = model_option(
        "--no-preprocess: neither preprocess the text nor postprocess the output, even if the "
        "model has a MODEL.preprocess.json"
    )
    no_spm_encode: bool = model_option(
        "--no-spm-encode: the input is in SentencePiece pieces already; do not split it"
    )
    quiet: bool = model_option("--quiet (--quiet-translation): show no progress on standard error")

    weights: tuple[float | str, ...] = score_option(
        "--weights W...|FILE: weight of each model of an ensemble, or a file that cgru score "
        "--tune wrote; equal if not given",
        read_by(weight),
    )
    normalize: float | None = score_option(
        "-n --normalize ALPHA (--normalization_alpha): length normalisation: divide scores by "
        "length ** ALPHA, including the end of the sentence",
        number(0, 10, implied=1.0),
    )
    word_scores: bool = score_option(
        "--word-scores (--print-word-probabilities -wp): print the score of each word"
    )

    alignment: str | None = attention_option(
        "--alignment hard|soft|X: print the attention between source and target words, as the "
        "model reads them: the strongest link of each word (hard), all weights (soft), or links "
        "above a threshold X",
        read_by(unchanged(alignment), implied="hard"),
    )
    alignment_format: str | None = attention_option(
        "--alignment-format: format of the attention; that of the --compat program, or marian, "
        "if not given",
        choice("marian", "amun", "nematus", "json"),
    )
    heatmap: str | None = attention_option(
        "--heatmap FILE.html|png|svg: draw the attention of the best translation of some lines, as "
        "an HTML page or as pictures (.png, .svg); for an ensemble, the mean and each model"
    )
    heatmap_lines: str | None = attention_option(
        "--heatmap-lines N,N-N: numbers of the lines that --heatmap draws, from 1; if not given, "
        "the first 20 for a page, the first 4 for a picture",
        needs="--heatmap",
    )

    workspace: int = computing_option(
        "-w --workspace MB: memory for a mini-batch, beside the model; larger mini-batches are "
        "split (MiB)",
        whole(1, 16_777_216, default=2048),
    )
    device: str | None = device_option()
    cpu_threads: int | None = threads_option()
    runtime: str = computing_option(
        "--runtime: library that computes the model; auto: ONNX Runtime for an .onnx, else "
        "TensorFlow",
        choice("auto", "tensorflow", "onnx", default="auto"),
    )
    precision: str = computing_option(
        "--precision: data type of matrix products; states, attention's sums and softmax stay "
        "float32; int8 quantises the weights at the start and needs a processor with VNNI",
        choice("float32", "bfloat16", "int8", default="float32"),
    )
