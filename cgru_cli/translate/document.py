"""`cgru translate --document IN OUT`: translate the segments of a document as lines."""

import dataclasses

from ..documents.reader import check_same_format, document_of
from ..errors import UsageError
from ..options.translate import TranslateOptions
from ..system.atomic_files import atomic_write
from ..system.lines import check_distinct
from ..system.structured_files import read_bytes
from ..system.terminal import ProgressCounter
from ..system.versions import installed
from .line_search import search_of

LARGEST = 1 << 30  # bytes


def translate_document(options: TranslateOptions) -> None:
    """Translate a document. Raises CgruError for unreadable documents and for bad models."""
    if len(options.document) != 2:
        raise UsageError("--document: two files are expected, to read and to write")
    source, target = options.document
    check_distinct([source, *options.model, *options.vocabularies], target)
    check_same_format(source, target)
    document = document_of(source, read_bytes(source, "document", LARGEST))
    installed("sentencex", "documents")  # otherwise the error would name --split-sentences
    sentences = options.split_sentences or "auto"
    options = dataclasses.replace(
        options, document=(), markup=document.form, split_sentences=sentences
    )
    search = search_of(options)
    document.target_language = (search.models[0].languages or ("", ""))[1]
    progress = ProgressCounter("segments", options.quiet)
    translations = list(document.segments)
    with atomic_write(target) as file:  # first, so that a missing folder is no loss of time
        for one in search.translations(document.segments, n_best=False):
            if one.hypotheses and not one.empty:
                translations[one.number] = one.hypotheses[0].text
            progress.add(True)
        progress.close()
        search.requests.report()
        file.write(document.written(translations))
