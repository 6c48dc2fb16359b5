"""The tables of the documentation: every option of a program, its default, and both in cgru."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cgru_cli.cli import Command, main
from cgru_cli.compat.rows import Checked, NoEffect, Refused, Row
from cgru_cli.compat.tables import table
from cgru_cli.compat.translation import default_of
from cgru_cli.options.flags import flag, shown_default, statements


class Documented(NamedTuple):
    """One option of a program and its counterpart in cgru.

    Of an option without a counterpart, kind says whether it has no effect or is refused, and remark
    why; of one that is compared with the model there is neither remark nor counterpart.
    """

    flags: tuple[str, ...]
    default: str  # of the program, as typed
    here: str = ""  # the option of cgru, "" if there is none
    kind: str = ""  # "", "no effect", "refused" or "compared"
    remark: str = ""


# Fields that the `settle` functions of tables replace: the options of cgru, and a remark.
_REPLACED = {
    "adam_beta1": ("--optimizer-params", ""),
    "adam_beta2": ("--optimizer-params", ""),
    "adam_epsilon": ("--optimizer-params", ""),
    "bpe_codes": ("--bpe, --join-bpe", "the source's codes alone are needed"),
    "help": ("--help", ""),
    "version": ("--version", ""),
    "factors": ("", "has to be the number of --dim_per_factor"),
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
    "sync_sgd": ("", "all devices always make an update together"),
    "max_length_crop": ("--max-length", "without it, lines are not cut"),
    "maxi_batch_sentences": ("--maxi-batch", "counted in sentences"),
    "moving_average": ("--exponential-smoothing", ""),
    "moving_decay": ("--exponential-smoothing", "1 less this factor"),
    "n_best_count": ("--n-best, --n-best-size", ""),
    "n_best_list": ("--n-best", "`-t` names the source and the list"),
    "no_debpe": ("--join-bpe", ""),
    "plateau_steps": ("--lr-decay-inv-sqrt", ""),
    "sentencepiece_alphas": ("", "refused with a `.spm` vocabulary, else without effect"),
    "skip_cost": ("", "without effect with a beam of 1, else refused"),
    "source_vocab_sizes": ("--dim-vocabs", ""),
    "source_vocabularies": ("--vocabs", ""),
    "target_vocab_size": ("--dim-vocabs", ""),
    "target_vocabulary": ("--vocabs", ""),
    "tsv": ("--target", "lines of `source TAB target`"),
    "tsv_fields": ("", "has to be the number of fields that are read"),
    "use_dropout": ("", "turns the options of dropout on"),
}
# Remarks on options of cgru, by the name of the program's option.
_REMARKS = {
    "lrate": "in DL4MT and Nematus on Theano without effect on rmsprop (0.0001) and adadelta (1)",
}
_WITHOUT_EFFECT = {
    "gradient_aggregation_steps": "each device computes its part of a batch at once",
    "input_types": "an input has one sequence of words per line",
    "maxi_batch_sort": "pairs are sorted by length",
    "sample_way": "candidates are sampled, as by randomly_sample",
    "valid_translation_maxlen": "translations of the validation text have 200 words at most",
}


def documented(program: str, command: str, options: type) -> Iterator[Documented]:
    """Every option of a program's command; options: the dataclass of cgru's."""
    theirs = table(program, command)
    for row in theirs.rows if theirs else ():
        yield _documented(row, options)


def defaults(command: str, program: str = "") -> dict[str, str]:
    """The default of every option of a command, as a configuration file shows it.

    With a program, the defaults are those in force with `--compat PROGRAM`.
    """
    stated = main.commands[command]
    assert isinstance(stated, Command)
    with stated.make_context(command, ["--compat", program] if program else []) as context:
        options = stated.made(context)
    return {
        name: shown_default(getattr(options, name))
        for name, _ in statements(stated.options).items()
    }


def _documented(row: Row, options: type) -> Documented:
    entry = Documented(row.flags, " ".join(row.default))
    meaning = row.meaning
    if isinstance(meaning, NoEffect):
        return entry._replace(kind="no effect", remark=meaning.reason)
    if isinstance(meaning, Refused):
        return entry._replace(kind="refused", remark=meaning.reason)
    if isinstance(meaning, Checked):
        return entry._replace(kind="compared")
    stated = statements(options)
    names = [name for name in stated if name in {meaning.field, *default_of(row)}]
    if names:
        here = ", ".join(flag(options, name) for name in names)
        return entry._replace(here=here, remark=_REMARKS.get(row.name, ""))
    if meaning.field in _REPLACED:
        here, remark = _REPLACED[meaning.field]
        return entry._replace(here=here, remark=remark)
    return entry._replace(kind="no effect", remark=_WITHOUT_EFFECT[meaning.field])
