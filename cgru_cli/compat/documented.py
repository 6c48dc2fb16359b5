"""Describe every option of a program and its meaning in cgru, for help and documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..options.flags import flag, statements
from .row import Alias, Checked, NoEffect, Refused, Row
from .rows import each
from .tables import table_of
from .translation import default_of

_MANY = re.compile("^(--(?:transformer|bert|comet)-).+")  # options that are shown as one
_COMPARED = "describes the model, and is compared with it"


class Documented(NamedTuple):
    """One option of a program and its counterpart in cgru.

    kind: why an option has no counterpart: it has no effect or is refused (remark gives the
    reason), or it is compared with the model.
    """

    flags: tuple[str, ...]
    default: str  # the program's, as typed
    here: str = ""  # the option of cgru, "" if there is none
    kind: str = ""  # "", "no effect", "refused" or "compared"
    remark: str = ""


# Fields that the tables' `settle` functions replace, with the options of cgru and a remark.
_REPLACED = {
    "adam_beta1": ("--optimizer-params", ""),
    "adam_beta2": ("--optimizer-params", ""),
    "adam_epsilon": ("--optimizer-params", ""),
    "bpe_codes": ("--bpe, --join-bpe", "only the source's codes are needed"),
    "help": ("--help", ""),
    "version": ("--version", ""),
    "factors": ("", "must equal the number of values of --dim_per_factor"),
    "layer_normalization_type": ("--normalization-form", ""),
    "learning_schedule": ("--lr-warmup, --lr-decay-inv-sqrt", ""),
    "lm_convex": ("--rerank", ""),
    "lm_weight": ("--rerank", ""),
    "load_weights": ("--weights", ""),
    "translation_strategy": ("--output-sampling", ""),
    "sampling_temperature": ("--output-sampling", ""),
    "source_dataset": ("--train-sets", ""),
    "target_dataset": ("--train-sets", ""),
    "valid_source_dataset": ("--valid-sets", ""),
    "valid_target_dataset": ("--valid-sets", ""),
    "overwrite": ("--keep, --keep-as", "without it, the model of every save is kept"),
    "keep_best": ("", "the best model by each metric is always kept"),
    "sync_sgd": ("", "updates are always synchronous"),
    "max_length_crop": ("--max-length", "without it, lines are not cut"),
    "maxi_batch_sentences": ("--maxi-batch", "counted in sentences"),
    "batch_normal_words": ("--lr-words-ref", "with --batch-flexible-lr"),
    "moving_average": ("--exponential-smoothing", ""),
    "moving_decay": ("--exponential-smoothing", "1 minus this factor"),
    "n_best_count": ("--n-best, --n-best-size", ""),
    "n_best_list": ("--n-best", "`-t` names the source and the list"),
    "debpe": ("--join-bpe", ""),
    "no_debpe": ("--join-bpe", ""),
    "plateau_steps": ("--lr-decay-inv-sqrt", ""),
    "sentencepiece_alphas": ("", "refused with a `.spm` vocabulary, otherwise without effect"),
    "skip_cost": ("", "without effect with a beam of 1, otherwise refused"),
    "source_vocab_sizes": ("--dim-vocabs", ""),
    "source_vocabularies": ("--vocabs", ""),
    "target_vocab_size": ("--dim-vocabs", ""),
    "target_vocabulary": ("--vocabs", ""),
    "tsv": ("--target", "lines of `source TAB target`"),
    "tsv_fields": ("", "must equal the number of fields that cgru reads"),
    "use_dropout": ("", "enables the dropout options"),
}
# Remarks on options of cgru, by the program's option.
_REMARKS = {
    "max-length": "counts the end of the sentence in Marian",
    "maxlen": "counts the end of the sentence in DL4MT and Nematus on Theano",
    "valid-max-length": "counts the end of the sentence",
    "lrate": "in DL4MT and Nematus on Theano without effect on rmsprop (0.0001) and adadelta (1)",
}
_WITHOUT_EFFECT = {
    "input_types": "an input has one sequence of words per line",
    "maxi_batch_sort": "pairs are sorted by length",
    "sample_way": "candidates are sampled, as with randomly_sample",
}


def documented(program: str, command: str, options: type) -> Iterator[Documented]:
    """Describe every option of a program's command. options: the dataclass of cgru's options."""
    table = table_of(program, command)
    for row in table.rows if table else ():
        yield _documented(row, options)


def help_sections(program: str, command: str, options: type) -> dict[str, list[tuple[str, str]]]:
    """The help of a program's command: its options by section title, with their meaning in cgru."""
    own = {stated.name: stated.summary for stated, _ in statements(options).values()}
    titles = {"": "Options", "compared": "Options", "no effect": "Without effect"}
    sections: dict[str, list[tuple[str, str]]] = {"Options": [], "Without effect": []}
    for one in documented(program, command, options):
        shown = "" if one.default in ("", "false") else f"={one.default}"
        typed = _MANY.sub(r"\1*", ", ".join(one.flags) + shown)
        here = ": ".join(filter(None, (one.here, own.get(one.here, ""))))
        meant = _COMPARED if one.kind == "compared" else "; ".join(filter(None, (here, one.remark)))
        sections.setdefault(titles.get(one.kind, "Refused"), []).append((typed, meant))
    return {title: [*dict.fromkeys(records)] for title, records in sections.items() if records}


def _documented(row: Row, options: type) -> Documented:
    entry = Documented(row.flags, " ".join(row.default))
    meaning = row.meaning
    if isinstance(meaning, NoEffect):
        return entry._replace(kind="no effect", remark=meaning.reason)
    if isinstance(meaning, Refused):
        return entry._replace(kind="refused", remark=meaning.reason)
    if isinstance(meaning, Checked):
        return entry._replace(kind="compared")
    if isinstance(meaning, Alias):
        return entry._replace(remark=f"stands for `{' '.join(each(meaning.options))}`")
    stated = statements(options)
    names = [name for name in stated if name in {meaning.field, *default_of(row)}]
    if names:
        here = ", ".join(flag(options, name) for name in names)
        return entry._replace(here=here, remark=_REMARKS.get(row.name, ""))
    if meaning.field in _REPLACED:
        here, remark = _REPLACED[meaning.field]
        return entry._replace(here=here, remark=remark)
    return entry._replace(kind="no effect", remark=_WITHOUT_EFFECT[meaning.field])
