"""The options of `cgru score`, said once: name, default, help, unit, and legacy aliases."""

from __future__ import annotations

from dataclasses import dataclass

from .feature_weights import EQUAL
from .flags import option
from .line_filter import FilterOptions

METRICS = ("bleu", "chrf", "chrf++", "ter")
SUMMARIES = ("ce-sum", "ce-mean", "ce-mean-words", "perplexity")


@dataclass(frozen=True)
class ScoreOptions(FilterOptions):
    """`cgru score`; of several models, each gives a column."""

    source: tuple[str, ...] = option(
        (), "source text, .gz too", "-s", "--source", metavar="FILE...", many=True
    )
    target: tuple[str, ...] = option(
        (), "translations, a line for each of the source, or - for standard input; without "
        "--source: lines `source TAB target`, or, as Marian has it, source and target",
        "-t", "--target", metavar="FILE...", many=True, aliases=("--train-sets",),
    )  # fmt: skip
    n_best: str | None = option(
        None, "score the hypotheses of an n-best list, whose lines get the scores; - for standard "
        "input, which Nematus' rescore.py (--compat nematus, no --target) reads by itself",
        "--n-best", metavar="FILE", aliases=("--n_best", "-i", "--input"),
    )  # fmt: skip
    n_best_feature: str = option(
        "Score", "name of the scores among a list's features; of several models, a number is added",
        "--n-best-feature", metavar="NAME",
    )  # fmt: skip
    rerank: str | None = option(
        None, "with --n-best: write the best hypothesis of every sentence instead, by the sum of "
        "the list's features and the models' (which --normalize divides) times these weights or "
        "those of a file that --tune wrote; all 1 if not given", "--rerank", metavar="W...|FILE",
        implied=EQUAL, many=True,
    )  # fmt: skip
    rerank_list: bool = option(
        False, "with --rerank: write the whole list, the best first", "--rerank-list", kind=bool
    )
    tune: str | None = option(
        None, "with --n-best: write weights to FILE by which the list comes as near as it can to "
        "--reference, those of --rerank to start with", "--tune", metavar="FILE",
    )  # fmt: skip
    restarts: int = option(
        8, "with --tune: optimise on so many resampled lists first", "--restarts", kind=int,
        metavar="N",
    )  # fmt: skip
    seed: int = option(0, "of --tune", "--seed", kind=int, metavar="N")
    join_bpe: bool = option(
        False, "with --rerank and --tune: join the hypotheses' sub-words (`@@ `)", "--join-bpe",
        kind=bool,
    )  # fmt: skip
    keep_above: float | None = option(
        None, "write only pairs whose score is greater: source, target, score, and number of the "
        "line from 1, between tabs", "--keep-above", kind=float, metavar="X",
    )  # fmt: skip
    keep_below: float | None = option(
        None, "the same of pairs whose score is less", "--keep-below", kind=float, metavar="X"
    )
    dual: str | None = option(
        None, "a model that translates back: scores are those of dual conditional cross-entropy "
        "filtering, from 0 to 1", "--dual", metavar="MODEL",
    )  # fmt: skip
    compat: str | None = option(
        None, "signs and layout of that program", "--compat",
        choices=("nematus", "nematus-tf", "dl4mt", "marian"),
    )  # fmt: skip
    ensemble: bool = option(
        False, "one column: several models as cgru translate makes an ensemble of them",
        "--ensemble", kind=bool,
    )  # fmt: skip
    summary: str | None = option(
        None, "one number for all pairs, in nats: the sum, a mean a sentence or a word, or e to "
        "the latter", "--summary", choices=(*SUMMARIES, "cross-entropy"),
    )  # fmt: skip
    metric: tuple[str, ...] = option(
        (), "evaluate translations against --reference instead, by sacrebleu: bleu, chrf, chrf++, "
        "ter, with commas or repeated; of several --target, each is a system; with --tune: what is "
        "optimised, bleu if not given", "--metric", metavar="METRIC...", many=True,
    )  # fmt: skip
    reference: tuple[str, ...] = option(
        (), "with --metric and --tune: what it is compared with; several are several references",
        "--reference", "-r", metavar="FILE...", many=True,
    )  # fmt: skip
    confidence: bool = option(
        False, "with --metric: 95 % intervals by bootstrap resampling", "--confidence", kind=bool
    )
    paired: str | None = option(
        None, "with --metric: test whether systems differ from the first", "--paired",
        choices=("bootstrap", "randomisation"),
    )  # fmt: skip
    samples: int = option(
        0, "of --confidence, --paired and --tune; 1000, and 10000 of a randomisation, if 0",
        "--samples", kind=int, metavar="N",
    )  # fmt: skip
    tokenize: str | None = option(
        None, "with --metric and --tune: BLEU's tokeniser, as 13a, intl, zh, char, none",
        "--tokenize", metavar="NAME",
    )  # fmt: skip
    lowercase: bool = option(
        False, "with --metric and --tune: BLEU and chrF without case", "--lowercase", kind=bool
    )
    format: str = option(
        "text", "with --metric: how scores are printed", "--format",
        choices=("text", "json", "markdown"),
    )  # fmt: skip
    width: int = option(
        1, "with --metric and --tune: decimals of the scores", "--width", kind=int, metavar="N"
    )

    max_length: int = option(
        1000, "cut longer source lines, with a warning, and refuse longer translations",
        "--max-length", kind=int, metavar="N", unit="words",
    )  # fmt: skip
    mini_batch: int = option(
        64, "pairs scored together", "--mini-batch", kind=int, metavar="N", unit="lines",
        aliases=("--minibatch_size", "--batch_size", "-b"),
    )  # fmt: skip
    maxi_batch: int = option(
        100, "mini-batches read ahead and sorted by length", "--maxi-batch", kind=int,
        metavar="N", aliases=("--maxibatch_size",),
    )  # fmt: skip


# Fields that mean something with --metric only, and those that do with --tune too.
COMPARING = ("reference", "samples", "tokenize", "lowercase", "width")
EVALUATING = ("confidence", "paired", "format")

# Options of Nematus' and Marian's scorers that are known and cannot be honoured.
REFUSED_BY_SCORE = {
    "--verbose": "the text is not printed beside its scores; use paste",
    "--walign": "use --alignment-format nematus",
    "--fp16": "products are float32 or, with --precision bfloat16, bfloat16",
    "--devices": "use --device gpu:N",
    "-d": "use --device gpu:N",
    "--num-devices": "use --device gpu:N",
    "--tsv-fields": "lines have two fields, source and target",
    "--max-length-crop": "a translation that is cut has another score; raise --max-length",
    "--shuffle": "scores are in the order of the lines",
}
