"""An n-gram language model as a baseline: interpolated Kneser-Ney, with NLTK.

    python kneser_ney.py PREP TEXT --output kneser-ney.json [--arpa kneser-ney.arpa]

It is trained on the target side of PREP; the discount is chosen on dev. It predicts the same events
as `cgru score` with a language model: the sub-words of a line and EOS. A sub-word that is not in
the vocabulary is UNK, which counts like any other word.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nltk.lm import KneserNeyInterpolated, Vocabulary
from nltk.lm.smoothing import KneserNey
from nltk.util import ngrams

from cgru_cli.errors import CgruError
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.system.atomic_files import atomic_write

ORDER = 5
DISCOUNTS = (0.6, 0.7, 0.8, 0.9, 0.95)
BEGINNING, EOS = "<s>", "0"  # words are represented by their ids, as text


class Smoothing(KneserNey):
    """NLTK's estimator with precomputed continuation counts, and a probability for unseen words.

    NLTK iterates over all n-grams for each word that it scores, and its lowest order gives unseen
    words probability 0. Here the lowest order is discounted too, and the discounted mass is shared
    equally among all words of the vocabulary (Chen and Goodman 1999); `words` is its size.
    """

    def __init__(self, model: KneserNeyInterpolated, words: int):
        super().__init__(model.vocab, model.counts, model.order, model.estimator.discount)
        self.words = words
        # by context: the number of different words that precede each of its continuations
        self.before: dict[tuple[str, ...], collections.Counter[str]] = {}
        for order in range(2, model.order + 1):
            for context, counts in model.counts[order].items():
                shorter = self.before.setdefault(context[1:], collections.Counter())
                shorter.update(counts.keys())
        self.totals = {context: counts.total() for context, counts in self.before.items()}

    def unigram_score(self, word: str) -> float:
        """The probability of the lowest order, interpolated with 1 / words."""
        counts, total = self.before[()], self.totals[()]
        kept = max(counts[word] - self.discount, 0.0)
        return (kept + self.discount * len(counts) / self.words) / total

    def alpha_gamma(self, word: str, context: tuple[str, ...]) -> tuple[float, float]:
        """The discounted probability of a word after its context, and the backed-off mass."""
        counts = self.counts[context]
        if len(context) + 1 == self._order:
            count, total = counts[word], counts.N()
        else:
            count, total = self.before[context][word], self.totals[context]
        return max(count - self.discount, 0.0) / total, self.discount * len(counts) / total


def events(words: Sequence[str], order: int) -> Iterator[tuple[str, ...]]:
    """The n-grams that end at each word of a line and at EOS; BEGINNING is only context."""
    padded = [*[BEGINNING] * (order - 1), *words, EOS]
    return ngrams(padded, order)


def train(lines: Iterable[Sequence[str]], size: int, order: int) -> KneserNeyInterpolated:
    """Train on lines of word ids below size; 0 is EOS and 1 is UNK."""
    names = [*map(str, range(size)), BEGINNING]
    model = KneserNeyInterpolated(order, vocabulary=Vocabulary(names, unk_label="1"))
    model.fit([full[i:] for full in events(line, order) for i in range(order)] for line in lines)
    model.estimator = Smoothing(model, size)
    return model


def perplexity(model: KneserNeyInterpolated, lines: Iterable[Sequence[str]]) -> float:
    """exp of the mean of -log p over the words and EOS of all lines."""
    total, count = 0.0, 0
    for line in lines:
        for *context, word in events(line, model.order):
            total -= math.log(model.unmasked_score(word, tuple(context)))
            count += 1
    return math.exp(total / count)


def arpa(model: KneserNeyInterpolated, words: Sequence[str]) -> Iterator[str]:
    """The lines of an ARPA file that gives every text the same probability as the model.

    words: indexed by id. A seen n-gram has its full interpolated probability, and a context its
    back-off weight. NLTK pads contexts with several BEGINNING symbols, an ARPA file has one, so
    contexts that differ only in this padding are merged.
    """
    order, smoothing = model.order, model.estimator
    names = {str(i): word for i, word in enumerate(words)}
    names |= {BEGINNING: "<s>", EOS: "</s>", "1": "<unk>"}
    probabilities: list[dict[tuple[str, ...], float]] = [{} for _ in range(order)]
    probabilities[0] = {(str(i),): smoothing.unigram_score(str(i)) for i in range(len(words))}
    probabilities[0][(BEGINNING,)] = 0.0
    left: dict[tuple[str, ...], float] = {}  # by context
    for n in range(2, order + 1):
        for context, counts in model.counts[n].items():
            filled = context.count(BEGINNING)
            if not counts or (filled and n < order):  # NLTK also stores contexts that were queried
                continue
            shown = context[max(0, filled - 1) :]
            for word in counts:
                probability = model.unmasked_score(word, context)
                probabilities[len(shown)][(*shown, word)] = probability
            suffixes = (context[i:] for i in range(max(1, filled)))
            left[shown] = math.prod(smoothing.alpha_gamma(EOS, c)[1] for c in suffixes)
    yield "\\data\\"
    yield from (f"ngram {n}={len(grams)}" for n, grams in enumerate(probabilities, 1))
    for n, grams in enumerate(probabilities, 1):
        yield f"\n\\{n}-grams:"
        for gram, probability in grams.items():
            text = " ".join(names[word] for word in gram)
            line = f"{math.log10(probability) if probability else -99:.7f}\t{text}"
            yield line + (f"\t{math.log10(left[gram]):.7f}" if gram in left else "")
    yield "\n\\end\\"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prepared", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--arpa", type=Path, help="write the model, for --lm of cgru translate")
    a = parser.parse_args(arguments)
    vocabulary = read_vocabulary(a.prepared / "vocab.trg.json")

    def numbers(path: Path) -> list[list[str]]:
        with open(path, encoding="utf-8", newline="\n") as file:
            return [[str(i) for i in vocabulary.encode(line.split())] for line in file]

    model = train(numbers(a.prepared / "train.trg"), vocabulary.size, ORDER)
    dev, text = numbers(a.prepared / "dev.trg"), numbers(a.text)
    on_dev = {}
    for model.estimator.discount in DISCOUNTS:
        on_dev[model.estimator.discount] = perplexity(model, dev)
    model.estimator.discount = min(on_dev, key=on_dev.__getitem__)
    orders = range(2, ORDER + 1)
    n_grams = len(model.counts.unigrams)
    n_grams += sum(len(counts) for n in orders for counts in model.counts[n].values())
    result = {
        "order": ORDER,
        "discount": model.estimator.discount,
        "n_grams": n_grams,
        "perplexity": perplexity(model, text),
        "events": sum(len(line) + 1 for line in text),
        "unknown": sum(line.count("1") for line in text),
    }
    with atomic_write(a.output) as file:
        file.write(f"{json.dumps(result)}\n".encode())
    if a.arpa:
        words = [vocabulary.words.get(i, f"<{i}>") for i in range(vocabulary.size)]
        with atomic_write(a.arpa) as file:
            file.writelines(f"{line}\n".encode() for line in arpa(model, words))


if __name__ == "__main__":
    try:
        main()
    except CgruError as error:
        sys.exit(str(error))
