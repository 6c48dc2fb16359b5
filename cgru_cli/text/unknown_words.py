"""Replace unknown words in translations, by the alignment."""

import math
import os
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import CgruError
from ..system.lines import byte_lines
from ..system.plain_numbers import plain_number


def replace_unknown(
    tokens: Sequence[str],
    alignment: np.ndarray,
    source: Sequence[str],
    unk: str,
    lexicon: Mapping[str, str] | None = None,
) -> list[str]:
    """Replace each UNK with the source word with the highest weight, or by its translation.

    alignment: (T, S + 1) or (T + 1, S + 1) float32, rows of target words and perhaps EOS, columns
    of source words and EOS, which is never chosen; tokens: (T); source: (S); unk: the text of UNK.
    Words that are not in the lexicon are copied. One word replaces one word, so that the alignment
    still fits. (Luong et al. 2015, "Addressing the Rare Word Problem", section 3.3, with attention
    as alignment like Jean et al. 2015.)
    """
    # A source cut at the length limit has more words than columns.
    words = min(len(source), alignment.shape[1] - 1)
    replaced = list(tokens)
    for t, token in enumerate(tokens):
        if words and token == unk:
            word = source[int(np.argmax(alignment[t, :words]))]
            replaced[t] = lexicon.get(word, word) if lexicon else word
    return replaced


def read_lexicon(path: str | os.PathLike[str]) -> dict[str, str]:
    """Source word -> target word, from lines `source target [probability]`, `.gz` or plain.

    Lines of a file named `.s2t` or `.s2t.gz` are `target source [probability]`, as in Marian's
    shortlists. Tabs separate the columns, or spaces in a line without tabs. Among several
    translations of a word, the first with the highest (log-)probability counts; the default is 1.
    Raises CgruError, naming the line if possible, for an unreadable file.
    """
    path = os.fspath(path)
    target_first = path.removesuffix(".gz").endswith(".s2t")
    best: dict[str, tuple[float, str]] = {}
    for number, line in enumerate(byte_lines(path), 1):
        if not (entry := _entry(line, f"{path}:{number}")):
            continue
        source, target, probability = entry
        if target_first:
            source, target = target, source
            if "NULL" in (source, target):  # no word on this side
                continue
        if source not in best or probability > best[source][0]:
            best[source] = probability, target
    return {source: target for source, (_, target) in best.items()}


def _entry(line: bytes, place: str) -> tuple[str, str, float] | None:
    """Source, target and probability of a lexicon's line; None for an empty line."""
    try:
        text = line.decode("utf-8").strip("\r\n")
    except UnicodeDecodeError as error:
        raise CgruError(f"{place}: invalid UTF-8; save the lexicon as UTF-8") from error
    columns = [part.strip(" ") for part in text.split("\t")]
    if len(columns) == 1:
        columns = text.split(" ")
    columns = [column for column in columns if column]
    if not columns:
        return None
    try:
        source, target, *rest = columns
        probability = plain_number(float, *rest) if rest else 1.0
        if math.isnan(probability):
            raise ValueError
    except (ValueError, TypeError):
        raise CgruError(
            f"{place}: expected `source target [probability]`, found {text[:60]!r}"
        ) from None
    return source, target, probability
