"""`--shortlist`: the words that translations may contain."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..formats.loaded_model import LoadedModel
from ..formats.shortlist import Shortlist
from ..options import kinds
from ..options.translate import TranslateOptions


def shortlist_of(options: TranslateOptions) -> tuple[str, kinds.ShortlistNumbers] | None:
    """The file of a shortlist, and its numbers FIRST, BEST and PRUNE; None without a shortlist."""
    return kinds.shortlist(options.shortlist) if options.shortlist else None


def shortlists(options: TranslateOptions, models: Sequence[LoadedModel]) -> tuple[Shortlist, ...]:
    """The shortlist for each model, read only once if models share their vocabularies.

    Raises CgruError for an invalid file, or a file for other vocabularies.
    """
    file = shortlist_of(options)
    if file is None:
        return ()
    path, numbers = file
    vocabularies = [(loaded.sources[0], loaded.target) for loaded in models if loaded.reads_words]
    if not vocabularies:
        raise UsageError(
            "--shortlist does not apply to a language model, which has no source words"
        )
    read: dict[str, Shortlist] = {}
    for source, target in vocabularies:
        if source.fingerprint not in read:
            read[source.fingerprint] = Shortlist.read(path, source, target, *numbers)
    return tuple(read[source.fingerprint] for source, _ in vocabularies)
