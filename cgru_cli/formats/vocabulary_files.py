"""Read and write vocabulary files in all formats of the supported models.

`read_vocabulary` recognises a file by its content, not its name; every format may be gzipped:

- Nematus JSON, old (`eos`: 0, `UNK`: 1) or new (`<EOS>`: 0, `<GO>`: 1, `<UNK>`: 2);
- DL4MT pickles;
- Marian YAML (`</s>: 0`, `<unk>: 1`) and Marian text (line n holds word n, the first is `</s>`);
- SentencePiece models.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import sentencepiece

from ..errors import CgruError
from ..system import structured_files
from ..system.atomic_files import atomic_write
from ..text.vocabulary import EOS_NAMES, MOST_WORDS, UNK_NAMES, Vocabulary, shown
from . import pickles

Style = Literal["nematus", "marian"]

# YAML allows these characters only as escapes, or reads them as line breaks; Marian writes them.
_NOT_IN_YAML = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\r(?!\n)"
)
# The characters that yaml-cpp writes with a byte more than UTF-8 has, and reads again.
_OF_YAML_CPP = {
    b"\xc1\xbf": b"\x7f",
    b"\xe0\x9f\xbf": "\u07ff".encode(),
    b"\xf0\x8f\xbf\xbf": "\uffff".encode(),
}
_PICKLE_START = re.compile(
    rb"\x80[\x00-\x05]|[}\]][qr.(]|\([dl]p?\d*\n|\(i|c[\w.]+\n[\w.]+\n[()\]}pq]"
)

_OTHER_LISTS = {  # by their first lines
    r"#version: |\S+ \S+</w>\n": "has the codes of subword-nmt, for --bpe",
    r"(\S+\t-?[0-9.e-]+(\n|$)){1,9}": "lists the pieces of a SentencePiece model; give the model",
    r"((\S*[^\s:] +[0-9]+| *[0-9]+ \S+)\r?(\n|$)){1,9}": "lists words and their counts; give the "
    "model's vocabulary, or make one from the text with cgru prep --vocabulary-only",
}

LARGEST = 1 << 28  # bytes of a vocabulary, after decompression

_NO_VOCABULARY = (
    "not a vocabulary (neither JSON, YAML, a pickle nor a SentencePiece model, nor a list of words"
    " that starts with </s>{})"
)


def read_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """Read a vocabulary of any format.

    Raises CgruError, naming the file, if it does not exist or is not a vocabulary, if two words
    share an id, and if a word appears twice.
    """
    data = structured_files.read_bytes(path, "vocabulary", LARGEST)
    name = os.fspath(path)
    # each word has a line, or a colon (and some words contain a colon)
    if max(data.count(b"\n"), data.count(b":") // 2) > MOST_WORDS:
        raise CgruError(f"{name}: more than {MOST_WORDS} words, too many for a vocabulary")
    if not data.strip():
        raise CgruError(f"{name}: the vocabulary is empty")
    if _is_sentencepiece(data):
        return _read_sentencepiece(data, name)
    if _is_pickle(data, name):
        mapping = pickles.load(data, name)
        if not isinstance(mapping, dict):
            raise CgruError(f"{name}: not a vocabulary (a pickled {type(mapping).__name__})")
        return Vocabulary(mapping, path, format="pickle")
    for longer, character in _OF_YAML_CPP.items():  # none of them is in valid UTF-8
        data = data.replace(longer, character)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CgruError(f"{name}: not a vocabulary (line {line} is not UTF-8)") from None
    # not strip(): the first word of a text vocabulary may be an unusual space
    start = text.lstrip(" \t\r\n")
    if start.startswith("{"):
        return Vocabulary(_read_json(text, name), path, format="json")
    first_line = text.split("\n", 1)[0].removesuffix("\r")
    if first_line in EOS_NAMES:
        return Vocabulary(_read_text(text, name), path, format="text")
    if start.startswith("["):
        raise CgruError(f"{name}: not a vocabulary (it is a list)")
    try:
        mapping = _read_yaml(text, name)
    except CgruError:
        for lines, what in _OTHER_LISTS.items():
            if re.match(lines, text):
                raise CgruError(f"{name}: not a vocabulary: it {what}") from None
        raise
    return Vocabulary(mapping, path, format="yaml")


def write_vocabulary(
    vocabulary: Vocabulary, path: str | os.PathLike[str], style: Style = "nematus"
) -> None:
    """Write `as_file` atomically. Raises CgruError if the file cannot be written."""
    content = as_file(vocabulary, path, style)
    with atomic_write(path) as file:
        file.write(content)


def as_file(vocabulary: Vocabulary, path: str | os.PathLike[str], style: Style) -> bytes:
    """The content of a file with the first `size` ids.

    "nematus" is JSON with all words as read. "marian" names EOS `</s>` and UNK `<unk>`, and drops
    ordinary words of the same names; it is YAML if the path ends in .yml or .yaml, and JSON
    otherwise. A SentencePiece model is unchanged in "marian", and raises CgruError in "nematus".
    """
    marian = style == "marian"
    if vocabulary.processor is not None:
        if not marian:
            raise CgruError(f"{path}: a SentencePiece model cannot be written as Nematus JSON")
        return vocabulary.processor.serialized_model_proto()
    pairs = [(w, i) for w, i in vocabulary.ids.items() if i < vocabulary.size]
    if marian:
        special = {EOS_NAMES[0]: vocabulary.eos_id, UNK_NAMES[0]: vocabulary.unk_id}
        ordinary = [(w, i) for w, i in pairs if w not in special and i not in special.values()]
        pairs = [*special.items(), *ordinary]
    pairs.sort(key=lambda pair: pair[1])
    if marian and os.fspath(path).endswith((".yml", ".yaml")):
        return "".join(_yaml_line(word, i) for word, i in pairs).encode()
    # Nematus' layout, one word per line
    lines = (f"  {json.dumps(word, ensure_ascii=False)}: {i}" for word, i in pairs)
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def marian_needs_rewrite(vocabulary: Vocabulary) -> bool:
    """Whether Marian would misread the original file of this vocabulary, or not read it at all.

    Marian recognises JSON and YAML only by the file's name (so never gzipped). In these, id 0 is
    EOS and id 1 UNK if that id is unused or named `eos`, `UNK`; otherwise, and always in text, it
    searches for `</s>` and `<unk>` (marian-dev, src/data/default_vocab.cpp).
    """
    if vocabulary.format == "sentencepiece":
        return False
    if vocabulary.format == "pickle":
        return True
    ids = vocabulary.ids
    mapping = vocabulary.format != "text"
    if vocabulary.path.endswith((".json", ".yaml", ".yml")) is not mapping:
        return True
    if len(set(ids.values())) < len(ids) or (not mapping and "" in ids):
        return True
    special_ids = []
    for old_id, old_name, name in ((0, "eos", "</s>"), (1, "UNK", "<unk>")):
        at_old_id = mapping and vocabulary.words.get(old_id, old_name) == old_name
        special_ids.append(old_id if at_old_id else ids.get(name))
    return special_ids != [vocabulary.eos_id, vocabulary.unk_id]


def _unique(pairs: Iterable[tuple[str, Any]], path: str) -> dict[str, Any]:
    ids: dict[str, Any] = {}
    for word, i in pairs:
        if word in ids:
            raise CgruError(f"{path}: the word {shown(word)} appears twice")
        ids[word] = i
    return ids


def _read_json(text: str, path: str) -> dict[str, Any]:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        return mapping if len(mapping) == len(pairs) else _unique(pairs, path)

    try:
        return json.loads(text, object_pairs_hook=members)
    except json.JSONDecodeError as error:
        raise CgruError(
            f"{path}: not a vocabulary (broken JSON, line {error.lineno}: {error.msg})"
        ) from None
    except (ValueError, RecursionError):
        # such as numbers with thousands of digits, or deeply nested brackets
        raise CgruError(f"{path}: not a vocabulary (invalid JSON)") from None


def _read_text(text: str, path: str) -> dict[str, int]:
    # only "\n" ends a line: words may contain other characters at which Python splits lines
    words = text.removesuffix("\n").split("\n")
    if all(word.endswith("\r") for word in words[:-1]):
        words = [word.removesuffix("\r") for word in words]
    return _unique(((word, i) for i, word in enumerate(words)), path)


def _read_yaml(text: str, path: str) -> dict[str, int]:
    """Words and ids of a YAML mapping. Words are text, even `no`, `null`, `~` and `1.5`."""
    import yaml  # slow to import

    text, restore = _protect_from_yaml(text)
    try:
        return _unique(_yaml_pairs(text, restore, path), path)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        reason = f"; in YAML, line {line} is wrong: {error.problem}"
        raise CgruError(f"{path}: {_NO_VOCABULARY.format(reason)}") from None
    except (yaml.YAMLError, ValueError):
        raise CgruError(f"{path}: {_NO_VOCABULARY.format('')}") from None


def _yaml_pairs(text: str, restore: Callable[[str], str], path: str) -> Iterator[tuple[str, int]]:
    """The pairs of a flat mapping, read from YAML's events.

    Events have the text of scalars before YAML interprets it. They also avoid the tree, which
    libyaml builds recursively until the stack overflows.
    """
    import yaml

    events = yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    for expected in (yaml.StreamStartEvent, yaml.DocumentStartEvent, yaml.MappingStartEvent):
        if not isinstance(next(events, None), expected):
            raise CgruError(f"{path}: {_NO_VOCABULARY.format('')}")
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise CgruError(f"{path}: not a vocabulary (a word is a list or mapping)")
        word, value = restore(key.value), next(events)
        number = value.value if isinstance(value, yaml.ScalarEvent) else ""
        if not re.fullmatch(r"-?[0-9]{1,18}", number):
            raise CgruError(
                f"{path}: not a vocabulary (the id of {shown(word)} is not a whole number)"
            )
        yield word, int(number)


def _protect_from_yaml(text: str) -> tuple[str, Callable[[str], str]]:
    """Replace characters that YAML forbids but Marian writes with private-use characters.

    Returns the text, and a function that restores the original characters of a word.
    """
    odd = sorted(set(_NOT_IN_YAML.findall(text)))
    if not odd:
        return text, str
    present = set(text)
    free = (code for code in range(0xF0000, 0xFFFFE) if chr(code) not in present)
    back = dict(zip(free, odd, strict=False))
    stand_in = {character: chr(private) for private, character in back.items()}
    text = _NOT_IN_YAML.sub(lambda match: stand_in[match[0]], text)
    return text, lambda word: word.translate(back)


def _is_pickle(data: bytes, name: str) -> bool:
    by_name = name.removesuffix(".gz").endswith((".pkl", ".pickle"))
    if by_name and data[:1] != b"{":
        return True
    return data.rstrip().endswith(b".") and _PICKLE_START.match(data) is not None


def _is_sentencepiece(data: bytes) -> bool:
    """Whether the first field is a piece, with text and score (sentencepiece_model.proto).

    In every model the first piece is a short special piece.
    """
    if len(data) < 10 or data[0] != 0x0A or data[2] != 0x0A:
        return False
    score = 4 + data[3]
    return score < 2 + data[1] and data[score : score + 1] in (b"\x15", b"\x18")


def _read_sentencepiece(data: bytes, name: str) -> Vocabulary:
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=data)
        count = processor.get_piece_size()
        ids = {processor.id_to_piece(i): i for i in range(count)}
    except (RuntimeError, ValueError, TypeError):
        raise CgruError(f"{name}: not a valid SentencePiece model; copy it again") from None
    return Vocabulary(ids, name, format="sentencepiece", processor=processor)


def _yaml_line(word: str, i: int) -> str:
    # a JSON string with the forbidden characters escaped is a YAML string
    quoted = _NOT_IN_YAML.sub(
        lambda match: f"\\u{ord(match[0]):04x}", json.dumps(word, ensure_ascii=False)
    )
    # YAML stops looking for a key's colon after 1,024 characters
    return f"{quoted}: {i}\n" if len(quoted.encode()) < 1000 else f"? {quoted}\n: {i}\n"
