"""The training text as ids, from options."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

from ..corpus import teacher_words
from ..corpus.corpus import Corpus, encode_corpus
from ..corpus.encoding import Rules
from ..corpus.text_encoding import TextEncoding
from ..errors import CgruError
from ..options.scope import Scope
from ..options.train import TrainOptions
from ..text.line_variants import Variants
from .texts import Texts


def encode(
    texts: Texts,
    encoding: TextEncoding,
    options: TrainOptions,
    cache: Path,
    spare: Path | None = None,
) -> Corpus:
    """The training text as ids, cached in a folder; see `encode_corpus`.

    Raises UsageError for variants of labels, conditions and factors.
    """
    every = (
        options.all_caps_every,
        options.english_title_case_every,
        options.typos_every,
        options.no_full_stop_every,
        options.join_every,
    )
    if not encoding.kind.writes_text or encoding.factors > 1 or encoding.condition:
        options.refuse(Scope.PLAIN, "for text without labels, conditions and factors")
    rules = Rules(
        max_length=options.max_length,
        crop=options.max_length_crop,
        by_word=options.data_weighting_type == "word",
        reverses=(
            "both" if encoding.source_reversed else "target" if options.right_left else "none"
        ),
        variants=Variants(every, options.copy, fixed=options.compat == "marian"),
        places=options.teacher is not None,
    )
    try:
        # the corpus reverses sentences itself
        encoder = dataclasses.replace(encoding, right_left=False)
        corpus = encode_corpus(texts.files, encoder, rules, cache, spare)
        if options.teacher:
            words = teacher_words.read(options.teacher, corpus.read, encoding.target.size)
            corpus = corpus.with_teacher(*words)
        return corpus
    except CgruError:
        with contextlib.suppress(OSError):  # the folder may hold another text
            (spare or cache).rmdir()
        raise
