"""The page for people, as the server and a folder of `cgru convert --to web` show it.

`translator.js` is the one file that knows where translations come from. It exports

- `models()`: the models, as `/v1/models` describes them, each with its `limits`; `loads`, if the
  first translation loads this many bytes;
- `translations(request, signal)`: the lines of `/v1/translate` as they become ready;
- `alternatives(request)`: the answer of `/v1/alternatives`;
- `translatedDocument(file, model, signal)`, if it can translate documents: the progress, then the
  file.

Each throws an Error of one line. A signal that is aborted stops the work.
"""

from importlib.resources import files


def page_files() -> dict[str, bytes]:
    """The content of each file, by its name; they load nothing from other sites."""
    folder = files(__package__) / "page_files"
    return {file.name: file.read_bytes() for file in folder.iterdir()}
