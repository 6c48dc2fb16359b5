"""Texts with marks and documents, whose structure a translation keeps.

Nothing here knows how texts are translated: this folder imports only errors and `system`. Lines:
`markup` removes the marks from a line, `mark_places` puts them into its translation, `protected`
finds text that is never translated, and `sentences` splits and joins.

Documents: `reader` chooses the format by the name of the file. `document` defines the interface of
all formats, and plain text; `inline` replaces the marks inside a text. Each other file is a format:
`markdown`, `html_page`, `subtitles` (.srt), `gettext` (.po), `xliff` and `word` (.docx); `xml`
parses XML safely for XLIFF and Word. `job` translates a document with a `Translator`.
"""
