"""Write a web site that translates in the browser, for `cgru convert --to web`.

Its folder has the server's page with its own `translator.js`, a list of the models, each model as
ONNX, its settings and vocabularies as JSON, and ONNX Runtime compiled to WebAssembly, from the npm
package onnxruntime-web.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CgruError, note, reading, writing
from ..system.atomic_files import all_or_nothing, atomic_write
from .page import first_distinct, page_files

if TYPE_CHECKING:
    from .. import LoadedModel

PACKAGE = "onnxruntime-web@1.30.0"
LIBRARY, WASM = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
MODELS = "models.json"
_FORMAT = "cgru-web"
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
)


def write_site(
    models: Sequence[LoadedModel],
    graphs: Sequence[Callable[[dict[str, Any]], bytes]],
    folder: Path,
    runtime_files: str | None,
    *,
    force: bool,
) -> list[Path]:
    """Write all files of the folder or none, and return them. force: overwrite files.

    graphs: for each model a function that makes its ONNX file, given a description. runtime_files:
    a folder with the files of onnxruntime-web; by default npm downloads them. Raises CgruError for
    a model that the page cannot run, naming the reason, and for files that cannot be read or
    written.
    """
    check_folder(folder, force=force)
    names = _names(models)
    descriptions = [_description(*pair) for pair in zip(models, names, strict=True)]
    library = _library(runtime_files)
    contents = page_files() | {
        entry.name: entry.read_bytes() for entry in (files(__package__) / "site_files").iterdir()
    }
    contents[LIBRARY] = library[LIBRARY]
    page, offline = _with_policy(contents.pop("index.html")), contents.pop("offline.js")
    kept = json.dumps(["./", *sorted([*contents, MODELS])])
    version = hashlib.sha256(page + offline)
    written: list[Path] = []
    listed: list[dict[str, Any]] = []

    def write(name: str, content: bytes) -> dict[str, Any]:
        version.update(hashlib.sha256(content).digest())
        with atomic_write(folder / name) as file:
            file.write(content)
        written.append(folder / name)
        return {"file": name, "size": len(content)}

    with writing(folder):
        folder.mkdir(exist_ok=True)
    with all_or_nothing(folder / "index.html"):
        runtime = write(WASM, library[WASM])
        for name, description, graph in zip(names, descriptions, graphs, strict=True):
            stem = f"model-{name}" if len(models) > 1 else "model"
            model = description.pop("model")
            described = write(f"{stem}.json", _json(description))
            listed.append(model | {"loads": [runtime, write(f"{stem}.onnx", graph({})), described]})
        contents[MODELS] = _json(listed)
        for name, content in sorted(contents.items()):
            write(name, content)
        head = f'const VERSION = "{version.hexdigest()[:16]}";\nconst FILES = {kept};\n\n'
        write("offline.js", head.encode() + offline)
        write("index.html", page)
    return sorted(written)


def _names(models: Sequence[LoadedModel]) -> Sequence[str]:
    """The name of each model on the page, and of its files if there are several."""
    stems = [one.model.path.stem for one in models]
    if len(models) == 1:
        return stems
    between = ["-".join(one.languages or ()) for one in models]
    numbered = [f"{stem}-{number}" for number, stem in enumerate(stems, 1)]
    return first_distinct(between, stems, numbered)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise CgruError if the folder exists and may not be overwritten."""
    with writing(folder):
        if not force and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CgruError(f"{folder}: exists; --force overwrites its files")


