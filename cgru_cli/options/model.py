"""The options of `cgru train` for text, vocabularies and model."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import GENERAL, ConfiguredOptions
from .declaration import Group
from .kinds import saved_model
from .scope import Scope

LABELLING = ("classifier", "tagger")  # types that predict labels and write no text
UNITS = ("gru", "lstm", "sru", "ssru", "rnn", "tanh", "relu", "sigmoid")

# options with which no embedding matrix is shared by default
_EMBEDDINGS = """
    --tied-embeddings --tied-embeddings-src --embedding-vectors --no-feedback""".split()
_BOTH = Scope.SOURCE | Scope.DECODER

DATA = Group("Training data")
FILES = Group("Training data", applies_to=Scope.MACHINE)
MODEL = Group("Model")
ENCODER = Group("Model", applies_to=Scope.SOURCE)
DECODER = Group("Model", applies_to=Scope.DECODER)
TIED = Group("Model", applies_to=_BOTH | Scope.FEEDBACK)
INITIALISATION = Group("Initialisation")
NEW = Group("Initialisation", excludes=("--pretrained-model", "--prior-model"))


@dataclass(frozen=True)
class ModelOptions(ConfiguredOptions):
    """The first part of `TrainOptions`."""

    model: str | None = FILES.values(saved_model)("""
        -m --model MODEL.npz (--saveto): model to train; all files of the run are kept beside
        it""")
    compat: str | None = GENERAL.choice(
        "nematus", "nematus-tf", "dl4mt", "marian", applies_to=Scope.MACHINE
    )("""
        --compat PROGRAM: read the command line like this program's trainer, with its options and
        defaults""")
    defaults: str = GENERAL.choice("data", "fixed", default="data")("""
        --defaults: whether the defaults of sizes, learning rate, regularisation and validation
        depend on the training data (data) or not (fixed, and always with --compat)""")
    dry_run: bool = GENERAL("""
        --dry-run: print the model's size, the estimated memory, the first batch and the duration of
        an epoch (from a few updates of a copy), and exit""")
    seed: int = GENERAL.whole(0, 2**63 - 1, default=1, applies_to=Scope.RUN)("""
        --seed N: random seed of initial weights, order of the data, dropout and sampling""")
    quiet: bool = GENERAL.values(applies_to=Scope.MACHINE)(
        "-q --quiet: write only errors to standard error"
    )

    train_sets: tuple[str, ...] = FILES("""
        -t --train-sets SRC TRG (--datasets): source and target text (several pairs: all sources,
        then all targets); for a language model only the text, for a classifier or tagger text and
        labels; not needed with DATA""")
    vocabularies: tuple[str, ...] = FILES("""
        -v --vocabs SRC TRG (--dictionaries): vocabulary files: source (one for each factor), then
        target; for a language model one file; a vocabulary of labels that does not exist is made
        from the training labels; not needed with DATA""")
    dim_vocabs: tuple[int, ...] = DATA.whole(0, 10_000_000)("""
        --dim-vocabs N...: number of words to read from the beginning of each vocabulary file; 0:
        all""")
    right_left: bool = DATA.values(applies_to=Scope.DECODER | Scope.RUN)("""
        --right-left: train a model that writes sentences right to left, and with --compat marian
        also reads them right to left; translate and score recognise such models""")

    type: str = MODEL.choice(
        "lm",
        "encdec",
        "seq2seq",
        "rnnsearch",
        "cgru",
        *LABELLING,
        "s2s",
        "amun",
        "nematus",
        default="cgru",
    )("""
        --type TYPE (--model_type): type of model: the decoder reads no source (lm, a language
        model), the encoder's last state (encdec at every step, seq2seq at the first), or a context
        by attention (rnnsearch, cgru); models without a decoder predict a label for each line
        (classifier) or word (tagger); s2s, amun and nematus are Marian's names for cgru""")
    condition: bool = MODEL.values(needs="--type lm")("""
        --condition: generate each text from one input: a label on each line (-t
        LABELS TEXT -v LABELS.json VOCAB), or a vector of numbers (-t FEATURES TEXT -v VOCAB),
        separated by spaces or as a .npy with a row for each line""")
    cell: str = MODEL.choice(*UNITS, default="gru")("""
        --cell: recurrent unit of encoder and decoder; sru and ssru are simple recurrent units,
        whose gates do not depend on the state; rnn and tanh are the plain (Elman) unit; relu and
        sigmoid are the plain unit with that activation""")
    enc_cell: str | None = ENCODER.choice(*UNITS)("""
        --enc-cell: recurrent unit of the encoder, if it differs from --cell""")
    dec_cell: str | None = DECODER.choice(*UNITS)("""
        --dec-cell: recurrent unit of the decoder, if it differs from --cell""")
    gru_reset: str = MODEL.choice("after", "before", default="after")("""
        --gru-reset: where a GRU applies its reset gate: after the product of state and weights
        (DL4MT, Nematus, Marian) or before it (Cho et al. 2014)""")
    dec_start: str = DECODER.choice("mean", "last-backward", default="mean")("""
        --dec-start: input of the decoder's first state, for --type rnnsearch and cgru: the mean
        annotation (DL4MT, Nematus, Marian) or the backward encoder's last state (Bahdanau et al.
        2015)""")
    no_feedback: bool = MODEL("""
        --no-feedback: do not feed the previous word to the decoder (--type encdec and seq2seq): its
        state depends only on the previous state and, for encdec, on the encoder's last state""")
    enc_type: str | None = ENCODER.choice(
        "alternating", "bidirectional", "bi-unidirectional", "unidirectional", "reversed"
    )("""
        --enc-type TYPE: direction of the encoder's levels: alternating (two stacks, whose levels
        alternate between forward and backward), bidirectional (two stacks, one for each direction),
        bi-unidirectional (both directions at the bottom, forward above), unidirectional (forward),
        reversed (backward, Sutskever et al. 2014); if not given, alternating for models with
        attention, otherwise unidirectional""")
    pooling: str = MODEL.choice(
        "last", "mean", "max", "attention", default="mean", needs="--type classifier"
    )("""
        --pooling: how a classifier pools the annotations of a line into one vector: the last state
        of each direction (last), their mean or maximum, or attention with a learned query""")
    crf: bool = MODEL.values(needs="--type tagger")("""
        --crf: let a tagger's tags depend on their neighbours: a linear-chain CRF (conditional
        random field), with exact training and search""")
    dim_emb: int = MODEL.whole(
        1,
        65536,
        default=512,
        by_data="128, 256 or 512, or half of --dim-rnn",
        unless="--embedding-vectors",
    )("""
        --dim-emb N (--embedding_size --dim_word): size of word embeddings""")
    dim_rnn: int = MODEL.whole(
        1, 65536, default=1024, by_data="256, 512 or 1024, or twice --dim-emb"
    )("""
        --dim-rnn N (--state_size --dim): size of recurrent states""")
    dim_factors: tuple[int, ...] = ENCODER.whole(1, 65536)("""
        --dim-factors N... (--dim_per_factor): embedding size of each source factor, the word first;
        their sum must be --dim-emb""")
    enc_depth: int = ENCODER.whole(1, 100, default=1)("""
        --enc-depth N (--rnn_enc_depth): levels of the encoder""")
    enc_cell_depth: int = ENCODER.whole(1, 100, default=1)("""
        --enc-cell-depth N (--rnn_enc_transition_depth): cells of each level of the encoder, one
        after the other (deep transition)""")
    dec_depth: int = DECODER.whole(1, 100, default=1)("""
        --dec-depth N (--rnn_dec_depth): levels of the decoder""")
    dec_cell_base_depth: int | None = DECODER.whole(1, 100)("""
        --dec-cell-base-depth N (--rnn_dec_base_transition_depth): cells of the decoder's first
        level, one after the other; if not given, 2 for cgru, otherwise 1; with 1, the states of a
        cgru do not depend on the context, which only the readout reads""")
    dec_cell_high_depth: int = DECODER.whole(1, 100, default=1)("""
        --dec-cell-high-depth N (--rnn_dec_high_transition_depth): cells of each higher level of the
        decoder, one after the other""")
    deep_context: bool = MODEL.values(applies_to=_BOTH | Scope.ANNOTATIONS)("""
        --deep-context (--rnn_dec_deep_context): give the context to the decoder's higher levels
        too""")
    no_skip: bool = MODEL("--no-skip: leave out the residual connections between levels")
    layer_normalization: bool = MODEL("""
        --layer-normalization (--rnn_layer_normalization --layer_normalisation): layer
        normalisation""")
    normalization_form: str = MODEL.choice(
        "nematus", "marian", "rms", default="nematus", needs="--layer-normalization"
    )("""
        --normalization-form: form of --layer-normalization: as in Nematus (a gain and a bias for
        each product), as in Marian's types s2s and amun (gates and proposal together, only gains),
        or the RMS norm of Nematus-TF""")
    weight_normalization: bool = MODEL("""
        --weight-normalization (--weight_normalisation): weight normalisation, as in Nematus""")
    tied_embeddings: bool = MODEL.values(applies_to=Scope.DECODER | Scope.FEEDBACK)("""
        --tied-embeddings (--tie_decoder_embeddings): use the target embeddings as weights of the
        output layer too""")
    tied_embeddings_all: bool = TIED.values(
        by_data="on if both sides have one vocabulary", unless=_EMBEDDINGS
    )("""
        --tied-embeddings-all: use one embedding matrix for source, target and output layer""")
    tied_embeddings_src: bool = TIED("""
        --tied-embeddings-src (--tie_encoder_decoder_embeddings): use one embedding matrix for
        source and target""")
    readout_activation: str = DECODER.choice(
        "tanh", "relu", "prelu", "linear", "maxout", default="tanh"
    )("""
        --readout-activation (--output_hidden_activation): non-linearity of the layer before the
        output layer; maxout as in Bahdanau et al. 2015""")
    mixture: int = DECODER.whole(1, 1000, default=1)("""
        --mixture N (--softmax_mixture_size): number of components of a mixture of softmaxes at the
        output; 1: a plain softmax""")
    lexical: bool = MODEL.values(applies_to=_BOTH | Scope.ANNOTATIONS | Scope.ATTENTION)("""
        --lexical (--rnn_lexical_model --lexical_model): add a lexical model, which predicts words
        from the attended source embeddings too""")

    init: str = NEW.choice("scaled", "nematus", "nematus-tf", "glorot", default="scaled")("""
        --init: initialisation of weights: cgru's own (scaled), that of Nematus on Theano and DL4MT,
        of Nematus on TensorFlow, or of Marian (glorot)""")
    lstm_forget_bias: float = NEW.number(-1000, 1000, default=1.0)("""
        --lstm-forget-bias X: initial bias of an LSTM's forget gate""")
    pretrained_model: str | None = INITIALISATION.values(applies_to=Scope.MACHINE)("""
        --pretrained-model MODEL: start from the structure and the weights of this model, of any
        program""")
    prior_model: str | None = INITIALISATION.values(applies_to=Scope.MACHINE)("""
        --prior-model MODEL: model of the same structure from which --map-decay-c penalises
        differences; training starts from it if no --pretrained-model is given""")
    freeze: tuple[str, ...] = INITIALISATION.values(applies_to=Scope.RUN)("""
        --freeze PATTERN...: do not train these parameters, by array name or path: 'encoder_*',
        'decoder/*'""")
    fix_embeddings: bool = INITIALISATION.values(applies_to=Scope.RUN)(
        "--fix-embeddings: do not train the embeddings"
    )

    @property
    def has_source(self) -> bool:
        """Whether each text has a source or a condition."""
        return self.type != "lm" or self.condition

    @property
    def begins_from(self) -> str | None:
        """The model whose weights training starts from; None for new weights."""
        return self.pretrained_model or self.prior_model
