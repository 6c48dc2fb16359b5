"""The options of DL4MT's `translate.py`, and what its `train` is called with by default.

`train_nmt.py` has no command line: a script hands keyword arguments to `nmt.train`. Its names are
Nematus', so `cgru train --compat dl4mt` takes Nematus' options with DL4MT's defaults (session 2).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from . import nematus
from .nematus import ONE_PROCESS
from .rows import Row, Takes, Values, converted, no_effect, one, refused, switch

POSITIONAL = ("model", "source_vocabularies", "target_vocabulary", "input", "output")


def _listed(values: tuple[str, ...]) -> Values:
    """Session 3's -b: so many hypotheses of each sentence, 1 for the best alone."""
    return {"n_best_count": values[-1]}


TRANSLATE: tuple[Row, ...] = (
    one("-k", 5, "beam_size"),
    no_effect("-p", Takes.ONE, 5, ONE_PROCESS),
    switch("-n", converted("normalize", lambda values: {"normalize": "1"})),
    switch("-c", "char_level"),
    one("-b", 1, converted("n_best", _listed)),
)  # fmt: skip

# Session 3's rescore_with_lm.py: a language model, its options and vocabulary, that of the
# translations, the list that translate.py -b wrote, and the file for the best of each sentence.
RESCORE_POSITIONAL = (
    "model",
    "model_options",
    "lm_vocabulary",
    "tm_vocabulary",
    "n_best",
    "output",
)

RESCORE: tuple[Row, ...] = (
    one("-b --beta", 1, "lm_weight"),
    switch("-n", converted("normalize", lambda values: {"normalize": "1"})),
    switch("-x", "lm_convex"),
    refused("-c", Takes.NOTHING, False,
            "a list's characters stand between spaces, and are read as words"),
)  # fmt: skip

# Defaults of `nmt.train` that are not those of Nematus' Theano version.
_DEFAULTS: dict[str, Any] = {
    "dim_word": 100, "dispFreq": 100, "clip_c": -1, "lrate": 0.01, "n_words_src": 100000,
    "n_words": 100000, "optimizer": "rmsprop", "batch_size": 16, "valid_batch_size": 16,
    "validFreq": 1000, "saveFreq": 1000, "maxibatch_size": 20,
}  # fmt: skip


def train() -> list[Row]:
    """The keyword arguments of `nmt.train`, as options."""
    rows = nematus.of_version(nematus.TRAIN, theano=True)
    return [dataclasses.replace(row, default=_DEFAULTS.get(row.name, row.default)) for row in rows]
