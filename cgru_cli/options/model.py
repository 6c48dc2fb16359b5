"""The options of `cgru train` that say what is trained: text, vocabularies, and the model."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import ConfiguredOptions, general_option
from .flags import options_of
from .kinds import saved_model

LABELLING = ("classifier", "tagger")  # types that give labels and write no text
UNITS = ("gru", "lstm", "rnn", "tanh", "relu", "sigmoid")

data_option = options_of("Training data")
model_option = options_of("Model")
weights_option = options_of("Initialisation")


@dataclass(frozen=True)
class ModelOptions(ConfiguredOptions):
    """The first part of `TrainOptions`."""

    model: str | None = general_option(
        None, "model to train; everything that belongs to the run is kept beside it",
        "-m", "--model", kind=saved_model, metavar="MODEL.npz", aliases=("--saveto",), path="file",
    )  # fmt: skip
    compat: str | None = general_option(
        None, "read the command line as this program's trainer does, with its options and its "
        "defaults", "--compat",
        choices=("nematus", "nematus-tf", "dl4mt", "marian"), metavar="PROGRAM",
    )  # fmt: skip
    dry_run: bool = general_option(
        False, "print the model's size, an estimate of memory and the first batch, and exit",
        "--dry-run", kind=bool,
    )  # fmt: skip
    seed: int = general_option(
        1, "random seed of initial weights, order of the data, dropout and sampling", "--seed",
        kind=int, metavar="N", least=0, most=2**63 - 1,
    )  # fmt: skip
    quiet: bool = general_option(
        False, "write nothing but errors to standard error", "--quiet", kind=bool
    )

    train_sets: tuple[str, ...] = data_option(
        (), "source and target text (several pairs: all sources, then all targets); for a language "
        "model the text alone, for a classifier or tagger text and labels; not needed with DATA",
        "-t", "--train-sets", metavar="SRC TRG", many=True, aliases=("--datasets",), path="file",
    )  # fmt: skip
    tsv: bool = data_option(
        False, "read source and target, and alignments and weights if --guided-alignment and "
        "--data-weighting give their fields, from one file with tabs between the fields of a line "
        "(also of --valid-sets); `-t -` is standard input", "--tsv", kind=bool,
    )  # fmt: skip
    tsv_fields: int = data_option(
        0, "number of fields of a line with --tsv; 0: as many as are read", "--tsv-fields",
        kind=int, metavar="N", least=0, most=16, needs=("--tsv",),
    )  # fmt: skip
    vocabularies: tuple[str, ...] = data_option(
        (), "vocabulary files: source (one for each factor), then target; for a language model one "
        "file; a vocabulary of labels that does not exist is made of the training labels; not "
        "needed with DATA", "-v", "--vocabs", metavar="SRC TRG", many=True,
        aliases=("--dictionaries",), path="file",
    )  # fmt: skip
    dim_vocabs: tuple[int, ...] = data_option(
        (), "number of words to take from the beginning of each vocabulary file; 0: all",
        "--dim-vocabs", kind=int, metavar="N...", many=True, least=0, most=10_000_000,
    )  # fmt: skip
    sentencepiece_options: str | None = data_option(
        None, "learn the .spm files of --vocabs that do not exist, with these options of "
        "SentencePiece's trainer (--compat marian always learns them)", "--sentencepiece-options",
        metavar="'--NAME=VALUE ...'",
    )  # fmt: skip
    sentencepiece_max_lines: int = data_option(
        2_000_000, "largest number of lines to learn a .spm from", "--sentencepiece-max-lines",
        kind=int, metavar="N", least=1, most=10**9,
    )  # fmt: skip
    right_left: bool = data_option(
        False, "train a right-to-left model, which writes sentences from their end, and with "
        "--compat marian reads them from there too; translate, score and reranking turn all round "
        "by themselves", "--right-left", kind=bool,
    )  # fmt: skip

    type: str = model_option(
        "cgru", "type of model, by what its decoder sees of the source: nothing (lm, a language "
        "model), the encoder's last state (encdec at every step, seq2seq at the first), or a "
        "context by attention (rnnsearch, cgru); or without a decoder: a label for each line "
        "(classifier) or each word (tagger); s2s, amun and nematus are Marian's names of cgru",
        "--type", metavar="TYPE", aliases=("--model_type",),
        choices=(
            "lm", "encdec", "seq2seq", "rnnsearch", "cgru", *LABELLING, "s2s", "amun", "nematus",
        ),
    )  # fmt: skip
    condition: bool = model_option(
        False, "with --type lm, generate each text from one input: a label a line (-t LABELS TEXT "
        "-v LABELS.json VOCAB), or a vector of numbers (-t FEATURES TEXT -v VOCAB), between spaces "
        "or as a .npy that has a row for each line", "--condition", kind=bool,
    )  # fmt: skip
    cell: str = model_option(
        "gru", "recurrent unit of encoder and decoder; rnn and tanh are the plain (Elman) unit, "
        "relu and sigmoid the same with that activation", "--cell", choices=UNITS,
    )  # fmt: skip
    enc_cell: str | None = model_option(
        None, "recurrent unit of the encoder, if it differs from --cell", "--enc-cell",
        choices=UNITS,
    )  # fmt: skip
    dec_cell: str | None = model_option(
        None, "recurrent unit of the decoder, if it differs from --cell", "--dec-cell",
        choices=UNITS,
    )  # fmt: skip
    gru_reset: str = model_option(
        "after", "where a GRU applies its reset gate: after the product of state and weights "
        "(DL4MT, Nematus, Marian) or before it (Cho et al. 2014)", "--gru-reset",
        choices=("after", "before"),
    )  # fmt: skip
    dec_start: str = model_option(
        "mean", "what the decoder's first state is computed from, for --type rnnsearch and cgru: "
        "the mean annotation (DL4MT, Nematus, Marian) or the backward encoder's last state "
        "(Bahdanau et al. 2015)", "--dec-start", choices=("mean", "last-backward"),
    )  # fmt: skip
    no_feedback: bool = model_option(
        False, "do not feed the previous word to the decoder (--type encdec and seq2seq): its "
        "state depends on the previous state and, of encdec, the encoder's last state only",
        "--no-feedback", kind=bool,
    )  # fmt: skip
    enc_type: str | None = model_option(
        None, "direction of the encoder's levels: alternating (two stacks, whose levels alternate "
        "between forward and backward), bidirectional (two stacks, one for each direction), "
        "bi-unidirectional (both directions at the bottom, forward above), unidirectional "
        "(forward), reversed (backward, Sutskever et al. 2014); if not given, alternating for "
        "models with attention, else unidirectional", "--enc-type", metavar="TYPE",
        choices=("alternating", "bidirectional", "bi-unidirectional", "unidirectional", "reversed"),
    )  # fmt: skip
    pooling: str = model_option(
        "mean", "how a classifier pools the annotations of a line into one vector: the last state "
        "of each direction (last), their mean or maximum, or attention with a learned query",
        "--pooling", choices=("last", "mean", "max", "attention"),
    )  # fmt: skip
    crf: bool = model_option(
        False, "let a tagger's tags depend on those beside them: a linear-chain CRF (conditional "
        "random field), trained on and searched exactly", "--crf", kind=bool,
    )  # fmt: skip
    dim_emb: int = model_option(
        512, "size of word embeddings", "--dim-emb", kind=int, metavar="N", least=1, most=65536,
        aliases=("--embedding_size", "--dim_word"),
    )  # fmt: skip
    dim_rnn: int = model_option(
        1024, "size of recurrent states", "--dim-rnn", kind=int, metavar="N", least=1, most=65536,
        aliases=("--state_size", "--dim"),
    )  # fmt: skip
    dim_factors: tuple[int, ...] = model_option(
        (), "embedding size of each source factor, the word first; their sum must be --dim-emb",
        "--dim-factors",
        kind=int, metavar="N...", many=True, least=1, most=65536, aliases=("--dim_per_factor",),
    )  # fmt: skip
    enc_depth: int = model_option(
        1, "levels of the encoder", "--enc-depth", kind=int, metavar="N", least=1, most=100,
        aliases=("--rnn_enc_depth",),
    )  # fmt: skip
    enc_cell_depth: int = model_option(
        1, "cells of each level of the encoder, one after the other (deep transition)",
        "--enc-cell-depth", kind=int, metavar="N", least=1, most=100,
        aliases=("--rnn_enc_transition_depth",),
    )  # fmt: skip
    dec_depth: int = model_option(
        1, "levels of the decoder", "--dec-depth", kind=int, metavar="N", least=1, most=100,
        aliases=("--rnn_dec_depth",),
    )  # fmt: skip
    dec_cell_base_depth: int | None = model_option(
        None, "cells of the decoder's first level, one after the other; if not given, 2 for cgru, "
        "else 1", "--dec-cell-base-depth", kind=int, metavar="N", least=1, most=100,
        aliases=("--rnn_dec_base_transition_depth",),
    )  # fmt: skip
    dec_cell_high_depth: int = model_option(
        1, "cells of each higher level of the decoder, one after the other",
        "--dec-cell-high-depth", kind=int, metavar="N", least=1, most=100,
        aliases=("--rnn_dec_high_transition_depth",),
    )  # fmt: skip
    deep_context: bool = model_option(
        False, "give the context to the decoder's higher levels too", "--deep-context", kind=bool,
        aliases=("--rnn_dec_deep_context",),
    )  # fmt: skip
    no_skip: bool = model_option(
        False, "leave out the residual connections between levels", "--no-skip", kind=bool
    )
    layer_normalization: bool = model_option(
        False, "layer normalisation", "--layer-normalization", kind=bool,
        aliases=("--rnn_layer_normalization", "--layer_normalisation", "--layer_normalization"),
    )  # fmt: skip
    normalization_form: str = model_option(
        "nematus", "form of --layer-normalization: Nematus' (a gain and a bias for each product), "
        "that of Marian's types s2s and amun (gates and proposal together, gains only), or "
        "Nematus-TF's RMS norm", "--normalization-form", choices=("nematus", "marian", "rms"),
        needs=("--layer-normalization",),
    )  # fmt: skip
    weight_normalization: bool = model_option(
        False, "weight normalisation, in Nematus' form", "--weight-normalization", kind=bool,
        aliases=("--weight_normalisation",),
    )  # fmt: skip
    tied_embeddings: bool = model_option(
        False, "use the target embeddings as weights of the output layer too",
        "--tied-embeddings", kind=bool, aliases=("--tie_decoder_embeddings",),
    )  # fmt: skip
    tied_embeddings_all: bool = model_option(
        False, "use one embedding matrix for source, target and output layer",
        "--tied-embeddings-all", kind=bool,
    )  # fmt: skip
    tied_embeddings_src: bool = model_option(
        False, "use one embedding matrix for source and target", "--tied-embeddings-src",
        kind=bool, aliases=("--tie_encoder_decoder_embeddings",),
    )  # fmt: skip
    readout_activation: str = model_option(
        "tanh", "non-linearity of the layer before the output layer; maxout as in Bahdanau et al. "
        "2015", "--readout-activation", choices=("tanh", "relu", "prelu", "linear", "maxout"),
        aliases=("--output_hidden_activation",),
    )  # fmt: skip
    mixture: int = model_option(
        1, "number of components of a mixture of softmaxes at the output; 1: a plain softmax",
        "--mixture", kind=int, metavar="N", least=1, most=1000,
        aliases=("--softmax_mixture_size",),
    )  # fmt: skip
    lexical: bool = model_option(
        False, "add a lexical model, which predicts words from the attended source embeddings too",
        "--lexical", kind=bool, aliases=("--rnn_lexical_model", "--lexical_model"),
    )  # fmt: skip

    init: str = weights_option(
        "scaled", "initialisation of weights: cgru's own (scaled), Nematus', or Marian's (glorot)",
        "--init", choices=("scaled", "nematus", "glorot"),
    )  # fmt: skip
    lstm_forget_bias: float = weights_option(
        1.0, "initial bias of an LSTM's forget gate", "--lstm-forget-bias", kind=float, metavar="X",
        least=-1000, most=1000,
    )  # fmt: skip
    pretrained_model: str | None = weights_option(
        None, "start from the structure and the weights of this model, of any program",
        "--pretrained-model", metavar="MODEL", path="file",
    )  # fmt: skip
    prior_model: str | None = weights_option(
        None, "model of the same structure from which --map-decay-c penalises differences; "
        "training starts from it if no --pretrained-model is given", "--prior-model",
        metavar="MODEL", aliases=("--prior_model",), path="file",
    )  # fmt: skip
    freeze: tuple[str, ...] = weights_option(
        (), "do not train these parameters, by array name or path: 'encoder_*', 'decoder/*'",
        "--freeze", metavar="PATTERN...", many=True,
    )  # fmt: skip
    fix_embeddings: bool = weights_option(
        False, "do not train the embeddings", "--fix-embeddings", kind=bool
    )
    embedding_vectors: tuple[str, ...] = weights_option(
        (), "initialise source and target embeddings from these word vectors (word2vec's text "
        "format)",
        "--embedding-vectors", metavar="SRC TRG", many=True, path="file",
    )  # fmt: skip

    @property
    def has_source(self) -> bool:
        """Whether something is given with each text: a source, or a condition."""
        return self.type != "lm" or self.condition

    @property
    def begins_from(self) -> str | None:
        """The model whose weights are the first ones, if they are not new."""
        return self.pretrained_model or self.prior_model
