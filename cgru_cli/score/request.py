"""The request of `cgru score`, decided from its options; nothing below this reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UsageError
from ..formats.loaded_model import LoadedModel, Reading, preprocessing_of
from ..options import kinds
from ..options.feature_weights import EQUAL, FeatureWeights, ensemble_weights
from ..options.score import LABEL_METRICS, METRICS, ScoreOptions
from ..output.layout import Alignment
from ..output.layouts import layout_of
from ..parameters.program import PROGRAMS, Program
from ..system.lines import check_distinct
from .filter import Bounds
from .layout import ScoreLayout
from .pairs import NBestList, OneText, Pairs, TabSeparated, TwoTexts

RESAMPLES = 1000  # of a confidence interval, as sacrebleu's


@dataclass(frozen=True)
class Evaluation:
    """The settings of a comparison with references, and of its output.

    metrics: of `METRICS`, each once. resamples: of a confidence interval, 0 for none. samples: of a
    paired test or of tuned weights, 0 for the method's own number. width: decimals.
    """

    references: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    tokenize: str | None = None
    lowercase: bool = False
    resamples: int = 0
    confusion: bool = False
    paired: str | None = None
    samples: int = 0
    format: str = "text"
    width: int = 1


@dataclass(frozen=True)
class RankingRequest:
    """How the lists of hypotheses are ranked.

    weights: of the features, or those to start with. in_words: whether the list's text is in the
    model's own words. rerank: whether the best hypotheses are
    written, whole: the lists, best first. normalize: alpha of the length normalisation, None as the
    weights say. tune: the file to write tuned weights to.
    """

    weights: FeatureWeights
    rerank: bool
    whole: bool = False
    join_bpe: bool = False
    in_words: bool = False
    normalize: float | None = None
    tune: str | None = None
    restarts: int = 8
    seed: int = 0


@dataclass(frozen=True)
class ScoreRequest:
    """What to score, by which models, and what to write.

    weights: of the models of an ensemble; () for a column of each model. dual: a model of the other
    direction. normalize: scores are divided by length ** normalize. program: whose signs and
    layout are printed. print_target: each translation stands in front of its scores.
    texts_alone: there are no pairs, texts are compared by the evaluation. rescored: an n-best list
    comes from standard input. files: what is read, as far as it is named.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    n_best: str | None
    rescored: bool
    output: str | None
    models: tuple[str, ...]
    vocabularies: tuple[str, ...]
    dual: str | None
    weights: tuple[float, ...]
    normalize: float
    preprocess: bool
    to_pieces: bool
    max_length: int
    mini_batch: int
    maxi_batch: int
    workspace: int
    precision: str
    device: str | None
    cpu_threads: int | None
    quiet: bool
    print_target: bool
    program: str
    word_scores: bool
    alignment: Alignment | None
    alignment_format: str | None
    feature: str
    summary: str | None
    bounds: Bounds
    heatmap: str | None
    heatmap_lines: str | None
    evaluation: Evaluation
    texts_alone: bool
    ranking: RankingRequest | None
    files: tuple[str, ...]

    @classmethod
    def of(cls, options: ScoreOptions) -> ScoreRequest:
        """Raises UsageError where options lack what they need or exclude each other, CgruError for
        a file of weights that cannot be read.
        """
        texts_alone = bool(options.metric) and options.tune is None
        if texts_alone:
            _check_texts(options)
        else:
            _check(options)
        weights: tuple[float, ...] = ()
        if not texts_alone and options.model and (options.ensemble or options.weights):
            sums = options.compat is not None and PROGRAMS[options.compat].sums
            weights = ensemble_weights(options.weights, options.model, sums=sums)
        ranking = None if texts_alone else _ranking(options)
        alignment = options.alignment and kinds.alignment(options.alignment)
        if alignment is None and options.alignment_format:
            alignment = "soft"
        return cls(
            source=options.source,
            target=options.target,
            n_best=options.n_best,
            rescored=_is_rescored(options),
            output=options.output,
            models=options.model,
            vocabularies=options.vocabularies,
            dual=options.dual,
            weights=weights,
            normalize=0.0 if ranking and _divides_sum(options) else options.normalize or 0.0,
            preprocess=not options.no_preprocess,
            to_pieces=not options.no_spm_encode,
            max_length=options.max_length,
            mini_batch=options.mini_batch,
            maxi_batch=options.maxi_batch,
            workspace=options.workspace,
            precision=options.precision,
            device=options.device,
            cpu_threads=options.cpu_threads,
            quiet=options.quiet,
            print_target=options.print_target,
            program=options.compat or Program.CGRU,
            word_scores=options.word_scores,
            alignment=alignment,
            alignment_format=options.alignment_format,
            feature=options.n_best_feature,
            summary=options.summary,
            bounds=Bounds(options.keep_above, options.keep_below),
            heatmap=options.heatmap,
            heatmap_lines=options.heatmap_lines,
            evaluation=_evaluation(options),
            texts_alone=texts_alone,
            ranking=ranking,
            files=tuple(_files(options)),
        )

    def reading(self, models: Sequence[LoadedModel]) -> Reading:
        """How to turn text into words, for models that read the same text.

        Raises CgruError where preprocessing is damaged or differs.
        """
        asked = {"--no-spm-encode": not self.to_pieces}
        preprocessing = preprocessing_of(models, asked) if self.preprocess else None
        return Reading(preprocessing, self.to_pieces, self.max_length)

    def layout(self, models: Sequence[LoadedModel]) -> ScoreLayout:
        """The layout of scores. Raises UsageError for what has no place in a line."""
        columns = 1 if self.weights else len(models)
        words = self.word_scores or self.alignment is not None
        if self.summary and (words or self.n_best):
            raise UsageError(
                "--summary prints one number; not with words, alignments or n-best lists"
            )
        right_left = {loaded.right_left for loaded in models}
        if columns != len(models) and len(right_left) > 1:
            raise UsageError("an ensemble's models write in one direction; these write in both")
        layout = layout_of(
            self.program,
            word_scores=self.word_scores,
            alignment=self.alignment,
            alignment_format=self.alignment_format,
            right_left=right_left == {True},
            source_reversed=any(loaded.source_reversed for loaded in models),
            normalize=bool(self.normalize),
        )
        if self.n_best and layout.format in ("nematus", "json"):
            raise UsageError(f"--alignment-format {layout.format} has no place in an n-best list")
        return ScoreLayout(
            layout, columns, self.feature, digits=bool(self.dual), with_target=self.print_target
        )

    def pairs(self, *, one_side: bool = False) -> Pairs:
        """The pairs to score; one_side: for language models only, which read no source.

        Raises UsageError where the options do not say it.
        """
        sources, targets = self.source, self.target
        if one_side and not self.n_best:
            if sources:
                raise UsageError(
                    f"--source: {self.models[0]} is a language model and reads none; give its text "
                    "with --target"
                )
            return OneText(targets or (None,))
        if self.rescored:
            return NBestList(sources, "-")
        if self.n_best:
            if targets or (self.models and not sources and not one_side):
                raise UsageError("--n-best LIST needs --source, and no --target: the list has them")
            if self.n_best in sources:
                raise UsageError(f"--n-best and --source are both {self.n_best}")
            return NBestList(sources, self.n_best)
        if not sources and len(targets) == 2:  # Marian's -t SRC TRG
            sources, targets = targets[:1], targets[1:]
        if not sources:
            if len(targets) > 1:
                raise UsageError("name the source: cgru score -m MODEL -s SRC -t TRG")
            return TabSeparated(*(targets or (None,)))
        targets = targets or ("-",)
        if "-" in sources and "-" in targets:
            raise UsageError(
                "source and target are both standard input; name a file for one of them"
            )
        return TwoTexts(sources, targets)


