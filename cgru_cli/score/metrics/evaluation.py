"""`cgru score --metric`: evaluate translations with sacreBLEU, and compare systems.

Files are read as sacreBLEU reads them: lines end at "\\n", without white space at their end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...corpus.parallel_files import check_line_counts
from ...errors import CgruError, UsageError
from ...options.score import LABEL_METRICS, ScoreOptions
from ...system.line_writer import LineWriter
from ...system.lines import LineReader
from ...system.terminal import table
from ..plan import ScorePlan
from .labels import LabelMetric, check_lines, confusion

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

_TESTS = {"bootstrap": "bs", "randomisation": "ar"}

# The scores of every system by metric, and the signatures by metric. A score has the key "score",
# and if computed, "mean" and "interval" (the mean of resamplings, and half the width of their 95 %
# interval) and "p" (the p-value of the difference from the baseline).
Scores = tuple[dict[str, list[dict[str, float]]], dict[str, str]]


def run(plan: ScorePlan) -> None:
    """Evaluate translations.

    Raises CgruError for files that cannot be read or differ in their number of lines, UsageError
    for an unknown tokeniser; OutputClosed if the reader has gone.
    """
    options = plan.options
    references = read_references(options.reference)
    systems = {name: lines_of(name) for name in options.target or ("-",)}
    first = options.reference[0], len(references[0])
    for name, lines in systems.items():
        check_line_counts(first, (name, len(lines)))
    if not references[0]:
        raise CgruError(f"{first[0]}: is empty; there is nothing to evaluate")
    texts = list(systems.values())
    if set(plan.metrics) & set(LABEL_METRICS):
        for name, lines in systems.items():
            check_lines(name, lines, first[0], references[0])
    metrics = {name: metric_of(name, options, references, texts) for name in plan.metrics}
    with LineWriter(options.output) as writer:
        if len(systems) == 1:
            writer.write(_one_system(metrics, texts[0], references[0], plan))
        else:
            writer.write(_several_systems(metrics, systems, plan))


def read_references(paths: Sequence[str]) -> list[list[str]]:
    """The lines of every reference. Raises CgruError if the numbers of lines differ."""
    references = [lines_of(path) for path in paths]
    for path, lines in zip(paths, references, strict=True):
        check_line_counts((paths[0], len(references[0])), (path, len(lines)))
    return references


def metric_of(
    name: str,
    options: ScoreOptions,
    references: Sequence[Sequence[str]] | None = None,
    texts: Sequence[Sequence[str]] = (),
    *,
    force: bool = False,
    sentences: bool = False,
) -> Metric:
    """The metric; it computes the references' statistics, if given, once for all systems.

    texts: the systems' outputs, for metrics of labels. force: do not warn about tokenised text.
    sentences: whether to score single sentences, which may be shorter than BLEU's longest n-grams.
    Raises UsageError for an unknown tokeniser, CgruError if the tokeniser's package is missing.
    """
    from sacrebleu.metrics import BLEU, CHRF, TER

    if name in LABEL_METRICS:
        return LabelMetric(name, texts, references or ())
    case, tokenize = options.lowercase, options.tokenize
    if name == "ter":
        return TER(references=references)
    if name != "bleu":
        return CHRF(lowercase=case, word_order=2 if name == "chrf++" else 0, references=references)
    if tokenize not in (None, *BLEU.TOKENIZERS):
        known = ", ".join(sorted(BLEU.TOKENIZERS))
        raise UsageError(f"--tokenize {tokenize}: sacrebleu has {known}")
    try:
        return BLEU(case, force, tokenize, effective_order=sentences, references=references)
    except (ValueError, RuntimeError, ImportError) as error:  # a package is missing
        raise CgruError(f"--tokenize {tokenize}: {str(error).splitlines()[0]}") from None


def lines_of(path: str) -> list[str]:
    """The lines of a text, without white space at their end."""
    with LineReader(path, tell_crlf=False) as reader:
        return [line.rstrip() for line in reader.rest()]


def _one_system(
    metrics: Mapping[str, Metric], lines: Sequence[str], reference: Sequence[str], plan: ScorePlan
) -> str:
    """The scores of one system as sacreBLEU prints them, followed by the confusion matrix."""
    options = plan.options
    as_json = options.format == "json"
    texts, rows = [], [["metric", "score", "signature"]]
    for metric in metrics.values():
        score = metric.corpus_score(lines, None, n_bootstrap=max(1, plan.resamples))
        signature = metric.get_signature().format()
        texts.append(score.format(options.width, signature=signature, is_json=as_json))
        rows.append([score.name, score.format(options.width, score_only=True), f"`{signature}`"])
    labels, counts = confusion(lines, reference) if options.confusion else ([], [])
    if as_json:
        objects = [json.loads(text) for text in texts]
        if labels:
            objects.append({"name": "confusion", "labels": labels, "counts": counts})
        return _json(objects[0] if len(objects) == 1 else objects)
    longest = max(text.index(" = ") for text in texts)
    text = "".join(f"{' ' * (longest - text.index(' = '))}{text}\n" for text in texts)
    matrix = [["reference \\ given", *labels]]
    matrix += [[label, *map(str, row)] for label, row in zip(labels, counts, strict=True)]
    if options.format == "markdown":
        text, confused = _markdown(rows), _markdown(matrix)
    else:
        confused = table(matrix)
    return f"{text}\n{confused}" if labels else text


def _several_systems(
    metrics: Mapping[str, Metric], systems: Mapping[str, Sequence[str]], plan: ScorePlan
) -> str:
    """A table with one row per system; the first system is the baseline."""
    options = plan.options
    scores, signatures = (_paired if options.paired else _alone)(metrics, systems, plan)
    if options.format == "json":
        of_systems = [
            {"system": system} | {name: scores[name][i] for name in metrics}
            for i, system in enumerate(systems)
        ]
        return _json({"systems": of_systems, "signatures": signatures})
    rows = [["system", *metrics]]
    for i, system in enumerate(systems):
        rows.append([system, *(_cell(scores[name][i], options.width) for name in metrics)])
    notes = [f"{name}: {signature}" for name, signature in signatures.items()]
    if options.paired:
        notes.append(
            f"p: paired {options.paired} against {next(iter(systems))}; * below 0.05: a "
            "difference this large is unlikely by chance"
        )
    if options.format == "markdown":
        return _markdown(rows) + "\n" + "".join(f"- {note}\n" for note in notes)
    return table(rows) + "".join(f"{line}\n" for line in ("", *notes))


def _alone(
    metrics: Mapping[str, Metric], systems: Mapping[str, Sequence[str]], plan: ScorePlan
) -> Scores:
    scores: dict[str, list[dict[str, float]]] = {name: [] for name in metrics}
    signatures = {}
    for name, metric in metrics.items():
        for lines in systems.values():
            score = metric.corpus_score(lines, None, n_bootstrap=max(1, plan.resamples))
            signatures[name] = metric.get_signature().format()
            printed = score.format(plan.options.width, signature=signatures[name], is_json=True)
            values = json.loads(printed)
            one = {"score": score.score}
            if "confidence_mean" in values:
                one |= {"mean": values["confidence_mean"], "interval": values["confidence_var"]}
            scores[name].append(one)
    return scores, signatures


def _paired(
    metrics: Mapping[str, Metric], systems: Mapping[str, Sequence[str]], plan: ScorePlan
) -> Scores:
    """Compare each system with the first.

    Uses paired bootstrap (Koehn 2004) or approximate randomisation (Riezler and Maxwell 2005).
    """
    from sacrebleu.significance import PairedTest

    test = PairedTest(
        list(systems.items()),
        dict(metrics),
        None,
        test_type=_TESTS[str(plan.options.paired)],
        n_samples=plan.options.samples,
        n_ar_confidence=plan.resamples or -1,
    )
    signatures, results = test()
    columns: list[Any] = [values for key, values in results.items() if key != "System"]
    scores = {
        name: [_numbers(result) for result in values]
        for name, values in zip(metrics, columns, strict=True)
    }
    printed = (signature.format() for signature in signatures.values())
    return scores, dict(zip(metrics, printed, strict=True))


def _numbers(result: Result) -> dict[str, float]:
    """A result as plain Python numbers for JSON, because sacreBLEU returns some NumPy numbers."""
    names = {"score": "score", "mean": "mean", "ci": "interval", "p_value": "p"}
    values = vars(result)
    return {new: float(values[old]) for old, new in names.items() if values[old] is not None}


def _cell(score: Mapping[str, float], width: int) -> str:
    text = f"{score['score']:.{width}f}"
    if "mean" in score:
        text += f" ({score['mean']:.{width}f} ± {score['interval']:.{width}f})"
    if "p" in score:
        text += f" p = {score['p']:.4f}{'*' if score['p'] < 0.05 else ''}"
    return text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)
