"""Refuse options of `cgru translate` that do not apply to the models or to their search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..formats.loaded_model import LoadedModel, check_attention
from ..options.scope import Scope
from ..options.translate import TranslateOptions

if TYPE_CHECKING:
    from ..search.settings import Sampling


def check_options(
    options: TranslateOptions, models: Sequence[LoadedModel], search: str, sampling: Sampling | None
) -> None:
    """Raises UsageError for options that do not apply to these models, or to this search."""
    first = models[0]
    if not first.writes_text:
        for _, flag in options.changed(Scope.DECODER):
            raise UsageError(
                f"{flag.name}: {first.model.path} is a {first.model.structure.type}, which gives "
                "labels and writes no text"
            )
    if sampling and any(loaded.model.structure.crf for loaded in models):
        raise UsageError("--output-sampling: tags of a CRF cannot be sampled")
    if sampling and (options.constraints or options.avoid):
        raise UsageError("--mbr with constraints needs --mbr-n-best: samples cannot satisfy them")
    if sampling and set(options.copy) - {"none"}:
        raise UsageError(
            "--copy: sampling cannot force the spans into translations; add --mbr-n-best "
            "to --mbr, or leave out --output-sampling"
        )
    check_attention(models, any(options.changed(Scope.ATTENTION)))
    if options.max_length_factor and not any(loaded.reads_words for loaded in models):
        raise UsageError(
            "--max-length-factor: a language model has no source text; use --translation-maxlen"
        )
    if options.force_decode and first.right_left:
        raise UsageError("--force-decode: this model writes from the end of a sentence")
    for _, flag in options.changed(Scope.OWN_SEARCH) if search == "nematus-tf" else ():
        raise UsageError(f"{flag.name}: the search of Nematus-TF does not support it")
    if options.markup and not (first.writes_text and first.reads_words and len(first.sources) == 1):
        raise UsageError(f"--markup: {first.model.path} does not translate plain text")
    for loaded in models if options.char_level else ():
        pieces = loaded.sources and loaded.sources[0].processor is not None
        if (pieces and not options.no_spm_encode) or not loaded.reads_words:
            what = "SentencePiece splits its source" if pieces else "it reads no source text"
            raise UsageError(f"--char-level: {loaded.model.path}: {what}")
