"""The parts of models and runs that options apply to."""

from __future__ import annotations

import enum


class Scope(enum.Flag):
    """Parts of models, searches and runs. An option may apply to several."""

    EVERYWHERE = 0
    SOURCE = enum.auto()  # a source text: all models except language models
    DECODER = enum.auto()  # a decoder, which writes text: all models except those of labels
    FEEDBACK = enum.auto()  # a decoder that reads its previous word
    PLAIN = enum.auto()  # text without labels, conditions and factors
    ANNOTATIONS = enum.auto()  # annotations that the decoder reads at every step
    ATTENTION = enum.auto()  # attention
    UNTAGGED = enum.auto()  # all models except taggers, whose labels are as many as the words
    OWN_SEARCH = enum.auto()  # all beam searches except that of Nematus-TF
    PAIRS = enum.auto()  # pairs that models score, not texts that metrics compare
    VALIDATION = enum.auto()  # text to validate on
    RUN = enum.auto()  # a whole training run: the value may not change when it resumes
    MACHINE = enum.auto()  # one machine: files and devices, without influence on the result
    VOCABULARY = enum.auto()  # cgru prep --vocabulary-only
    TRANSLATOR = enum.auto()  # in Python, a Translator
    CALL = enum.auto()  # in Python, a Translator or one of its calls
    SCORER = enum.auto()  # in Python, a PairScorer
