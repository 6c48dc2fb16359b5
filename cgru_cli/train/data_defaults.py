"""Defaults of `cgru train` derived from the training data, with the evidence for each.

Measured: recipes/multi30k (29,000 pairs), recipes/it-docs (22,934), recipes/tatoeba (165,609),
recipes/ladder and recipes/labels. Other values follow the rules of thumb in docs/sizes.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from ..corpus.corpus import Corpus
from ..options.flags import by_data, flag, statements
from ..options.train import TrainOptions
from ..parameters.structure import Structure
from ..text.vocabulary import Vocabulary
from .run.folder import Recorded, RunFolder

VALID_SHARE = 0.03  # default maximum share of the training time for validation
_SHOWN = "100u"  # a line every few minutes, even of a slow training
# 500 lines are enough to compare models, and are translated greedily in seconds
OF_VALIDATION = {"valid_beam_size": 1, "valid_lines": 500}
_BATCH = 1600  # words: about a mini-batch of 80 sentences


class _Size(NamedTuple):
    """Defaults for training texts of up to `pairs` sentence pairs."""

    pairs: float
    embedding: int
    state: int
    words: int  # per mini-batch, with padding; 0: the mini-batch is counted in sentences
    dropout: tuple[float, float, float]  # embeddings, annotations, output layer


_SIZES = (
    # not measured: close to the smaller model of multi30k and its dropout
    _Size(15_000, 128, 256, 1000, (0.3, 0.3, 0.4)),
    # multi30k: 40.8 BLEU, against 38.6 with 128, 256 and more dropout; dropout as in it-docs
    _Size(100_000, 256, 512, 1000, (0.2, 0.2, 0.3)),
    # dropout as in tatoeba, which had sizes 192 and 320
    _Size(1_000_000, 256, 512, 1000, (0.1, 0.1, 0.2)),
    # the sizes of Nematus, Marian and the WMT16 models, which needed no dropout
    _Size(inf, 512, 1024, 4000, (0.0, 0.0, 0.0)),
)
_LABELLING = _Size(inf, 64, 64, 0, (0.2, 0.0, 0.2))  # recipes/labels
# Adam's learning rate for states of up to each size, from the recipes labels, ladder and docs, and
# from Marian's example for WMT17. It decays as in Marian's examples, because multi30k and tatoeba
# gain from a lower rate in later epochs.
_RATES = ((512, 0.003), (inf, 0.0003))
_LONGEST_WARMUP = 300  # updates: docs has 12.4 BLEU after 10 CPU minutes, and 8.2 with 500
_DECAYS_FROM = "4000u"
_CONTINUED = 0.3  # factor of the learning rate for a pretrained model: docs, it-docs
_AVERAGED = 0.001  # all recipes: averages the weights of about 1,000 updates
_DROPOUT = ("dropout_embedding", "dropout_annotation", "dropout_output")


def independent(chosen: Mapping[str, Any], stated: Collection[str]) -> dict[str, Any]:
    """The chosen values that do not depend on options that are stated, by field."""
    typed = {flag(TrainOptions, name) for name in stated}
    known = statements(TrainOptions)
    return {
        name: value
        for name, value in chosen.items()
        if name not in stated and typed.isdisjoint(known[name][0].unless)
    }


def completed(
    saved: Recorded | None, options: TrainOptions, stated: Collection[str], *of: Any
) -> tuple[Recorded, dict[str, Any]]:
    """The values with which the run began, and those among them that this call has chosen.

    saved: those that the run has saved, None for a new run. of: corpus, structure and vocabularies,
    as for `defaults_by_data`.
    """
    if saved and saved.stated is not None:
        return saved, {}
    chosen = saved.chosen if saved else {}
    missing = by_data(TrainOptions) - chosen.keys()
    new = {n: v for n, v in defaults_by_data(options, stated, *of).items() if n in missing}
    given = {name: getattr(options, name) for name in missing & {*stated}}
    return Recorded(chosen | new, given), new


def held(recorded: Recorded, stated: Collection[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values from the start of a run that still apply: chosen, then stated.

    stated: options that are given now. Unless `valid_lines` is among them, it keeps its value,
    because the validation text of a run may not change.
    """
    given = {name: v for name, v in (recorded.stated or {}).items() if name not in stated}
    chosen = independent(recorded.chosen, {*stated, *given})
    if "valid_lines" in recorded.chosen and "valid_lines" not in stated:
        chosen["valid_lines"] = recorded.chosen["valid_lines"]
    return chosen, given


