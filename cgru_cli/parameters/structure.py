"""The structure of a model: sizes, depths and the conventions of its program.

A `Structure` and the arrays suffice to run a model. `names.py` derives the names and shapes of
the arrays from the structure.
"""

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, NamedTuple, Self

from msgspec import Meta

from ..errors import parsing
from ..system.typed_json import LATER, dataclass_from_json

EOS_ID = 0  # ends and pads sentences
FIRST_LABEL = 2  # the first label's id; EOS and the unknown word come before it
DEEPEST = 64  # maximum number of levels, cells of a level, or softmaxes of a mixture
MOST_FACTORS = 24
LARGEST_SIZE = 2**31 - 1  # maximum number of rows or columns in TensorFlow

Size = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]
Sizes = Annotated[tuple[Size, ...], Meta(max_length=MOST_FACTORS)]
Depth = Annotated[int, Meta(ge=1, le=DEEPEST)]
Probability = Annotated[float, Meta(ge=0, lt=1)]


class Bias(StrEnum):
    """Where a deep model's cells add their bias."""

    THEANO = "theano"  # Nematus-Theano, DL4MT, Marian, Nematus-TF with theano_compat
    NEMATUS_TF = "nematus-tf"  # Nematus-TF's own; differs only in deep models


class Normalization(StrEnum):
    """The normalisation of pre-activations."""

    NONE = "none"
    NEMATUS = "nematus"  # layer norm, gain and bias per product, eps 1e-5
    RMS = "rms"  # Nematus-TF's RMS norm, gain per product, eps 1e-5
    MARIAN = "marian"  # layer norm over [gates | proposal] at once, gain only, eps 1e-9


class Activation(StrEnum):
    """Non-linearity of the readout t_j."""

    TANH = "tanh"
    RELU = "relu"
    PRELU = "prelu"
    LINEAR = "linear"
    MAXOUT = "maxout"  # the larger of each pair of neighbours (Bahdanau et al. 2015)


class Type(StrEnum):
    """The type of model: how the decoder reads the source, or what gets a label."""

    LM = "lm"  # the decoder reads no source
    ENCDEC = "encdec"  # every step reads the encoder's last state
    SEQ2SEQ = "seq2seq"  # the decoder's first state is the encoder's last state
    RNNSEARCH = "rnnsearch"  # every step reads a context, by attention from the previous state
    CGRU = "cgru"  # every step reads a context, by attention between its two cells
    CLASSIFIER = "classifier"  # no decoder: a label for the whole source
    TAGGER = "tagger"  # no decoder: a label for each word of the source

    @property
    def writes_text(self) -> bool:
        """Whether a decoder writes text; otherwise the model predicts labels of the source."""
        return self not in (Type.CLASSIFIER, Type.TAGGER)

    @property
    def reads_source(self) -> bool:
        """Whether there is an encoder."""
        return self is not Type.LM

    @property
    def has_context(self) -> bool:
        """Whether every step reads a context c_j."""
        return self in (Type.ENCDEC, Type.RNNSEARCH, Type.CGRU)

    @property
    def attends(self) -> bool:
        """Whether attention computes the context."""
        return self in (Type.RNNSEARCH, Type.CGRU)


class Pooling(StrEnum):
    """How a classifier pools all annotations into one vector; see `ladder/classifier.py`."""

    LAST = "last"
    MEAN = "mean"
    MAX = "max"
    ATTENTION = "attention"


class Condition(StrEnum):
    """The input from which a language model generates text; see `ladder/conditioned.py`."""

    NONE = "none"
    LABEL = "label"
    VECTOR = "vector"


class Unit(StrEnum):
    """The recurrent unit of a cell; the equations are in `units.py`."""

    GRU = "gru"  # reset after the product with the state
    GRU_BEFORE = "gru-before"  # reset before the product with the state
    LSTM = "lstm"
    SRU = "sru"  # no product with the state
    SSRU = "ssru"  # an SRU without the reset gate
    TANH = "tanh"
    RELU = "relu"
    SIGMOID = "sigmoid"


