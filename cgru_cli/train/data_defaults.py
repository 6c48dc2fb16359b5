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
from ..parameters.structure import Structure, Type
from ..text.vocabulary import Vocabulary
from .run.folder import Recorded, RunFolder
from .run.progress import Frequency

VALID_SHARE = 0.03  # default maximum share of the training time for validation
# 500 lines are enough to compare models, and are translated greedily in seconds
OF_VALIDATION = {"valid_beam_size": 1, "valid_lines": 500}
_DISPLAY = {"disp_freq": "100u"}  # a line every few minutes, even of a slow training
_BATCH = 1600  # words: about a mini-batch of 80 sentences


class Facts(NamedTuple):
    """The facts of the training data and the model on which defaults depend.

    words: of the longer side of each pair, with EOS, in all. state: of a pretrained model.
    one_vocabulary: whether source and target have the same.
    """

    pairs: int
    words: int
    kind: Type
    state: int
    one_vocabulary: bool

    @classmethod
    def of(cls, corpus: Corpus, structure: Structure, vocabularies: Sequence[Vocabulary]) -> Facts:
        """The facts of a corpus, and of a model whose sizes may not be known yet."""
        texts = structure.type.reads_source and structure.type.writes_text
        prints = [vocabulary.fingerprint for vocabulary in vocabularies]
        one = texts and len(prints) == 2 and prints[0] == prints[1]
        words = int(corpus.lengths.max(axis=1).sum())
        return cls(len(corpus), words, structure.type, structure.state, one)


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


def independent(chosen: Mapping[str, Any], explicit: Collection[str]) -> dict[str, Any]:
    """The chosen values that do not depend on explicit options, by field."""
    typed = {flag(TrainOptions, name) for name in explicit}
    known = statements(TrainOptions)
    return {
        name: value
        for name, value in chosen.items()
        if name not in explicit and typed.isdisjoint(known[name][0].unless)
    }


def begin(
    recorded: Recorded | None, options: TrainOptions, explicit: Collection[str], facts: Facts
) -> tuple[Recorded, dict[str, Any]]:
    """The values with which the run began, and those among them that are chosen now.

    recorded: the values that a saved run has recorded, None for a new run.
    """
    if recorded and recorded.stated is not None:
        return recorded, {}
    chosen = recorded.chosen if recorded else {}
    missing = by_data(TrainOptions) - chosen.keys()
    defaults = defaults_by_data(options, explicit, facts)
    new = {name: value for name, value in defaults.items() if name in missing}
    values = {name: getattr(options, name) for name in missing & {*explicit}}
    return Recorded(chosen | new, values), new


