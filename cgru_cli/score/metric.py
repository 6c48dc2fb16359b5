"""`cgru score --metric`: translations against references by sacrebleu, and whether they differ.

Files are read as sacrebleu reads them: lines end at "\\n", and what is white at their end is not
counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import CgruError, UsageError
from ..options.score import METRICS, ScoreOptions
from ..system.lines import LineReader, LineWriter, check_distinct

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

_TESTS = {"bootstrap": "bs", "randomisation": "ar"}
_SAMPLES = 1000  # resamplings of a confidence interval, as sacrebleu's


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
        """In a table, with so many decimals."""
        text = f"{self.score:.{width}f}"
        if self.mean is not None:
            text += f" ({self.mean:.{width}f} ± {self.interval:.{width}f})"
        if self.p is not None:
            text += f" p = {self.p:.4f}{'*' if self.p < 0.05 else ''}"
        return text


def run(options: ScoreOptions) -> None:
    """Evaluate as the options say.

    Raises CgruError for files that cannot be read or differ in their number of lines, UsageError
    for options that exclude each other; OutputClosed where nobody reads.
    """
    _check(options)
    check_distinct((*options.target, *options.reference), options.output)
    names = options.target or ("-",)
    references = [lines_of(path) for path in options.reference]
    systems = {name: lines_of(name) for name in names}
    for path, lines in (*zip(options.reference, references, strict=True), *systems.items()):
        if len(lines) != len(references[0]):
            raise CgruError(
                f"{options.reference[0]} has {len(references[0]):,} lines and {path} "
                f"{len(lines):,}; line i of one must stand for line i of the other"
            )
    if not references[0]:
        raise CgruError(f"{options.reference[0]}: is empty; there is nothing to evaluate")
    metrics = {name: metric_of(name, options, references) for name in asked(options)}
    with LineWriter(options.output) as writer:
        if len(systems) == 1:
            (lines,) = systems.values()
            writer.write(_of_one(metrics, lines, options))
        else:
            writer.write(_of_several(metrics, systems, options))


def _check(options: ScoreOptions) -> None:
    if not options.reference:
        raise UsageError("--metric needs --reference: what the translations are compared with")
    for name in (
        "model", "source", "n_best", "summary", "normalize", "alignment", "weights", "heatmap",
        "heatmap_lines",
    ):  # fmt: skip
        if getattr(options, name):
            raise UsageError(f"--metric is of texts alone, not with --{name.replace('_', '-')}")
    if len(set(options.target)) < len(options.target):
        raise UsageError("--target names one system twice")
    if options.paired and len(options.target) < 2:
        raise UsageError("--paired compares systems: name two or more with --target")
    if options.samples < 0:
        raise UsageError("--samples: a number of samples is expected")
    if options.samples and not (options.confidence or options.paired):
        raise UsageError("--samples is for --confidence and --paired")


def asked(options: ScoreOptions) -> list[str]:
    """The metrics that --metric names. Raises UsageError for an unknown one."""
    names = [name.lower() for given in options.metric for name in given.split(",")]
    for name in names:
        if name not in METRICS:
            raise UsageError(f"--metric {name}: {', '.join(METRICS)} are known")
    return list(dict.fromkeys(names))


def metric_of(
    name: str,
    options: ScoreOptions,
    references: Sequence[Sequence[str]] | None = None,
    *,
    force: bool = False,
) -> Metric:
    """The metric, with the references, if they are given, counted once for all systems.

    force: do not warn of text that looks tokenised.
    Raises UsageError for an unknown tokeniser, CgruError for one whose package is missing.
    """
    from sacrebleu.metrics import BLEU, CHRF, TER

    case = {"lowercase": options.lowercase}
    if name == "bleu":
        if options.tokenize not in (None, *BLEU.TOKENIZERS):
            known = ", ".join(sorted(BLEU.TOKENIZERS))
            raise UsageError(f"--tokenize {options.tokenize}: sacrebleu has {known}")
        try:
            return BLEU(**case, tokenize=options.tokenize, references=references, force=force)
        except (ValueError, RuntimeError, ImportError) as error:  # of packages that it needs
            raise CgruError(
                f"--tokenize {options.tokenize}: {str(error).splitlines()[0]}"
            ) from None
    if name == "ter":
        return TER(references=references)
    return CHRF(**case, word_order=2 if name == "chrf++" else 0, references=references)


def lines_of(path: str) -> list[str]:
    """The lines of a text, without what is white at their end."""
    with LineReader(path, tell_crlf=False) as reader:
        return [line.rstrip() for line in reader.rest()]


def _of_one(
    metrics: Mapping[str, Metric],
    lines: Sequence[str],
    options: ScoreOptions,
) -> str:
    """As sacrebleu prints one system; in Markdown, a row a metric."""
    resampled = (options.samples or _SAMPLES) if options.confidence else 1
    texts, rows = [], []
    for metric in metrics.values():
        score = metric.corpus_score(lines, None, n_bootstrap=resampled)
        signature = metric.get_signature().format()
        width, as_json = options.width, options.format == "json"
        texts.append(score.format(width, signature=signature, is_json=as_json))
        rows.append([score.name, score.format(width, score_only=True), f"`{signature}`"])
    if options.format == "markdown":
        return _markdown(["metric", "score", "signature"], rows)
    if options.format == "json":
        objects = [json.loads(text) for text in texts]
        return _json(objects[0] if len(objects) == 1 else objects)
    longest = max(text.index(" = ") for text in texts)
    return "".join(f"{' ' * (longest - text.index(' = '))}{text}\n" for text in texts)


def _of_several(
    metrics: Mapping[str, Metric],
    systems: Mapping[str, Sequence[str]],
    options: ScoreOptions,
) -> str:
    """A table: a row a system, the first one the baseline of the others."""
    scores, signatures = (_paired if options.paired else _alone)(metrics, systems, options)
    if options.format == "json":
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
        [system, *(scores[name][i].text(options.width) for name in metrics)]
        for i, system in enumerate(systems)
    ]
    notes = [f"{name}: {signature}" for name, signature in signatures.items()]
    if options.paired:
        notes.append(
            f"p: paired {options.paired} against {next(iter(systems))}; * below 0.05: a difference "
            "that large hardly comes by chance"
        )
    if options.format == "markdown":
        return _markdown(head, rows) + "\n" + "".join(f"- {note}\n" for note in notes)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    table = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(" ")
        for row in (head, *rows)
    )
    return "".join(f"{line}\n" for line in (*table, "", *notes))


MetricScores = tuple[dict[str, list[Score]], dict[str, str]]  # of each metric; its signature


def _alone(
    metrics: Mapping[str, Metric], systems: Mapping[str, Sequence[str]], options: ScoreOptions
) -> MetricScores:
    """Every system by itself."""
    resampled = (options.samples or _SAMPLES) if options.confidence else 1
    scores: dict[str, list[Score]] = {name: [] for name in metrics}
    signatures = {}
    for name, metric in metrics.items():
        for lines in systems.values():
            score = metric.corpus_score(lines, None, n_bootstrap=resampled)
            signatures[name] = metric.get_signature().format()
            told = score.format(options.width, signature=signatures[name], is_json=True)
            more = map(json.loads(told).get, ("confidence_mean", "confidence_var"))
            scores[name].append(Score(score.score, *more))
    return scores, signatures


def _paired(
    metrics: Mapping[str, Metric], systems: Mapping[str, Sequence[str]], options: ScoreOptions
) -> MetricScores:
    """Every system against the first: paired bootstrap (Koehn 2004) or approximate randomisation
    (Riezler and Maxwell 2005).
    """
    from sacrebleu.significance import PairedTest

    test = PairedTest(
        list(systems.items()),
        dict(metrics),
        None,
        test_type=_TESTS[options.paired],
        n_samples=options.samples,
        n_ar_confidence=(options.samples or _SAMPLES) if options.confidence else -1,
    )
    signatures, results = test()
    found = [values for key, values in results.items() if key != "System"]
    scores = {
        name: [Score(*map(_number, (r.score, r.mean, r.ci, r.p_value))) for r in values]
        for name, values in zip(metrics, found, strict=True)
    }
    told = (signature.format() for signature in signatures.values())
    return scores, dict(zip(metrics, told, strict=True))


def _number(value: Any) -> float | None:
    """Without the types of NumPy that some of sacrebleu's results have."""
    return None if value is None else float(value)


def _plain(score: Score) -> dict[str, Any]:
    values = {"score": score.score, "mean": score.mean, "interval": score.interval, "p": score.p}
    return {name: value for name, value in values.items() if value is not None}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)
