"""Types of requests and answers in JSON, which msgspec checks and `openapi` describes."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from ..errors import CgruError
from ..system.structured_files import parse_json
from ..system.typed_json import problem
from .problems import Refusal

Link = tuple[str, str, str, int, int]  # of Nematus: target, source, weight, line, line
Positive = Annotated[int, Meta(ge=1)]
LengthPower = Annotated[float, Meta(ge=0, le=10)]
# (?!\n) because in Python, $ also matches before a last line break
ONE_LINE = r"^[^\n]*(?!\n)$"
LANGUAGE = r"^([A-Za-z]{2,3}(-[^\n]*)?)?(?!\n)$"  # a language code, such as de or pt-BR
# `Service.check` checks it: with Meta(pattern=...), msgspec 0.22 may crash when Python exits
Text = Annotated[str, Meta(extra_json_schema={"pattern": ONE_LINE})]


def about(text: str) -> Meta:
    """The description of a field."""
    return Meta(description=text)


BeamSize = Annotated[Positive | None, about("beam size; default: the server's --beam-size")]
Normalize = Annotated[
    LengthPower | None, about("length normalisation: scores are divided by length ** normalize")
]


# --- Requests -----------------------------------------------------------------------------------


class ModelRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of all requests of the server's own protocol."""

    model: Annotated[
        str | None, about("name of the model, as listed by /v1/models; default: the first")
    ] = None
    normalize: Normalize = None
    alignment: Annotated[
        bool, about("return each hypothesis with its attention over the source words")
    ] = False
    word_scores: Annotated[bool, about("return the log-probability of each word, in nats")] = False


class TranslateRequest(ModelRequest, frozen=True, kw_only=True):
    texts: Annotated[list[str], about("lines to translate, one sentence each")]
    beam_size: BeamSize = None
    n_best: Annotated[Positive, about("number of translations of each line, best first")] = 1
    prefixes: Annotated[
        list[Text | list[Text]] | None,
        about("the beginning of each translation, as text or as the model's words; one per text"),
    ] = None
    prefix_bias: Annotated[
        Annotated[float, Meta(gt=0, lt=1)] | None,
        about("give the words of prefixes this share of the probability instead of forcing them"),
    ] = None
    constraints: Annotated[
        list[list[Text | list[Text]]] | None,
        about(
            "phrases that each translation must contain; one list per text; a list of phrases "
            "inside it stands for any one of them"
        ),
    ] = None
    avoid: Annotated[list[Text], about("phrases that no translation may contain")] = []
    output_sampling: Annotated[
        str | None,
        about("sample: `full [T]`, `topk K [T]`, `nucleus P [T]` or `epsilon E [T]`"),
    ] = None
    seed: Annotated[
        Annotated[int, Meta(ge=0, le=2**63 - 1)] | None, about("random seed of samples")
    ] = None
    mbr: Annotated[
        Positive | None,
        about(
            "number of samples; returns the one most similar to all, with the similarity as total"
        ),
    ] = None
    mbr_utility: Annotated[
        Literal["chrf", "bleu"] | None, about("similarity for mbr; default: chrf")
    ] = None
    mbr_n_best: Annotated[
        bool | None, about("choose by mbr from the hypotheses of a beam search, not from samples")
    ] = None
    split_sentences: Annotated[
        bool | Annotated[str, Meta(extra_json_schema={"pattern": LANGUAGE})],
        about(
            "translate each sentence separately; texts may then have several sentences and line "
            "breaks. true, or the code of the texts' language"
        ),
    ] = False
    stream: Annotated[
        bool,
        about(
            "send each translation as a server-sent event when it is ready; "
            "equivalent to the header `Accept: text/event-stream`"
        ),
    ] = False


class AlternativesRequest(ModelRequest, frozen=True, kw_only=True):
    text: Annotated[Text, about("the line to translate")]
    prefix: Annotated[
        list[Text], about("the model's words of the translation before the word to replace")
    ]
    count: Annotated[
        Positive | None,
        about("number of alternatives, most probable first; default: 5, within the limit"),
    ] = None
    beam_size: BeamSize = None