def still_applying(
    recorded: Recorded, explicit: Collection[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values from the start of a run that no explicit option changes: chosen, then explicit.

    Unless `valid_lines` is explicit, it keeps its value, because the validation text of a run may
    not change.
    """
    earlier = {name: v for name, v in (recorded.stated or {}).items() if name not in explicit}
    chosen = independent(recorded.chosen, {*explicit, *earlier})
    if "valid_lines" in recorded.chosen and "valid_lines" not in explicit:
        chosen["valid_lines"] = recorded.chosen["valid_lines"]
    return chosen, earlier


def defaults_by_data(
    options: TrainOptions, explicit: Collection[str], facts: Facts
) -> dict[str, Any]:
    """Return values for the options that are not explicit, by field.

    explicit: fields that were given a value, even the declared default. Minimum risk training keeps
    most declared defaults, because it continues another training.
    """
    values: dict[str, Any] = {}
    if not options.minimizes_risk:
        values = _of_model(options, explicit, facts)
    words = options.mini_batch_words or independent(values, explicit).get("mini_batch_words")
    if words or options.mini_batch_fit:
        updates = facts.words // (words or _BATCH)
    else:
        updates = math.ceil(facts.pairs / options.mini_batch)
    updates //= options.optimizer_delay  # per epoch
    if "learn_rate" in values and options.optimizer not in ("adam", "adamw"):
        del values["learn_rate"]
    if "learn_rate" in values and not options.begins_from:
        warmup = min(_LONGEST_WARMUP, max(50, updates // 100 * 50))
        values |= {"lr_warmup": f"{warmup}u", "lr_decay_inv_sqrt": _DECAYS_FROM}
    often = math.ceil(updates / 10_000) * 1000  # ten validations span an epoch
    values["valid_freq"] = "1e" if updates <= 1000 else f"{often}u"
    return independent(values | _DISPLAY | OF_VALIDATION, explicit)


def _of_model(options: TrainOptions, explicit: Collection[str], facts: Facts) -> dict[str, Any]:
    """Sizes, learning rate, batches and regularization."""
    kind, is_new = facts.kind, options.begins_from is None
    size = _LABELLING
    if kind.writes_text:
        size = next(size for size in _SIZES if facts.pairs <= size.pairs)
    values: dict[str, Any] = {}
    state = facts.state
    if is_new:
        embedding, state = _dimensions(options, explicit, size)
        values = {"dim_emb": embedding, "dim_rnn": state}
        if facts.one_vocabulary:
            values["tied_embeddings_all"] = True
    rate = next(rate for most, rate in _RATES if state <= most)
    values["learn_rate"] = rate if is_new else round(rate * _CONTINUED, 5)
    values["mini_batch_words"] = size.words
    values["exponential_smoothing"] = _AVERAGED
    if kind.reads_source and kind.writes_text:
        values["label_smoothing"] = 0.1  # multi30k, tatoeba; not for lm: it raises perplexity
    share = 0.5 if state < size.state else 1  # a small model overfits less and needs less dropout
    for place, probability in zip(_DROPOUT, size.dropout, strict=True):
        if place != "dropout_annotation" or kind.has_context:
            values[place] = share * probability
    return values


def _dimensions(options: TrainOptions, explicit: Collection[str], size: _Size) -> tuple[int, int]:
    """The sizes of embeddings and states; an explicit size determines the other."""
    embedding = options.dim_emb if "dim_emb" in explicit else sum(options.dim_factors or ())
    if "dim_rnn" in explicit:
        state = options.dim_rnn
        return embedding or max(1, state * size.embedding // size.state), state
    if embedding:
        return embedding, min(65536, embedding * size.state // size.embedding)
    return size.embedding, size.state


_PHRASES = {
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
}


def described(chosen: Mapping[str, Any], reason: str, *, validates: bool) -> list[str]:
    """Describe the chosen values in a line for the log; [] if no value was chosen.

    reason: when or for how much text they were chosen.
    """
    phrases = []
    for name, phrase in _PHRASES.items():
        if value := chosen.get(name):
            number = Frequency.parse(value).every if isinstance(value, str) else value
            phrases.append(phrase.format(number))
    if validates and (frequency := chosen.get("valid_freq")):
        updates = f"{Frequency.parse(frequency).every} updates"
        often = "epoch" if frequency == "1e" else updates
        phrases.append(f"validation every {often}, if that takes at most 3 % of the time")
    advice = "(change each by its option, all by --defaults fixed)"
    return [f"Chosen {reason}: {', '.join(phrases)} {advice}"] if phrases else []


def dumped(options: TrainOptions, explicit: Collection[str] | None) -> dict[str, Any]:
    """The values of options that are not explicit, as far as they are known before data is read.

    A resumed run has its saved values. In a new run, None marks options that a configuration file
    must leave out to lead to the same run: options whose defaults depend on the data, options that
    those defaults depend on, and with a trained model the options that the model determines.

    explicit: None to keep the declared defaults. Raises CgruError for a damaged state.
    """
    if explicit is None or options.defaults == "fixed":
        return {}
    known = statements(TrainOptions).items()
    others = {other for _, (flag, _) in known for other in flag.unless}
    names = {name for name, (flag, _) in known if flag.by_data or flag.name in others}
    if options.begins_from:
        names |= {name for name, (flag, _) in known if flag.group == "Model"}
    unknown: dict[str, Any] = dict.fromkeys(names - {*explicit})
    if options.model is None:
        return unknown
    folder = RunFolder(Path(options.model), resumes=not options.no_reload)
    _, state = folder.load() or ({}, {})
    recorded = folder.recorded(state)
    if recorded is None:
        return unknown
    chosen, earlier = still_applying(recorded, explicit)
    knows_all = recorded.stated is not None and not options.begins_from
    return ({} if knows_all else unknown) | chosen | earlier
