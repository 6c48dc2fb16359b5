"""The defaults of `cgru train` that follow from the training data, and what each rests on."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ..corpus.corpus import Corpus
from ..options.flags import by_data
from ..options.train import TrainOptions
from .run.folder import RunFolder

VALID_SHARE = 0.03  # of the training time that validation may take by default
_VALIDATED = 500  # lines: BLEU of so many tells models apart, and costs seconds
_BATCH = 80 * 20  # words, where mini-batches are counted in sentences


def defaults_by_data(
    options: TrainOptions, stated: Collection[str], corpus: Corpus
) -> dict[str, Any]:
    """The values of options that were not stated, by field.

    stated: fields that were given a value, if only that of the declaration.
    """
    chosen = _validation(options, stated, corpus)
    return {n: value for n, value in chosen.items() if n in by_data(TrainOptions) - {*stated}}


def decided(options: TrainOptions, stated: Collection[str] | None) -> dict[str, Any]:
    """The values of the saved run for options that were not stated; None before there is a run.

    stated: None if the declared defaults hold. Raises CgruError for a state that is damaged.
    """
    if stated is None or options.defaults == "fixed":
        return {}
    unknown: dict[str, Any] = dict.fromkeys(by_data(TrainOptions) - {*stated})
    if options.model is None:
        return unknown
    saved = RunFolder(Path(options.model), resumes=not options.no_reload).chosen(stated)
    return unknown if saved is None else saved


def _validation(options: TrainOptions, stated: Collection[str], corpus: Corpus) -> dict[str, Any]:
    """Greedy search on some lines: validation compares models, and need not find the best text.

    The patience of ten validations then is at least an epoch.
    """
    updates = int(corpus.lengths[:, 1].sum()) // (options.mini_batch_words or _BATCH)
    frequency = max(1000, updates // 10_000 * 1000)
    chosen: dict[str, Any] = {"valid_freq": "1e" if updates <= 1000 else f"{frequency}u"}
    if "beam_size" not in stated:
        chosen["valid_beam_size"] = 1
    if not options.valid_script and not options.valid_translation_output:
        chosen["valid_lines"] = _VALIDATED
    return chosen
