"""Documents whose text is translated without changing their structure.

`reader.py` chooses the format by the name of the file. `document.py` defines the interface of all
formats, and plain text; `inline.py` replaces the marks inside a text. Each other file is a format:
`markdown.py`, `html_page.py`, `subtitles.py` (.srt), `gettext.py` (.po), `xliff.py` and `word.py`
(.docx); `xml.py` parses XML safely for XLIFF and Word.
"""
