#!/usr/bin/env python3
"""Baselines for a classifier or a tagger: predict the labels of the test text.

    python baseline.py DATA --by words|characters|tags > test.given

words: logistic regression over word counts. characters: the same over character n-grams of length
one to three, with tf-idf. tags: the most frequent tag of each word; for an unseen word, the most
frequent tag of words seen once.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from texts import lines


def classified(text: Sequence[str], labels: Sequence[str], test: Sequence[str], by: str) -> list:
    """Predict a label for each line of test, with scikit-learn."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    counts = CountVectorizer()
    if by == "characters":
        counts = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3))
    model = make_pipeline(counts, LogisticRegression(max_iter=500))
    return list(model.fit(text, labels).predict(test))


def tagged(text: Sequence[str], labels: Sequence[str], test: Sequence[str]) -> list[str]:
    """Predict a tag for each word of test."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for line, tags in zip(text, labels, strict=True):
        for word, tag in zip(line.split(), tags.split(), strict=True):
            counts[word][tag] += 1
    rare = Counter(tag for tags in counts.values() if tags.total() == 1 for tag in tags)
    of_unseen = (rare or Counter(tag for tags in counts.values() for tag in tags)).most_common(1)
    best = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    return [" ".join(best.get(word, of_unseen[0][0]) for word in line.split()) for line in test]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="folder with train.text, train.labels, test.text")
    parser.add_argument("--by", choices=("words", "characters", "tags"), required=True)
    options = parser.parse_args(arguments)
    names = ("train.text", "train.labels", "test.text")
    text, labels, test = (lines(options.data / name) for name in names)
    if options.by == "tags":
        given = tagged(text, labels, test)
    else:
        given = classified(text, labels, test, options.by)
    print("\n".join(given))


if __name__ == "__main__":
    main()