def defaults_by_data(
    options: TrainOptions,
    stated: Collection[str],
    corpus: Corpus,
    structure: Structure,
    vocabularies: Sequence[Vocabulary],
) -> dict[str, Any]:
    """Return values for the options that were not stated, by field.

    stated: fields that were given a value, even the declared default. structure, vocabularies: of
    the pretrained model, or of the new model before its sizes are known. Minimum risk training
    keeps the declared defaults, because it continues another training.
    """
    chosen: dict[str, Any] = {}
    if not options.minimizes_risk:
        chosen = _of_model(options, {*stated}, len(corpus), structure, vocabularies)
    words = options.mini_batch_words or independent(chosen, stated).get("mini_batch_words")
    if not words and not options.mini_batch_fit:
        updates = math.ceil(len(corpus) / options.mini_batch)
    else:
        updates = int(corpus.lengths.max(axis=1).sum()) // (words or _BATCH)
    updates //= options.optimizer_delay  # per epoch
    if options.optimizer in ("adam", "adamw") and "learn_rate" in chosen:
        if not options.begins_from:
            chosen["lr_warmup"] = f"{min(_LONGEST_WARMUP, max(50, updates // 100 * 50))}u"
            chosen["lr_decay_inv_sqrt"] = _DECAYS_FROM
    else:
        chosen.pop("learn_rate", None)
    often = math.ceil(updates / 10_000) * 1000  # ten validations span an epoch
    chosen["valid_freq"] = "1e" if updates <= 1000 else f"{often}u"
    chosen |= {"disp_freq": _SHOWN, **OF_VALIDATION}
    return independent(chosen, stated)


def _of_model(
    options: TrainOptions,
    stated: set[str],
    pairs: int,
    structure: Structure,
    vocabularies: Sequence[Vocabulary],
) -> dict[str, Any]:
    kind, new = structure.type, options.begins_from is None
    size = next(one for one in _SIZES if pairs <= one.pairs) if kind.writes_text else _LABELLING
    state = structure.state
    chosen: dict[str, Any] = {}
    if new:
        embedding, state = size.embedding, size.state
        given = options.dim_emb if "dim_emb" in stated else sum(options.dim_factors or ())
        if "dim_rnn" in stated:
            state = options.dim_rnn
            embedding = given or max(1, state * size.embedding // size.state)
        elif given:
            embedding, state = given, min(65536, given * size.state // size.embedding)
        chosen = {"dim_emb": embedding, "dim_rnn": state}
        one = len(vocabularies) == 2 and vocabularies[0].fingerprint == vocabularies[1].fingerprint
        if one and kind.reads_source and kind.writes_text:
            chosen["tied_embeddings_all"] = True
    rate = next(rate for most, rate in _RATES if state <= most)
    chosen |= {
        "learn_rate": rate if new else round(rate * _CONTINUED, 5),
        "mini_batch_words": size.words,
        "exponential_smoothing": _AVERAGED,
    }
    if kind.reads_source and kind.writes_text:
        chosen["label_smoothing"] = 0.1  # multi30k, tatoeba; not for lm: it raises perplexity
    small = state < size.state  # a small model overfits less and needs less dropout
    for name, probability in zip(_DROPOUT, size.dropout, strict=True):
        if name != "dropout_annotation" or kind.has_context:
            chosen[name] = probability / 2 if small else probability
    return chosen


_WORDS = {
    "dim_emb": "embeddings of {}",
    "dim_rnn": "states of {}",
    "tied_embeddings_all": "one embedding matrix",
    "learn_rate": "learning rate {}",
    "lr_warmup": "warm-up of {} updates",
    "lr_decay_inv_sqrt": "decay from update {}",
    "mini_batch_words": "mini-batches of {:,} words",
    "dropout_embedding": "dropout {} of embeddings",
    "dropout_annotation": "{} of annotations",
    "dropout_output": "{} before the output layer",
    "label_smoothing": "label smoothing {}",
    "exponential_smoothing": "weights averaged ({})",
    "valid_freq": "validation every {}, if that takes at most 3 % of the time",
}


def described(chosen: Mapping[str, Any], began: str, *, validates: bool) -> list[str]:
    """Describe the chosen values in a line for the log; [] if no value was chosen.

    began: when or for how much text they were chosen.
    """
    values = {name: v[:-1] if isinstance(v, str) else v for name, v in chosen.items() if v}
    every = values.pop("valid_freq", "")
    if validates and every:
        values["valid_freq"] = "epoch" if chosen["valid_freq"] == "1e" else f"{every} updates"
    parts = [text.format(values[name]) for name, text in _WORDS.items() if name in values]
    advice = "(change each by its option, all by --defaults fixed)"
    return [f"Chosen {began}: {', '.join(parts)} {advice}"] if parts else []


def decided(options: TrainOptions, stated: Collection[str] | None) -> dict[str, Any]:
    """The values of options that were not stated, as far as they are known before the text is read.

    A resumed run has its saved values. In a new run, None marks options that a configuration file
    must leave out to lead to the same run: options whose defaults depend on the data, options that
    those defaults depend on, and with a trained model the options that the model determines.

    stated: None to keep the declared defaults. Raises CgruError for a damaged state.
    """
    if stated is None or options.defaults == "fixed":
        return {}
    known = statements(TrainOptions).items()
    others = {other for flag, _ in statements(TrainOptions).values() for other in flag.unless}
    names = {name for name, (flag, _) in known if flag.by_data or flag.name in others}
    if options.begins_from:
        names |= {name for name, (flag, _) in known if flag.group == "Model"}
    unknown: dict[str, Any] = dict.fromkeys(names - {*stated})
    if options.model is None:
        return unknown
    saved = RunFolder(Path(options.model), resumes=not options.no_reload).recorded()
    if saved is None:
        return unknown
    chosen, given = held(saved, stated)
    return (unknown if saved.stated is None or options.begins_from else {}) | chosen | given
