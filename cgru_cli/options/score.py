"""The options of `cgru score`."""

from __future__ import annotations

from dataclasses import dataclass

from .declaration import Group
from .feature_weights import EQUAL
from .kinds import unchanged, weights
from .line_filter import DEVICES, MODEL_AND_TEXT, MODELS, SCORES, FilterOptions
from .scope import Scope

METRICS = ("bleu", "chrf", "chrf++", "ter")
LABEL_METRICS = ("accuracy", "f1", "span-f1")
SUMMARIES = ("ce-sum", "ce-mean", "ce-mean-words", "perplexity")

LISTS = Group("N-best lists")
CORPUS = Group("Corpus filtering", applies_to=Scope.PAIRS)
RERANKING = Group("N-best lists", needs="--rerank or --tune or --oracle")
METRIC = Group("Metrics")
EVALUATING = Group("Metrics", needs="--metric")
OPTIMISING = Group("Metrics", needs="--metric or --tune")
COMPARING = Group("Metrics", needs="--metric or --tune or --oracle")

_RANKING = ("--summary", "--word-scores", "--alignment", "--alignment-format", "--heatmap")
_ONE_SCORE = ("--n-best", "--summary", "--word-scores", "--alignment", "--alignment-format")


def metric_names(text: str) -> list[str]:
    """The metrics of `bleu,chrf`, in any case."""
    names, known = text.lower().split(","), (*METRICS, *LABEL_METRICS)
    if not {*names} <= {*known}:
        raise ValueError(f"{', '.join(known)} are known")
    return names


