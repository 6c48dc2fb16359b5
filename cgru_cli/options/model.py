"""The options of `cgru train` that say what is trained: text, vocabularies, and the model."""

from __future__ import annotations

from dataclasses import dataclass

from .flags import option

UNITS = ("gru", "lstm", "rnn", "tanh", "relu")


@dataclass(frozen=True)
class ModelOptions:
    """The first part of `TrainOptions`."""

    model: str | None = option(
        None, "model to train; its folder keeps all that belongs to the run", "-m", "--model",
        metavar="MODEL.npz", aliases=("--saveto",),
    )  # fmt: skip
    train_sets: tuple[str, ...] = option(
        (), "source and target text (several pairs: all sources, then all targets); of a language "
        "model the text alone; not needed with DATA", "-t", "--train-sets", metavar="SRC TRG",
        many=True,
        aliases=("--datasets",),
    )  # fmt: skip
    source_dataset: str | None = option(
        None, "Nematus' way to name the source of --train-sets", "--source-dataset",
        metavar="FILE", aliases=("--source_dataset",),
    )  # fmt: skip
    target_dataset: str | None = option(
        None, "Nematus' way to name the target of --train-sets", "--target-dataset",
        metavar="FILE", aliases=("--target_dataset",),
    )  # fmt: skip
    vocabularies: tuple[str, ...] = option(
        (), "vocabularies, source (one a factor) then target, of a language model the one; not "
        "needed with DATA", "-v", "--vocabs", metavar="SRC TRG", many=True,
        aliases=("--dictionaries",),
    )  # fmt: skip
    config: str | None = option(
        None, "options from a .yml or .json file; those on the command line win", "-c", "--config",
        metavar="FILE",
    )  # fmt: skip
    dump_config: bool = option(
        False, "print the options in force as .yml, and do nothing else", "--dump-config",
        kind=bool,
    )  # fmt: skip
    dry_run: bool = option(
        False, "print sizes, an estimate of memory and the first batch, and do nothing else",
        "--dry-run", kind=bool,
    )  # fmt: skip

    type: str = option(
        "cgru", "what the decoder sees of the source: nothing (lm), the encoder's last state "
        "(encdec: at every step; seq2seq: at its first), or a context by attention (rnnsearch, "
        "cgru); s2s, amun and nematus are Marian's words for cgru", "--type",
        choices=("lm", "encdec", "seq2seq", "rnnsearch", "cgru", "s2s", "amun", "nematus"),
        aliases=("--model_type",),
    )  # fmt: skip
    cell: str = option(
        "gru", "recurrent unit; rnn is a plain one, tanh unless relu is said", "--cell",
        choices=UNITS,
    )  # fmt: skip
    enc_cell: str | None = option(
        None, "of the encoder, where it is another", "--enc-cell", choices=UNITS
    )
    dec_cell: str | None = option(
        None, "of the decoder, where it is another", "--dec-cell", choices=UNITS
    )
    gru_reset: str = option(
        "after", "whether a GRU resets after the product with the state (DL4MT, Nematus, Marian) "
        "or before it (Cho et al. 2014)", "--gru-reset", choices=("after", "before"),
    )  # fmt: skip
    lstm_forget_bias: float = option(
        1.0, "what the bias of an LSTM's forget gate begins with", "--lstm-forget-bias",
        kind=float, metavar="X",
    )  # fmt: skip
    enc_type: str | None = option(
        None, "how the encoder reads: two stacks, whose directions alternate level by level or "
        "not; both directions below and forward above; forward alone; from the end alone "
        "(Sutskever et al. 2014); alternating where there is attention, else unidirectional",
        "--enc-type",
        choices=("alternating", "bidirectional", "bi-unidirectional", "unidirectional", "reversed"),
    )  # fmt: skip
    dim_emb: int = option(
        512, "width of the word embeddings", "--dim-emb", kind=int, metavar="N",
        aliases=("--embedding_size", "--dim_word"),
    )  # fmt: skip
    dim_rnn: int = option(
        1024, "width of the recurrent states", "--dim-rnn", kind=int, metavar="N",
        aliases=("--state_size", "--dim"),
    )  # fmt: skip
    dim_vocabs: tuple[int, ...] = option(
        (), "words taken from each vocabulary; 0 for all", "--dim-vocabs", kind=int,
        metavar="N...", many=True,
    )  # fmt: skip
    dim_factors: tuple[int, ...] = option(
        (), "embedding width of each source factor; they add up to --dim-emb", "--dim-factors",
        kind=int, metavar="N...", many=True, aliases=("--dim_per_factor",),
    )  # fmt: skip
    enc_depth: int = option(
        1, "levels of the encoder", "--enc-depth", kind=int, metavar="N",
        aliases=("--rnn_enc_depth",),
    )  # fmt: skip
    enc_cell_depth: int = option(
        1, "cells of an encoder transition", "--enc-cell-depth", kind=int, metavar="N",
        aliases=("--rnn_enc_transition_depth",),
    )  # fmt: skip
    dec_depth: int = option(
        1, "levels of the decoder", "--dec-depth", kind=int, metavar="N",
        aliases=("--rnn_dec_depth",),
    )  # fmt: skip
    dec_cell_base_depth: int | None = option(
        None, "cells of the decoder's first level; 2 for cgru, else 1", "--dec-cell-base-depth",
        kind=int, metavar="N", aliases=("--rnn_dec_base_transition_depth",),
    )  # fmt: skip
    dec_cell_high_depth: int = option(
        1, "cells of a transition in higher decoder levels", "--dec-cell-high-depth", kind=int,
        metavar="N", aliases=("--rnn_dec_high_transition_depth",),
    )  # fmt: skip
    deep_context: bool = option(
        False, "higher decoder levels read the context too", "--deep-context", kind=bool,
        aliases=("--rnn_dec_deep_context",),
    )  # fmt: skip
    no_skip: bool = option(False, "no residual connections between levels", "--no-skip", kind=bool)
    layer_normalization: bool = option(
        False, "layer normalisation, of Nematus' form", "--layer-normalization", kind=bool,
        aliases=("--rnn_layer_normalization", "--layer_normalisation", "--layer_normalization"),
    )  # fmt: skip
    weight_normalization: bool = option(
        False, "weight normalisation, of Nematus' form", "--weight-normalization", kind=bool,
        aliases=("--weight_normalisation",),
    )  # fmt: skip
    tied_embeddings: bool = option(
        False, "target embeddings are the output layer too", "--tied-embeddings", kind=bool,
        aliases=("--tie_decoder_embeddings",),
    )  # fmt: skip
    tied_embeddings_all: bool = option(
        False, "one embedding matrix for source, target and output", "--tied-embeddings-all",
        kind=bool,
    )  # fmt: skip
    tied_embeddings_src: bool = option(
        False, "one embedding matrix for source and target", "--tied-embeddings-src", kind=bool,
        aliases=("--tie_encoder_decoder_embeddings",),
    )  # fmt: skip
    readout_activation: str = option(
        "tanh", "non-linearity of the readout; maxout is of Bahdanau et al. 2015",
        "--readout-activation", choices=("tanh", "relu", "prelu", "linear", "maxout"),
        aliases=("--output_hidden_activation",),
    )  # fmt: skip
    mixture: int = option(
        1, "softmaxes in the mixture of the output", "--mixture", kind=int, metavar="N",
        aliases=("--softmax_mixture_size",),
    )  # fmt: skip
    lexical: bool = option(
        False, "lexical model beside the readout", "--lexical", kind=bool,
        aliases=("--rnn_lexical_model", "--lexical_model"),
    )  # fmt: skip
    init: str = option(
        "scaled", "how a new model begins; nematus and glorot (Marian's) are theirs", "--init",
        choices=("scaled", "nematus", "glorot"),
    )  # fmt: skip
    pretrained_model: str | None = option(
        None, "begin from a model of any dialect, its structure and its weights",
        "--pretrained-model", metavar="MODEL",
    )  # fmt: skip
    prior_model: str | None = option(
        None, "a model of the same structure that --map-decay-c draws to; training begins from it "
        "where no --pretrained-model is named", "--prior-model", metavar="MODEL",
        aliases=("--prior_model",),
    )  # fmt: skip
    right_left: bool = option(
        False, "sentences are written from their end; translate, score and reranking read and "
        "print them as they stand", "--right-left", kind=bool,
    )  # fmt: skip
    freeze: tuple[str, ...] = option(
        (), "parameters that stay as they are, by name or path: 'encoder_*', 'decoder/*'",
        "--freeze", metavar="PATTERN...", many=True,
    )  # fmt: skip
    fix_embeddings: bool = option(
        False, "embeddings stay as they are", "--fix-embeddings", kind=bool
    )
    embedding_vectors: tuple[str, ...] = option(
        (), "word vectors of source and target to begin from (word2vec's text format)",
        "--embedding-vectors", metavar="SRC TRG", many=True,
    )  # fmt: skip

    @property
    def begins_from(self) -> str | None:
        """The model whose weights are the first ones, if they are not new."""
        return self.pretrained_model or self.prior_model
