"""The options of DL4MT's `translate.py` and `rescore_with_lm.py`, and the defaults of `nmt.train`.

`train_nmt.py` has no command line: a script passes keyword arguments to `nmt.train`. The names are
Nematus', so `cgru train --compat dl4mt` takes Nematus' options with DL4MT's defaults (session 2).
"""

from __future__ import annotations

import dataclasses

from ..errors import UsageError
from . import nematus
from .fields import Fields
from .row import Row
from .rows import no_effect, refused, row, rows, switched

TRANSLATE_ARGUMENTS = ("model", "source_vocabularies", "target_vocabulary", "input", "output")
TRANSLATE = (
    *rows("-k N = 5 -> beam_size, -c -> char_level, -b N = 1 -> n_best_count"),
    row("-n", switched("normalize", "1")),
    *no_effect("-p N = 5: one process uses all processors"),
)

# Arguments of rescore_with_lm.py (session 3): a language model, its options and vocabulary, the
# vocabulary of the translations, a list written by translate.py -b, and the output file for the
# best translation of each sentence.
RESCORE_ARGUMENTS = "model model_options lm_vocabulary tm_vocabulary n_best output".split()
RESCORE = (
    *rows("-b --beta X = 1 -> lm_weight, -x -> lm_convex"),
    row("-n", switched("normalize", "1")),
    *refused("-c: the characters of a list are separated by spaces and read as words"),
)

# Defaults of `nmt.train` that differ from Nematus' Theano version.
_DEFAULTS = dict(
    one.split("=")
    for one in "dim_word=100 dispFreq=100 clip_c=-1 lrate=0.01 n_words_src=100000 n_words=100000 "
    "optimizer=rmsprop batch_size=16 valid_batch_size=16 validFreq=1000 saveFreq=1000 "
    "dropout_embedding=0 dropout_hidden=0".split()
)


def train() -> list[Row]:
    """The keyword arguments of `nmt.train` as rows of options."""
    # only validations that are worse than one at least `patience` earlier count
    twice = nematus.patience(lambda limit: 2 * limit)
    return [
        dataclasses.replace(
            one,
            default=(_DEFAULTS[one.name],) if one.name in _DEFAULTS else one.default,
            meaning=twice if one.name == "patience" else one.meaning,
        )
        for one in nematus.of_version(nematus.TRAIN, theano=True)
    ]


def settle_translation(o: Fields) -> None:
    """Set the vocabularies of both sides, and the number of hypotheses per sentence (-b)."""
    settle_vocabularies(o)
    if o.number("n_best_count") > 1:
        o.values |= {"n_best": True, "n_best_size": o.values["n_best_count"]}
    o.take("n_best_count")


def settle_vocabularies(o: Fields) -> None:
    """Replace both sides' vocabularies with one option. Raises UsageError if one is missing."""
    sources, target = o.take("source_vocabularies"), o.take("target_vocabulary")
    if sources is None and target is None:
        return
    if sources is None or target is None:
        raise UsageError("the vocabularies of source and target go together")
    o.values["vocabularies"] = (*((sources,) if isinstance(sources, str) else sources), target)


def settle_rescoring(o: Fields) -> None:
    """Set the costs to add, and their weights. Raises UsageError for missing arguments."""
    weight, convex = o.number("lm_weight"), o.take("lm_convex")
    vocabulary = o.take("lm_vocabulary")
    if vocabulary is None:
        for name, option in (("lm_weight", "-b"), ("lm_convex", "-x")):
            if name in o.given:
                raise UsageError(
                    f"{option} needs the arguments of rescore_with_lm.py: MODEL MODEL_OPTIONS "
                    "DICTIONARY_LM DICTIONARY_TM SOURCE SAVETO"
                )
    else:
        o.note(
            "MODEL_OPTIONS, DICTIONARY_TM", "the model file has the options, and the list has words"
        )
        o.values["vocabularies"] = (vocabulary,)
        o.values["rerank"] = f"{weight - 1 if convex else -1:g} {-weight:g}"  # of costs
    for name in ("lm_weight", "model_options", "tm_vocabulary"):
        o.take(name)