class PairOfTexts(Struct, frozen=True, forbid_unknown_fields=True):
    source: Text
    target: Text


class ScoreRequest(ModelRequest, frozen=True, kw_only=True):
    pairs: Annotated[list[PairOfTexts], about("sources with the translations to score")]


class NematusRequest(Struct, frozen=True, kw_only=True):
    """A request of Nematus' protocol, which ignores unknown fields."""

    segments: Annotated[list[list[Text]], about("sentences to translate, each a list of words")]
    beam_width: Annotated[Positive | None, about("beam size")] = None
    normalize: Annotated[
        bool | LengthPower | None, about("length normalisation: true, false, or the exponent")
    ] = None
    n_best: Annotated[Positive, about("number of translations; only 1 is supported")] = 1
    suppress_unk: Annotated[bool | None, about("never produce the unknown word")] = None
    character_level: Annotated[bool, about("character-level input; not supported")] = False
    return_word_alignment: Annotated[bool, about("return each word's attention")] = False
    return_word_probabilities: Annotated[bool, about("return each word's probability")] = False


class LibreText(Struct, frozen=True, kw_only=True):
    """A request of LibreTranslate's protocol, which ignores unknown fields."""

    q: Annotated[str | list[str], about("text, or a list of texts in one language")]
    api_key: Annotated[str, about("password of the server, if it has one")] = ""


class LibreRequest(LibreText, frozen=True, kw_only=True):
    source: Annotated[str, about("code of the source language, or auto: detect it")]
    target: Annotated[str, about("code of the target language")]
    format: Annotated[Literal["text", "html"], about("html needs a server with --markup html")] = (
        "text"
    )
    alternatives: Annotated[
        Annotated[int, Meta(ge=0)], about("number of other translations of a single sentence")
    ] = 0


# --- Answers ------------------------------------------------------------------------------------

Number = float | None  # msgspec writes NaN and infinities as null
Words = Annotated[list[str], about("words as the model reads or writes them")]
SourceWords = Annotated[list[str], about("source words as the model reads them, and EOS")]


class ScoredWords(Struct, kw_only=True):
    words: Words
    finished: Annotated[bool, about("false: cut at the length limit")]
    score: Annotated[Number, about("log-probability, in nats")]
    total: Annotated[Number, about("score after length normalisation")]
    word_scores: Annotated[
        list[Number] | UnsetType, about("log-probability of each word and EOS, in nats")
    ] = UNSET
    alignment: Annotated[
        list[list[float]] | UnsetType,
        about("attention: a row for each word and EOS, a column for each source word and EOS"),
    ] = UNSET


class Hypothesis(ScoredWords, kw_only=True):
    text: Annotated[str, about("the translation as plain text")]


class Alternative(Hypothesis, kw_only=True):
    word: Annotated[str | None, about("the suggested word; null: the end of the sentence")]
    probability: float


class ScoredPair(ScoredWords, kw_only=True):
    source: SourceWords


class TranslatedLine(Struct, kw_only=True):
    text: Annotated[str, about("the best translation")]
    source: SourceWords
    hypotheses: list[Hypothesis]


class TranslationEvent(TranslatedLine, kw_only=True):
    index: Annotated[int, about("position of the line in the request, from 0")]


class TranslateAnswer(Struct):
    model: str
    translations: list[TranslatedLine]


class AlternativesAnswer(Struct):
    model: str
    alternatives: list[Alternative]


class ScoreAnswer(Struct):
    model: str
    scores: list[ScoredPair]


class Languages(Struct):
    source: Annotated[str, about("code of the source language, such as en")]
    target: str