@dataclass(frozen=True)
class ScoreOptions(FilterOptions):
    """`cgru score`; each of several models gives a column."""

    source: tuple[str, ...] = MODELS("-s --source FILE...: source text, .gz too")
    target: tuple[str, ...] = MODEL_AND_TEXT("""
        -t --target FILE... (--train-sets): translations, a line for each line of the source, or -
        for standard input; without --source, lines of `source TAB target`, or two files, source and
        target, as in Marian""")
    compat: str | None = MODEL_AND_TEXT.choice("nematus", "nematus-tf", "dl4mt", "marian")("""
        --compat: print scores with the sign and the output layout of this program""")
    print_target: bool = MODELS.values(excludes=("--summary", "--keep-above", "--keep-below"))("""
        --print-target: print each translation before its scores, like Nematus' --verbose""")
    max_length: int = MODELS.whole(1, 1_000_000, default=1000, applies_to=Scope.SCORER)("""
        --max-length N: cut longer source lines, with a warning, and reject longer translations
        (words)""")
    max_length_crop: bool = MODELS.values(applies_to=Scope.SCORER)("""
        --max-length-crop: also cut translations longer than --max-length""")

    ensemble: bool = SCORES.values(needs="--model", applies_to=Scope.PAIRS)("""
        --ensemble: score with an ensemble of the models, as cgru translate does: one column of
        scores""")
    summary: str | None = SCORES.choice(
        *SUMMARIES,
        "cross-entropy",
        excludes=("--word-scores", "--alignment", "--alignment-format"),
        applies_to=Scope.PAIRS,
    )("""
        --summary KIND: print one number for the whole text, in nats: the sum of cross-entropies
        (ce-sum), their mean over sentences (ce-mean, cross-entropy) or words (ce-mean-words), or
        the perplexity""")

    word_top_k: int | None = SCORES.whole(
        1,
        256,
        needs="--output",
        excludes="""
        --summary --word-scores --alignment --alignment-format --heatmap --n-best --keep-above
        --keep-below --dual --compat --normalize --print-target""".split(),
        applies_to=Scope.PAIRS,
    )("""
        --word-top-k K: instead of scores, write the K most probable words at each word of the
        translations, with their log-probabilities, to --output: a .npy file for cgru train
        --objective distill (5 K bytes per word)""")

    n_best: str | None = LISTS.values(applies_to=Scope.PAIRS)("""
        --n-best FILE (-i --input): score the hypotheses of an n-best list, and add the scores to
        its lines; - is standard input, the default with --compat nematus and no --target
        (rescore.py)""")
    n_best_feature: str = LISTS.values(default="Score", applies_to=Scope.PAIRS)("""
        --n-best-feature NAME: name of the feature added to the list; with several models Score0,
        Score1 and so on""")
    rerank: str | None = LISTS.values(
        unchanged(weights), implied=EQUAL, joined=True, needs="--n-best", excludes=_RANKING
    )("""
        --rerank W...|FILE: print the best hypothesis of each sentence of the n-best list, by the
        weighted sum of the list's features and the models' scores (normalised as by --normalize);
        W: the weights in this order, a file that --tune wrote, or `equal` for 1 each""")
    rerank_list: bool = LISTS.values(needs="--rerank")("""
        --rerank-list: print the whole list, the best hypothesis of each sentence first""")
    oracle: str | None = LISTS.choice(
        "chrf",
        "bleu",
        needs=("--n-best", "--reference"),
        excludes=(*_RANKING, "--model", "--rerank", "--tune", "--normalize"),
    )("""
        --oracle METRIC: for each sentence, print the hypothesis of the n-best list most similar to
        --reference, by sentence-level chrF or BLEU""")
    tune: str | None = LISTS.values(needs=("--n-best", "--reference"), excludes=_RANKING)("""
        --tune FILE: optimise the weights for reranking the n-best list against --reference,
        starting from the weights of --rerank, and write them to FILE""")
    restarts: int = LISTS.whole(0, 1_000_000, default=8, needs="--tune")("""
        --restarts N: number of resampled lists on which --tune optimises before the list itself""")
    seed: int = LISTS.whole(0, 2**63 - 1, default=0, needs="--tune")("""
        --seed N: random seed of --tune""")
    join_bpe: bool = RERANKING("--join-bpe: in hypotheses, join sub-words that end in `@@`")
    in_words: bool = RERANKING.values(needs="--rerank or --tune", excludes="--model")("""
        --in-words: the list has the words or sub-words of the model that wrote it, so --normalize
        can count them without that model (implied by --join-bpe)""")

    keep_above: float | None = CORPUS.number(-1e9, 1e9, excludes=_ONE_SCORE)("""
        --keep-above X: print only sentence pairs whose score is greater than X, as four
        tab-separated fields: source, target, score and line number""")
    keep_below: float | None = CORPUS.number(-1e9, 1e9, excludes=_ONE_SCORE)("""
        --keep-below X: print only sentence pairs whose score is less than X, in the fields of
        --keep-above""")
    dual: str | None = CORPUS.values(
        excludes=(*_ONE_SCORE, "--heatmap", "--compat", "--normalize")
    )("""
        --dual MODEL: model of the reverse direction, for dual conditional cross-entropy filtering:
        scores are from 0 to 1; higher is better""")

    metric: tuple[str, ...] = METRIC.values(unchanged(metric_names), needs="--reference")("""
        --metric METRIC...: evaluate the translations of --target (several files are several
        systems) against --reference, without a model: bleu, chrf, chrf++ or ter by sacrebleu; for
        labels accuracy, f1 (macro-averaged) or span-f1 (of the spans of tags such as B-PER I-PER);
        separate several with commas; with --tune, the metric to optimise (bleu if not given)""")
    reference: tuple[str, ...] = COMPARING("""
        --reference -r FILE...: reference translations for --metric, --tune and --oracle; several
        files are several references""")
    confidence: bool = EVALUATING("""
        --confidence: add 95 % confidence intervals from bootstrap resampling""")
    confusion: bool = EVALUATING("--confusion: also print the confusion matrix of labels")
    paired: str | None = EVALUATING.choice("bootstrap", "randomisation")("""
        --paired: test whether the systems differ from the first system, by paired bootstrap or
        approximate randomisation""")
    samples: int = METRIC.whole(
        0, 1_000_000, default=0, needs="--confidence or --paired or --tune"
    )("""
        --samples N: number of resamplings for --confidence, --paired and --tune; 0: 1000, or 10000
        for --paired randomisation""")
    tokenize: str | None = COMPARING("""
        --tokenize NAME: tokeniser of BLEU, by its sacrebleu name: 13a, intl, zh, char, none and
        others""")
    lowercase: bool = COMPARING("--lowercase: compute case-insensitive BLEU and chrF")
    format: str = EVALUATING.choice("text", "json", "markdown", default="text")("""
        --format: output format of the scores of --metric""")
    width: int = OPTIMISING.whole(0, 15, default=1)("""
        --width N: number of decimals in the scores of --metric and --tune""")

    mini_batch: int = DEVICES.whole(1, 1_000_000, default=64)("""
        --mini-batch N (--minibatch_size --batch_size -b): sentence pairs scored together""")
    maxi_batch: int = DEVICES.whole(1, 1_000_000, default=100)("""
        --maxi-batch N (--maxibatch_size): number of mini-batches to read ahead and sort by length
        together""")
