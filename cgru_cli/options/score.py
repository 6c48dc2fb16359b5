"""The options of `cgru score`."""

from __future__ import annotations

from dataclasses import dataclass

from .feature_weights import EQUAL
from .flags import options_of
from .line_filter import FilterOptions, computing_option, model_option, score_option

METRICS = ("bleu", "chrf", "chrf++", "ter")
LABEL_METRICS = ("accuracy", "f1", "span-f1")
SUMMARIES = ("ce-sum", "ce-mean", "ce-mean-words", "perplexity")

list_option = options_of("N-best lists")
corpus_option = options_of("Corpus filtering")
metric_option = options_of("Metrics")

_RANKING = ("--word-scores", "--alignment", "--alignment-format", "--summary", "--heatmap")
_ONE_SCORE = ("--n-best", "--summary", "--word-scores", "--alignment", "--alignment-format")
_EVALUATING = ("--metric",)
_COMPARING = ("--metric or --tune",)


@dataclass(frozen=True)
class ScoreOptions(FilterOptions):
    """`cgru score`; of several models, each gives a column."""

    source: tuple[str, ...] = model_option(
        (), "source text, .gz too", "-s", "--source", metavar="FILE...", many=True, path="file"
    )
    target: tuple[str, ...] = model_option(
        (), "translations, a line for each line of the source, or - for standard input; without "
        "--source, lines of `source TAB target`, or two files, source and target, as for Marian",
        "-t", "--target", metavar="FILE...", many=True, aliases=("--train-sets",), path="file",
    )  # fmt: skip
    compat: str | None = model_option(
        None, "print as this program does: its sign of scores and output layout", "--compat",
        choices=("nematus", "nematus-tf", "dl4mt", "marian"),
    )  # fmt: skip
    print_target: bool = model_option(
        False, "print each translation in front of its scores, as Nematus' --verbose",
        "--print-target", kind=bool,
    )  # fmt: skip
    max_length: int = model_option(
        1000, "cut source lines that are longer, with a warning, and refuse longer translations",
        "--max-length", kind=int, metavar="N", unit="words", least=1, most=1_000_000,
    )  # fmt: skip

    ensemble: bool = score_option(
        False, "score by several models together, as cgru translate does: one column of scores",
        "--ensemble", kind=bool,
    )  # fmt: skip
    summary: str | None = score_option(
        None, "print one number for the whole text, in nats: the sum of cross-entropies (ce-sum, "
        "cross-entropy), their mean over sentences (ce-mean) or words (ce-mean-words), or the "
        "perplexity", "--summary", choices=(*SUMMARIES, "cross-entropy"), metavar="KIND",
    )  # fmt: skip

    n_best: str | None = list_option(
        None, "score the hypotheses of an n-best list, and add the scores to its lines; - is "
        "standard input, the default with --compat nematus and no --target (rescore.py)",
        "--n-best", metavar="FILE", aliases=("--n_best", "-i", "--input"), path="file",
    )  # fmt: skip
    n_best_feature: str = list_option(
        "Score", "name of the feature that is added to the list; of several models Score0, Score1 "
        "and so on", "--n-best-feature", metavar="NAME",
    )  # fmt: skip
    rerank: str | None = list_option(
        None, "print the best hypothesis of each sentence of the n-best list, by the weighted sum "
        "of the list's features and the models' scores (divided as --normalize says); give the "
        "weights in this order, a file that --tune wrote, or equal for 1 each", "--rerank",
        metavar="W...|FILE", implied=EQUAL, many=True, needs=("--n-best",), excludes=_RANKING,
        path="file",
    )  # fmt: skip
    rerank_list: bool = list_option(
        False, "print the whole list, the best hypothesis of each sentence first",
        "--rerank-list", kind=bool, needs=("--rerank",),
    )  # fmt: skip
    tune: str | None = list_option(
        None, "find the weights of features with which reranking the n-best list agrees best with "
        "--reference, starting from those of --rerank, and write them to FILE", "--tune",
        metavar="FILE", needs=("--n-best", "--reference"), excludes=_RANKING, path="file",
    )  # fmt: skip
    restarts: int = list_option(
        8, "number of resampled lists that --tune optimises on before the list itself",
        "--restarts", kind=int, metavar="N", least=0, most=1_000_000, needs=("--tune",),
    )  # fmt: skip
    seed: int = list_option(
        0, "random seed of --tune", "--seed", kind=int, metavar="N", least=0, most=2**63 - 1,
        needs=("--tune",),
    )  # fmt: skip
    join_bpe: bool = list_option(
        False, "join sub-words of hypotheses that end in `@@`", "--join-bpe", kind=bool,
        needs=("--rerank or --tune",),
    )  # fmt: skip
    in_words: bool = list_option(
        False, "the list is written in the words or sub-words of the model that wrote it, so that "
        "--normalize can count them without that model (--join-bpe implies this)", "--in-words",
        kind=bool, needs=("--rerank or --tune",), excludes=("--model",),
    )  # fmt: skip

    keep_above: float | None = corpus_option(
        None, "print only sentence pairs whose score is greater than X, as four fields between "
        "tabs: source, target, score and line number", "--keep-above", kind=float, metavar="X",
        least=-1e9, most=1e9, excludes=_ONE_SCORE,
    )  # fmt: skip
    keep_below: float | None = corpus_option(
        None, "print only sentence pairs whose score is less than X, in the fields of "
        "--keep-above", "--keep-below", kind=float, metavar="X", least=-1e9, most=1e9,
        excludes=_ONE_SCORE,
    )  # fmt: skip
    dual: str | None = corpus_option(
        None, "model of the reverse direction, for dual conditional cross-entropy filtering: "
        "scores are from 0 to 1, the better the higher", "--dual", metavar="MODEL",
        excludes=(*_ONE_SCORE, "--heatmap", "--compat", "--normalize"), path="file",
    )  # fmt: skip

    metric: tuple[str, ...] = metric_option(
        (), "evaluate the translations of --target (several files are several systems) against "
        "--reference, without a model: bleu, chrf, chrf++ or ter by sacrebleu; of labels accuracy, "
        "f1 (macro-averaged) or span-f1 (of the spans of tags such as B-PER I-PER); several with "
        "commas; with --tune, the metric to optimise (bleu if not given)",
        "--metric", metavar="METRIC...", many=True, needs=("--reference",),
    )  # fmt: skip
    reference: tuple[str, ...] = metric_option(
        (), "reference translations of --metric and --tune; several files are several references",
        "--reference", "-r", metavar="FILE...", many=True, needs=_COMPARING, path="file",
    )  # fmt: skip
    confidence: bool = metric_option(
        False, "add 95 % confidence intervals, by bootstrap resampling", "--confidence",
        kind=bool, needs=_EVALUATING,
    )  # fmt: skip
    confusion: bool = metric_option(
        False, "also print the confusion matrix of labels", "--confusion", kind=bool,
        needs=_EVALUATING,
    )  # fmt: skip
    paired: str | None = metric_option(
        None, "test whether the systems differ from the first one, by paired bootstrap or "
        "approximate randomisation", "--paired", choices=("bootstrap", "randomisation"),
        needs=_EVALUATING,
    )  # fmt: skip
    samples: int = metric_option(
        0, "number of resamplings of --confidence, --paired and --tune; 0: 1000, or 10000 of "
        "--paired randomisation", "--samples", kind=int, metavar="N", least=0, most=1_000_000,
        needs=("--confidence or --paired or --tune",),
    )  # fmt: skip
    tokenize: str | None = metric_option(
        None, "tokeniser of BLEU, as sacrebleu calls it: 13a, intl, zh, char, none and others",
        "--tokenize", metavar="NAME", needs=_COMPARING,
    )  # fmt: skip
    lowercase: bool = metric_option(
        False, "compute BLEU and chrF without regard to case", "--lowercase", kind=bool,
        needs=_COMPARING,
    )  # fmt: skip
    format: str = metric_option(
        "text", "format in which the scores of --metric are printed", "--format",
        choices=("text", "json", "markdown"), needs=_EVALUATING,
    )  # fmt: skip
    width: int = metric_option(
        1, "decimals of the scores of --metric and --tune", "--width", kind=int, metavar="N",
        least=0, most=15, needs=_COMPARING,
    )  # fmt: skip

    mini_batch: int = computing_option(
        64, "sentence pairs scored together", "--mini-batch", kind=int, metavar="N", unit="lines",
        least=1, most=1_000_000, aliases=("--minibatch_size", "--batch_size", "-b"),
    )  # fmt: skip
    maxi_batch: int = computing_option(
        100, "number of mini-batches to read ahead and sort by length together", "--maxi-batch",
        kind=int, metavar="N", least=1, most=1_000_000, aliases=("--maxibatch_size",),
    )  # fmt: skip
