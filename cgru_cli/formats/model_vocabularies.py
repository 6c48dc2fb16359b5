"""Find the vocabularies of a model, and place them beside another model."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import CgruError, reading, warn
from ..parameters.structure import Condition
from ..system.structured_files import StoredFile
from ..text.vocabulary import Vocabulary
from .model import Model
from .pickles import as_pickle
from .vocabulary_files import as_file, marian_needs_rewrite, read_vocabulary


def find(model: Model, explicit: Sequence[str] = ()) -> list[Vocabulary]:
    """Source vocabularies (one per factor), then the target's, each cut to its embedding's rows.

    explicit: paths from the command line. Otherwise, this tries the configuration's paths relative
    to the model's folder, then their file names there, then relative to the working directory. One
    file suffices for both sides of a model with one embedding.

    Raises CgruError for a file that is missing or not a vocabulary, for too few or too many
    vocabularies, and if source and target are swapped.
    """
    structure = model.structure
    rows = list(structure.vocabularies)
    names = list(explicit) or list(model.settings.vocabularies)
    if not names:
        raise CgruError(f"{model.path}: no vocabularies are known; name them with -v SRC TRG")
    if len(names) == 1 and structure.shared_embeddings and len(rows) == 2:
        names = names * 2
    if len(names) != len(rows):
        factors = f"{len(rows) - 1} source factors and " if len(rows) > 2 else "source and "
        kinds = f"{len(rows)} vocabularies expected ({factors}target)"
        if len(rows) == 1:
            kinds = "one vocabulary expected for a language model"
        elif structure.condition is Condition.LABEL:
            kinds = "2 vocabularies expected (labels and text)"
        raise CgruError(
            f"{model.path}: {kinds}, {len(names)} "
            f"{'given' if explicit else 'in ' + (model.settings.source or 'its configuration')}; "
            f"name {'it with -v VOCAB' if len(rows) == 1 else 'them with -v SRC TRG'}"
        )
    paths = [Path(name) if explicit else _located(model, name) for name in names]
    read = {path: read_vocabulary(path) for path in dict.fromkeys(paths)}
    vocabularies = [read[path] for path in paths]
    _check_sides(model, vocabularies, rows)
    return [
        vocabulary.limited(size) if size < vocabulary.size else vocabulary
        for vocabulary, size in zip(vocabularies, rows, strict=True)
    ]


def _located(model: Model, name: str) -> Path | StoredFile:
    """The path of a vocabulary.

    The working directory comes last, because a file there may belong to another model.
    """
    if isinstance(name, StoredFile):
        return name
    folder = model.path.parent
    candidates = list(dict.fromkeys((folder / name, folder / Path(name).name, Path(name))))
    present = []
    for path in candidates:
        with reading(path):
            if path.is_file():
                present.append(path)
    if not present:
        tried = " or ".join(str(path) for path in candidates)
        raise CgruError(
            f"{model.path}: no vocabulary at {tried}; name the vocabularies with -v SRC TRG"
        )
    chosen, last = present[0], present[-1]
    # cgru places vocabularies beside the model
    own = model.container in ("h5", "onnx") or "cgru" in model.settings.values
    if not own and chosen != last == Path(name) and not _same_content(chosen, last):
        warn(f"{chosen}: used, because it is beside {model.path}; {last} differs")
    return chosen


def _check_sides(model: Model, vocabularies: list[Vocabulary], rows: list[int]) -> None:
    """Raise CgruError for exchanged sides; other differences of size are common and harmless."""
    if len(rows) != 2:
        return
    sizes = [vocabulary.size for vocabulary in vocabularies]
    if sizes != rows and sizes[::-1] == rows:
        raise CgruError(
            f"{model.path}: source and target vocabulary are swapped: {vocabularies[0].path} "
            f"has {sizes[0]} words and {vocabularies[1].path} {sizes[1]}, the embeddings "
            f"{rows[0]} and {rows[1]} rows"
        )
    for vocabulary, size, side in zip(vocabularies, rows, ("source", "target"), strict=True):
        if vocabulary.size * 2 < size:
            warn(
                f"{vocabulary.path}: {vocabulary.size} words for {size} rows of the {side} "
                "embedding; is it the vocabulary of another model?"
            )


class Placement(NamedTuple):
    """The content of a vocabulary's file to place beside another model."""

    vocabulary: Vocabulary
    content: bytes


def plan(
    vocabularies: Sequence[Vocabulary], folder: Path, to: str, force: bool
) -> tuple[list[str], dict[Path, Placement]]:
    """The names of the vocabularies of a model in the format `to`, and the files to write.

    Raises CgruError if a different file would be overwritten without force.
    """
    names: list[str] = []
    placements: dict[Path, Placement] = {}
    for index, vocabulary in enumerate(vocabularies):
        file = _file(vocabulary, to)
        if file is None:
            names.append(Path(vocabulary.path).name)
            if names.count(names[-1]) == 1:
                warn(
                    f"{vocabulary.path}: not copied, because {to} does not read SentencePiece "
                    "models; name it with -v"
                )
            continue
        name, content = file
        placement = Placement(vocabulary, content)
        taken = placements.get(folder / name, placement)
        if taken.content != placement.content:
            side = "target" if index == len(vocabularies) - 1 else f"source{index}"
            name = f"{side}.{name}"
        names.append(name)
        placements[folder / name] = placement
    for path, (vocabulary, content) in list(placements.items()):
        if path.is_file() and path.read_bytes() == content:
            del placements[path]
        elif path.exists() and not force:
            raise CgruError(
                f"{path}: exists and differs from {vocabulary.path}; --force overwrites it"
            )
    return names, placements


def _file(vocabulary: Vocabulary, to: str) -> tuple[str, bytes] | None:
    """The name and content of a vocabulary's file for a program; None if it cannot read the file.

    Copies the file if the program reads its format; otherwise rewrites it.
    """
    path, spm = Path(vocabulary.path), vocabulary.format == "sentencepiece"
    name, stored = path.name.removesuffix(".gz"), isinstance(vocabulary.path, StoredFile)
    exists = spm or stored or path.is_file()
    for suffix in (".json", ".pkl", ".pickle", ".yml", ".yaml", ".txt"):
        name = name.removesuffix(suffix)
    if to.startswith("marian"):
        if not exists or marian_needs_rewrite(vocabulary):
            return f"{name}.yml", as_file(vocabulary, f"{name}.yml", "marian")
    else:
        form = {"dl4mt": "pickle", "nematus": "json", "nematus-tf": "json"}.get(to)
        fits = form is None or vocabulary.format == form
        if not (exists and fits) or (form and _raw(vocabulary.path)[:2] == b"\x1f\x8b"):
            if spm:
                return None
            if form == "pickle":
                if vocabulary.unk_id != 1:
                    warn(
                        f"{vocabulary.path}: the unknown word has id {vocabulary.unk_id}; in DL4MT "
                        "it is the word with id 1"
                    )
                words = {word: i for i, word in sorted(vocabulary.words.items())}
                return f"{name}.pkl", as_pickle(words)
            return f"{name}.json", as_file(vocabulary, f"{name}.json", "nematus")
    return path.name, _raw(vocabulary.path)


def _raw(path: str) -> bytes:
    """The content of a file, still compressed."""
    if isinstance(path, StoredFile):
        return path.content
    with reading(path):
        return Path(path).read_bytes()


def _same_content(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other) or one.read_bytes() == other.read_bytes()
    except OSError:
        return False
