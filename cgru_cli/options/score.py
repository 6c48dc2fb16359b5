"""The options of `cgru score`."""

from __future__ import annotations

from dataclasses import dataclass

from .declaration import choice, number, options_of, read_by, whole
from .feature_weights import EQUAL
from .line_filter import FilterOptions, computing_option, model_option, score_option

METRICS = ("bleu", "chrf", "chrf++", "ter")
LABEL_METRICS = ("accuracy", "f1", "span-f1")
SUMMARIES = ("ce-sum", "ce-mean", "ce-mean-words", "perplexity")

list_option = options_of("N-best lists")
corpus_option = options_of("Corpus filtering")
reranking_option = options_of("N-best lists", needs="--rerank or --tune or --oracle")
metric_option = options_of("Metrics")
evaluating_option = options_of("Metrics", needs="--metric")
comparing_option = options_of("Metrics", needs="--metric or --tune or --oracle")

_RANKING = "--summary, --word-scores, --alignment, --alignment-format, --heatmap"
_ONE_SCORE = "--n-best, --summary, --word-scores, --alignment, --alignment-format"


@dataclass(frozen=True)
class ScoreOptions(FilterOptions):
    """`cgru score`; each of several models gives a column."""

    source: tuple[str, ...] = model_option("-s --source FILE...: source text, .gz too")
    target: tuple[str, ...] = model_option(
        "-t --target FILE... (--train-sets): translations, a line for each line of the source, "
        "or - for standard input; without --source, lines of `source TAB target`, or two files, "
        "source and target, as for Marian"
    )
    compat: str | None = model_option(
        "--compat: print scores with the sign and the output layout of this program",
        choice("nematus", "nematus-tf", "dl4mt", "marian"),
    )
    print_target: bool = model_option(
        "--print-target: print each translation before its scores, like Nematus' --verbose"
    )
    max_length: int = model_option(
        "--max-length N: cut source lines that are longer, with a warning, and refuse longer "
        "translations (words)",
        whole(1, 1_000_000, default=1000),
    )
    max_length_crop: bool = model_option(
        "--max-length-crop: cut translations longer than --max-length too"
    )

    ensemble: bool = score_option(
        "--ensemble: score with an ensemble of the models, as cgru translate does: one column of "
        "scores"
    )
    summary: str | None = score_option(
        "--summary KIND: print one number for the whole text, in nats: the sum of "
        "cross-entropies (ce-sum), their mean over sentences (ce-mean, cross-entropy) or words "
        "(ce-mean-words), or the perplexity",
        choice(*SUMMARIES, "cross-entropy"),
        excludes="--word-scores, --alignment, --alignment-format",
    )

    word_top_k: int = score_option(
        "--word-top-k K: instead of scores, write the K most probable words at each word of the "
        "translations, with their log-probabilities, to --output: a .npy file for cgru train "
        "--objective distill (5 K bytes per word); 0: print scores",
        whole(0, 256, default=0),
        needs="--output",
        excludes="--summary, --word-scores, --alignment, --alignment-format, --heatmap, --n-best, "
        "--keep-above, --keep-below, --dual, --compat, --normalize, --print-target",
    )

    n_best: str | None = list_option(
        "--n-best FILE (-i --input): score the hypotheses of an n-best list, and add the scores "
        "to its lines; - is standard input, the default with --compat nematus and no --target "
        "(rescore.py)"
    )
    n_best_feature: str = list_option(
        "--n-best-feature NAME: name of the feature that is added to the list; with several "
        "models Score0, Score1 and so on",
        read_by(str, default="Score"),
    )
    rerank: str | None = list_option(
        "--rerank W...|FILE: print the best hypothesis of each sentence of the n-best list, by "
        "the weighted sum of the list's features and the models' scores (normalised as by "
        "--normalize); give the weights in this order, a file that --tune wrote, or `equal` for 1 "
        "each",
        read_by(str, implied=EQUAL, joined=True),
        needs="--n-best",
        excludes=_RANKING,
    )
    rerank_list: bool = list_option(
        "--rerank-list: print the whole list, the best hypothesis of each sentence first",
        needs="--rerank",
    )
    oracle: str | None = list_option(
        "--oracle METRIC: for each sentence, print the hypothesis of the n-best list most similar "
        "to --reference, by sentence-level chrF or BLEU",
        choice("chrf", "bleu"),
        needs="--n-best and --reference",
        excludes=f"{_RANKING}, --model, --rerank, --tune",
    )
    tune: str | None = list_option(
        "--tune FILE: optimise the weights for reranking the n-best list against --reference, "
        "starting from those of --rerank, and write them to FILE",
        needs="--n-best and --reference",
        excludes=_RANKING,
    )
    restarts: int = list_option(
        "--restarts N: number of resampled lists on which --tune optimises before the list itself",
        whole(0, 1_000_000, default=8),
        needs="--tune",
    )
    seed: int = list_option(
        "--seed N: random seed of --tune", whole(0, 2**63 - 1, default=0), needs="--tune"
    )
    join_bpe: bool = reranking_option("--join-bpe: in hypotheses, join sub-words that end in `@@`")
    in_words: bool = reranking_option(
        "--in-words: the list has the words or sub-words of the model that wrote it, so that "
        "--normalize can count them without that model (implied by --join-bpe)",
        excludes="--model",
    )

    keep_above: float | None = corpus_option(
        "--keep-above X: print only sentence pairs whose score is greater than X, as four "
        "tab-separated fields: source, target, score and line number",
        number(-1e9, 1e9),
        excludes=_ONE_SCORE,
    )
    keep_below: float | None = corpus_option(
        "--keep-below X: print only sentence pairs whose score is less than X, in the fields of "
        "--keep-above",
        number(-1e9, 1e9),
        excludes=_ONE_SCORE,
    )
    dual: str | None = corpus_option(
        "--dual MODEL: model of the reverse direction, for dual conditional cross-entropy "
        "filtering: scores are from 0 to 1; higher is better",
        excludes=f"{_ONE_SCORE}, --heatmap, --compat, --normalize",
    )

    metric: tuple[str, ...] = metric_option(
        "--metric METRIC...: evaluate the translations of --target (several files are several "
        "systems) against --reference, without a model: bleu, chrf, chrf++ or ter by sacrebleu; "
        "for labels accuracy, f1 (macro-averaged) or span-f1 (of the spans of tags such as B-PER "
        "I-PER); separate several by commas; with --tune, the metric to optimise (bleu if not "
        "given)",
        needs="--reference",
    )
    reference: tuple[str, ...] = comparing_option(
        "--reference -r FILE...: reference translations of --metric, --tune and --oracle; several "
        "files are several references"
    )
    confidence: bool = evaluating_option(
        "--confidence: add 95 % confidence intervals from bootstrap resampling"
    )
    confusion: bool = evaluating_option("--confusion: also print the confusion matrix of labels")
    paired: str | None = evaluating_option(
        "--paired: test whether the systems differ from the first one, by paired bootstrap or "
        "approximate randomisation",
        choice("bootstrap", "randomisation"),
    )
    samples: int = metric_option(
        "--samples N: number of resamplings for --confidence, --paired and --tune; 0: 1000, or "
        "10000 for --paired randomisation",
        whole(0, 1_000_000, default=0),
        needs="--confidence or --paired or --tune",
    )
    tokenize: str | None = comparing_option(
        "--tokenize NAME: tokeniser of BLEU, by its sacrebleu name: 13a, intl, zh, char, none and "
        "others"
    )
    lowercase: bool = comparing_option("--lowercase: compute case-insensitive BLEU and chrF")
    format: str = evaluating_option(
        "--format: format in which the scores of --metric are printed",
        choice("text", "json", "markdown", default="text"),
    )
    width: int = comparing_option(
        "--width N: number of decimals in the scores of --metric and --tune",
        whole(0, 15, default=1),
    )

    mini_batch: int = computing_option(
        "--mini-batch N (--minibatch_size --batch_size -b): sentence pairs scored together",
        whole(1, 1_000_000, default=64),
    )
    maxi_batch: int = computing_option(
        "--maxi-batch N (--maxibatch_size): number of mini-batches to read ahead and sort by "
        "length together",
        whole(1, 1_000_000, default=100),
    )