def _is_rescored(options: ScoreOptions) -> bool:
    """Nematus' rescore.py reads the list from standard input where none is named; its score.py
    cannot do without a target.
    """
    nematus = options.compat in ("nematus", "nematus-tf")
    return nematus and bool(options.source) and not options.target and not options.n_best


def _evaluation(options: ScoreOptions) -> Evaluation:
    samples = options.samples
    return Evaluation(
        references=options.reference,
        metrics=_metrics(options),
        tokenize=options.tokenize,
        lowercase=options.lowercase,
        resamples=(samples or RESAMPLES) if options.confidence else 0,
        confusion=options.confusion,
        paired=options.paired,
        samples=samples,
        format=options.format,
        width=options.width,
    )


def _ranking(options: ScoreOptions) -> RankingRequest | None:
    """None without --rerank and --tune. Raises CgruError for a file that cannot be read."""
    if options.rerank is None and options.tune is None:
        return None
    return RankingRequest(
        weights=FeatureWeights.asked(options.rerank),
        rerank=options.rerank is not None,
        whole=options.rerank_list,
        join_bpe=options.join_bpe,
        in_words=options.in_words or options.join_bpe,
        normalize=options.normalize if _divides_sum(options) else 0.0,
        tune=options.tune,
        restarts=options.restarts,
        seed=options.seed,
    )


