"""`PairScorer`: pairs in, scored translations out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Unpack, overload

from ...errors import UsageError
from ...formats.loaded_model import ModelSource, check_ensemble, loaded_models
from ...options.flags import applying, shown
from ...options.keyword_types import ScoringKeywords
from ...options.keywords import (
    Arguments,
    checked,
    in_python,
    iterated,
    lists,
    one_line,
)
from ...options.scope import Scope
from ...options.score import ScoreOptions
from ...options.translate import TranslateOptions
from ...output.hypothesis import Hypothesis
from ...parameters.program import PROGRAMS
from ...system.terminal import Progress, counting
from ...system.windows import in_order, in_windows, sizes
from ...translate.plan import ranking
from ...translate.translator import Translator, networks_of
from ..plan import ScorePlan
from .ensemble_scorer import EnsembleScorer, in_batches
from .model_scorer import Line, ModelScorer

Pair = tuple[str, str]
_KNOWN = applying(ScoreOptions, Scope.SCORER)


class PreparedPair(NamedTuple):
    """A pair as the models read it."""

    number: int  # for messages, from 0
    lines: Sequence[Line]  # for each model
    length: int  # words of the longer side with EOS, for the model that has the most


class PairScorer:
    """Scores translations with one model or an ensemble.

    Threads may share a scorer. Pickling stores the paths of the models.
    """

    @lists(ScoreOptions, _KNOWN)
    def __init__(
        self,
        models: ModelSource | Sequence[ModelSource] | Translator,
        vocabularies: Sequence[str] = (),
        *,
        attention: bool = True,
        word_penalty: float | None = None,
        **options: Unpack[ScoringKeywords],
    ):
        """models, vocabularies, attention: as in `Translator`. word_penalty and normalize determine
        `total`, with the same defaults as in `Translator`. options: those of `cgru score` for model
        scores, with "_" for "-" in their names. Raises the errors of `Translator`.

        models may be a `Translator` made with `serving`: the scorer shares its models and options,
        and `total` is divided by the length, without a word penalty. Then no other argument is
        allowed.
        """
        settings = {"attention": attention, "word_penalty": word_penalty, **options}
        self._arguments = Arguments.of(models, vocabularies, settings)
        if isinstance(models, Translator):
            if vocabularies or options or not attention or word_penalty is not None:
                raise UsageError("a scorer that shares a translator takes no other argument")
            self._plan, self._scorer = _shared(models)
            return
        with in_python():
            values = checked(ScoreOptions, options, [*_KNOWN])
            ranked = {"normalize": values.get("normalize"), "word_penalty": word_penalty}
            ranked = checked(TranslateOptions, ranked, [*ranked])
            loaded = loaded_models(models, vocabularies)
            names = tuple(str(one.model.path) for one in loaded)
            self._plan = ScorePlan(
                ScoreOptions.of(values | {"model": names, "ensemble": len(names) > 1})
            )
            reading = self._plan.reading(loaded)
            if self._plan.weights:
                check_ensemble(loaded)
            program = PROGRAMS[loaded[0].model.written_by]
            _, alpha, penalty = ranking(TranslateOptions.of(ranked), loaded, program)
            self._scorer = EnsembleScorer.planned(
                self._plan,
                loaded,
                reading,
                with_alignment=attention and any(one.model.structure.attends for one in loaded),
                normalize=alpha,
                word_penalty=penalty,
            )

    @property
    def max_words(self) -> int:
        """The number of words of pairs, padded and with EOS, that there is memory for."""
        return self._scorer.max_tokens

    def read(self, source: str, target: str, number: int = 0) -> PreparedPair:
        """A pair, ready for `together`; number: for messages, from 0.

        Raises CgruError, naming the line, like `score`.
        """
        lines = self._scorer.read(source, target, number)
        return PreparedPair(number, lines, max(line.length for line in lines))

    def together(self, pairs: Sequence[PreparedPair]) -> list[Hypothesis]:
        """The scores of pairs in one batch, with words in the order of writing."""
        numbers, lines = [one.number for one in pairs], [one.lines for one in pairs]
        return [together for together, *_ in self._scorer.batch(numbers, lines)]

    @property
    def languages(self) -> tuple[str, str] | None:
        """The codes of source and target language; None if the model does not state them."""
        return self._scorer.models[0].loaded.languages

    @overload
    def score(
        self, pairs: list[Pair] | tuple[Pair, ...], *, progress: Progress = False
    ) -> list[Hypothesis]: ...

    @overload
    def score(
        self, pairs: Iterator[Pair], *, progress: Progress = False
    ) -> Iterator[Hypothesis]: ...

    def score(self, pairs: Any, *, progress: Progress = False) -> Any:
        """Score the translation of each pair (source, target), with words in reading order.

        A list gives a list, and an iterator an iterator that yields results in order as they become
        ready. progress: as in `Translator.translate`. Cuts a source of more than max_length words,
        with a warning. Raises UsageError for invalid arguments; CgruError, naming the line, for a
        longer translation, and for unreadable lines.
        """
        lazy = isinstance(pairs, Iterator)
        scored = self._scored(map(_pair, enumerate(iterated("pairs", pairs), 1)), progress, lazy)
        return scored if lazy else list(scored)

    def _scored(
        self, pairs: Iterator[Pair], progress: Progress, lazy: bool
    ) -> Iterator[Hypothesis]:
        mini_batch = self._plan.options.mini_batch
        right_left = self._scorer.models[0].loaded.right_left

        def scored(window: list[Pair], first: int) -> Iterator[tuple[int, Hypothesis]]:
            for place, ((pair, *_),) in in_batches([self._scorer], window, first, mini_batch):
                found = pair.reversed() if right_left else pair
                yield place, found._replace(detokenized=window[place - first][1])

        most = mini_batch * self._plan.options.maxi_batch
        windows = in_windows(pairs, sizes(most, growing=lazy))
        with in_python(), counting("pairs", progress) as counted:
            yield from counted(in_order(windows, scored))
            for model in self._scorer.models:
                model.source.report()

    def __reduce__(self) -> tuple:
        return self._arguments.reduced(PairScorer)

    def __repr__(self) -> str:
        shown = ", ".join(one.loaded.described for one in self._scorer.models)
        return f"PairScorer({shown}; {self._plan.options.precision})"


def _shared(translator: Translator) -> tuple[ScorePlan, EnsembleScorer]:
    """The plan and the scorer with the networks and options of a translator."""
    search = networks_of(translator)
    plan, attends = search.plan, any(one.model.structure.attends for one in search.direct)
    models = [
        ModelScorer(one, plan.reading, prepared, plan.options.workspace, with_alignment=attends)
        for one, prepared in zip(search.direct, search.networks.prepared, strict=True)
    ]
    several = len(models) > 1
    weights, alpha = plan.weights if several else (), plan.settings.normalize
    scorer = EnsembleScorer(models, weights, alpha, with_alignment=attends)
    return ScorePlan(ScoreOptions(model=plan.options.model, ensemble=several)), scorer


def _pair(numbered: tuple[int, Any]) -> Pair:
    """The pair of a number and a pair. Raises UsageError for a wrong type."""
    number, pair = numbered
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise UsageError(
            f"pair {number}: (source, translation) is expected, not {shown(pair)}; "
            "a single pair goes into a list: [(source, translation)]"
        )
    source, target = (one_line(f"pair {number}", text) for text in pair)
    return source, target
