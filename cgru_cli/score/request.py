"""What a command line of `cgru score` asks for: options that exclude each other, and the pairs."""

from __future__ import annotations

from ..errors import UsageError
from ..options.feature_weights import EQUAL
from ..options.score import COMPARING, EVALUATING, ScoreOptions
from ..system.lines import check_distinct
from .pairs import NBestList, OneText, Pairs, TabSeparated, TwoTexts


def check(options: ScoreOptions) -> None:
    """Raise UsageError where options lack what they need, or exclude each other."""
    ranks = options.rerank is not None or options.tune is not None
    for name in (*EVALUATING, *(() if options.tune is not None else COMPARING)):
        if _given(options, name):
            raise UsageError(f"--{name} is for --metric{' and --tune' * (name in COMPARING)}")
    for name in ("restarts", "seed"):
        if _given(options, name) and options.tune is None:
            raise UsageError(f"--{name} is for --tune")
    if options.join_bpe and not ranks:
        raise UsageError("--join-bpe is for --rerank and --tune")
    if options.rerank_list and options.rerank is None:
        raise UsageError("--rerank-list is for --rerank")
    if ranks:
        _check_ranking(options)
    elif not options.model:
        raise UsageError("name a model: cgru score -m MODEL -s SRC -t TRG")
    if _filters(options) or options.dual:
        _check_filter(options)
    for name, least in (("mini_batch", 1), ("maxi_batch", 1), ("max_length", 1), ("workspace", 1)):
        if getattr(options, name) < least:
            raise UsageError(f"--{name.replace('_', '-')}: at least {least} is needed")
    check_distinct((*files_of(options), None), options.output)
    if options.tune is not None:
        check_distinct((f for f in files_of(options) if f != options.rerank), options.tune)


def files_of(options: ScoreOptions) -> list[str]:
    """What is read, as far as it is named."""
    named = [*options.model, *options.vocabularies, *options.source, *options.target]
    named += [*options.reference, *(one for one in options.weights if isinstance(one, str))]
    more = options.n_best, options.dual, None if options.rerank == EQUAL else options.rerank
    return [*named, *filter(None, more)]


def _given(options: ScoreOptions, name: str) -> bool:
    return getattr(options, name) != getattr(ScoreOptions(), name)


def _filters(options: ScoreOptions) -> bool:
    return options.keep_above is not None or options.keep_below is not None


def _check_ranking(options: ScoreOptions) -> None:
    if not options.n_best:
        raise UsageError("--rerank and --tune are of an n-best list: name it with --n-best")
    if options.word_scores or options.alignment or options.alignment_format or options.summary:
        raise UsageError("--rerank and --tune print no words, no alignments and no summary")
    if options.heatmap:
        raise UsageError("--heatmap is of scored pairs, not of ranked lists")
    for name in ("compat", "ensemble", "weights"):
        if not options.model and getattr(options, name):
            raise UsageError(f"--{name} is of models: name them with --model")
    if options.tune is None:
        return
    if not options.reference:
        raise UsageError("--tune needs --reference: what the translations are compared with")
    if options.output and options.rerank is None:
        raise UsageError("--output is for --rerank: --tune writes the file that it names")
    for name in ("restarts", "samples", "seed"):
        if getattr(options, name) < 0:
            raise UsageError(f"--{name}: at least 0 is needed")


def _check_filter(options: ScoreOptions) -> None:
    what = "--dual" if options.dual else "--keep-above and --keep-below"
    excluded = ["n_best", "summary", "word_scores", "alignment", "alignment_format"]
    for name in (*excluded, *(["heatmap"] if options.dual else [])):
        if getattr(options, name):
            flag = name.replace("_", "-")
            raise UsageError(f"{what}: of pairs and one score each, not with --{flag}")
    if len(options.model) > 1 and not (options.ensemble or options.weights):
        raise UsageError(f"{what}: one score a pair is needed; add --ensemble")
    if options.dual:
        for name in ("compat", "normalize"):
            if getattr(options, name) is not None:
                raise UsageError(f"--dual has a sign and a normalisation of its own, not --{name}")
        if len(options.vocabularies) > 2:
            raise UsageError(
                "--dual: of a model with factors the other way round no --vocabs can be said; "
                "put them beside the models"
            )


def pairs_of(options: ScoreOptions, *, one_side: bool = False) -> Pairs:
    """What is to be scored; one_side: by language models alone, which read no source.

    Raises UsageError where the options do not say it.
    """
    sources, targets = options.source, options.target
    if one_side and not options.n_best:
        if sources:
            raise UsageError(
                f"--source: {options.model[0]} is a language model and reads none; give its text "
                "with --target"
            )
        return OneText(targets or (None,))
    # Nematus' rescore.py reads the list from standard input where none is named; its score.py
    # cannot do without a target.
    nematus = options.compat in ("nematus", "nematus-tf")
    rescores = nematus and bool(sources) and not targets and not options.n_best
    if rescores:
        return NBestList(sources, "-")
    if options.n_best:
        if targets or (options.model and not sources and not one_side):
            raise UsageError("--n-best LIST needs --source, and no --target: the list has them")
        if options.n_best in sources:
            raise UsageError(f"--n-best and --source are both {options.n_best}")
        return NBestList(sources, options.n_best)
    if not sources and len(targets) == 2:  # Marian's -t SRC TRG
        sources, targets = targets[:1], targets[1:]
    if not sources:
        if len(targets) > 1:
            raise UsageError("name the source: cgru score -m MODEL -s SRC -t TRG")
        return TabSeparated(*(targets or (None,)))
    targets = targets or ("-",)
    if "-" in sources and "-" in targets:
        raise UsageError("source and target are both standard input; name a file for one of them")
    return TwoTexts(sources, targets)
