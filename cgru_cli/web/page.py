"""The web page of the server and of `cgru convert --to web`.

Only `translator.js` depends on where translations come from. It exports

- `models()`: the models as in `/v1/models`, each with its `limits`, with `loads`, the number of
  bytes that its first translation loads, if any, and with `detects`, whether `detected` works;
- `chosen(models)`, if models are loaded: told which models are to translate;
- `detected(text)`, if it can: the code of the source language that `/detect` finds;
- `translations(request, signal)`: the lines of `/v1/translate` as they become ready;
- `alternatives(request)`: the answer of `/v1/alternatives`;
- `translatedDocument(file, model, signal)`, if documents are supported: the progress, then the
  file.

Each throws an Error with a message of one line. Aborting the signal stops the request.
"""

from collections.abc import Sequence
from importlib.resources import files


def page_files() -> dict[str, bytes]:
    """The content of each file, by name; the files load nothing from other sites."""
    folder = files(__package__) / "page_files"
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def first_distinct(*candidates: Sequence[str]) -> Sequence[str]:
    """The first list of names of models that differ by more than case, or the last list."""

    def fits(names: Sequence[str]) -> bool:
        return all(names) and len({name.casefold() for name in names}) == len(names)

    return next(filter(fits, candidates), candidates[-1])
