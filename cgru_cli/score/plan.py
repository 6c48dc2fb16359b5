"""The plan of `cgru score`, derived from its options."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..formats.loaded_model import LoadedModel, Reading, preprocessing_of
from ..options import kinds
from ..options.feature_weights import EQUAL, FeatureWeights, ensemble_weights
from ..options.scope import Scope
from ..options.score import LABEL_METRICS, ScoreOptions, metric_names
from ..output.layouts import layout_of
from ..parameters.program import PROGRAMS, Program, reads_as
from ..system.lines import check_distinct
from ..system.versions import installed
from .pairs.layout import ScoreLayout
from .pairs.readers import NBestList, Pairs, TabSeparated, Texts

RESAMPLES = 1000  # sacreBLEU's resamplings for a confidence interval


class ScorePlan:
    """The options of `cgru score`, and the settings derived from them."""

    def __init__(self, options: ScoreOptions):
        """Raises UsageError if options are missing or exclude each other, CgruError for an
        unreadable file of weights, and if sacreBLEU is needed and not installed.
        """
        self.options = options
        if options.metric or options.tune or options.oracle:
            installed("sacrebleu")
        named = (name for one in options.metric for name in metric_names(one))
        self.metrics = tuple(dict.fromkeys(named))
        # weights of an ensemble's models; () for a column of scores for each model
        self.weights: tuple[float, ...] = ()
        # weights of an n-best list's features, before tuning if any; None without a list
        self.ranking: FeatureWeights | None = None
        if self.compares_texts:
            _check_texts(options, self.metrics)
            return
        if options.compat is None:
            _check_effect(options)
        ranks = options.rerank is not None or options.tune is not None
        _check_pairs(options, self.files, ranks=ranks or options.oracle is not None)
        if options.model and (options.ensemble or options.weights):
            sums = options.compat is not None and PROGRAMS[options.compat].sums
            self.weights = ensemble_weights(options.weights, options.model, sums=sums)
        if ranks:
            self.ranking = FeatureWeights.asked(options.rerank)

    @property
    def compares_texts(self) -> bool:
        """Whether the run compares texts with references instead of scoring pairs."""
        return bool(self.options.metric) and self.options.tune is None

    @property
    def resamples(self) -> int:
        """The number of resamplings for a confidence interval, 0 without one."""
        return (self.options.samples or RESAMPLES) if self.options.confidence else 0

    @property
    def normalize(self) -> float:
        """The exponent alpha of length normalisation; 0: none."""
        return 0.0 if self._divides_sum else self.options.normalize or 0.0

    @property
    def alpha(self) -> float:
        """The exponent alpha of the length that divides the sum of an n-best list's features."""
        alpha = self.options.normalize if self._divides_sum else 0.0
        tuned = self.ranking.normalize if self.ranking else None
        return (tuned if alpha is None else alpha) or 0.0

    @property
    def _divides_sum(self) -> bool:
        """Whether --normalize divides the sum of features; in DL4MT, it divides model scores."""
        return self.ranking is not None and self.options.compat != Program.DL4MT

    @property
    def list_name(self) -> str:
        """The n-best list, for messages."""
        return "standard input" if self.options.n_best == "-" else str(self.options.n_best)

    @property
    def files(self) -> tuple[str, ...]:
        """The input files that the options name."""
        options = self.options
        named = [*options.model, *options.vocabularies, *options.source, *options.target]
        named += [*options.reference, *(one for one in options.weights if isinstance(one, str))]
        weights = None if options.rerank == EQUAL else options.rerank
        return (*named, *filter(None, (options.n_best, options.dual, weights)))

    def reading(self, models: Sequence[LoadedModel]) -> Reading:
        """How to turn text into words, for models that read the same text.

        Raises CgruError if preprocessing is damaged or differs.
        """
        options, preprocessing = self.options, None
        if not options.no_preprocess:
            replacing = {"--no-spm-encode": options.no_spm_encode}
            preprocessing = preprocessing_of(models, replacing)
        return Reading(
            preprocessing,
            not options.no_spm_encode,
            options.max_length,
            crops_targets=options.max_length_crop,
        )

    def layout(self, models: Sequence[LoadedModel]) -> ScoreLayout:
        """The layout of scores. Raises UsageError for output that does not fit into a line."""
        options = self.options
        alignment = options.alignment and kinds.alignment(options.alignment)
        if alignment is None and options.alignment_format:
            alignment = "soft"
        layout = layout_of(
            options.compat or Program.CGRU,
            word_scores=options.word_scores,
            alignment=alignment,
            alignment_format=options.alignment_format,
            right_left={loaded.right_left for loaded in models} == {True},
            source_reversed=any(loaded.source_reversed for loaded in models),
            normalize=bool(self.normalize),
        )
        if options.n_best and layout.format in ("nematus", "json"):
            raise UsageError(f"--alignment-format {layout.format} does not fit into n-best lists")
        return ScoreLayout(
            layout,
            1 if self.weights else len(models),
            options.n_best_feature,
            digits=options.dual is not None,
            with_target=options.print_target,
        )

    def pairs(self, *, one_side: bool = False) -> Pairs:
        """The pairs to score; one_side: for language models only, which read no source.

        Raises UsageError if the options do not name the texts.
        """
        options = self.options
        sources, targets, n_best = options.source, options.target, options.n_best
        reads = reads_as(options.compat)
        if one_side and not n_best:
            if sources:
                raise UsageError(
                    f"--source: {options.model[0]} is a language model and reads no source; give "
                    "its text with --target"
                )
            return Texts((), targets or (None,), reads)
        # Nematus' rescore.py reads a list from standard input; its score.py requires a target
        nematus = options.compat in (Program.NEMATUS, Program.NEMATUS_TF)
        if nematus and sources and not targets and not n_best:
            return NBestList(sources, "-", reads)
        if n_best:
            if targets or (options.model and not sources and not one_side):
                raise UsageError("--n-best LIST needs --source; the list replaces --target")
            if n_best in sources:
                raise UsageError(f"--n-best and --source are both {n_best}")
            return NBestList(sources, n_best, reads)
        if not sources and len(targets) == 2:  # Marian's -t SRC TRG
            sources, targets = targets[:1], targets[1:]
        if not sources:
            if len(targets) > 1:
                raise UsageError("name the source: cgru score -m MODEL -s SRC -t TRG")
            return TabSeparated(targets[0] if targets else None, reads)
        targets = targets or ("-",)
        if "-" in sources and "-" in targets:
            raise UsageError(
                "source and target are both standard input; name a file for one of them"
            )
        return Texts(sources, targets, reads)