class ModelDescription(Struct):
    name: str
    ensemble: Annotated[int, about("number of models in the ensemble; 1 for a single model")]
    reads_source: Annotated[bool, about("whether it reads a source; false: a language model")]
    attention: bool
    right_to_left: bool
    raw_text: Annotated[bool, about("the model splits text into words itself")]
    beam_size: int
    normalize: float
    languages: Annotated[Languages | None, about("null if the model does not state them")]
    type: Annotated[str, about("type, such as cgru, lm (a language model), classifier or tagger")]


class Limits(Struct):
    """The limits of requests."""

    lines: int
    characters: Annotated[int, about("maximum number of characters of a line")]
    beam_size: int
    phrases: Annotated[int, about("maximum number of constraints of a line")]
    seconds: Annotated[float, about("maximum time from the first byte of a request to its answer")]
    body: Annotated[int, about("maximum size of a request in bytes")]
    document: Annotated[int, about("maximum size of a document in bytes")]


class ModelsAnswer(Struct):
    models: list[ModelDescription]
    limits: Limits
    detects: Annotated[bool, about("whether it can detect which source language a text has")]


class NematusTranslation(Struct):
    translation: list[str]
    word_alignment: Annotated[
        list[Link] | UnsetType,
        about("target word, source word, attention, and the segment's position twice"),
    ] = UNSET
    word_probabilities: list[float] | UnsetType = UNSET


class NematusAnswer(Struct):
    data: list[NematusTranslation]
    status: Literal["ok"]


class NematusStatus(Struct):
    status: Literal["ok", "loading"]
    models: list[str]
    version: str
    service: Literal["cgru"]


class DocumentProgress(Struct):
    address: Annotated[str, about("path to poll; returns the progress, then the file")]
    name: str
    done: Annotated[int, about("sentences translated so far")]
    sentences: Annotated[int, about("0: not counted yet")]


class LibreLanguage(Struct):
    code: str
    name: Annotated[str, about("English name of the language")]
    targets: list[str]


class DetectedLanguage(Struct):
    confidence: Annotated[float, about("percentage")]
    language: Annotated[str, about("code of a source language")]


class LibreAnswer(Struct):
    translated_text: str | list[str] = msgspec.field(name="translatedText")
    detected: DetectedLanguage | list[DetectedLanguage] | UnsetType = msgspec.field(
        default=UNSET, name="detectedLanguage"
    )
    alternatives: Annotated[
        list[str | list[str]] | UnsetType,
        about("other translations; if `q` is a list, a list of them for each text"),
    ] = UNSET


# --- To and from bytes --------------------------------------------------------------------------

Request = TypeVar("Request", bound=Struct)


def decoded(kind: type[Request], content: bytes) -> Request:
    """The request in a body. Raises Refusal like `fields_of` and `converted`."""
    return converted(kind, fields_of(content))


def fields_of(content: bytes) -> dict[str, Any]:
    """The fields of a JSON object. Raises Refusal for other content."""
    try:
        values = parse_json(content, "the request", unique_keys=True)
    except CgruError as error:
        raise Refusal("not_json", str(error)) from None
    if not isinstance(values, dict):
        raise Refusal("not_json", "the request: a JSON object is expected")
    return values


def converted(kind: type[Request], values: Mapping[str, Any]) -> Request:
    """The request with these fields; null stands for a missing field.

    Raises Refusal, naming the field, for a field that is missing, unknown or invalid.
    """
    try:
        given = {name: value for name, value in values.items() if value is not None}
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        message = problem(error)
        if message.startswith("unknown field"):
            message += f"; the fields are {', '.join(kind.__struct_fields__)}"
        raise Refusal("invalid_field", message, field=_field(error)) from None


def _field(error: msgspec.ValidationError) -> str:
    """The field at fault in an error of msgspec, such as pairs[0].target."""
    place = re.search(r"`\$\.?([^`]*)`$", str(error))
    name = re.search(r"field `([^`]{1,80})`", str(error))
    return ".".join(found[1] for found in (place, name) if found and found[1])


def encoded(
    answer: Struct | Sequence[Struct], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer as JSON."""
    return Response(msgspec.json.encode(answer), status, headers, "application/json")