def _library(folder: str | None) -> dict[str, bytes]:
    """The files of onnxruntime-web, from a folder or from npm."""
    if folder is not None:
        found = {}
        for name in (LIBRARY, WASM):
            with reading(Path(folder, name)):
                found[name] = Path(folder, name).read_bytes()
        return found
    with tempfile.TemporaryDirectory() as place:
        note(f"npm downloads {PACKAGE}")
        command = ["npm", "install", "--silent", "--ignore-scripts", "--no-save"]
        try:
            subprocess.run(  # noqa: S603 - a fixed command
                [*command, "--prefix", place, PACKAGE], check=True, stdout=subprocess.DEVNULL
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise CgruError(
                f"npm cannot install {PACKAGE}: {error}; --runtime-files names a folder with "
                f"{LIBRARY} and {WASM} of this package"
            ) from None
        return _library(f"{place}/node_modules/onnxruntime-web/dist")


def _with_policy(page: bytes) -> bytes:
    """The page with a policy that forbids content from other sites."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    return page.replace(b'<meta name="viewport"', meta.encode() + b'<meta name="viewport"')


# --- the description of a model ------------------------------------------------------------------


def _description(loaded: LoadedModel, name: str) -> dict[str, Any]:
    """The model as in /v1/models, and how the page reads text, searches and writes text."""
    path, s, languages = loaded.model.path, loaded.model.structure, loaded.languages
    if not (loaded.writes_text and loaded.reads_words):
        raise CgruError(f"{path}: type {s.type}; the page translates text")
    if loaded.right_left or loaded.source_reversed:
        raise CgruError(
            f"{path}: the page does not support models that read or write right to left"
        )
    if len(loaded.sources) > 1:
        raise CgruError(f"{path}: source words have factors; the page reads plain text")
    from .. import Translator

    _check_steps(loaded)
    settings = Translator(loaded, serving=True).settings  # prepares no network
    return {
        "format": _FORMAT,
        "model": {  # as in /v1/models
            "name": name,
            "ensemble": 1,
            "reads_source": True,
            "attention": s.attends,
            "right_to_left": False,
            "raw_text": settings.raw_text,
            "beam_size": settings.beam_size,
            "normalize": settings.normalize,
            "languages": languages and dict(zip(("source", "target"), languages, strict=True)),
            "type": s.type.value,
        },
        "search": {
            "beam": settings.beam_size,
            "normalize": settings.normalize,
            "penalty": settings.word_penalty,
            "unknown": settings.suppressed,
            "vocabulary": s.target_vocabulary,
            "longest": settings.longest,
            "limits": [settings.limit(words) for words in range(1, settings.longest + 2)],
        },
        "preparation": _preparation(loaded),
        "vocabularies": _vocabularies(loaded),
    }


def _check_steps(loaded: LoadedModel) -> None:
    """Raise CgruError for a preprocessing step that only `cgru translate` supports."""
    if loaded.preprocessing is None:
        return
    settings = loaded.preprocessing.settings
    steps = {
        "Moses' tokeniser": settings.tokenize,
        "Moses' normalisation of punctuation": settings.normalize_punctuation,
        "a truecaser": settings.case == "true",
        "placeholders (--copy)": bool(settings.copy),
    }
    for step, used in steps.items():
        if used:
            raise CgruError(
                f"{loaded.model.path}: its text needs {step}, which the page does not support"
            )


def _preparation(loaded: LoadedModel) -> dict[str, Any] | None:
    if loaded.preprocessing is None:
        return None
    settings = loaded.preprocessing.settings
    models: list[Any] = [*loaded.preprocessing.subword_models] or [None]
    if settings.uses_sentencepiece and models[0]:
        models = [_pieces(base64.b64decode(model)) for model in models]
    return {
        "unicode": settings.unicode,
        "lower": settings.case == "lower",
        "sentencepiece": settings.uses_sentencepiece,
        "splitters": [models[0], models[-1]],
    }


def _vocabularies(loaded: LoadedModel) -> list[dict[str, Any] | None]:
    """The vocabularies of source and target; None for the target if it is the same."""
    source, target = loaded.sources[0], loaded.target
    shown: list[dict[str, Any] | None] = []
    for vocabulary in (source, target):
        processor = vocabulary.processor
        proto = processor.serialized_model_proto() if processor and vocabulary.splits else None
        shown.append(
            {
                "words": [vocabulary.words.get(i) for i in range(vocabulary.size)],
                "ids": [[word, i] for word, i in vocabulary.ids.items() if word in vocabulary],
                "unknown": vocabulary.unk_id,
                "end": vocabulary.eos_id,
                "pieces": proto and _pieces(proto),
            }
        )
    same = source.fingerprint == target.fingerprint and source.path == target.path
    return [shown[0], None if same else shown[1]]


def _pieces(proto: bytes) -> dict[str, Any]:
    """A SentencePiece model, with the fields of sentencepiece_model.proto."""
    from sentencepiece import sentencepiece_model_pb2

    messages: Any = sentencepiece_model_pb2  # the import creates its classes
    model = messages.ModelProto.FromString(proto)
    spec, normalizer = model.trainer_spec, model.normalizer_spec
    kind = messages.TrainerSpec.ModelType.Name(spec.model_type).lower()
    if kind not in ("unigram", "bpe"):
        raise CgruError(f"a SentencePiece model of type {kind}; the page reads unigram and bpe")
    return {
        "kind": kind,
        "pieces": [piece.piece for piece in model.pieces],
        # the fewest digits that identify the float32
        "scores": [float(str(np.float32(piece.score))) for piece in model.pieces],
        "kinds": [piece.type for piece in model.pieces],
        "spaces": {
            "prefix": normalizer.add_dummy_prefix,
            "collapse": normalizer.remove_extra_whitespaces,
            "escape": normalizer.escape_whitespaces,
            "suffix": spec.treat_whitespace_as_suffix,
        },
        "charsmap": base64.b64encode(normalizer.precompiled_charsmap).decode(),
        "byteFallback": spec.byte_fallback,
        "unknownText": spec.unk_surface,
    }
