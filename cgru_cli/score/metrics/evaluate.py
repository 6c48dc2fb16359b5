"""`evaluate`: compare translations with references in Python."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import UsageError
from ...options.keywords import checked, in_python, iterated, one_text
from ...options.score import LABEL_METRICS, ScoreOptions
from ...output.hypothesis import Hypothesis
from ..plan import ScorePlan


def evaluate(
    hypotheses: Sequence[str | Hypothesis],
    references: Sequence[str] | Sequence[Sequence[str]],
    metrics: Sequence[str] = ("bleu", "chrf"),
    *,
    tokenize: str | None = None,
    lowercase: bool = False,
) -> dict[str, float]:
    """Compute the scores of translations by these metrics, like `cgru score --metric`.

    references: one for each translation, or several such lists. metrics: bleu, chrf, chrf++ and ter
    (0 to 100), or accuracy, f1 and span-f1 for labels. tokenize, lowercase: for BLEU and chrF.
    Raises UsageError for invalid arguments, CgruError for labels that do not fit their references.
    """
    with in_python():
        lines = [
            one.text if isinstance(one, Hypothesis) else one_text("hypotheses", one)
            for one in iterated("hypotheses", hypotheses)
        ]
        listed = list(iterated("references", references))
        columns = (
            [listed]
            if all(isinstance(one, str) for one in listed)
            else [list(iterated("references", one)) for one in listed]
        )
        for column in columns:
            if not lines or len(column) != len(lines):
                raise UsageError(f"{len(lines)} hypotheses for {len(column)} references")
        names = [metrics] if isinstance(metrics, str) else list(iterated("metrics", metrics))
        if not names:
            raise UsageError("metrics: an empty list")
        options = {"metric": names, "tokenize": tokenize, "lowercase": lowercase}
        values = checked(ScoreOptions, options, [*options])
        plan = ScorePlan(ScoreOptions.of(values | {"reference": ("references",) * len(columns)}))
        from .evaluation import metric_of  # needs sacreBLEU
        from .labels import check_lines

        if set(plan.metrics) & set(LABEL_METRICS):
            check_lines("hypotheses", lines, "references", columns[0])
        made = {name: metric_of(name, plan.options, columns, [lines]) for name in plan.metrics}
        return {name: one.corpus_score(lines, None).score for name, one in made.items()}
