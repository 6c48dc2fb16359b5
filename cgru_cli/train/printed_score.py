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
# between a name and its number: a signature of sacreBLEU, and `=`, `:` or JSON's `", "score": `;
# a row of numbers is a table of n-grams
_IS = (
    r"(?:[+|]\S{0,300}+)?(?:[ _]score)?['\"]?(?:,\s*['\"]score['\"])?(?:[ \t]*[=:][ \t]*|\t)"
    + _NUMBER
    + r"(?![ \t]++[\d.]++(?:\s|$))"
)
# the outputs of multi-bleu.perl, mteval-v13a.pl, sacreBLEU (text and JSON), fairseq-score,
# chrF++.py, tercom, METEOR and COMET (both also score segments), and lists of `sacrebleu -b`
_SCORES = (
    r"(?<!\w)(?P<metric>\w*BLEU(?:[-_]?4)?|chrF\d*\+*|c\d+\+w\d+-F\d+|NIST(?!.*BLEU)|METEOR|COMET"
    r"|BLEURT|BEER|RIBES|(?P<lower>H?TER|WER|CER))" + _IS,
    r"^(?!.*\bsegment\b).*\b(?P<metric>score)[ \t]*[=:][ \t]*" + _NUMBER + r"[ \t]*$",
    r"['\"](?P<metric>score)['\"]\s*:\s*" + _NUMBER,
    r"\A\s*(?P<metric>\[)\s*" + _NUMBER + r"\s*,",
)
_COSTS = (r"(?<!\w)(?P<metric>(?P<lower>perplexity|ppl|loss|cross-entropy))" + _IS,)
_TABLES = [
    [re.compile(text, re.IGNORECASE | re.MULTILINE) for text in table]
    for table in (_SCORES, _COSTS)
]
_ANY = re.compile(_NUMBER)
_FIRST = re.compile(r"\s*" + _NUMBER)


def score_in(output: str, program: str, first: bool = False) -> float:
    """The score that a program printed; the higher, the better.

    It is a number that stands alone on the last line. Otherwise, it is the score of the first
    metric that the output names as its program does, and of several scores of that metric the last;
    lower is better for error rates and costs, so that theirs is returned with a minus sign.
    Otherwise, it is the only number of the last line with numbers. first: whether a number at the
    beginning of the output is the score, as for Marian and Nematus. Raises CgruError if there is no
    number, or if several cannot be told apart.
    """
    lines = output.strip().splitlines() or [""]
    if found := (first and _FIRST.match(output)) or _ANY.fullmatch(lines[-1].strip().rstrip(" %")):
        return float(found["number"])
    for table in _TABLES:
        named = [match for pattern in table for match in pattern.finditer(output)]
        named.sort(key=lambda match: match.start("number"))
        if named:
            metric = named[0]["metric"].casefold()
            last = [match for match in named if match["metric"].casefold() == metric][-1]
            return float(last["number"]) * (-1 if last.groupdict().get("lower") else 1)
    for line in reversed(lines):
        if numbers := _ANY.findall(line):
            if len(numbers) == 1:
                return float(numbers[0])
            raise CgruError(
                f"{program}: which number is the score? {line.strip()}; print it alone, or named, "
                "such as BLEU = 28.3"
            )
    raise CgruError(
        f"{program}: printed no number, such as 28.3: {lines[-1] or 'its output is empty'}"
    )