def _divides_sum(options: ScoreOptions) -> bool:
    """Whether --normalize divides the sum of features; in DL4MT it divides the model's score."""
    return options.compat != Program.DL4MT


def _metrics(options: ScoreOptions) -> tuple[str, ...]:
    """The metrics that --metric names. Raises UsageError for an unknown one."""
    names = [name.lower() for given in options.metric for name in given.split(",")]
    for name in names:
        if name not in (*METRICS, *LABEL_METRICS):
            known = ", ".join((*METRICS, *LABEL_METRICS))
            raise UsageError(f"--metric {name}: {known} are known")
    return tuple(dict.fromkeys(names))


def _check_texts(options: ScoreOptions) -> None:
    """Check the options of a comparison with references."""
    for name in (
        "model", "source", "n_best", "summary", "normalize", "alignment", "weights", "heatmap",
        "heatmap_lines",
    ):  # fmt: skip
        if getattr(options, name):
            raise UsageError(f"--metric compares texts and takes no --{name.replace('_', '-')}")
    if len(set(options.target)) < len(options.target):
        raise UsageError("--target names one system twice")
    _check_of_labels(options)
    if options.paired and len(options.target) < 2:
        raise UsageError("--paired compares systems: name two or more with --target")
    check_distinct((*options.target, *options.reference), options.output)


def _check_of_labels(options: ScoreOptions) -> None:
    """Raises UsageError for options of text with labels, and of labels with text."""
    asked = _metrics(options)
    of_labels = [name for name in asked if name in LABEL_METRICS]
    if options.confusion and not of_labels:
        raise UsageError("--confusion needs labels: --metric accuracy or f1")
    if options.confusion and len(options.target) > 1:
        raise UsageError("--confusion takes one system; --target names several")
    if of_labels and len(options.reference) > 1:
        raise UsageError(f"--metric {of_labels[0]} compares with one --reference")
    for name in ("tokenize", "lowercase"):
        if getattr(options, name) and len(of_labels) == len(asked):
            raise UsageError(f"--{name} is for texts, not for --metric {' '.join(asked)}")


def _check(options: ScoreOptions) -> None:
    """Check the options of scoring pairs and n-best lists."""
    ranks = options.rerank is not None or options.tune is not None
    if ranks:
        _check_ranking(options)
    elif not options.model:
        raise UsageError("name a model: cgru score -m MODEL -s SRC -t TRG")
    if _filters(options) or options.dual:
        _check_filter(options)
    check_distinct((*_files(options), None), options.output)
    if options.tune is not None:
        check_distinct((f for f in _files(options) if f != options.rerank), options.tune)


def _files(options: ScoreOptions) -> list[str]:
    """The files that are named as input."""
    named = [*options.model, *options.vocabularies, *options.source, *options.target]
    named += [*options.reference, *(one for one in options.weights if isinstance(one, str))]
    more = options.n_best, options.dual, None if options.rerank == EQUAL else options.rerank
    return [*named, *filter(None, more)]


def _filters(options: ScoreOptions) -> bool:
    return options.keep_above is not None or options.keep_below is not None


def _check_ranking(options: ScoreOptions) -> None:
    for name in ("compat", "ensemble", "weights"):
        if not options.model and getattr(options, name):
            raise UsageError(f"--{name} needs a model: name it with --model")
    if options.tune is not None and options.output and options.rerank is None:
        raise UsageError("--output is for --rerank: --tune writes the file that it names")


def _check_filter(options: ScoreOptions) -> None:
    what = "--dual" if options.dual else "--keep-above and --keep-below"
    if len(options.model) > 1 and not (options.ensemble or options.weights):
        raise UsageError(f"{what}: one score a pair is needed; add --ensemble")
    if options.dual and len(options.vocabularies) > 2:
        raise UsageError(
            "--dual: --vocabs cannot name the vocabularies of a model with factors for both "
            "directions; put them beside the models"
        )
