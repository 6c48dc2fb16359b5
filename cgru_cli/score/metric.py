"""`cgru score --metric`: translations against references by sacrebleu, and whether they differ.

Files are read as sacrebleu reads them: lines end at "\\n", and what is white at their end is not
counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..corpus.parallel_files import check_line_counts
from ..errors import CgruError, UsageError
from ..options.score import LABEL_METRICS
from ..system.line_writer import LineWriter
from ..system.lines import LineReader
from .request import Evaluation, ScoreRequest

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

_TESTS = {"bootstrap": "bs", "randomisation": "ar"}


@dataclass(frozen=True)
class Score:
    """A system's score by one metric.

    mean, interval: of resamplings, and half of what holds 95 % of them; p: how likely a difference
    from the baseline as large as this comes by chance.
    """

    score: float
    mean: float | None = None
    interval: float | None = None
    p: float | None = None

    def text(self, width: int) -> str:
        """The score as a cell of a table, with so many decimals."""
        text = f"{self.score:.{width}f}"
        if self.mean is not None:
            text += f" ({self.mean:.{width}f} ± {self.interval:.{width}f})"
        if self.p is not None:
            text += f" p = {self.p:.4f}{'*' if self.p < 0.05 else ''}"
        return text


def run(request: ScoreRequest) -> None:
    """Evaluate as the request says.

    Raises CgruError for files that cannot be read or differ in their number of lines, UsageError
    for an unknown tokeniser; OutputClosed where nobody reads.
    """
    evaluation = request.evaluation
    references = read_references(evaluation.references)
    systems = {name: lines_of(name) for name in request.target or ("-",)}
    of_labels = evaluation.confusion or set(evaluation.metrics) & set(LABEL_METRICS)
    first = evaluation.references[0], len(references[0])
    for name, lines in systems.items():
        check_line_counts(first, (name, len(lines)))
    if not references[0]:
        raise CgruError(f"{first[0]}: is empty; there is nothing to evaluate")
    if of_labels:
        from .label_metrics import check_lines

        for name, lines in systems.items():
            check_lines(name, lines, first[0], references[0])
    metrics = {name: metric_of(name, evaluation, references) for name in evaluation.metrics}
    with LineWriter(request.output) as writer:
        if len(systems) == 1:
            (lines,) = systems.values()
            writer.write(_one_system(metrics, lines, evaluation, references[0]))
        else:
            writer.write(_several_systems(metrics, systems, evaluation))


def read_references(paths: Sequence[str]) -> list[list[str]]:
    """The lines of every reference. Raises CgruError where they are not equally many."""
    references = [lines_of(path) for path in paths]
    for path, lines in zip(paths, references, strict=True):
        check_line_counts((paths[0], len(references[0])), (path, len(lines)))
    return references


def metric_of(
    name: str,
    evaluation: Evaluation,
    references: Sequence[Sequence[str]] | None = None,
    *,
    force: bool = False,
) -> Metric:
    """The metric, with the references, if they are given, counted once for all systems.

    force: do not warn of text that looks tokenised.
    Raises UsageError for an unknown tokeniser, CgruError for one whose package is missing.
    """
    from sacrebleu.metrics import BLEU, CHRF, TER

    case = evaluation.lowercase
    if name in LABEL_METRICS:
        from . import label_metrics

        return label_metrics.METRICS[name](references)
    if name == "bleu":
        if evaluation.tokenize not in (None, *BLEU.TOKENIZERS):
            known = ", ".join(sorted(BLEU.TOKENIZERS))
            raise UsageError(f"--tokenize {evaluation.tokenize}: sacrebleu has {known}")
        try:
            return BLEU(
                lowercase=case, tokenize=evaluation.tokenize, references=references, force=force
            )
        except (ValueError, RuntimeError, ImportError) as error:  # of packages that it needs
            raise CgruError(
                f"--tokenize {evaluation.tokenize}: {str(error).splitlines()[0]}"
            ) from None
    if name == "ter":
        return TER(references=references)
    return CHRF(lowercase=case, word_order=2 if name == "chrf++" else 0, references=references)


def lines_of(path: str) -> list[str]:
    """The lines of a text, without what is white at their end."""
    with LineReader(path, tell_crlf=False) as reader:
        return [line.rstrip() for line in reader.rest()]


def _one_system(
    metrics: Mapping[str, Metric],
    lines: Sequence[str],
    evaluation: Evaluation,
    reference: Sequence[str],
) -> str:
    """The scores of one system as sacrebleu prints them, and the confusion matrix below."""
    resampled = max(1, evaluation.resamples)
    texts, rows = [], []
    for metric in metrics.values():
        score = metric.corpus_score(lines, None, n_bootstrap=resampled)
        signature = metric.get_signature().format()
        width, as_json = evaluation.width, evaluation.format == "json"
        texts.append(score.format(width, signature=signature, is_json=as_json))
        rows.append([score.name, score.format(width, score_only=True), f"`{signature}`"])
    labels: list[str] = []
    counts: list[list[int]] = []
    if evaluation.confusion:
        from .label_metrics import confusion

        labels, counts = confusion(lines, reference)
    head = ["reference \\ given", *labels]
    table = [[label, *map(str, row)] for label, row in zip(labels, counts, strict=True)]
    if evaluation.format == "markdown":
        text = _markdown(["metric", "score", "signature"], rows)
        return text + ("\n" + _markdown(head, table) if labels else "")
    if evaluation.format == "json":
        objects = [json.loads(text) for text in texts]
        if labels:
            objects.append({"name": "confusion", "labels": labels, "counts": counts})
        return _json(objects[0] if len(objects) == 1 else objects)
    longest = max(text.index(" = ") for text in texts)
    text = "".join(f"{' ' * (longest - text.index(' = '))}{text}\n" for text in texts)
    return text + ("\n" + _table([head, *table]) if labels else "")


def _several_systems(
    metrics: Mapping[str, Metric],
    systems: Mapping[str, Sequence[str]],
    evaluation: Evaluation,
) -> str:
    """A table: a row a system, the first one the baseline of the others."""
    scores, signatures = (_paired if evaluation.paired else _alone)(metrics, systems, evaluation)
    if evaluation.format == "json":
        return _json(
            {
                "systems": [
                    {"system": system} | {name: _plain(scores[name][i]) for name in metrics}
                    for i, system in enumerate(systems)
                ],
                "signatures": signatures,
            }
        )
    head = ["system", *metrics]
    rows = [
        [system, *(scores[name][i].text(evaluation.width) for name in metrics)]
        for i, system in enumerate(systems)
    ]
    notes = [f"{name}: {signature}" for name, signature in signatures.items()]
    if evaluation.paired:
        notes.append(
            f"p: paired {evaluation.paired} against {next(iter(systems))}; * below 0.05: a "
            "difference that large hardly comes by chance"
        )
    if evaluation.format == "markdown":
        return _markdown(head, rows) + "\n" + "".join(f"- {note}\n" for note in notes)
    return _table([head, *rows]) + "".join(f"{line}\n" for line in ("", *notes))


MetricScores = tuple[dict[str, list[Score]], dict[str, str]]  # of each metric; its signature


def _alone(
    metrics: Mapping[str, Metric], systems: Mapping[str, Sequence[str]], evaluation: Evaluation
) -> MetricScores:
    """Every system by itself."""
    resampled = max(1, evaluation.resamples)
    scores: dict[str, list[Score]] = {name: [] for name in metrics}
    signatures = {}
    for name, metric in metrics.items():
        for lines in systems.values():
            score = metric.corpus_score(lines, None, n_bootstrap=resampled)
            signatures[name] = metric.get_signature().format()
            told = score.format(evaluation.width, signature=signatures[name], is_json=True)
            more = map(json.loads(told).get, ("confidence_mean", "confidence_var"))
            scores[name].append(Score(score.score, *more))
    return scores, signatures


def _paired(
    metrics: Mapping[str, Metric], systems: Mapping[str, Sequence[str]], evaluation: Evaluation
) -> MetricScores:
    """Every system against the first: paired bootstrap (Koehn 2004) or approximate randomisation
    (Riezler and Maxwell 2005).
    """
    from sacrebleu.significance import PairedTest

    test = PairedTest(
        list(systems.items()),
        dict(metrics),
        None,
        test_type=_TESTS[str(evaluation.paired)],
        n_samples=evaluation.samples,
        n_ar_confidence=evaluation.resamples or -1,
    )
    signatures, results = test()
    columns: list[Any] = [values for key, values in results.items() if key != "System"]
    scores = {
        name: [_score(result) for result in values]
        for name, values in zip(metrics, columns, strict=True)
    }
    told = (signature.format() for signature in signatures.values())
    return scores, dict(zip(metrics, told, strict=True))


def _score(result: Result) -> Score:
    """A score as plain Python numbers for JSON; some of sacrebleu's results are NumPy's."""
    more = (result.mean, result.ci, result.p_value)
    return Score(float(result.score), *(None if one is None else float(one) for one in more))


def _plain(score: Score) -> dict[str, Any]:
    values = {"score": score.score, "mean": score.mean, "interval": score.interval, "p": score.p}
    return {name: value for name, value in values.items() if value is not None}


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(" ")
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)