def _check_texts(options: ScoreOptions, metrics: Sequence[str]) -> None:
    for name, flag in options.changed(Scope.PAIRS):
        if not (options.compat and name == "max_length"):  # the program's default
            raise UsageError(f"--metric compares texts and takes no {flag.name}")
    if len(set(options.target)) < len(options.target):
        raise UsageError("--target names a system twice")
    of_labels = [name for name in metrics if name in LABEL_METRICS]
    if options.confusion and not of_labels:
        raise UsageError("--confusion needs labels: --metric accuracy or f1")
    if options.confusion and len(options.target) > 1:
        raise UsageError("--confusion takes one system; --target names several")
    if of_labels and len(options.reference) > 1:
        raise UsageError(f"--metric {of_labels[0]} compares with one --reference")
    for name in ("tokenize", "lowercase"):
        if getattr(options, name) and len(of_labels) == len(metrics):
            raise UsageError(f"--{name} is for texts, not for --metric {' '.join(metrics)}")
    if options.paired and len(options.target) < 2:
        raise UsageError("--paired compares systems: name two or more with --target")
    check_distinct((*options.target, *options.reference), options.output)


def _check_effect(options: ScoreOptions) -> None:
    """Raise UsageError for options without effect, which other programs accept."""
    if options.summary and options.normalize:
        raise UsageError("--summary and --normalize exclude each other")
    if options.n_best and options.print_target:
        raise UsageError("--print-target and --n-best exclude each other")
    if options.n_best_feature != ScoreOptions.n_best_feature and not (
        options.n_best and options.model
    ):
        raise UsageError("--n-best-feature needs --n-best and --model")


def _check_pairs(options: ScoreOptions, files: Sequence[str], *, ranks: bool) -> None:
    if options.word_top_k and (options.output or "").endswith(".gz"):
        raise UsageError(
            f"--output {options.output}: cgru train maps this file into memory, so it cannot be "
            "compressed; name a .npy file"
        )
    if ranks:
        if options.compat and not options.model:
            raise UsageError("--compat needs a model: name it with --model")
        if options.tune is not None and options.output and options.rerank is None:
            raise UsageError("--output is for --rerank: --tune writes the file that it names")
    elif not options.model:
        raise UsageError("name a model: cgru score -m MODEL -s SRC -t TRG")
    filters = options.keep_above is not None or options.keep_below is not None
    what = "--dual" if options.dual else "--keep-above and --keep-below"
    columns = len(options.model) > 1 and not (options.ensemble or options.weights)
    if columns and (filters or options.dual):
        raise UsageError(f"{what}: one score per pair is needed; add --ensemble")
    if options.dual and len(options.vocabularies) > 2:
        raise UsageError(
            "--dual: --vocabs cannot name the vocabularies of a model with factors for both "
            "directions; put them beside the models"
        )
    check_distinct((*files, None), options.output)
    if options.tune is not None:
        check_distinct((file for file in files if file != options.rerank), options.tune)
