"""The score in the output of a program that evaluates translations."""

from __future__ import annotations

import re

from ..errors import CgruError

# a number is a word, so that neither 39.1/12.3 nor 2.6.0, 05:13, newstest2016 or 12,5 has one
_NUMBER = (
    r"(?<![^\s=:(\[{'\"|])(?<!\d:)"
    r"(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)"
    r"(?=\.?(?:[\s;)\]}%'\"|]|,(?!\d)|$))"
)
# The outputs of multi-bleu.perl, mteval-v13a.pl, sacreBLEU (text and JSON), fairseq-score,
# chrF++.py and tercom: a name, perhaps sacreBLEU's signature, and `=`, `:` or `", "score": `, but
# no row of numbers; of METEOR and COMET, which may score segments too; lists of `sacrebleu -b`.
_PATTERNS = (
    r"(?<!\w)(?P<metric>\w*BLEU(?:[-_]?4)?|chrF\d*\+*|c\d+\+w\d+-F\d+|NIST(?!.*BLEU)|METEOR|COMET"
    r"|BLEURT|BEER|RIBES|(?P<lower>H?TER|WER|CER|perplexity|ppl|loss|cross-entropy))"
    r"(?:[+|]\S{0,300}+)?(?:[ _]score)?['\"]?(?:,\s*['\"]score['\"])?(?:[ \t]*[=:][ \t]*|\t)"
    rf"{_NUMBER}(?![ \t]++[\d.]++(?:\s|$))",
    rf"^(?!.*\bsegment\b).*\b(?P<metric>score)[ \t]*[=:][ \t]*{_NUMBER}[ \t]*$",
    rf"['\"](?P<metric>score)['\"]\s*:\s*{_NUMBER}",
    rf"\A\s*(?P<metric>\[)\s*{_NUMBER}\s*,",
)
_SCORES = [re.compile(text, re.IGNORECASE | re.MULTILINE) for text in _PATTERNS]
_ANY = re.compile(_NUMBER)


def score_in(output: str, program: str, first: bool = False) -> float:
    """The score that a program printed; the higher, the better.

    It is the number that is alone on the last line; or the score of the first metric that the
    output names as its program does, the last of several; or the only number of the last line with
    numbers. Error rates and costs are returned with a minus sign, unless there is another metric.
    first: whether a number at the beginning of the output is the score, as for Marian and Nematus.
    Raises CgruError if there is no number, or if several cannot be told apart.
    """
    lines = output.strip().splitlines() or [""]
    alone = (first and _ANY.match(output.lstrip())) or _ANY.fullmatch(lines[-1].strip(" \t%"))
    if alone:
        return float(alone["number"])
    scores = [match for pattern in _SCORES for match in pattern.finditer(output)]
    if scores:
        best = min(scores, key=lambda match: (_is_lower(match), match.start("number")))
        same = [score for score in scores if score["metric"].lower() == best["metric"].lower()]
        return float(same[-1]["number"]) * (-1 if _is_lower(best) else 1)
    numbered = [line.strip() for line in lines if _ANY.search(line)]
    if not numbered:
        raise CgruError(f"{program}: printed no number, such as 28.3: {lines[-1] or 'no output'}")
    number, *others = _ANY.findall(numbered[-1])
    if others:
        raise CgruError(
            f"{program}: which number is the score? {numbered[-1]}; print it alone, or named, such "
            "as BLEU = 28.3"
        )
    return float(number)


def _is_lower(match: re.Match[str]) -> bool:
    return bool(match.groupdict().get("lower"))