class Encoder(StrEnum):
    """The directions in which the encoder's levels read."""

    ALTERNATING = "alternating"  # two stacks that change direction at every level
    BIDIRECTIONAL = "bidirectional"  # two stacks, each in one direction
    BI_UNIDIRECTIONAL = "bi-unidirectional"  # both directions below, forward above
    UNIDIRECTIONAL = "unidirectional"  # forward
    REVERSED = "reversed"  # from the end


class DecoderStart(StrEnum):
    """The vector v of an attentive decoder's first state s_0 = tanh(v W_init + b)."""

    MEAN = "mean"  # the mean annotation (DL4MT, Nematus, Marian)
    LAST_BACKWARD = "last-backward"  # the backward state at the first word (Bahdanau et al. 2015)


class Dropout(NamedTuple):
    """Dropout probabilities of programs that scale at inference instead of in training.

    Nematus-Theano before model_version 0.1 (readout equals hidden) and DL4MT (only readout).
    """

    embedding: Probability = 0.0
    hidden: Probability = 0.0
    source: Probability = 0.0
    target: Probability = 0.0
    readout: Probability = 0.0


WITHOUT_STATE_PRODUCT = (Unit.SRU, Unit.SSRU)
DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class Structure:
    """The sizes (numbers of rows, columns, cells) and conventions of a recurrent model."""

    source_vocabularies: Sizes
    source_embeddings: Sizes
    target_vocabulary: Size
    target_embedding: Size
    state: Size
    encoder_depth: Depth = 1
    encoder_transition: Depth = 1
    decoder_depth: Depth = 1
    decoder_base_transition: Depth = 2
    decoder_high_transition: Depth = 1
    deep_context: bool = False
    encoder: Encoder = Encoder.ALTERNATING
    residual: bool = True
    bias: Bias = Bias.THEANO
    normalization: Normalization = Normalization.NONE
    weight_normalization: bool = False
    tied_output: bool = False
    shared_embeddings: bool = False
    readout_activation: Activation = Activation.TANH
    mixture: Depth = 1
    lexical: bool = False
    old_dropout: Dropout | None = None
    type: Type = Type.CGRU
    encoder_unit: Unit = field(default=Unit.GRU, metadata=LATER)
    decoder_unit: Unit = field(default=Unit.GRU, metadata=LATER)
    decoder_start: DecoderStart = field(default=DecoderStart.MEAN, metadata=LATER)
    pooling: Pooling = field(default=Pooling.MEAN, metadata=LATER)
    feedback: bool = field(default=True, metadata=LATER)  # the decoder reads the previous word
    condition: Condition = field(default=Condition.NONE, metadata=LATER)
    condition_size: Annotated[int, Meta(ge=0, le=LARGEST_SIZE)] = field(default=0, metadata=LATER)
    crf: bool = field(default=False, metadata=LATER)  # a tag depends on its neighbours

    @property
    def embeds_target(self) -> bool:
        """Whether target words have embeddings; labels and unread words do not."""
        return self.type.writes_text and self.feedback

    @property
    def attends(self) -> bool:
        """Whether the model attends to the source."""
        pooled = self.type is Type.CLASSIFIER and self.pooling is Pooling.ATTENTION
        return self.type.attends or pooled

    @property
    def context(self) -> int:
        """Width of an annotation: of [forward ; backward], or of one reader's state."""
        return len(self.directions(self.encoder_depth)) * self.state

    @property
    def source_columns(self) -> int:
        """The number of columns of a source word: one for each factor.

        A tagger has one more (1 at the first piece of a word, 0 at others); for a condition, see
        `text.labels`.
        """
        if self.condition is not Condition.NONE:
            return 1 if self.condition is Condition.LABEL else self.condition_size
        return len(self.source_embeddings) + (self.type is Type.TAGGER)

    @property
    def has_source(self) -> bool:
        """Whether the model has a source: text for an encoder, or a condition."""
        return self.type.reads_source or self.condition is not Condition.NONE

    @property
    def vocabularies(self) -> tuple[int, ...]:
        """Sizes of the vocabularies: of the sources or a condition's labels, then of the target."""
        labels = (self.condition_size + FIRST_LABEL,)
        of_labels = labels if self.condition is Condition.LABEL else ()
        return (*self.source_vocabularies, *of_labels, self.target_vocabulary)

    def directions(self, level: int) -> tuple[str, ...]:
        """The directions in which an encoder level reads."""
        if self.encoder is Encoder.REVERSED:
            return DIRECTIONS[1:]
        above = self.encoder is Encoder.BI_UNIDIRECTIONAL and level > 1
        return DIRECTIONS[:1] if above or self.encoder is Encoder.UNIDIRECTIONAL else DIRECTIONS

    def adds_input(self, level: int) -> bool:
        """Whether an encoder level has a residual connection, from its input to its states."""
        first = 2 if self.encoder is Encoder.BI_UNIDIRECTIONAL else 1
        return self.residual and level > first

    def sizes(self) -> dict[str, int]:
        """The sizes that the letters of shapes stand for in this model."""
        d, e = self.state, self.target_embedding
        sizes = {"1": 1, "D": d, "2D": 2 * d, "3D": 3 * d, "4D": 4 * d}
        sizes |= {"C": self.context, "A": self.context, "D+C": d + self.context}
        sizes |= {"E": e, "R": e * (2 if self.readout_activation is Activation.MAXOUT else 1)}
        sizes |= {"Es": sum(self.source_embeddings), "M": self.mixture, "N": self.condition_size}
        sizes |= {"V": self.target_vocabulary, "L": self.target_vocabulary - FIRST_LABEL}
        factors = zip(self.source_vocabularies, self.source_embeddings, strict=True)
        for factor, (rows, width) in enumerate(factors):
            sizes |= {f"Vs{factor}": rows, f"Es{factor}": width}
        return sizes

    def high_levels(self) -> range:
        """The numbers of the decoder levels above the first."""
        return range(2, self.decoder_depth + 1)

    def decoder_levels(self) -> range:
        """The numbers of all decoder levels; none for a model that predicts labels."""
        return range(1, self.decoder_depth + 1 if self.type.writes_text else 1)

    def encoder_levels(self) -> range:
        """The numbers of the encoder levels."""
        return range(1, self.encoder_depth + 1 if self.type.reads_source else 1)

    def as_dict(self) -> dict:
        """Plain values for JSON and `from_dict`. A missing encoder or decoder has no unit."""
        values = dataclasses.asdict(self)
        if not self.type.reads_source:
            del values["encoder_unit"]
        if not self.type.writes_text:
            del values["decoder_unit"]
        return values

    @classmethod
    def from_dict(cls, values: object, source: str) -> Self:
        """The inverse of `as_dict`. Raises CgruError, naming the source, for other values."""
        with parsing(source, "does not describe a model"):
            structure = dataclass_from_json(cls, values, source)
            structure._check()
            return structure

    def _check(self) -> None:
        """Raise ValueError if fields do not fit together."""
        if len(self.source_vocabularies) != len(self.source_embeddings):
            raise ValueError("source_vocabularies and source_embeddings differ in length")
        if not self.type.writes_text and self.target_vocabulary <= FIRST_LABEL:
            raise ValueError("there are no labels")
        if not self.feedback and (self.type not in WITHOUT_FEEDBACK or self.tied_output):
            raise ValueError("a decoder of this kind reads the previous word")
        conditioned = self.condition is not Condition.NONE
        if conditioned != (self.condition_size > 0):
            raise ValueError("condition_size is positive with a condition, and 0 without")
        if conditioned and self.type is not Type.LM:
            raise ValueError("only a language model has a condition")
        if self.crf and self.type is not Type.TAGGER:
            raise ValueError("only a tagger has a CRF")


WITHOUT_FEEDBACK = (Type.ENCDEC, Type.SEQ2SEQ)  # whose decoder need not read the previous word
